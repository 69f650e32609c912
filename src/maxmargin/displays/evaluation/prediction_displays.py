"""Plots of predictions against the truth, and of the variables they depend on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.inspection import permutation_importance
from sklearn.utils import column_or_1d

from maxmargin.base.typing import FloatArray, TableLike, TargetLike
from maxmargin.displays.drawing.style import GREY, OKABE_ITO, Display, shortened
from maxmargin.metrics import ConfusionTable, Evaluation, evaluate

_WRITTEN = 15  # classes up to which the counts are written into the cells


@dataclass(repr=False)
class ConfusionDisplay(Display):
    """Counts of predictions (rows) by truth (columns); the shade is the share of the true class.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> mm.displays.ConfusionDisplay.from_estimator(mm.SVC().fit(X, y), X, y).counts.shape
    (3, 3)
    """

    counts: FloatArray
    names: tuple[str, ...]

    @classmethod
    def from_result(cls, result: Evaluation | ConfusionTable) -> Self:
        """From the result of ``mm.evaluate`` or ``confusion_table``."""
        table = result.confusion if isinstance(result, Evaluation) else result
        return cls(counts=table.counts, names=table.names)

    @classmethod
    def from_estimator(
        cls, model: BaseEstimator, X: TableLike, y: TargetLike, *, names: Sequence[str] | None = None
    ) -> Self:
        """From a fitted classifier and rows with known classes."""
        return cls.from_result(evaluate(model, X, y, names=names))

    @property
    def shares(self) -> FloatArray:
        """Each cell as a share of its column; 0 where a class has no row."""
        totals = self.counts.sum(axis=0)
        return np.divide(self.counts, totals, out=np.zeros_like(self.counts), where=totals > 0)

    def _draw(self, ax: Any) -> None:
        shares = self.shares
        image = ax.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
        ax.figure.colorbar(image, ax=ax, label="share of the true class")
        places = np.arange(len(self.names))
        slanted = {"rotation": 45, "ha": "right"} if max(map(len, self.names)) * len(self.names) > 30 else {}
        shown = [shortened(name, 24) for name in self.names]
        ax.set_xticks(places, shown, **slanted)
        ax.set_yticks(places, shown)
        ax.set(xlabel="truth", ylabel="predicted")
        ax.spines[:].set_visible(False)
        if len(self.names) <= _WRITTEN:
            for (i, j), count in np.ndenumerate(self.counts):
                colour = "white" if shares[i, j] > 0.5 else "black"
                ax.text(j, i, f"{count:g}", ha="center", va="center", color=colour)


@dataclass(repr=False)
class PredictionDisplay(Display):
    """Predicted values against true ones, with the line where both are equal.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X = np.linspace(0, 1, 20).reshape(-1, 1)
    >>> model = mm.SVR(kernel="linear", C=10).fit(X, 2 * X[:, 0])
    >>> mm.displays.PredictionDisplay.from_estimator(model, X, 2 * X[:, 0]).predicted.shape
    (20,)
    """

    truth: FloatArray
    predicted: FloatArray
    target: str

    @classmethod
    def from_estimator(
        cls, model: BaseEstimator, X: TableLike, y: TargetLike, *, target: str | None = None
    ) -> Self:
        """From a fitted regressor and rows with known values; ``target`` is the name on the axes."""
        predicted = np.asarray(model.predict(X), dtype=np.float64)
        truth = column_or_1d(y).astype(np.float64)
        return cls(truth=truth, predicted=predicted, target=target or str(getattr(y, "name", None) or "y"))

    def _draw(self, ax: Any) -> None:
        ends = [min(self.truth.min(), self.predicted.min()), max(self.truth.max(), self.predicted.max())]
        ax.plot(ends, ends, color=GREY, linestyle=":", linewidth=1)
        ax.scatter(self.truth, self.predicted, s=14, color=OKABE_ITO[0], alpha=0.6, linewidths=0)
        ax.set(xlabel=f"{self.target}: truth", ylabel=f"{self.target}: predicted")
        ax.set_aspect("equal", adjustable="datalim")


@dataclass(repr=False)
class ImportanceDisplay(Display):
    """Bars for the permutation importance of the variables, with its deviation over the repeats.

    Attributes
    ----------
    table : DataFrame with variable, importance and deviation, best first.
    measure : the measure whose decrease is drawn.
    most : how many variables are drawn.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = mm.SVC(C=10, gamma=0.1).fit(X, y)
    >>> mm.displays.ImportanceDisplay.from_estimator(model, X, y).table["variable"][0]
    'petal length (cm)'
    """

    table: pd.DataFrame
    measure: str = "accuracy"
    most: int = 20

    @classmethod
    def from_result(cls, table: pd.DataFrame, *, measure: str = "accuracy", most: int = 20) -> Self:
        """From a table with variable, importance and deviation."""
        return cls(table=table, measure=measure, most=most)

    @classmethod
    def from_estimator(
        cls,
        model: BaseEstimator,
        X: TableLike,
        y: TargetLike,
        *,
        n_repeats: int = 5,
        random_state: int = 0,
        most: int = 20,
    ) -> Self:
        """From a fitted model and held-out rows; costs n_features * n_repeats predictions."""
        n = np.shape(X)[1]
        names = [str(c) for c in X.columns] if hasattr(X, "columns") else [f"x{j}" for j in range(n)]
        table = importance_table(model, X, y, names, n_repeats=n_repeats, random_state=random_state)
        return cls(table=table, measure="accuracy" if hasattr(model, "classes_") else "R2", most=most)

    def _draw(self, ax: Any) -> None:
        shown = self.table.head(self.most).iloc[::-1]
        places = np.arange(len(shown))
        ax.barh(places, shown["importance"], color=OKABE_ITO[0], height=0.7)
        ax.errorbar(
            shown["importance"], places, xerr=shown["deviation"], fmt="none", ecolor="black", elinewidth=1
        )
        ax.axvline(0, color=GREY, linewidth=1)
        ax.set_yticks(places, [shortened(name) for name in shown["variable"]])
        ax.set_xlabel(f"loss of {self.measure} when shuffled")
        hidden = len(self.table) - len(shown)
        if hidden:
            ax.set_title(f"{hidden} further variables are not shown", fontsize="small")


def importance_table(
    model: BaseEstimator,
    X: TableLike,
    y: TargetLike | None,
    names: list[str],
    *,
    n_repeats: int,
    random_state: int,
    scoring: str | Callable[..., float] | None = None,
) -> pd.DataFrame:
    """Loss of accuracy when each column is shuffled: variable, importance (mean) and deviation, best first.

    Breiman, Random forests (2001), as in scikit-learn's permutation_importance; without ``scoring`` the loss
    is in accuracy or R2.
    """
    found = permutation_importance(
        model, X, y, scoring=scoring, n_repeats=n_repeats, random_state=random_state
    )
    columns = {"variable": names, "importance": found.importances_mean, "deviation": found.importances_std}
    table = pd.DataFrame(columns)
    return table.sort_values("importance", ascending=False, kind="stable", ignore_index=True)
