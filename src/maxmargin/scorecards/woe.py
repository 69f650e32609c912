"""Replace every value by the weight of evidence of its bin."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.interruption import all_or_nothing, of_one_fit
from maxmargin.base.parameters import check_choice
from maxmargin.base.typing import FloatArray, IntArray, TableLike, TargetLike, WeightLike
from maxmargin.base.user_line import warn_user
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.given import as_pieces
from maxmargin.pieces.prediction import predict
from maxmargin.scorecards.binning import Binning, binary_table_tags, fresh_binning
from maxmargin.scorecards.bins import MISSING

_UNKNOWN = ("warn", "neutral", "error")
_SIGN = {"nonevent": 1.0, "event": -1.0}


@dataclass(eq=False, repr=False)
class WOEEncoder(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Weight-of-evidence columns: log((N_i/N) / (P_i/P)) for a bin with P_i events and N_i non-events.

    A logistic regression on one such column has coefficient -1 and the log odds of the sample as intercept
    (+1 for ``numerator="event"``).

    Parameters
    ----------
    binning : a `Binning` with the settings of the bins; ``Binning()`` by default.
    numerator : "nonevent" for the formula above, "event" for its negative.
    handle_unknown : what ``transform`` does with a value whose bin had no rows in fit (an unseen category,
        or a missing or special value if there were none): "warn" gives WoE 0 (no evidence) and a warning,
        "neutral" the same without a warning, "error" raises an error.

    Attributes
    ----------
    binning_ : the fitted `Binning`; its ``table()`` shows counts, WoE and IV by bin.

    Notes
    -----
    See `weight_of_evidence` for bins without events or non-events.

    Examples
    --------
    >>> import pandas as pd
    >>> from maxmargin.scorecards import Binning, WOEEncoder
    >>> X = pd.DataFrame({"home": ["rent", "rent", "rent", "own", "own", "own"]})
    >>> y = [1, 1, 0, 1, 0, 0]
    >>> encoder = WOEEncoder(Binning(categories="each")).set_output(transform="pandas")
    >>> encoder.fit_transform(X, y)["home"].round(4).tolist()
    [-0.6931, -0.6931, -0.6931, 0.6931, 0.6931, 0.6931]
    """

    binning: Binning | None = None
    _: KW_ONLY
    numerator: str = "nonevent"
    handle_unknown: str = "warn"

    @all_or_nothing
    def fit(
        self, X: TableLike | Pieces, y: TargetLike | None = None, sample_weight: WeightLike | None = None
    ) -> WOEEncoder:
        """Find the bins of every column of a table or of `Pieces`, and their evidence."""
        self._start()
        self.binning_.fit(X, y, sample_weight)
        adopt_names(self, self.binning_)
        return self

    @all_or_nothing
    def fit_transform(
        self, X: TableLike | Pieces, y: TargetLike | None = None, sample_weight: WeightLike | None = None
    ) -> Any:
        """Fit and encode the same rows; equal to ``fit(X, y).transform(X)``, in one pass.

        Of Dask data and `Pieces` the result is that of `pieces.predict`.
        """
        if as_pieces(X, y, sample_weight) is not None:
            return predict(self.fit(X, y, sample_weight), X, method="transform")
        self._start()
        codes = self.binning_.fit_codes(X, y, sample_weight)
        adopt_names(self, self.binning_)
        return self._encode(codes)

    @of_one_fit
    def transform(self, X: TableLike) -> FloatArray:
        """WoE of shape (n_samples, n_features)."""
        check_is_fitted(self)
        return self._encode(known_codes(self.binning_, X, self.handle_unknown))

    def _start(self) -> None:
        check_choice("numerator", self.numerator, tuple(_SIGN))
        check_choice("handle_unknown", self.handle_unknown, _UNKNOWN)
        self.binning_ = fresh_binning(self.binning)

    def _encode(self, codes: list[IntArray]) -> FloatArray:
        sign = _SIGN[self.numerator]
        encoded = np.empty((len(codes[0]), len(codes)), order="F")
        for j, numbers in enumerate(codes):
            encoded[:, j] = (sign * self.binning_.woe(j))[numbers]
        return encoded

    def __sklearn_tags__(self) -> Any:
        return binary_table_tags(super().__sklearn_tags__())


def adopt_names(estimator: BaseEstimator, fitted: Any) -> None:
    """Copy number and names of the columns from a fitted part."""
    estimator.n_features_in_ = fitted.n_features_in_
    if hasattr(fitted, "feature_names_in_"):
        estimator.feature_names_in_ = fitted.feature_names_in_
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def known_codes(binning: Binning, X: TableLike, handle_unknown: str) -> list[IntArray]:
    """Bin numbers by column; warns about values whose bin had no rows in fit, or refuses them."""
    codes = binning.codes(X)
    if handle_unknown == "neutral":
        return codes
    strangers = [note for j, numbers in enumerate(codes) if (note := _strangers(binning, j, numbers))]
    if not strangers:
        return codes
    message = "Values whose bin had no row in fit: " + "; ".join(strangers)
    if handle_unknown == "error":
        raise ValueError(message + ". handle_unknown='neutral' gives them weight of evidence 0.")
    warn_user(message + ". They get weight of evidence 0.")
    return codes


def _strangers(binning: Binning, j: int, numbers: IntArray) -> str:
    """A sentence about the rows of column ``j`` in bins without evidence; "" if there are none."""
    bins = binning.bins_[j]
    rows = np.bincount(numbers + 1, minlength=bins.n_bins + 1)
    empty = np.r_[True, binning.counts_[j].sum(axis=0) == 0]
    names = [name if name == MISSING else f"in {name}" for name in ("unseen category", *bins.labels())]
    parts = [f"{rows[k]} {names[k]}" for k in np.flatnonzero(empty & (rows > 0))]
    return f"{bins.name}: {', '.join(parts)}" if parts else ""
