"""Newton's method from a good start: the solution on a sample of the rows, or some passes of descent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin.base.typing import FloatArray
from maxmargin.problems.loss_penalty import LossPenalty
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.primal.dual_coordinate import DualCoordinateDescent
from maxmargin.solvers.primal.newton import Newton
from maxmargin.solvers.stopping import GapCallback

_SMALLEST = 2000
ROWS_PER_COLUMN = 30  # rows per column: with fewer, Hessians cost as much on the sample as on all rows
_SHARE = 8


def sample_start(
    problem: LossPenalty, solver: Any, rows_per_column: int = ROWS_PER_COLUMN
) -> FloatArray | None:
    """The solution on an eighth of the rows, or None if these are too few.

    If n is much larger than p, the first iterations on all rows only find what a sample shows as well. The
    sample is solved to an accuracy that matches its size, p / m for m rows.
    """
    n, p = problem.X.shape
    m = n // _SHARE
    if m < max(_SMALLEST, rows_per_column * p):
        return None
    rows = np.sort(np.random.default_rng(0).choice(n, size=m, replace=False))
    c = problem.c[rows] * (problem.c.sum() / max(problem.c[rows].sum(), 1e-300))
    sample = replace(problem, X=problem.X.take(rows), y=problem.y[rows], c=c)
    if problem.loss.margin and len(np.unique(sample.y[c > 0])) < 2:
        return None
    rough = replace(solver, tol=max(solver.tol, 0.3 * p / m))
    solution: Solution = rough.solve(sample)
    return solution.x


@dataclass(frozen=True, kw_only=True)
class DescentThenNewton:
    """Dual coordinate descent, followed by Newton's method if 40 passes are not enough.

    ``max_iter`` counts passes and Newton steps together; a ``start`` goes to Newton's method at once.

    For wide sparse tables and the squared hinge: with moderate C a few passes reach the optimum, which is
    cheaper than one conjugate gradient; with large C descent is slow and Newton's method is not.
    """

    tol: float = 1e-4
    max_iter: int = 100
    random_state: int = 0
    passes: int = 40

    def can_solve(self, problem: LossPenalty) -> bool:
        newton, descent = Newton(), DualCoordinateDescent()
        return newton.can_solve(problem) and descent.can_solve(problem)

    def solve(
        self, problem: LossPenalty, *, start: FloatArray | None = None, callback: GapCallback | None = None
    ) -> Solution:
        newton = Newton(tol=self.tol, max_iter=self.max_iter)
        if start is not None:
            return newton.solve(problem, start=start, callback=callback)
        passes = min(self.passes, self.max_iter)
        descent = DualCoordinateDescent(tol=self.tol, max_iter=passes, random_state=self.random_state)
        first = descent.solve(problem, callback=callback)
        if first.status is not Status.MAX_ITER or first.n_iter >= self.max_iter:
            return first
        newton = replace(newton, max_iter=self.max_iter - first.n_iter)
        second = newton.solve(problem, start=first.x, callback=callback)
        return replace(second, n_iter=first.n_iter + second.n_iter, seconds=first.seconds + second.seconds)
