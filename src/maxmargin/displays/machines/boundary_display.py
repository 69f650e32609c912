"""The boundaries of several models in one plot, with a normal vector and projections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils import column_or_1d

from maxmargin.base.typing import AnyArray, FloatArray, TableLike, TargetLike
from maxmargin.displays.drawing.style import OKABE_ITO, Display, legend_below, scatter_classes
from maxmargin.displays.drawing.view import view_of
from maxmargin.displays.machines.margin_display import Task, drawn_function, surface_over

_STYLES = ("-", "--", "-.", ":")
_LINES = [OKABE_ITO[k] for k in (7, 2, 3, 1, 4)]


@dataclass(repr=False)
class BoundaryDisplay(Display):
    """Boundaries f = 0 of several models on two variables, such as runs of a perceptron.

    A regressor fitted to targets -1 and +1, such as least squares, counts as a classifier with f its
    prediction.

    Attributes
    ----------
    names : names of the axes. positions : rows of shape (n_samples, 2). codes, classes : their classes.
    lattice : values along each axis; surfaces : f on the grid, by name of the model.
    arrow : a point of the boundary and the vector w there, of shape (2, 2), or None.
    projections : segments from rows to their projections on the boundary, of shape (n_segments, 2, 2).

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X, y = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 1.0], [4.0, 0.0]]), np.array([-1, -1, 1, 1])
    >>> hard, squares = mm.HardMarginSVC(kernel="linear").fit(X, y), mm.LeastSquares().fit(X, y)
    >>> models = {"hard": hard, "squares": squares}
    >>> display = mm.displays.BoundaryDisplay.from_estimator(models, X, y, normal="hard", project=[3])
    >>> display.projections[0].round(2).tolist()  # the row, and its foot on the boundary
    [[4.0, 0.0], [2.6, -0.7]]
    """

    names: tuple[str, ...]
    positions: FloatArray
    codes: AnyArray
    classes: tuple[str, ...]
    lattice: list[FloatArray]
    surfaces: dict[str, FloatArray]
    arrow: FloatArray | None
    projections: FloatArray

    @classmethod
    def from_estimator(
        cls,
        models: Mapping[str, Any],
        X: TableLike,
        y: TargetLike,
        *,
        normal: str | None = None,
        project: Sequence[int] = (),
        resolution: int = 200,
    ) -> Self:
        """From fitted models of two variables and two classes, under the names of the legend.

        ``normal`` names a linear model whose w is drawn. The rows ``project`` are projected onto its
        boundary, or onto that of the only model.
        """
        if not models:
            raise ValueError("models is empty: give at least one fitted model under its name.")
        view = view_of(next(iter(models.values())), X)
        if not view.exact or len(view.names) != 2:
            raise ValueError(f"boundaries are drawn in two variables, X has shape {np.shape(X)}.")
        classes, codes = np.unique(column_or_1d(y), return_inverse=True)
        if len(classes) != 2:
            raise ValueError(f"the boundaries separate two classes, y has {len(classes)}.")
        lattice = view.lattice(resolution)
        surfaces = {}
        for name, model in models.items():
            task: Task = "regression" if is_regressor(model) else "two classes"
            surfaces[name] = surface_over(view, lattice, drawn_function(model, task))
        linear = normal if normal is not None or not len(project) else next(iter(models))
        if linear is not None and linear not in models:
            raise ValueError(f"normal={linear!r} is not one of the models {', '.join(models)}.")
        w, b = (np.zeros(2), 0.0) if linear is None else _line(models[linear], linear)
        rows = view.positions[list(project)].reshape(-1, 2)
        centre = view.positions.mean(axis=0)
        return cls(
            names=view.names,
            positions=view.positions,
            codes=codes,
            classes=tuple(str(label) for label in classes),
            lattice=lattice,
            surfaces=surfaces,
            arrow=None if normal is None else np.array([_foot(centre[None], w, b)[0], w]),
            projections=np.stack([rows, _foot(rows, w, b)], axis=1) if len(rows) else np.empty((0, 2, 2)),
        )

    def _draw(self, ax: Any) -> None:
        from matplotlib.lines import Line2D

        handles = scatter_classes(ax, self.positions, self.codes, self.classes, s=26, zorder=3)
        for k, (name, f) in enumerate(self.surfaces.items()):
            look: dict[str, Any] = {"linestyle": _STYLES[k % 4], "color": _LINES[k % len(_LINES)]}
            ax.contour(*self.lattice, f, levels=[0.0], colors=look["color"], linestyles=look["linestyle"])
            handles.append(Line2D([], [], label=name, **look))
        for row, foot in self.projections:
            ax.plot(*np.array([row, foot]).T, color="black", linewidth=0.9, linestyle=":")
            ax.plot(*foot, "x", color="black", markersize=6)
        if self.arrow is not None:
            self._draw_arrow(ax)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        if self.arrow is not None or len(self.projections):
            ax.set_aspect("equal")  # else right angles do not look right
        legend_below(ax, handles=handles)

    def _draw_arrow(self, ax: Any) -> None:
        """w as an arrow from the boundary, a fifth of the plot long."""
        assert self.arrow is not None
        start, w = self.arrow
        reach = 0.2 * min(float(np.ptp(values)) for values in self.lattice)
        tip = start + reach * w / max(float(np.linalg.norm(w)), 1e-300)
        ax.annotate("", tip, start, arrowprops={"arrowstyle": "-|>", "color": "black", "linewidth": 1.6})
        ax.annotate("w", tip, (3, 3), textcoords="offset points")


def _line(model: Any, name: str) -> tuple[FloatArray, float]:
    """w and b of a linear model."""
    w = np.ravel(getattr(model, "coef_", np.empty(0))).astype(np.float64)
    if w.shape != (2,) or not w.any():
        raise ValueError(f"{name!r} has no normal vector: it needs coef_ of two variables, not all zero.")
    return w, float(np.ravel(model.intercept_)[0])


def _foot(rows: FloatArray, w: FloatArray, b: float) -> FloatArray:
    """The nearest points of the line <w, x> + b = 0."""
    return np.asarray(rows - ((rows @ w + b) / (w @ w))[:, None] * w)
