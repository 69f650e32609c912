"""Dual coordinate descent with shrinking and a free intercept."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from maxmargin.base import work_clock
from maxmargin.base.typing import FloatArray
from maxmargin.compute.primal.dual_descent import DescentPoint, RowLoss, descent_pass
from maxmargin.compute.tables.table_rows import rows_of
from maxmargin.problems.loss_penalty import LossPenalty, closed
from maxmargin.problems.losses import (
    EpsilonInsensitive,
    Hinge,
    Logistic,
    Loss,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.stopping import GapCallback, stop_asked

_KNOWN: dict[type[Loss], RowLoss] = {
    Hinge: RowLoss(margin=True, squared=False, logistic=False, epsilon=0.0),
    SquaredHinge: RowLoss(margin=True, squared=True, logistic=False, epsilon=0.0),
    EpsilonInsensitive: RowLoss(margin=False, squared=False, logistic=False, epsilon=0.0),
    SquaredEpsilonInsensitive: RowLoss(margin=False, squared=True, logistic=False, epsilon=0.0),
    Logistic: RowLoss(margin=False, squared=False, logistic=True, epsilon=0.0),
}


@dataclass(frozen=True, kw_only=True)
class DualCoordinateDescent:
    """min over w, b   sum_i c_i L(y_i, <w, x_i> + b) + l2/2 ||w||^2   one dual variable at a time.

    For hinge, squared hinge, eps-insensitive, squared eps-insensitive and logistic losses; rows dense or CSR.
    Cost of a pass: one product with X.

    The dual of the free intercept is the constraint sum a_i = 0, which single coordinates cannot keep. It is
    reached by proximal steps on b: between the passes b <- b + step * sum a_i, and inside a pass b follows
    the variables with the same step. At a fixed point sum a_i = 0, so that the intercept is not penalised.

    A ``start`` is a primal point and does not determine the dual variables: they start at 0.

    References: Hsieh et al. 2008 (algorithm 1 and shrinking), Ho & Lin 2012 (regression), Yu et al. 2011
    (logistic), Rockafellar 1976 (proximal steps).
    """

    tol: float = 1e-4
    max_iter: int = 2000
    random_state: int = 0

    def can_solve(self, problem: LossPenalty) -> bool:
        return type(problem.loss) in _KNOWN and problem.penalty.smooth and problem.penalty.l2 > 0

    def solve(
        self, problem: LossPenalty, *, start: FloatArray | None = None, callback: GapCallback | None = None
    ) -> Solution:
        began = work_clock.now()
        sweep = _Sweep(problem, self.random_state)
        status, best, dual = Status.MAX_ITER, inf, -inf
        theta: FloatArray = sweep.theta()
        u: FloatArray = -sweep.a
        passes, batch = 0, 6  # a check costs as much as two or three passes
        while passes < self.max_iter:
            batch = min(batch, self.max_iter - passes)
            sweep.run(batch)
            passes += batch
            primal = problem.value(sweep.theta())
            value, slopes, _ = problem.dual_value(-sweep.a)
            if primal < best:
                best, theta = primal, sweep.theta()
            if value > dual:
                dual, u = value, slopes
            asked = stop_asked(callback, passes, best)
            if closed(best - dual, dual, self.tol, problem.rounding):
                status = Status.CONVERGED
                break
            if asked:
                status = Status.INTERRUPTED
                break
            sweep.wake()
            batch = 4 if passes < 40 else 10
        return Solution(
            x=theta, multipliers=u, status=status, n_iter=passes, seconds=work_clock.now() - began
        )


class _Sweep:
    """The state of the descent: dual variables a, w, b, and the active rows."""

    def __init__(self, problem: LossPenalty, seed: int) -> None:
        epsilon = float(getattr(problem.loss, "epsilon", 0.0))
        self.loss = _KNOWN[type(problem.loss)]._replace(epsilon=epsilon)
        self.problem, self.seed = problem, seed
        self.rows = rows_of(problem.X.X)
        n, p = problem.X.shape
        l2 = problem.penalty.l2
        norms = problem.X.squared_norms() / l2
        # a tenth of a typical row's step: larger ones make the intercept oscillate, smaller ones are slow
        self.bias_step = 0.1 * float(norms.mean()) if problem.fit_intercept else 0.0
        facts = np.column_stack(
            [problem.y, problem.c, np.maximum(norms + self.bias_step, 1e-12), np.zeros(n)]
        )
        self.facts, self.a = facts.reshape(-1), facts[:, 3]
        self.w = np.zeros(p)
        self.state = np.array([0.0, 0.0, np.inf])
        self.used = np.flatnonzero(problem.c > 0).astype(np.uint32)
        self.wake()

    def wake(self) -> None:
        """Make all rows active again."""
        self.active, self.n_active = self.used.copy(), len(self.used)

    def run(self, n_passes: int) -> None:
        self.seed += 1
        point = DescentPoint(self.facts, self.w, self.state, self.active)
        inverse_l2 = 1.0 / self.problem.penalty.l2
        for number in range(n_passes):
            seed = self.seed * n_passes + number
            self.n_active = descent_pass(
                self.loss, self.rows, point, self.n_active, inverse_l2, self.bias_step, seed
            )
        self.state[0] += self.bias_step * float(self.a.sum())

    def theta(self) -> FloatArray:
        return np.append(self.w, self.state[0])
