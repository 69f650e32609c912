"""The hard margin through the nearest points of the two convex hulls."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from maxmargin.base.progress import Callback
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.kernels.kernel_products import kernel_times
from maxmargin.kernels.points import VectorPoints
from maxmargin.kernels.vectors import columns_of
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.formulations import NearestHulls
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.certified import remaining
from maxmargin.solvers.primal.separation import meeting_point
from maxmargin.solvers.settings import DualSolver
from maxmargin.solvers.trace import joined

_DOUBTFUL = 1e-9  # squared distance of the hulls, relative to the largest K(x, x), that needs a second look
_ROUNDING = 1e-14  # ... and that may be due to rounding alone


class NotSeparableError(ValueError):
    """No hyperplane separates the classes in this feature space, with the proof.

    The convex combination ``positive_weights`` of the rows ``positive_rows`` equals the convex combination
    ``negative_weights`` of ``negative_rows``, up to rounding: that of their columns for linear and
    polynomial kernels, else that of kernel values, which is larger. ``distance`` is computed from kernel
    values.

    >>> import maxmargin as mm
    >>> try:
    ...     mm.HardMarginSVC(kernel="linear").fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    ... except mm.NotSeparableError as error:
    ...     print(str(error)[:60])
    the classes are not linearly separable in this feature space
    """

    def __init__(
        self, rows: IntArray, weights: FloatArray, signs: FloatArray, distance: float, *, proved: bool = True
    ) -> None:
        used = weights > 0
        self.positive_rows = rows[used & (signs > 0)]
        self.positive_weights = weights[used & (signs > 0)]
        self.negative_rows = rows[used & (signs < 0)]
        self.negative_weights = weights[used & (signs < 0)]
        self.distance = distance
        doubt = "" if proved else ", as far as kernel values in float64 show"
        super().__init__(
            f"the classes are not linearly separable in this feature space{doubt}: a convex combination of "
            f"{len(self.positive_rows)} rows of one class equals one of {len(self.negative_rows)} rows "
            f"of the other (distance {distance:.2g}; the rows and weights are on this error). "
            "Use a finite C, or a richer kernel."
        )


@dataclass(frozen=True)
class HullStart:
    """Start multipliers, the settings with the remaining limits, and the steps taken so far."""

    x: FloatArray
    solver: DualSolver
    n_iter: int
    trace: pd.DataFrame | None


def hard_margin_start(
    hard: BoxQP, signs: FloatArray, solver: DualSolver, rows: IntArray, callback: Callback | None = None
) -> HullStart:
    """A start for the hard-margin dual ``hard`` that already solves it to tol.

    With w = sum a_i y_i phi(x_i) between the nearest points of the hulls, the hard-margin multipliers are
    2 a / ||w||^2. A violation of the hull problem is multiplied by 2 / ||w||^2 in the hard-margin problem, so
    the tolerance depends on the distance found. If that may be rounding error only, `meeting_point` decides:
    raises NotSeparableError with a proof, or ValueError if float64 does not suffice.
    """
    kernel, points = hard.Q.kernel, hard.Q.points
    problem = NearestHulls().build(kernel, points, signs, np.ones(len(points)))
    solver.check(problem)
    largest = float(np.abs(kernel.diagonal(points)).max(initial=1e-300))
    zero, floor = _DOUBTFUL * largest, _ROUNDING * largest
    tol = 0.1 * max(_squared_distance(problem.start, problem), zero)
    start: FloatArray = problem.start
    left = solver
    n_iter = 0
    traces = []
    while True:
        solution: Solution = replace(left, tol=tol).solve(problem, start=start, callback=callback)
        traces.append(solution.trace)
        left = remaining(left, solution)
        start = solution.x
        n_iter += solution.n_iter
        square = _squared_distance(start, problem)
        if square <= zero:
            if zero > floor:
                _check_separable(hard, signs, start, square, rows)
            zero = floor
            if square <= floor:
                raise _too_narrow(square, largest)
        if 2 * tol / square <= solver.tol or solution.status is not Status.CONVERGED:
            trace = _scaled_trace(hard, joined(traces), 2 / square) if solver.trace else None
            return HullStart(2 * start / square, left, n_iter, trace)
        tol = 0.4 * min(solver.tol * square, 2 * tol)


def _check_separable(hard: BoxQP, signs: FloatArray, a: FloatArray, square: float, rows: IntArray) -> None:
    """Return if a hyperplane is proved to separate the classes; otherwise raise an error."""
    kernel, points = hard.Q.kernel, hard.Q.points
    weights = _equal_rows(points, signs)
    proved = True
    if weights is None and (columns := columns_of(kernel, points)) is not None:
        found = meeting_point(columns, signs)
        if found.separates:
            return
        weights = found.weights
    elif weights is None and not getattr(kernel, "centred", False):  # kernels of differences always separate
        lengths = np.sqrt(np.abs(kernel.diagonal(points)))
        noise = 1e-15 * len(points) * float(a @ lengths) ** 2  # rounding of this very combination
        weights, proved = a if square <= noise else None, False
    if weights is None:
        raise ValueError(
            "could not decide in float64 whether a hyperplane separates the classes: their convex hulls are "
            f"{np.sqrt(max(square, 0.0)):.2g} apart in feature space, too close for kernel values of this "
            "size. Scale the columns, use a finite C, or another kernel."
        )
    distance = np.sqrt(max(_squared_distance(weights, hard), 0.0))
    raise NotSeparableError(rows, weights, signs, float(distance), proved=proved)


def _too_narrow(square: float, largest: float) -> ValueError:
    return ValueError(
        "a hyperplane separates the classes, but kernel values in float64 do not show the one with the "
        f"widest margin: the distance of the convex hulls, {np.sqrt(max(square, 0.0)):.2g} as computed, is "
        f"within the rounding of products of rows as long as {np.sqrt(largest):.2g}. Scale the columns so "
        "that all have a similar spread."
    )


def _equal_rows(points: Any, signs: FloatArray) -> FloatArray | None:
    """Weight 1 for two equal rows of different classes, or None if there are none."""
    if not isinstance(points, VectorPoints):
        return None
    first = points.first_equals()
    other = np.flatnonzero(signs != signs[first])
    if not len(other):
        return None
    weights = np.zeros(len(signs))
    weights[[other[0], first[other[0]]]] = 1.0
    return weights


def _scaled_trace(hard: BoxQP, trace: pd.DataFrame, factor: float) -> pd.DataFrame:
    """The steps on the hulls as steps of the hard-margin dual, scaled by ``factor``."""
    a, v = np.zeros(len(hard)), np.zeros(len(hard))
    lines = []
    for variables, before, after in zip(trace["variables"], trace["before"], trace["after"], strict=True):
        change = factor * after - a[variables]
        moved = variables[change != 0]
        weights = hard.Q.sign[moved] * change[change != 0]
        v += kernel_times(hard.Q.kernel, hard.Q.points, hard.Q.points.take(moved), weights)
        a[variables] = factor * after
        g = hard.signed_gradient(a, v)
        multipliers = hard.multipliers(g, a)
        primal, dual = hard.values(a, v, multipliers)
        violation = hard.violation(g, a)
        lines.append((factor * before, a[variables], -dual, primal, primal - dual, violation, multipliers))
    names = ["before", "after", "objective", "primal", "gap", "violation", "multipliers"]
    return trace.assign(**dict(zip(names, zip(*lines, strict=True), strict=True)))


def _squared_distance(a: FloatArray, problem: Any) -> float:
    support = np.flatnonzero(a)
    return float(problem.Q.weights(a)[support] @ problem.Q.times(a, support))
