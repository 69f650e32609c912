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
from maxmargin.base.typing import BoolArray, FloatArray
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.settings import DualSolver
from maxmargin.solvers.stopping import Budget
from maxmargin.solvers.trace import Tracer, Work

_STATUS = {
    "Solved": Status.CONVERGED,
    "AlmostSolved": Status.CONVERGED,
    "MaxIterations": Status.MAX_ITER,
    "MaxTime": Status.TIME_LIMIT,
}
_ROUNDING = 1e-13
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
                f"solver='qp' needs the whole matrix of {len(problem)} multipliers ({needed >> 20} MB), "
                f"cache_size allows {allowed >> 20} MB: use solver='smo'."
            )

    def solve(
        self, problem: BoxQP, *, start: FloatArray | None = None, callback: Callback | None = None
    ) -> Solution:
        clarabel = _clarabel()
        self.check(problem)
        budget = Budget(self.max_iter, self.time_limit)
        K = problem.Q.kernel.gram(problem.Q.points.astype(np.float64), n_threads=self.n_threads)
        answer = clarabel.DefaultSolver(*_statement(clarabel, problem, K), self._settings(clarabel)).solve()
        a = _on_bounds(problem, answer)
        v = K @ problem.Q.weights(a)
        g = problem.signed_gradient(a, v[problem.Q.row])
        if callback is not None:
            callback(SolverProgress(answer.iterations, problem.violation(g, a), len(v), budget.seconds))
        return Solution(
            x=a,
            multipliers=problem.multipliers(g, a),
            status=_STATUS.get(str(answer.status), Status.STALLED),
            n_iter=int(answer.iterations),
            seconds=budget.seconds,
            gradient=g,
            trace=_trace(problem, K, a, v, g) if self.trace else None,
            kernel_values=K.size,
        )

    def _settings(self, clarabel: Any) -> Any:
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = max(_EXACTNESS * self.tol, 1e-11)
        if self.max_iter >= 0:
            settings.max_iter = self.max_iter
        if self.time_limit is not None:
            settings.time_limit = self.time_limit
        return settings


def _clarabel() -> Any:
    try:
        import clarabel
    except ImportError as error:
        raise ImportError("solver='qp' needs clarabel: pip install 'maxmargin[qp]'.") from error
    return clarabel


def _statement(clarabel: Any, problem: BoxQP, K: FloatArray) -> tuple[Any, ...]:
    """min 1/2 a'Pa + q'a with A a + slack = b, slack in cones: the equalities, a >= 0, a <= C."""
    m = len(problem)
    row, sign = problem.Q.row, problem.Q.sign
    Q = np.outer(sign, sign) * K[np.ix_(row, row)] + np.diag(problem.d)
    finite = np.flatnonzero(np.isfinite(problem.C))
    sums = _fixed_sums(problem)
    groups = sp.csr_array((problem.s, (problem.group, np.arange(m))), (len(problem.delta), m))
    upper = sp.eye_array(m, format="csr")[finite]
    A = sp.vstack([groups[: len(sums)], -sp.eye_array(m), upper]).tocsc()
    b = np.concatenate([sums, np.zeros(m), problem.C[finite]])
    cones = [clarabel.ZeroConeT(len(sums)), clarabel.NonnegativeConeT(m + len(finite))]
    return sp.csc_matrix(np.triu(Q)), problem.p, sp.csc_matrix(A), b, cones


def _fixed_sums(problem: BoxQP) -> FloatArray:
    return problem.delta if problem.fixed_sums else problem.delta[:0]


def _on_bounds(problem: BoxQP, answer: Any) -> FloatArray:
    """The solution with active variables moved exactly onto their bounds, and exact equalities.

    An interior point keeps a small distance from the bounds. A bound is active if its multiplier is larger
    than the distance; the free variables of the group compensate for the change in the equality.
    """
    m, n_groups = len(problem), len(_fixed_sums(problem))
    a = np.clip(np.nan_to_num(np.asarray(answer.x)), 0.0, problem.C)
    prices = np.asarray(answer.z)[n_groups:]
    finite = np.isfinite(problem.C)
    at_upper = np.zeros(m, dtype=bool)
    at_upper[finite] = prices[m:] > (problem.C - a)[finite]
    at_lower = (prices[:m] > a) & ~at_upper
    a[at_lower], a[at_upper] = 0.0, problem.C[at_upper]
    for k in range(n_groups):
        mine = problem.group == k
        _restore(problem, a, k, mine & ~(at_lower | at_upper))
        _restore(problem, a, k, mine)  # if no variable is free
    return a


def _restore(problem: BoxQP, a: FloatArray, k: int, movable: BoolArray) -> None:
    """Move variables of group k, each in proportion to its room, until their sum is right up to rounding."""
    mine = problem.group == k
    missing = float(problem.delta[k] - problem.s[mine] @ a[mine])
    if abs(missing) <= _ROUNDING * float(a[mine].sum()):
        return
    direction = np.sign(missing) * problem.s
    above = np.where(np.isfinite(problem.C), problem.C - a, a + 1.0)
    room = np.where(movable, np.where(direction > 0, above, a), 0.0)
    if room.sum() > 0:
        a += direction * room * min(1.0, abs(missing) / room.sum())
        np.clip(a, 0.0, problem.C, out=a)


def _trace(problem: BoxQP, K: FloatArray, a: FloatArray, v: FloatArray, g: FloatArray) -> Any:
    """One step from the start to the solution, because an interior point moves all rows at once."""
    work = Work()
    work.kernel_values = K.size
    v0 = K @ problem.Q.weights(problem.start)
    g0 = problem.signed_gradient(problem.start, v0[problem.Q.row])
    tracer = Tracer(problem, problem.start, v0, work)
    tracer.step(np.arange(len(a)), problem.start.copy(), a, problem.s * (g0 + g), n_active=len(v))
    tracer.describe_all(a, v)
    return tracer.frame()
