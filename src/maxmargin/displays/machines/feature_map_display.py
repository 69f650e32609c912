"""Two variables mapped into three dimensions, where a plane can separate the classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, column_or_1d

from maxmargin.base.typing import AnyArray, FloatArray, TableLike, TargetLike
from maxmargin.displays.drawing.style import pyplot, scatter_classes
from maxmargin.displays.drawing.view import final_step
from maxmargin.kernels import Polynomial
from maxmargin.kernels.vectors import polynomial_map
from maxmargin.machines.svm import SVC

Map = Callable[[FloatArray], FloatArray]


def squares(X: FloatArray) -> FloatArray:
    """x1^2, sqrt(2) x1 x2, x2^2: the map of the kernel <x, z>^2."""
    return polynomial_map(X, degree=2, gamma=1.0, coef0=0.0)


def bowl(X: FloatArray) -> FloatArray:
    """x1, x2, x1^2 + x2^2."""
    return np.column_stack([X, (X**2).sum(axis=1)])


def product_map(X: FloatArray) -> FloatArray:
    """x1, x2, x1 x2: the plane z = 0 separates points with x1 x2 > 0 from the others."""
    return np.column_stack([X, X.prod(axis=1)])


_MAPS: dict[str, tuple[Map, tuple[str, str, str]]] = {
    "squares": (squares, ("{0}²", "√2 {0} {1}", "{1}²")),
    "bowl": (bowl, ("{0}", "{1}", "{0}² + {1}²")),
    "product": (product_map, ("{0}", "{1}", "{0} {1}")),
}


@dataclass(repr=False)
class FeatureMapDisplay:
    """Rows of two variables in the space of an explicit map phi, with the plane <w, phi(x)> + b = 0.

    Attributes
    ----------
    lifted : phi of the rows, of shape (n_samples, 3). codes : numbers of their classes; classes : names.
    normal, intercept : w and b of the plane. names : names of the three axes.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> angle = np.linspace(0, 6, 40); r = np.where(np.arange(40) % 2, 1.0, 3.0)
    >>> X = np.column_stack([r * np.cos(angle), r * np.sin(angle)])
    >>> display = mm.displays.FeatureMapDisplay.from_map("bowl", X, r > 2)
    >>> bool(((display.lifted @ display.normal + display.intercept > 0) == (r > 2)).all())
    True
    """

    lifted: FloatArray
    codes: AnyArray
    classes: tuple[str, ...]
    normal: FloatArray
    intercept: float
    names: tuple[str, str, str]

    @classmethod
    def from_estimator(cls, model: BaseEstimator, X: TableLike, y: TargetLike, *, names: Any = None) -> Self:
        """From a fitted SVC with the kernel (gamma <x, z>)^2 on two variables: its own plane, exactly."""
        model, X = final_step(model, X)
        kernel = getattr(model, "kernel_", None)
        square = isinstance(kernel, Polynomial) and kernel.degree == 2 and kernel.coef0 == 0
        if kernel is None or not square or np.shape(X)[1] != 2 or len(getattr(model, "classes_", ())) != 2:
            raise ValueError(
                "the plot needs an SVC with two classes, two variables and Polynomial(degree=2, coef0=0), "
                "whose map has three columns; for other maps use FeatureMapDisplay.from_map."
            )
        lifted_support = squares(np.asarray(model.support_vectors_, dtype=np.float64))
        normal = float(kernel.gamma) ** 2 * (model.dense_dual_coef @ lifted_support)[0]
        return cls._of("squares", X, y, normal, float(model.intercept_[0]), names)

    @classmethod
    def from_map(
        cls, phi: str | Map, X: TableLike, y: TargetLike, *, C: float = 1e3, names: Any = None
    ) -> Self:
        """From a map, by name ("squares", "bowl", "product") or as a function to three columns.

        A linear SVC gives the plane.
        """
        values = check_array(X, dtype=np.float64)
        lift = _map(phi)[0]
        machine = SVC(kernel="linear", C=C).fit(lift(values), column_or_1d(y))
        if len(machine.classes_) != 2:
            raise ValueError(f"a plane separates two classes, y has {len(machine.classes_)}.")
        return cls._of(phi, X, y, machine.coef_[0], float(machine.intercept_[0]), names)

    @classmethod
    def _of(cls, phi: str | Map, X: Any, y: Any, normal: FloatArray, b: float, names: Any) -> Self:
        lift, patterns = _map(phi)
        columns = [str(name) for name in X.columns] if hasattr(X, "columns") else ["x1", "x2"]
        values = np.asarray(X, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != 2:
            raise ValueError(f"the plot maps two variables, but X has shape {np.shape(X)}.")
        lifted = lift(values)
        if lifted.shape[1] != 3:
            raise ValueError(f"the map must have three columns, but it has {lifted.shape[1]}.")
        classes, codes = np.unique(column_or_1d(y), return_inverse=True)
        shown = tuple(str(name) for name in (classes if names is None else names))
        first, second, third = (pattern.format(*columns) for pattern in patterns)
        return cls(
            lifted=lifted,
            codes=codes,
            classes=shown,
            normal=normal,
            intercept=b,
            names=(first, second, third),
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax`` (a 3-D Axes), or on a new figure; the Axes are then in ``ax_``."""
        if ax is None:
            figure = pyplot().figure(figsize=(6, 5.4), layout="constrained")
            ax = figure.add_subplot(projection="3d")
        if getattr(ax, "name", "") != "3d":
            raise ValueError('ax must be a 3-D Axes: figure.add_subplot(projection="3d").')
        self._plane(ax)
        scatter_classes(ax, self.lifted, self.codes, self.classes, s=24, depthshade=False)
        ax.set_xlabel(self.names[0], labelpad=8)
        ax.set_ylabel(self.names[1], labelpad=8)
        ax.set_zlabel(self.names[2], labelpad=8)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _plane(self, ax: Any) -> None:
        """The part of the plane inside the box of the rows."""
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        corners = plane_in_box(self.normal, self.intercept, self.lifted.min(axis=0), self.lifted.max(axis=0))
        if len(corners) >= 3:
            ax.add_collection3d(
                Poly3DCollection(
                    [corners], facecolors=(0, 0, 0, 0.18), edgecolors=(0, 0, 0, 0.5), linewidths=0.8
                )
            )


