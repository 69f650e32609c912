"""Linear programs for hinge-like losses with an l1 penalty or none, through HiGHS."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from maxmargin.base import work_clock
from maxmargin.base.typing import FloatArray
from maxmargin.problems.loss_penalty import LossPenalty
from maxmargin.problems.losses import EpsilonInsensitive, Hinge, ShiftedHinge
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.primal.augmented import AugmentedLagrangian
from maxmargin.solvers.primal.rows_near_corners import distance, near_rows
from maxmargin.solvers.stopping import GapCallback, stop_asked

_FEW = 1000  # programs with fewer rows are solved as they are
_ROWS_PER_COLUMN = 10
_SHARE = 8  # an eighth of the rows is near a corner at first
_SLACK = 1e-9  # HiGHS places rows on a corner to about 1e-9
_ENDS = {0: Status.CONVERGED, 1: Status.MAX_ITER, 2: Status.UNBOUNDED, 3: Status.UNBOUNDED, 4: Status.STALLED}


@dataclass(frozen=True, kw_only=True)
class LinearProgram:
    """min over w, b   sum_i c_i L(y_i, <w, x_i> + b) + sum_j l1_j |w_j|   as a linear program, exactly.

    For the hinge (robust linear program without penalty and l1-SVM: Gómez 2024, (2.10) and (2.14)) and the
    eps-insensitive loss. w = w+ - w- when there is a penalty; one slack per row (two for regression). The
    multipliers of the constraints are the losses' slopes.

    HiGHS gets the rows near a corner of their loss, and the means of the others (`near_rows`). Rows that turn
    out to be on another piece are added until there are none; the solution is then that of all rows. The
    first rows are those near the corners of ``start``, or of a rough solution. Cost: that of HiGHS on these
    rows.

    ``max_iter`` and ``n_iter`` count passes of n_samples + n_features steps of the simplex method.
    """

    tol: float = 1e-8
    max_iter: int = 2000
    presolve: bool = True  # off for small programs: it takes a third of their time and removes nothing

    def can_solve(self, problem: LossPenalty) -> bool:
        known = isinstance(problem.loss, ShiftedHinge | EpsilonInsensitive)
        return known and problem.penalty.convex and problem.penalty.l2 == 0

    def solve(
        self, problem: LossPenalty, *, start: FloatArray | None = None, callback: GapCallback | None = None
    ) -> Solution:
        began = work_clock.now()
        n, p = problem.X.shape
        limit = self.max_iter * (n + p)
        if n <= max(_FEW, _ROWS_PER_COLUMN * p):
            found = self._program(problem, limit)
            stop_asked(callback, found.n_iter, problem.value(found.x))  # HiGHS cannot be interrupted
            return replace(found, n_iter=-(-found.n_iter // (n + p)), seconds=work_clock.now() - began)
        theta = self._guess(problem) if start is None else start
        f = problem.scores(theta)
        slopes = problem.loss.slope(f, problem.y)
        size = distance(problem, f)
        near = size <= np.partition(size, n // _SHARE)[n // _SHARE]
        steps = 0
        while True:
            rows = near_rows(problem, near, slopes)
            found = self._program(rows.part, limit - steps)
            steps += found.n_iter
            f = problem.scores(found.x)
            wrong = ~near & (problem.loss.slope(f, problem.y) != slopes) & (distance(problem, f) > _SLACK)
            asked = stop_asked(callback, steps, problem.value(found.x))
            if not wrong.any() or found.status is not Status.CONVERGED:
                break
            if asked:
                found = replace(found, status=Status.INTERRUPTED)
                break
            near |= wrong
        return replace(
            found,
            multipliers=rows.expanded(found.multipliers),
            n_iter=-(-steps // (n + p)),
            seconds=work_clock.now() - began,
        )

    def _guess(self, problem: LossPenalty) -> FloatArray:
        """A solution accurate to about 1 %: that with a small l2 penalty."""
        l2 = 0.01 * max(float(np.mean(problem.penalty.l1)), 1e-3 * float(problem.c.sum()) / len(problem.c))
        rough = AugmentedLagrangian(tol=1e-2, max_iter=200)
        return rough.solve(replace(problem, penalty=replace(problem.penalty, l2=l2))).x

    def _program(self, problem: LossPenalty, limit: int) -> Solution:
        """The linear program of all rows of a problem, in at most ``limit`` steps of the simplex method."""
        n, p = problem.X.shape
        table = sparse.csr_array(problem.X.X)
        signs, edges = _sides(problem)
        rows = len(edges) // n
        bias = np.full((n, 1), 1.0 if problem.fit_intercept else 0.0)
        halves: list[Any] = [table] if problem.penalty.smooth else [table, -table]
        linear: Any = sparse.hstack([*halves, sparse.csr_array(bias)])
        A = sparse.vstack([sparse.diags_array(side) @ linear for side in signs.reshape(rows, n)])
        A = sparse.hstack([-A, -sparse.eye_array(rows * n)], format="csr")
        weights = np.broadcast_to(np.asarray(problem.penalty.l1, dtype=float), p)
        w_cost = np.tile(weights, 2) if not problem.penalty.smooth else np.zeros(p)
        lowest = np.full(A.shape[1], -np.inf)
        lowest[len(w_cost) + 1 :] = 0.0
        if not problem.penalty.smooth:
            lowest[: 2 * p] = 0.0
        scale = min(1.0, float(problem.c.max()))  # HiGHS's tolerances are absolute: no slack costs less
        answer = linprog(
            np.concatenate([w_cost, [0.0], np.tile(problem.c, rows)]) / scale,
            A_ub=A,
            b_ub=-edges,
            bounds=np.stack([lowest, np.full(len(lowest), np.inf)], axis=1),
            method="highs",
            options={"maxiter": limit, "presolve": self.presolve},
        )
        status = _ENDS.get(answer.status, Status.STALLED)
        x = np.zeros(len(w_cost) + 1) if answer.x is None else answer.x
        w = x[:p] - x[p : 2 * p] if not problem.penalty.smooth else x[:p]
        b = float(x[len(w_cost)]) if problem.fit_intercept else 0.0
        marginals = np.zeros(rows * n) if answer.x is None else scale * answer.ineqlin.marginals
        u = (signs * marginals).reshape(rows, n).sum(axis=0)
        return Solution(x=np.append(w, b), multipliers=u, status=status, n_iter=int(answer.nit), seconds=0.0)


def _sides(problem: LossPenalty) -> tuple[FloatArray, FloatArray]:
    """Constraints sign * f + slack >= edge, one row each; regression has two per sample."""
    y = problem.y
    if isinstance(problem.loss, EpsilonInsensitive):
        epsilon = problem.loss.epsilon
        # f - y <= eps + slack  and  y - f <= eps + slack
        return np.concatenate([-np.ones(len(y)), np.ones(len(y))]), np.concatenate(
            [-y - epsilon, y - epsilon]
        )
    assert isinstance(problem.loss, Hinge | ShiftedHinge)
    return y, np.full(len(y), problem.loss.edge)
