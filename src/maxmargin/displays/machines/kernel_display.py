"""A kernel on given rows: its Gram matrix, its spectrum, and its values around one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.utils import _safe_indexing, column_or_1d

from maxmargin.base.parameters import check_choice
from maxmargin.base.typing import AnyArray, FloatArray, TableLike, TargetLike
from maxmargin.displays.drawing.style import GREY, OKABE_ITO, axes, legend_below, pyplot, shortened
from maxmargin.displays.drawing.view import final_step, range_around
from maxmargin.kernels import Kernel
from maxmargin.kernels.mercer import MercerCheck, mercer_check

Part = Literal["gram", "spectrum", "section"]
PARTS: tuple[Part, ...] = ("gram", "spectrum", "section")
_LINE, _PLANE = 400, 120  # points along an axis of the section


@dataclass(repr=False)
class KernelDisplay:
    """Gram matrix ordered by class, spectrum with the verdict of Mercer's condition, and x -> K(x, x0).

    Attributes
    ----------
    kernel : as written. gram : K among the rows, ordered by class.
    classes, sizes : names of the classes and their numbers of rows.
    check : the verdict and the spectrum (ascending).
    x0 : the row through which the section is taken. section_axes : values along one
        or two variables (none for rows that are not numbers); section : K(x, x0) there, or K(row, x0) in
        descending order.
    names : names of the variables of the section.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> display = mm.displays.KernelDisplay.from_estimator(mm.kernels.RBF(gamma=0.5), X, y)
    >>> display.check.holds, display.gram.shape
    (True, (150, 150))
    """

    kernel: str
    gram: FloatArray
    classes: tuple[str, ...]
    sizes: tuple[int, ...]
    check: MercerCheck
    x0: Any
    section_axes: list[FloatArray]
    section: FloatArray
    names: tuple[str, ...]

    @classmethod
    def from_estimator(
        cls,
        kernel: Any,
        X: TableLike,
        y: TargetLike | None = None,
        *,
        x0: int | None = None,
        feature: str | int | None = None,
        most: int = 400,
        random_state: int = 0,
    ) -> Self:
        """From a kernel, or a fitted model that has one, and rows.

        Parameters
        ----------
        kernel : Kernel, or a fitted kernel machine, alone or at the end of a Pipeline.
        X, y : rows, and the classes by which they are ordered.
        x0 : number of the row in the middle of the section; the one nearest to the median by default.
        feature : the variable of the section if there are more than two; by default the one that varies
            most. The others are fixed at x0.
        most : maximum number of rows; larger tables are sampled, because the spectrum costs O(n^3).
        """
        bound, rows = _kernel_and_rows(kernel, X)
        labels = None if y is None else column_or_1d(y)
        n = _length(rows)
        middle = _middle(rows, n) if x0 is None else x0
        if not 0 <= middle < n:
            raise ValueError(f"x0={x0!r} is not the number of a row: use 0 ... {n - 1}.")
        centre = _safe_indexing(rows, [middle])
        order, classes, sizes = _order(labels, n, most, random_state)
        shown = _safe_indexing(rows, order)
        gram = np.asarray(bound(shown), dtype=np.float64)
        lines, section, names = _section(bound, rows, shown, centre, feature)
        return cls(
            kernel=str(bound), gram=gram, classes=classes, sizes=sizes, check=mercer_check(gram), x0=centre,
            section_axes=lines, section=section, names=names,
        )  # fmt: skip

    def plot(self, ax: Any = None, *, part: Part | None = None) -> Self:
        """Draw the three parts, or one of them.

        ``ax`` is None (a new figure), a sequence of three Axes, or one Axes together with ``part`` ("gram",
        "spectrum" or "section"; "gram" by default). The Axes are then in ``axes_``.
        """
        if part is not None:
            check_choice("part", part, PARTS)
        drawn = (
            PARTS
            if part is None and (ax is None or isinstance(ax, (Sequence, np.ndarray)))
            else (part or "gram",)
        )
        if ax is None and len(drawn) == len(PARTS):
            ax = pyplot().subplots(1, 3, figsize=(13, 4), layout="constrained")[1]
        self.axes_ = [axes(one) for one in (ax if len(drawn) > 1 else [ax])]
        draw = {"gram": self._gram, "spectrum": self._spectrum, "section": self._section}
        for one, name in zip(self.axes_, drawn, strict=True):
            draw[name](one)
        self.figure_ = self.axes_[0].figure
        return self

    def _gram(self, ax: Any) -> None:
        image = ax.imshow(self.gram, cmap="cividis", interpolation="nearest")
        ax.figure.colorbar(image, ax=ax, label="K(x, x')", shrink=0.8)
        ends = np.cumsum(self.sizes)
        for end in ends[:-1]:
            ax.axhline(end - 0.5, color="white", linewidth=1)
            ax.axvline(end - 0.5, color="white", linewidth=1)
        middles = ends - np.array(self.sizes) / 2
        ax.set_xticks(middles, [shortened(name) for name in self.classes], rotation=30, ha="right")
        ax.set_yticks(middles, [shortened(name) for name in self.classes])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_title(shortened(self.kernel, 60), fontsize="small")

    def _spectrum(self, ax: Any) -> None:
        values = self.check.spectrum[::-1]
        negative = values < -self.check.tolerance
        places = np.arange(1, len(values) + 1)
        size = np.maximum(np.abs(values), 1e-17 * max(1.0, float(np.abs(values).max())))
        ax.plot(places[~negative], size[~negative], ".", color=OKABE_ITO[0], label="eigenvalue >= 0")
        if negative.any():
            ax.plot(places[negative], size[negative], "x", color=OKABE_ITO[5], label="negative (size)")
        ax.axhline(self.check.tolerance, color=GREY, linestyle=":", label="counts as zero")
        ax.set(yscale="log", xlabel="number of the eigenvalue", ylabel="eigenvalue")
        verdict = "positive semidefinite" if self.check.holds else "not positive semidefinite"
        ax.set_title(f"{verdict} on these {len(values)} rows", fontsize="small")
        legend_below(ax, ncols=3)

    def _section(self, ax: Any) -> None:
        if len(self.section_axes) == 2:
            image = ax.contourf(*self.section_axes, self.section, levels=14, cmap="cividis")
            ax.figure.colorbar(image, ax=ax, label="K(x, x0)")
            ax.plot(*np.ravel(self.x0), "o", mfc="none", mec="white", mew=1.5, ms=9)
            ax.set(xlabel=self.names[0], ylabel=self.names[1])
            return
        if self.section_axes:
            ax.plot(self.section_axes[0], self.section, color=OKABE_ITO[0])
            ax.set_xlabel(self.names[0])
        else:
            ax.plot(np.arange(1, len(self.section) + 1), self.section, ".", color=OKABE_ITO[0])
            ax.set_xlabel("rows, the most similar first")
        ax.set_ylabel("K(x, x0)")


def _kernel_and_rows(kernel: Any, X: Any) -> tuple[Kernel, Any]:
    if isinstance(kernel, Kernel):
        return kernel.bind(X), X
    last, seen = final_step(kernel, X)
    if not isinstance(getattr(last, "kernel_", None), Kernel):
        raise TypeError(f"{type(last).__name__} has no kernel_: pass a Kernel, or a fitted kernel machine.")
    return last.kernel_, seen


def _length(rows: Any) -> int:
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def _numbers(rows: Any) -> FloatArray | None:
    """The rows as a table of numbers, or None if they are something else."""
    if sp.issparse(rows):
        return None
    try:
        values = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return values if values.ndim == 2 else None


def _middle(rows: Any, n: int) -> int:
    values = _numbers(rows)
    if values is None:
        return n // 2
    spread = values.std(axis=0)
    away = (values - np.median(values, axis=0)) / np.where(spread > 0, spread, 1.0)
    return int((away**2).sum(axis=1).argmin())


def _order(
    labels: AnyArray | None, n: int, most: int, random_state: int
) -> tuple[AnyArray, tuple[str, ...], tuple[int, ...]]:
    """At most ``most`` rows sorted by class, with the classes and their numbers of rows."""
    chosen = np.sort(np.random.default_rng(random_state).permutation(n)[:most])
    if labels is None:
        return chosen, ("all rows",), (len(chosen),)
    classes, codes = np.unique(labels[chosen], return_inverse=True)
    sizes = np.bincount(codes, minlength=len(classes))
    return chosen[np.argsort(codes, kind="stable")], tuple(map(str, classes)), tuple(sizes.tolist())


def _section(
    kernel: Kernel, rows: Any, shown: Any, centre: Any, feature: str | int | None
) -> tuple[list[FloatArray], FloatArray, tuple[str, ...]]:
    """K(x, x0) along one variable or two, or among the rows."""
    values = _numbers(rows)
    if values is None:
        return [], np.sort(np.ravel(kernel(shown, centre)))[::-1], ()
    columns = list(rows.columns) if hasattr(rows, "columns") else [f"x{j}" for j in range(values.shape[1])]
    chosen = _chosen(values, columns, feature)
    lines: list[FloatArray] = [
        np.linspace(*range_around(values[:, j], 0.1), _LINE if len(chosen) == 1 else _PLANE) for j in chosen
    ]
    crossings = np.stack(np.meshgrid(*lines), axis=-1)
    points = np.repeat(np.asarray(centre, dtype=np.float64), crossings[..., 0].size, axis=0)
    points[:, chosen] = crossings.reshape(-1, len(chosen))
    table = pd.DataFrame(points, columns=columns) if hasattr(rows, "columns") else points
    section: FloatArray = np.reshape(kernel(table, centre), crossings.shape[:-1])
    return lines, section, tuple(str(columns[j]) for j in chosen)


def _chosen(values: FloatArray, columns: list[Any], feature: str | int | None) -> list[int]:
    if feature is not None:
        if feature in columns:
            return [columns.index(feature)]
        if isinstance(feature, int) and 0 <= feature < len(columns):
            return [feature]
        raise ValueError(f"feature={feature!r} is not a variable of the table; it has {columns}.")
    return list(range(values.shape[1])) if values.shape[1] <= 2 else [int(values.std(axis=0).argmax())]
