"""Support vectors by kind, and segments from rows to their margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree
from sklearn.base import BaseEstimator

from maxmargin.base.typing import AnyArray, BoolArray, FloatArray, TableLike
from maxmargin.displays.drawing.view import final_step
from maxmargin.machines.linear import LinearSVC

KINDS = ("free", "inside", "misclassified")
_NEAR = 1e-3  # |y f - 1| up to which a row of a linear SVM counts as on the margin
_MOST_SEGMENTS = 400


@dataclass(frozen=True)
class Kinds:
    """The kind of each row (None if not known); for regression also epsilon and y - f."""

    of_rows: AnyArray | None = None
    epsilon: float | None = None
    residuals: FloatArray | None = None


def kinds_of(model: BaseEstimator, X: TableLike, target: AnyArray | None, task: str) -> Kinds:
    """The kinds according to the model, if ``X`` are its training rows."""
    last, seen = final_step(model, X)
    if task == "regression":
        return _regression_kinds(last, seen, target)
    if task == "two classes" and isinstance(last, LinearSVC) and target is not None:
        return Kinds(_by_margin((2 * target - 1) * last.decision_function(seen)))
    if not fitted_on(last, seen):
        return Kinds()
    if task == "two classes" and hasattr(last, "point_kinds_"):
        return Kinds(last.point_kinds_)
    kinds = np.full(last.shape_fit_[0], "outside", dtype="<U13")
    kinds[last.support_] = "free"
    if task == "outliers":
        kinds[_bounded_rows(last)] = "misclassified"
    return Kinds(kinds)


def fitted_on(last: Any, seen: Any) -> bool:
    """True if the support vectors of the model agree with these rows."""
    if not hasattr(last, "support_vectors_") or last.shape_fit_[0] != np.shape(seen)[0]:
        return False
    try:
        mine, theirs = _dense(seen, last.support_), _dense(last.support_vectors_, slice(None))
    except (TypeError, ValueError):  # rows with text, for a string kernel
        rows, vectors = (np.asarray(part, dtype=object) for part in (seen, last.support_vectors_))
        return bool(np.array_equal(rows[last.support_], vectors))
    return mine.shape == theirs.shape and bool(np.allclose(mine, theirs))


def _dense(X: Any, rows: Any) -> FloatArray:
    if sp.issparse(X):
        return np.asarray(X.tocsr()[rows].toarray(), dtype=np.float64)
    return np.asarray(X, dtype=np.float64)[rows]


def _by_margin(margins: FloatArray) -> AnyArray:
    kinds = np.full(len(margins), "outside", dtype="<U13")
    kinds[margins < 1 - _NEAR] = "inside"
    kinds[margins < 0] = "misclassified"
    kinds[np.abs(margins - 1) <= _NEAR] = "free"
    return kinds


def _regression_kinds(last: Any, seen: Any, target: AnyArray | None) -> Kinds:
    epsilon = getattr(last, "epsilon_", None)
    epsilon = getattr(last, "epsilon", None) if epsilon is None else epsilon
    if epsilon is None or target is None:
        return Kinds()
    residuals = target - np.asarray(last.predict(seen), dtype=np.float64)
    if not fitted_on(last, seen):
        return Kinds(None, float(epsilon), residuals)
    kinds = np.full(len(target), "outside", dtype="<U13")
    kinds[last.support_] = "free"
    kinds[_bounded_rows(last)] = "inside"
    return Kinds(kinds, float(epsilon), residuals)


def _bounded_rows(last: Any) -> BoolArray:
    """Training rows with a multiplier at its upper bound."""
    found = np.zeros(last.shape_fit_[0], dtype=bool)
    if hasattr(last, "machines_"):
        machine = last.machines_[0]
        found[machine.rows] = machine.bounded.reshape(-1, len(machine.rows)).any(axis=0)
    return found


def slack_segments(
    lattice: list[FloatArray],
    surface: FloatArray,
    positions: FloatArray,
    margins: FloatArray,
    signs: FloatArray,
    scale: FloatArray,
) -> FloatArray:
    """Segments from the rows with y f < 1 to the nearest point of the grid with f = y.

    Of shape (n_segments, 2, n_axes). ``margins`` is y f at the rows and ``scale`` the unit of distance along
    each axis. Drawn for the 400 rows with the largest slack, if their margin is in the plot.
    """
    rows = np.argsort(margins, kind="stable")[: min(_MOST_SEGMENTS, int((margins < 1 - _NEAR).sum()))]
    found = []
    for sign in (-1.0, 1.0):
        mine, line = rows[signs[rows] == sign], crossings(lattice, surface - sign)
        if len(mine) and len(line):
            _, nearest = cKDTree(line / scale).query(positions[mine] / scale)
            found.append(np.stack([positions[mine], line[nearest]], axis=1))
    return np.concatenate(found) if found else np.empty((0, 2, positions.shape[1]))


def crossings(lattice: list[FloatArray], surface: FloatArray) -> FloatArray:
    """Zeros of the surface along the grid lines by linear interpolation, of shape (n_points, n_axes)."""
    grids = np.meshgrid(*lattice, indexing="xy")
    found = []
    for axis in range(surface.ndim):
        before, after = _shifted(surface, axis)
        crossed = np.signbit(before) != np.signbit(after)
        share = before[crossed] / (before[crossed] - after[crossed])
        ends = [_shifted(grid, axis) for grid in grids]
        found.append(np.column_stack([a[crossed] + share * (b - a)[crossed] for a, b in ends]))
    return np.concatenate(found)


def _shifted(values: FloatArray, axis: int) -> tuple[FloatArray, FloatArray]:
    """Neighbours along an axis."""
    moved = np.moveaxis(values, axis, 0)
    return moved[:-1], moved[1:]
