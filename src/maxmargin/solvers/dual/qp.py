"""Quadratic programming: the whole matrix at once, by an interior-point method (clarabel).

This is the textbook approach, and the reference for the tests of all other solvers. It needs all n^2 kernel
values and factorises matrices of that size, O(n^3) per iteration: a few thousand rows at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.base.memory import cache_bytes
from maxmargin.base.progress import Callback, SolverProgress
from maxmargin.base.typing import FloatArray
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.dual.bounded_points import fixed_sums, points_on_bounds
from maxmargin.solvers.settings import DualSolver
from maxmargin.solvers.stopping import Budget
from maxmargin.solvers.trace import Tracer, Work

_STATUS = {
    "Solved": Status.CONVERGED,
    "AlmostSolved": Status.CONVERGED,
    "MaxIterations": Status.MAX_ITER,
    "MaxTime": Status.TIME_LIMIT,
}
_LIMITS = (Status.MAX_ITER, Status.TIME_LIMIT)
_ENOUGH = 0.1  # of tol, after which variables no longer move
_EXACTNESS = 1e-5  # factor on tol for the interior point, before variables move onto their bounds


@dataclass(frozen=True, kw_only=True, repr=False)
class QP(DualSolver):
    """The reference: clarabel on the whole matrix (``pip install maxmargin[qp]``).

    ``max_iter`` counts interior-point iterations. An interior point cannot use a start.

    >>> import maxmargin as mm
    >>> model = mm.SVC(solver="qp").fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> model.certificate_.kkt <= model.tol
    True
    """

    warm_starts = False
    needs_sums = False

    def check(self, problem: BoxQP) -> None:
        if not problem.convex:
            raise ValueError(
                f"solver='qp' needs a positive semidefinite kernel, which {problem.Q.kernel!r} need not "
                "be: use solver='working_set' or 'smo'."
            )
        needed, allowed = 8 * len(problem) ** 2, cache_bytes(self.cache_size)
        if needed > allowed:
            raise ValueError(
                f"solver='qp' needs the whole matrix of {len(problem)} multipliers "
                f"({needed / 2**20:.3g} MB), cache_size allows {allowed / 2**20:.3g} MB: use solver='smo'."
            )

    def solve(
        self, problem: BoxQP, *, start: FloatArray | None = None, callback: Callback | None = None
    ) -> Solution:
        clarabel = _clarabel()
        self.check(problem)
        budget = Budget(self.max_iter, self.time_limit)
        K = problem.Q.kernel.gram(problem.Q.points.astype(np.float64), n_threads=self.n_threads)
        Q = _hessian(problem, K)
        statement = _statement(clarabel, problem, Q)
        points, n_iter = [], 0
        for equilibrate in (True, False):  # at some scales rounding makes it give up
            settings = self._settings(clarabel, equilibrate, budget, n_iter)
            answer = clarabel.DefaultSolver(*statement, settings).solve()
            n_iter += int(answer.iterations)
            points.append(_Point.of(problem, K, Q, answer, self.tol))
            limited = points[-1].status in _LIMITS or budget.exhausted(n_iter)
            if limited or points[-1].violation <= self.tol:
                break
        best = min(points, key=lambda point: point.violation)
        reached = best.status is Status.STALLED and best.violation <= self.tol  # by steps on the bounds
        if callback is not None:
            callback(SolverProgress(n_iter, best.violation, len(best.v), budget.seconds))
        return Solution(
            x=best.a,
            multipliers=problem.multipliers(best.g, best.a),
            status=Status.CONVERGED if reached else best.status,
            n_iter=n_iter,
            seconds=budget.seconds,
            gradient=best.g,
            trace=_trace(problem, K, best) if self.trace else None,
            kernel_values=K.size,
        )

    def _settings(self, clarabel: Any, equilibrate: bool, budget: Budget, n_iter: int) -> Any:
        exactness, settings = max(_EXACTNESS * self.tol, 1e-11), clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = exactness
        settings.equilibrate_enable = equilibrate
        settings.max_iter = budget.steps_left(
            n_iter, settings.max_iter if self.max_iter < 0 else self.max_iter
        )
        if self.time_limit is not None:
            settings.time_limit = max(0.0, self.time_limit - budget.seconds)
        return settings


@dataclass(frozen=True)
class _Point:
    """An answer of the interior point on its bounds, with K beta, its gradient and the largest violation."""

    a: FloatArray
    v: FloatArray
    g: FloatArray
    violation: float
    status: Status

    @classmethod
    def of(cls, problem: BoxQP, K: FloatArray, Q: FloatArray, answer: Any, tol: float) -> _Point:
        """The best of the points on their bounds; the first one within tol ends the search."""
        status, points = _STATUS.get(str(answer.status), Status.STALLED), []
        a = np.clip(np.nan_to_num(np.asarray(answer.x)) * _unit(problem), 0.0, problem.C)
        prices = np.asarray(answer.z)[len(fixed_sums(problem)) :]
        for on_bounds in points_on_bounds(problem, Q, a, prices):
            v = K @ problem.Q.weights(on_bounds)
            g = problem.signed_gradient(on_bounds, v[problem.Q.row])
            points.append(cls(on_bounds, v, g, problem.violation(g, on_bounds), status))
            if points[-1].violation <= _ENOUGH * tol:
                break
        return min(points, key=lambda point: point.violation)


def _clarabel() -> Any:
    try:
        import clarabel
    except ImportError as error:
        raise ImportError("solver='qp' needs clarabel: pip install 'maxmargin[qp]'.") from error
    return clarabel


def _unit(problem: BoxQP) -> float:
    """The unit of clarabel's variables, because its tolerance is absolute for objectives below 1."""
    return min(1.0, float(problem.C.max()))


def _hessian(problem: BoxQP, K: FloatArray) -> FloatArray:
    row, sign = problem.Q.row, problem.Q.sign
    return np.asarray(np.outer(sign, sign) * K[np.ix_(row, row)] + np.diag(problem.d))


def _statement(clarabel: Any, problem: BoxQP, Q: FloatArray) -> tuple[Any, ...]:
    """min 1/2 a'Qa + p'a with A a + slack = b, slack in cones: the equalities, a >= 0, a <= C."""
    m = len(problem)
    finite = np.flatnonzero(np.isfinite(problem.C))
    sums = fixed_sums(problem)
    groups = sp.csr_array((problem.s, (problem.group, np.arange(m))), (len(problem.delta), m))
    upper = sp.eye_array(m, format="csr")[finite]
    A = sp.vstack([groups[: len(sums)], -sp.eye_array(m), upper]).tocsc()
    b = np.concatenate([sums, np.zeros(m), problem.C[finite]])
    cones = [clarabel.ZeroConeT(len(sums)), clarabel.NonnegativeConeT(m + len(finite))]
    unit = _unit(problem)
    return sp.csc_matrix(np.triu(Q) * unit), problem.p, sp.csc_matrix(A), b / unit, cones


def _trace(problem: BoxQP, K: FloatArray, point: _Point) -> Any:
    """One step from the start to the solution, because an interior point moves all rows at once."""
    work = Work()
    work.kernel_values = K.size
    v0 = K @ problem.Q.weights(problem.start)
    g0 = problem.signed_gradient(problem.start, v0[problem.Q.row])
    tracer = Tracer(problem, problem.start, v0, work)
    change = problem.s * (g0 + point.g)
    tracer.step(np.arange(len(point.a)), problem.start.copy(), point.a, change, n_active=len(point.v))
    tracer.describe_all(point.a, point.v)
    return tracer.frame()
