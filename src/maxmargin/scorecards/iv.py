"""Information value of variables, and selection by it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.typing import BoolArray, FloatArray, TableLike, TargetLike, WeightLike
from maxmargin.pieces.collection import Pieces
from maxmargin.scorecards.binning import Binning, binary_table_tags, binning_of, fresh_binning
from maxmargin.scorecards.woe import adopt_names

_READING = ((0.02, "useless"), (0.1, "weak"), (0.3, "medium"), (0.5, "strong"))


def read_iv(iv: float) -> str:
    """Usual reading (Siddiqi 2006): below 0.02 useless, 0.1 weak, 0.3 medium, 0.5 strong, else suspicious.

    >>> from maxmargin.scorecards import read_iv
    >>> read_iv(0.25), read_iv(0.7)
    ('medium', 'suspicious')
    """
    return next((word for bound, word in _READING if iv < bound), "suspicious")


def iv_table(binning: Binning) -> pd.DataFrame:
    """Information value of every variable of a fitted `Binning`, largest first (ties in order of columns).

    Columns: variable, iv, js (Jensen-Shannon divergence), bins (with rows), reading.

    >>> from maxmargin.scorecards import Binning
    >>> X = [["a"], ["a"], ["a"], ["b"], ["b"], ["b"]]
    >>> binning = Binning(min_share=0.1).fit(X, [0, 0, 1, 1, 1, 0])
    >>> float(iv_table(binning)["iv"][0].round(3))
    0.462
    """
    binning = binning_of(binning)
    tables = [binning.table(j) for j in range(len(binning.bins_))]
    frame = pd.DataFrame(
        {
            "variable": [bins.name for bins in binning.bins_],
            "iv": [float(table["iv"].sum()) for table in tables],
            "js": [float(table["js"].sum()) for table in tables],
            "bins": [int((table["count"] > 0).sum()) for table in tables],
        }
    )
    frame["reading"] = [read_iv(value) for value in frame["iv"]]
    return frame.sort_values("iv", ascending=False, kind="stable", ignore_index=True)


def information_value(
    X: TableLike | Pieces,
    y: TargetLike | None = None,
    *,
    binning: Binning | None = None,
    sample_weight: WeightLike | None = None,
) -> pd.DataFrame:
    """Bin a table and give the information value of every variable, largest first.

    Parameters
    ----------
    X : table of numbers and categories (dataframe or array), or `Pieces` of one, which hold their target.
    y : target with two classes.
    binning : settings of the bins; ``Binning()`` by default. It is not changed.
    sample_weight : of shape (n_samples,), optional.

    Returns
    -------
    DataFrame with variable, iv, js, bins and reading ("useless" below 0.02, "weak" below 0.1, "medium" below
    0.3, "strong" below 0.5, "suspicious" from there: look for a leak of the target).

    Examples
    --------
    >>> import pandas as pd
    >>> from maxmargin.scorecards import information_value
    >>> X = pd.DataFrame({"home": ["r", "r", "r", "o", "o", "o"], "plan": ["a", "b"] * 3})
    >>> table = information_value(X, [1, 1, 0, 1, 0, 0])
    >>> table["variable"].tolist(), table["iv"].round(4).tolist()
    (['home', 'plan'], [0.4621, 0.4621])
    """
    fitted = fresh_binning(binning)
    return iv_table(fitted.fit(X, y, sample_weight))


@dataclass(eq=False, repr=False)
class IVSelector(SelectorMixin, BaseEstimator):
    """Keep the variables whose information value lies in [min_iv, max_iv].

    Parameters
    ----------
    min_iv : smallest information value to keep.
    max_iv : largest information value to keep; 0.5 leaves out what is too good to be true.
    binning : settings of the bins; ``Binning()`` by default.

    Attributes
    ----------
    iv_ : of shape (n_features_in_,).
    table_ : as `information_value` returns it, with a column ``kept``.
    binning_ : the fitted `Binning`.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.scorecards import IVSelector
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 200)
    >>> X = np.column_stack([rng.normal(size=400) + y, np.ones(400)])
    >>> IVSelector(min_iv=0.1).fit(X, y).get_support().tolist()
    [True, False]
    """

    min_iv: float = 0.02
    _: KW_ONLY
    max_iv: float = np.inf
    binning: Binning | None = None

    @all_or_nothing
    def fit(
        self, X: TableLike | Pieces, y: TargetLike | None = None, sample_weight: WeightLike | None = None
    ) -> IVSelector:
        """Bin the table and measure every variable."""
        if not self.min_iv <= self.max_iv:
            raise ValueError(f"min_iv={self.min_iv!r} must not be above max_iv={self.max_iv!r}.")
        self.binning_ = fresh_binning(self.binning)
        self.binning_.fit(X, y, sample_weight)
        adopt_names(self, self.binning_)
        table = iv_table(self.binning_)
        by_name = table.set_index("variable")["iv"]
        self.iv_: FloatArray = by_name.loc[[bins.name for bins in self.binning_.bins_]].to_numpy()
        self.table_ = table.assign(kept=(table["iv"] >= self.min_iv) & (table["iv"] <= self.max_iv))
        return self

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        return (self.iv_ >= self.min_iv) & (self.iv_ <= self.max_iv)

    def __sklearn_tags__(self) -> Any:
        return binary_table_tags(super().__sklearn_tags__())
