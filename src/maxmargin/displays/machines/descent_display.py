"""The path of a descent on a convex function of one or two variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from maxmargin.base.typing import FloatArray
from maxmargin.displays.drawing.style import GREY, OKABE_ITO, Display, legend_below
from maxmargin.displays.drawing.view import range_around
from maxmargin.solvers.online.convex_descent import DescentPath

_BORDER = 0.25


@dataclass(repr=False)
class DescentDisplay(Display):
    """Iterates on the graph of f (one variable) or on its contours (two), with their average.

    Attributes
    ----------
    lattice : values along each axis; values : f on the grid.
    iterates : of shape (T, n); average : of shape (n,).
    tangents : points x and slopes v of lines f(x) + v (u - x) below f, of shape (n_lines, 2).

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> path = mm.subgradient_descent(np.abs, np.sign, [1.0], rho=1.0, B=1.0, max_iter=10)
    >>> display = mm.displays.DescentDisplay.from_result(path, np.abs, tangents=[(0.0, -0.4), (0.0, 0.7)])
    >>> display.tangents.shape
    (2, 2)
    """

    lattice: list[FloatArray]
    values: FloatArray
    iterates: FloatArray
    average: FloatArray
    tangents: FloatArray

    @classmethod
    def from_result(
        cls,
        path: DescentPath,
        f: Callable[[FloatArray], float],
        *,
        tangents: Sequence[tuple[float, float]] = (),
        span: tuple[float, float] | None = None,
        resolution: int = 120,
    ) -> Self:
        """From a path of `mm.subgradient_descent` and its function.

        ``tangents`` are pairs (x, slope) for a function of one variable: a subgradient is the slope of a line
        that touches f at x and stays below it, and other slopes are refused. ``span`` are the limits of the
        axis of one variable.
        """
        n = path.iterates.shape[1]
        if n > 2 or (n == 2 and len(tangents)):
            raise ValueError(
                f"the path has {n} variables: one or two can be drawn, tangents for one variable only."
            )
        limits = (
            [range_around(axis, _BORDER) for axis in path.iterates.T] if span is None or n == 2 else [span]
        )
        lattice: list[FloatArray] = [np.linspace(*limit, resolution if n == 2 else 801) for limit in limits]
        crossings = np.stack(np.meshgrid(*lattice, indexing="xy"), axis=-1)
        flat = crossings.reshape(-1, n)
        values = np.array([float(np.squeeze(f(point))) for point in flat]).reshape(crossings.shape[:-1])
        lines = np.array(tangents, dtype=np.float64).reshape(-1, 2)
        for x, slope in lines:
            below = float(np.squeeze(f(np.array([x])))) + slope * (lattice[0] - x)
            if (below > values + 1e-9 * (1.0 + np.abs(values))).any():
                raise ValueError(f"{slope:g} is not a subgradient of f at {x:g}: the line crosses f.")
        return cls(lattice=lattice, values=values, iterates=path.iterates, average=path.x, tangents=lines)

    def _draw(self, ax: Any) -> None:
        if self.iterates.shape[1] == 1:
            self._graph(ax)
        else:
            ax.contour(*self.lattice, self.values, levels=16, colors=GREY, linewidths=0.7)
            ax.plot(*self.iterates.T, "-o", color=OKABE_ITO[0], markersize=3, linewidth=0.9, label="iterates")
            ax.plot(*self.average, "*", color=OKABE_ITO[5], markersize=12, label="their average")
            ax.set(xlabel="x0", ylabel="x1")
        legend_below(ax)

    def _graph(self, ax: Any) -> None:
        x, f = self.lattice[0], self.values
        ax.plot(x, f, color="black", label="f")
        low, high = float(f.min()), float(f.max())
        for k, (at, slope) in enumerate(self.tangents):
            line = np.interp(at, x, f) + slope * (x - at)
            label = "lines below f" if k == 0 else None
            ax.plot(x, line, color=OKABE_ITO[2], linestyle="--", linewidth=1.0, label=label)
        path, heights = self.iterates[:, 0], np.interp(self.iterates[:, 0], x, f)
        ax.plot(path, heights, "-o", color=OKABE_ITO[0], markersize=4, linewidth=0.8, label="iterates")
        middle = np.interp(self.average, x, f)
        ax.plot(self.average, middle, "*", color=OKABE_ITO[5], markersize=12, label="average")
        border = 0.1 * (high - low) or 1.0
        ax.set(ylim=(low - 3 * border, high + border), xlim=x[[0, -1]], xlabel="x", ylabel="f(x)")
