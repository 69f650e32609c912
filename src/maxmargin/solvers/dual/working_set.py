"""The dual engine: large working sets outside, sequential minimal optimisation inside.

Each round chooses the worst violators of both sides (half of the last working set stays), solves that block
with SMO while it is in the cache, and then updates the gradient of all points with the kernel rows of the
changed variables. Variables that cannot move are set aside (shrinking); before the engine stops, it updates
their gradient and checks all variables again. Kernel rows are float32 while that is precise enough: the
difference to float64 is measured on a sample. If it matters, the gradient is computed again in float64; if
that does not suffice, the rows become float64 too.

The working-set decomposition is that of Osuna, Freund & Girosi (1997) and Joachims (1999), the inner solver
that of Platt (1999) with the second-order selection of Fan, Chen & Lin (2005).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.base.memory import cache_bytes
from maxmargin.base.progress import Callback
from maxmargin.base.threads import single_threaded_blas
from maxmargin.base.typing import BoolArray, FloatArray, IntArray
from maxmargin.compute.dual import block_solver as dual
from maxmargin.compute.dual.block_solver import Signed
from maxmargin.compute.dual.row_store import release_pages
from maxmargin.kernels.kernel_products import kernel_times
from maxmargin.kernels.points import VectorPoints, beyond_float32, for_engine
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.dual.active_points import ActivePoints
from maxmargin.solvers.dual.dual_state import SignedState, settled
from maxmargin.solvers.dual.gram.gram_problem import GramProblem, Watch
from maxmargin.solvers.dual.gram.interior_point import MOST_POINTS
from maxmargin.solvers.settings import DualSolver
from maxmargin.solvers.trace import Tracer

_SMALL = 2000  # points up to which the whole Gram matrix is computed first
_PROBE, _DRIFT = 256, 0.25  # rows on which float32 is compared with float64, and the share of tol allowed
_FEWER, _LESS = 64, 0.2  # the same where rows are expensive: the largest of fewer differences is smaller
_REFRESHES = 2  # recomputations of v in float64, after which the rows become float64 too
_BLOCK = 8192  # points recomputed together: their columns in float64 take memory
_SMALLEST_RIDGE = 1e-4  # of the largest K(x, x): float32 rows with a smaller one need not be convex
_NARROW = 32  # columns below which a row is only stored when it is needed again: memory costs more
_MIDDLE = 128  # the same where the memory is not kept between fits, because fresh pages cost more
_WIDE = 192  # columns from which a kernel row costs more than the memory to store it
_STORE_SHARE = 0.85  # of cache_size for kernel rows, the rest for the engine's other arrays
_LEAST = 1 << 20  # bytes that the engine's other arrays take in any case: a matrix as small may solve a stall


@dataclass(frozen=True, kw_only=True, repr=False)
class WorkingSet(DualSolver):
    """The engine.

    Parameters
    ----------
    size : points in a working set, None for a choice from n.

    ``max_iter`` counts SMO steps. A trace has one row per outer round and always uses the path with a row
    store.

    >>> import maxmargin as mm
    >>> mm.SVC(solver=mm.solvers.WorkingSet(size=64)).fit([[0.0], [1.0]], [0, 1]).predict([[0.9]])
    array([1])
    """

    size: int | None = None

    narrows_gap = True
    exact_below = 1e-5

    def solve(
        self, problem: BoxQP, *, start: FloatArray | None = None, callback: Callback | None = None
    ) -> Solution:
        with single_threaded_blas():
            run_ = Engine(self, problem, start, callback)
            try:
                return run_.go()
            finally:
                release_pages()


class Engine(SignedState):
    """One solve: the state of all variables, and of the active ones."""

    def __init__(
        self, settings: WorkingSet, problem: BoxQP, start: FloatArray | None, callback: Callback | None
    ) -> None:
        super().__init__(settings, problem, start, callback)
        self.settings, self.kernel = settings, problem.Q.kernel
        self.bytes = int(_STORE_SHARE * cache_bytes(settings.cache_size))
        points = problem.Q.points
        diagonal = self.kernel.diagonal(points)
        exact = settings.tol < settings.exact_below or beyond_float32(points, diagonal)
        exact = exact or self._nearly_singular(float(np.abs(diagonal).max(initial=0.0)))
        self.dtype: Any = np.float64 if exact else np.float32
        self.points: Any = points
        self.distinct: IntArray = np.arange(len(points))  # the points that the engine works on

    def _nearly_singular(self, largest: float) -> bool:
        """True if variables without an upper bound have ridges below the rounding of float32 values."""
        ridges = self.d[np.isinf(self.problem.C) & (self.tau != 0)]  # tau = 0: `BoxQP.with_sums`
        return len(ridges) > 0 and float(ridges.min()) < _SMALLEST_RIDGE * largest

    # -- on the whole matrix, or on rows -------------------------------------------------------------

    def go(self) -> Solution:
        by_rows = not self._gram_fits(_SMALL)
        status = self._solve_by_rows() if by_rows else self._solve_on_gram()
        if by_rows and status is Status.STALLED and self._gram_fits(MOST_POINTS, _LEAST):
            self.row, self.v = self.problem.Q.row.astype(np.int64), np.zeros(len(self.problem.Q.points))
            self.distinct = np.arange(len(self.v))
            self.referee.start_again(self.n_iter)
            status = self._solve_on_gram(is_late=True)
        return self.ended(status, self.tau * self.v[self.row] + self.d * self.t + self.c)

    def _gram_fits(self, most: int, least: int = 0) -> bool:
        if self.settings.trace:
            return False
        n = len(self.problem.Q.points)
        worthwhile = n <= most or getattr(self.kernel, "whole", False)
        return worthwhile and n * n * np.dtype(self.dtype).itemsize <= max(self.bytes, least)

    def _solve_on_gram(self, *, is_late: bool = False) -> Status:
        everything = np.array([[0, len(self.v)]])
        signed = Signed(self.row, self.tau, self.d, self.c, self.lo, self.hi, self.group)
        watch = Watch(self.target, self.budget, self.referee, 0.5 * self.target, self.settings.shrinking)
        start = self.t.copy()
        while True:
            self._enter(self.dtype)
            K = self.kernel.gram(self.points, n_threads=self.settings.n_threads)
            self.work.kernel_values += K.size
            beta = self.beta()
            self.v = beta[beta != 0] @ K[beta != 0]  # K is symmetric; most starts have few rows or none
            n_groups, free = len(self.problem.delta), self.settings.size is None
            problem = GramProblem(K, everything, signed, n_groups, self.size(), as_block=free)
            problem.exact = problem.back_to(start, self.t, self.v)  # float32 led far away
            for _ in range(1 + _REFRESHES):
                ending = problem.solve(self.t, self.v, watch, self.n_iter, is_late=is_late)
                self.n_iter += ending.n_iter
                if not self._float32_failed(ending.status):
                    return ending.status
                if ending.status is Status.STALLED:
                    break
                self._refresh_exactly()
            self.dtype = np.dtype(np.float64)
            is_late = ending.status is Status.STALLED

    def _solve_by_rows(self) -> Status:
        self._begin(self.dtype)
        if self.settings.trace:
            self.tracer = Tracer(self.problem, np.abs(self.t), self.v, self.work)
        refreshes = 0
        while True:
            violation, open_variables = self._look_at_all()
            if violation <= self.target:
                return Status.CONVERGED
            active = ActivePoints(self, open_variables)
            status = active.optimise()
            active.write_back()
            self._thaw(active)
            if self._float32_failed(status):
                refreshes += 1
                if status is Status.STALLED or refreshes > _REFRESHES:
                    self._begin(np.float64)
                else:
                    self._refresh_exactly()
            elif status is not Status.CONVERGED:
                return status

    def _begin(self, dtype: Any) -> None:
        """Begin in a given precision; variables with equal rows share one point and its kernel values."""
        self._enter(dtype)
        if isinstance(self.points, VectorPoints) and not self.settings.trace:
            first = self.points.first_equals()
            self.distinct, position = np.unique(first, return_inverse=True)
            self.row = position[self.problem.Q.row]
            if len(self.distinct) < len(self.points):
                self.points = self.points.take(self.distinct)
        self.v = np.zeros(len(self.points))
        self._refresh_all()

    # -- shared by both ------------------------------------------------------------------------------

    def judge(self, violation: float, n_active: int, steps: int) -> Status | None:
        """Report progress; the reason to stop, or None to continue."""
        return self.referee.judge(
            violation, n_iter=self.n_iter, n_pairs=self.n_iter, n_active=n_active, stuck=steps == 0
        )

    def size(self) -> int:
        """Points in a working set: larger sets need fewer rounds, but their blocks cost more."""
        default = 512 if len(self.v) < 8000 else 1024
        chosen = self.settings.size or default
        affordable = self.bytes // (2 * np.dtype(self.dtype).itemsize * max(1, len(self.v)))
        return int(min(dual.MAX_BLOCK, max(16, min(chosen, affordable))))

    def _enter(self, dtype: Any) -> None:
        """Choose the precision of kernel values; find out if rows are expensive and have to be stored."""
        self.dtype = np.dtype(dtype)
        self.points = for_engine(self.problem.Q.points, dtype, self.settings.n_threads)
        vectors = isinstance(self.points, VectorPoints)
        self.expensive_rows = not vectors or self.points.X.shape[1] >= _WIDE
        adds = vectors and self.kernel.adds(self.points, self.points)
        self.adds_cheaply = adds and self.points.X.shape[1] < _NARROW
        self.adds_beyond = adds and self.points.X.shape[1] < _MIDDLE

    def beta(self) -> FloatArray:
        beta = np.bincount(self.row, weights=self.tau * self.t, minlength=len(self.v))
        return beta.astype(np.float64, copy=False)

    def _refresh_all(self) -> None:
        """v = K beta from the variables, for a warm start or after a change of precision."""
        beta = self.beta()
        support = np.flatnonzero(beta)
        self.v[:] = 0.0
        if len(support):
            self.v = self._times(self.points, self.points.take(support), beta[support])

    def _times(self, left: Any, right: Any, weights: FloatArray) -> FloatArray:
        self.work.kernel_values += len(left) * len(right)
        return kernel_times(self.kernel, left, right, weights, n_threads=self.settings.n_threads)

    def _float32_failed(self, status: Status) -> bool:
        """True if float32 caused a stall, or is too inaccurate at convergence."""
        if self.dtype != np.float32 or status not in (Status.CONVERGED, Status.STALLED):
            return False
        self.referee.start_again(self.n_iter)
        return status is Status.STALLED or self._float32_drifted()

    def _float32_drifted(self) -> bool:
        """True if v differs too much from float64 on a sample of rows."""
        n_rows, share = (_FEWER, _LESS) if self.expensive_rows else (_PROBE, _DRIFT)
        rows = np.random.default_rng(0).permutation(len(self.v))[:n_rows]
        error = np.abs(self._exact_sums(rows) - self.v[rows]).max()
        return float(error) * float(np.abs(self.tau).max()) > share * self.settings.tol

    def _refresh_exactly(self) -> None:
        """Recompute v in float64, so that only later changes of it carry the rounding of float32 values."""
        n = len(self.v)
        self.v = np.concatenate([self._exact_sums(r) for r in np.array_split(np.arange(n), 1 + n // _BLOCK)])

    def _exact_sums(self, rows: IntArray) -> FloatArray:
        """K beta at some points from float64 values, whatever the precision of the steps."""
        beta, exact = self.beta(), self.problem.Q.points
        support = np.flatnonzero(beta)
        return self._times(
            exact.take(self.distinct[rows]).astype(np.float64),
            exact.take(self.distinct[support]).astype(np.float64),
            beta[support],
        )

    def _look_at_all(self) -> tuple[float, BoolArray]:
        """The violation over all variables, and which of them are not settled."""
        g = np.empty(len(self.t))
        dual.gradient(self.v, self.row, self.tau, self.d, self.t, self.c, g)
        low, high = dual.extremes(g, self.t, self.lo, self.hi, self.group, len(self.problem.delta))
        aside = settled(g, self.t, self.lo, self.hi, low[self.group], high[self.group])
        return float((high - low).max()), ~aside

    def _thaw(self, active: ActivePoints) -> None:
        """Update v of the points that were set aside."""
        beta = self.beta()
        for frozen in active.frozen:
            change = beta - frozen.beta
            moved = np.flatnonzero(change)
            if len(moved):
                self.v[frozen.points] += self._times(
                    self.points.take(frozen.points), self.points.take(moved), change[moved]
                )
