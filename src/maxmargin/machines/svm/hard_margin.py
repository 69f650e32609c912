"""The hard margin through the nearest points of the two convex hulls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.kernels.base import Kernel
from maxmargin.problems.formulations import NearestHulls
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.certified import remaining
from maxmargin.solvers.settings import DualSolver

_ZERO = 1e-9  # squared distance of the hulls, relative to the largest K(x, x), that counts as none


class NotSeparableError(ValueError):
    """No hyperplane separates the classes in this feature space, with the proof.

    The convex combination ``positive_weights`` of the rows ``positive_rows`` equals, up to ``distance`` in
    feature space, the convex combination ``negative_weights`` of ``negative_rows``.
    """

    def __init__(self, rows: IntArray, weights: FloatArray, signs: FloatArray, distance: float) -> None:
        used = weights > 0
        self.positive_rows = rows[used & (signs > 0)]
        self.positive_weights = weights[used & (signs > 0)]
        self.negative_rows = rows[used & (signs < 0)]
        self.negative_weights = weights[used & (signs < 0)]
        self.distance = distance
        super().__init__(
            "the classes are not linearly separable in this feature space: a convex combination of "
            f"{len(self.positive_rows)} rows of one class equals one of {len(self.negative_rows)} rows "
            f"of the other (distance {distance:.2g}; the rows and weights are on this error). "
            "Use a finite C, or a richer kernel."
        )


def hard_margin_start(
    kernel: Kernel, points: Any, signs: FloatArray, solver: DualSolver, rows: IntArray
) -> tuple[FloatArray, DualSolver, int]:
    """A start for the hard-margin dual that already is its solution up to tol.

    Also the settings with what is left of max_iter and time_limit, and the steps made.

    With w = sum a_i y_i phi(x_i) between the nearest points of the hulls, the hard-margin multipliers are
    2 a / ||w||^2. A violation of the hull problem counts 2 / ||w||^2 times in the hard-margin problem, so the
    tolerance follows the distance that is found. Raises NotSeparableError when the distance is zero.
    """
    problem = NearestHulls().build(kernel, points, signs, np.ones(len(points)))
    solver.check(problem)
    zero = _ZERO * float(np.abs(kernel.diagonal(points)).max(initial=1e-300))
    tol = 0.1 * max(_squared_distance(problem.start, problem), zero)
    start: FloatArray = problem.start
    left = solver
    n_iter = 0
    while True:
        solution: Solution = replace(left, tol=tol, trace=False).solve(problem, start=start)
        left = remaining(left, solution)
        start = solution.x
        n_iter += solution.n_iter
        square = _squared_distance(start, problem)
        if square <= zero:
            raise NotSeparableError(rows, start, signs, float(np.sqrt(max(square, 0.0))))
        if 2 * tol / square <= solver.tol or solution.status is not Status.CONVERGED:
            return 2 * start / square, left, n_iter
        tol = 0.4 * min(solver.tol * square, 2 * tol)


def _squared_distance(a: FloatArray, problem: Any) -> float:
    support = np.flatnonzero(a)
    return float(problem.Q.weights(a)[support] @ problem.Q.times(a, support))
