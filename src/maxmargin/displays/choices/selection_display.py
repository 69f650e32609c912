"""Displays of a feature selection: score bars, path curves, coefficient paths, comparison tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from maxmargin.base.table_columns import feature_names
from maxmargin.base.typing import AnyArray, BoolArray, FloatArray
from maxmargin.displays.drawing.style import GREY, OKABE_ITO, Display, shortened
from maxmargin.feature_selection.base import Selector
from maxmargin.feature_selection.comparison import Comparison
from maxmargin.feature_selection.rankers import Ranker
from maxmargin.feature_selection.rfe import RFE

Kind = Literal["bars", "curve", "paths", "matrix"]
MANY_LABELS = 40  # more names than this are illegible on a curve


@dataclass(repr=False)
class SelectionDisplay(Display):
    """The result of a feature selection.

    Attributes
    ----------
    kind : "bars" (a score for every variable), "curve" (a value for every step, with the variable that it
        added or removed), "paths" (a coefficient path for every variable) or "matrix" (variables by methods).
    x, y : positions and values; y has shape (n_positions,) or (n_positions, n_lines).
    labels : a name for every bar, point or line. chosen : mask of those that were selected.
    spread : standard deviation of y, if known.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.displays.choices.selection_display import SelectionDisplay
    >>> from maxmargin.feature_selection import FisherScore
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = SelectionDisplay.from_estimator(FisherScore().fit(X, y))
    >>> display.labels[0]
    'petal length (cm)'
    """

    kind: Kind
    x: AnyArray
    y: FloatArray
    labels: list[str]
    chosen: BoolArray
    xlabel: str
    ylabel: str
    spread: FloatArray | None = None
    columns: list[str] = field(default_factory=list)

    @classmethod
    def from_estimator(cls, selector: Selector) -> Self:
        """The arrays of a fitted selector."""
        if isinstance(selector, Ranker):
            return cls._from_scores(selector)
        if isinstance(selector, RFE):
            return cls._from_rounds(selector)
        if hasattr(selector, "coef_path_"):
            return cls._from_coefficients(selector)
        return cls._from_path(selector)

    @classmethod
    def from_result(cls, comparison: Comparison) -> Self:
        """How often each variable was chosen by each method of a comparison."""
        return cls(
            kind="matrix",
            x=np.arange(comparison.frequency.shape[1]),
            y=comparison.frequency.to_numpy(),
            labels=[str(name) for name in comparison.frequency.index],
            columns=[str(name) for name in comparison.frequency.columns],
            chosen=comparison.chosen.to_numpy(),
            xlabel="method",
            ylabel="share of resamples that chose the variable",
        )

    @classmethod
    def _from_scores(cls, ranker: Ranker) -> Self:
        history = ranker.history_
        return cls(
            kind="bars",
            x=np.arange(len(history)),
            y=history["score"].to_numpy(),
            labels=list(history["variable"]),
            chosen=history["selected"].to_numpy(),
            xlabel=f"score ({type(ranker).__name__})",
            ylabel="variable",
        )

    @classmethod
    def _from_rounds(cls, rfe: RFE) -> Self:
        history = rfe.history_
        with_error = "error" in history
        if with_error:
            errors = rfe.errors_
            removed = history.set_index("size")["removed"]
            sizes = errors.index.to_numpy()
            names = [_short(removed.get(size, ())) for size in sizes]
            values, spread = errors["error"].to_numpy(), errors["deviation"].to_numpy()
        else:
            history = history[history["removed"].map(len) > 0]
            sizes, names, spread = history["size"].to_numpy(), [_short(r) for r in history["removed"]], None
            values = history["worth"].to_numpy()
        return cls(
            kind="curve",
            x=sizes,
            y=values,
            labels=[f"-{name}" if name else "" for name in names],
            chosen=sizes == rfe.n_features_,
            xlabel="number of variables",
            ylabel="cross-validated error" if with_error else "worth of the variable removed next",
            spread=spread,
        )

    @classmethod
    def _from_path(cls, selector: Any) -> Self:
        path = selector.path_
        signs = path["action"].map({"add": "+", "remove": "-"}).fillna("")
        names = path["variable"].astype(object).where(path["variable"].notna(), "")
        kept = tuple(selector.selected_)
        # sequential searches change the size by one per step; others are drawn over their steps
        by_size = path["action"].isin(["add", "remove", "start"]).all() and path["size"].is_unique
        return cls(
            kind="curve",
            x=path["size" if by_size else "step"].to_numpy(),
            y=path["value"].to_numpy(),
            labels=[f"{sign}{name}" for sign, name in zip(signs, names, strict=True)],
            chosen=np.array([tuple(subset) == kept for subset in path["subset"]]),
            xlabel="number of variables" if by_size else "step",
            ylabel="criterion",
        )

    @classmethod
    def _from_coefficients(cls, selector: Any) -> Self:
        return cls(
            kind="paths",
            x=np.asarray(selector.lambdas_),
            y=np.asarray(selector.coef_path_),
            labels=feature_names(selector),
            chosen=selector.support_,
            xlabel="lambda",
            ylabel="coefficient",
        )

    def _draw(self, ax: Any) -> None:
        draw = {"bars": self._bars, "curve": self._curve, "paths": self._paths, "matrix": self._matrix}
        draw[self.kind](ax)

    def _bars(self, ax: Any) -> None:
        finite = np.where(np.isfinite(self.y), self.y, np.nanmax(self.y[np.isfinite(self.y)], initial=1.0))
        colours = [OKABE_ITO[0] if kept else GREY for kept in self.chosen]
        ax.barh(self.x, finite, color=colours)
        ax.set_yticks(self.x, [shortened(label) for label in self.labels])
        ax.invert_yaxis()
        ax.set_xlabel(self.xlabel)
        ax.set_title(f"{int(self.chosen.sum())} of {len(self.labels)} variables kept (blue)")

    def _curve(self, ax: Any) -> None:
        ax.plot(self.x, self.y, "-o", color=OKABE_ITO[0], markersize=4)
        if self.spread is not None:
            ax.fill_between(self.x, self.y - self.spread, self.y + self.spread, color=OKABE_ITO[4], alpha=0.3)
        ax.plot(self.x[self.chosen], self.y[self.chosen], "D", color=OKABE_ITO[5], label="kept")
        if len(self.labels) <= MANY_LABELS:
            for x, y, label in zip(self.x, self.y, self.labels, strict=True):
                ax.annotate(
                    shortened(label), (x, y), (3, 5), textcoords="offset points", fontsize=7, rotation=45
                )
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel)
        if self.chosen.any():
            ax.legend()

    def _paths(self, ax: Any) -> None:
        for k in np.argsort(self.chosen, kind="stable"):
            colour = OKABE_ITO[k % len(OKABE_ITO)] if self.chosen[k] else GREY
            ax.plot(self.x, self.y[:, k], color=colour, linewidth=1.5 if self.chosen[k] else 0.5)
            if self.chosen[k] and self.chosen.sum() <= MANY_LABELS:
                ax.annotate(shortened(self.labels[k]), (self.x[-1], self.y[-1, k]), fontsize=7)
        ax.set(xscale="log", xlabel=self.xlabel, ylabel=self.ylabel)

    def _matrix(self, ax: Any) -> None:
        ax.imshow(self.y, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
        ax.set_xticks(self.x, self.columns, rotation=45, ha="right")
        ax.set_yticks(np.arange(len(self.labels)), [shortened(label) for label in self.labels])
        for i, j in zip(*np.nonzero(self.chosen), strict=True):
            ax.text(j, i, "x", ha="center", va="center", color=OKABE_ITO[1])
        ax.set_title(f"{self.ylabel} (x: chosen on all rows)", fontsize=9)


def _short(names: tuple[str, ...]) -> str:
    """One name, or the first of several and the number of others."""
    if len(names) <= 1:
        return names[0] if names else ""
    return f"{names[0]} and {len(names) - 1} more"