def plane_in_box(normal: FloatArray, intercept: float, low: FloatArray, high: FloatArray) -> FloatArray:
    """Corners, in order, of the polygon that a plane cuts out of a box, of shape (n_corners, 3).

    The corners are where the plane meets the edges of the box, sorted by the angle around their mean.
    """
    found = []
    for axis in range(3):
        if normal[axis] == 0:
            continue
        others = [j for j in range(3) if j != axis]
        for ends in product(*[(low[j], high[j]) for j in others]):
            rest = sum(normal[j] * end for j, end in zip(others, ends, strict=True))
            value = -(rest + intercept) / normal[axis]
            if low[axis] <= value <= high[axis]:
                found.append(np.insert(np.array(ends), axis, value))
    if len(found) < 3:
        return np.empty((0, 3))
    corners = np.unique(np.array(found), axis=0)
    away = corners - corners.mean(axis=0)
    first = away[0] / np.linalg.norm(away[0])
    second = np.cross(normal / np.linalg.norm(normal), first)
    return corners[np.argsort(np.arctan2(away @ second, away @ first))]


def _map(phi: str | Map) -> tuple[Map, tuple[str, str, str]]:
    if callable(phi):
        return phi, ("φ1({0}, {1})", "φ2({0}, {1})", "φ3({0}, {1})")
    if phi not in _MAPS:
        raise ValueError(f"phi={phi!r} is unknown: use one of {', '.join(_MAPS)}, or a function.")
    return _MAPS[phi]
