"""Variables by what shuffling them costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.inspection import permutation_importance

from maxmargin.displays.drawing.style import GREY, OKABE_ITO, axes, shortened


@dataclass
class ImportanceDisplay:
    """A bar for the permutation importance of each variable, with its deviation over the repeats.

    Attributes
    ----------
    table : DataFrame with variable, importance and deviation, best first.
    measure : what is lost when a variable is shuffled.
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
        cls, model: Any, X: Any, y: Any, *, n_repeats: int = 5, random_state: Any = 0, most: int = 20
    ) -> Self:
        """From a fitted model and rows it was not fitted on; costs n_features * n_repeats predictions."""
        n = np.shape(X)[1]
        names = [str(c) for c in X.columns] if hasattr(X, "columns") else [f"x{j}" for j in range(n)]
        table = importance_table(model, X, y, names, n_repeats=n_repeats, random_state=random_state)
        return cls(table=table, measure="accuracy" if hasattr(model, "classes_") else "R2", most=most)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure; the Axes are then in ``ax_``."""
        ax = axes(ax)
        shown = self.table.head(self.most).iloc[::-1]
        places = np.arange(len(shown))
        ax.barh(places, shown["importance"], color=OKABE_ITO[0], height=0.7)
        ax.errorbar(
            shown["importance"], places, xerr=shown["deviation"], fmt="none", ecolor="black", elinewidth=1
        )
        ax.axvline(0, color=GREY, linewidth=1)
        ax.set_yticks(places, [shortened(name) for name in shown["variable"]])
        ax.set_xlabel(f"loss of {self.measure} when shuffled")
        left = len(self.table) - len(shown)
        if left:
            ax.set_title(f"{left} further variables are not shown", fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def importance_table(
    model: Any, X: Any, y: Any, names: list[str], *, n_repeats: int, random_state: Any
) -> pd.DataFrame:
    """What shuffling each column costs: variable, importance (mean) and deviation, best first.

    Breiman (2001), as in scikit-learn's permutation_importance.
    """
    found = permutation_importance(model, X, y, n_repeats=n_repeats, random_state=random_state)
    columns = {"variable": names, "importance": found.importances_mean, "deviation": found.importances_std}
    table = pd.DataFrame(columns)
    return table.sort_values("importance", ascending=False, kind="stable", ignore_index=True)
