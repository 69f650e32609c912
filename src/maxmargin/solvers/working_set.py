"""The dual engine: large working sets outside, sequential minimal optimisation inside.

Each round chooses the worst violators of both sides (half of the last working set stays), solves that block
with SMO while it lies in the cache, and then moves the gradient of all points with the kernel rows of what
changed. Variables that cannot move are set aside (shrinking); before the engine stops it brings their
gradient up to date and looks at all variables again. Kernel rows are float32 while that is good enough:
the difference to float64 is measured on a sample, and the engine changes to float64 when it matters.

The working-set decomposition is that of Osuna, Freund & Girosi (1997) and Joachims (1999), the inner solver
that of Platt (1999) with the second-order selection of Fan, Chen & Lin (2005).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from maxmargin._compute import dual
from maxmargin._compute.memory import cache_bytes
from maxmargin._compute.row_store import RowStore
from maxmargin._compute.threads import run, single_threaded_blas, split
from maxmargin.kernels.points import VectorPoints, for_engine
from maxmargin.kernels.products import kernel_times
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.progress import Budget, Callback, Progress
from maxmargin.solvers.settings import DualSolver
from maxmargin.solvers.shrinking import settled
from maxmargin.solvers.trace import Tracer, Work
from maxmargin.typing import AnyArray, BoolArray, FloatArray, IntArray

_SMALL = 2000  # points up to which the whole Gram matrix is computed first
_STEPS_AT_ONCE = 20_000  # inner steps between two looks at the clock and the keyboard
_PATIENCE = 1_000_000  # steps without progress after which the engine gives up
_SAFETY = 0.9  # the engine aims below tol, so that rounding does not lift the checked value above it
_PROBE = 256  # rows on which float32 is compared with float64
_SMALLEST_RIDGE = 1e-4  # of the largest K(x, x): float32 rows with a smaller one need not be convex
_STORE_SHARE = 0.85  # of cache_size for kernel rows, the rest for the engine's other arrays
_SHRINK_EVERY = 8
_SHRINK_BELOW = 0.7  # shrink when at most this share of the active points would stay


@dataclass(frozen=True, kw_only=True, repr=False)
class WorkingSet(DualSolver):
    """The engine.

    Parameters
    ----------
    size : points in a working set, None for a choice from n.

    ``max_iter`` counts SMO steps. A trace has one row per outer round, and is made on the path with a row
    store, whatever n is.
    """

    size: int | None = None

    def solve(
        self, problem: BoxQP, *, start: FloatArray | None = None, callback: Callback | None = None
    ) -> Solution:
        a = problem.start if start is None else start
        with single_threaded_blas():
            run_ = _Run(self, problem, np.asarray(a, dtype=np.float64), callback)
            return run_.go()


class _Run:
    """One solve: the state of all variables, and of the active ones."""

    def __init__(
        self, settings: WorkingSet, problem: BoxQP, a: FloatArray, callback: Callback | None
    ) -> None:
        self.settings = settings
        self.problem = problem
        self.callback = callback
        self.kernel = problem.Q.kernel
        self.budget = Budget(settings.max_iter, settings.time_limit)
        self.bytes = int(_STORE_SHARE * cache_bytes(settings.cache_size))
        self.n_iter = 0
        self.target = _SAFETY * settings.tol
        s = problem.s
        self.t = s * a
        self.lo = np.where(s > 0, 0.0, -problem.C)
        self.hi = np.where(s > 0, problem.C, 0.0)
        self.c = s * problem.p
        self.tau = s * problem.Q.sign
        self.row = problem.Q.row.astype(np.int64)
        self.d = problem.d
        self.group = problem.group.astype(np.int64)
        self.dtype: Any = np.float64 if settings.tol < 1e-5 or self._nearly_singular() else np.float32
        self.v = np.zeros(len(problem.Q.points))
        self.points: Any = problem.Q.points
        self.distinct: IntArray = np.arange(len(problem.Q.points))  # the points that the engine works on
        self.best = np.inf
        self.improved_at = 0
        self.work = Work()
        self.tracer: Tracer | None = None

    def _nearly_singular(self) -> bool:
        """Where no bound holds a variable, does its ridge drown in the rounding of float32 kernel values?"""
        ridges = self.d[np.isinf(self.problem.C)]
        largest = float(np.abs(self.kernel.diagonal(self.problem.Q.points)).max(initial=0.0))
        return len(ridges) > 0 and float(ridges.min()) < _SMALLEST_RIDGE * largest

    # -- the two ways --------------------------------------------------------------------------------

    def go(self) -> Solution:
        status = self._solve_on_gram() if self._gram_fits() else self._solve_by_rows()
        a = np.abs(self.t)
        g = np.empty(len(a))
        dual.gradient(self.v, self.row, self.tau, self.d, self.t, self.c, g)
        return Solution(
            x=a,
            multipliers=self.problem.multipliers(g, a),
            status=status,
            n_iter=self.n_iter,
            seconds=self.budget.seconds,
            gradient=g,
            trace=None if self.tracer is None else self.tracer.frame(),
            kernel_values=self.work.kernel_values,
            cache_hits=self.work.cache_hits,
        )

    def _gram_fits(self) -> bool:
        if self.settings.trace:
            return False
        n = len(self.v)
        worthwhile = n <= _SMALL or getattr(self.kernel, "whole", False)
        return worthwhile and n * n * np.dtype(self.dtype).itemsize <= self.bytes

    def _solve_on_gram(self) -> Status:
        problem, n_threads = self.problem, self.settings.n_threads
        self._enter(self.dtype)
        K = self.kernel.gram(self.points, n_threads=n_threads)
        self.work.kernel_values += K.size
        self.v = K.astype(np.float64, copy=False) @ self._beta()
        everything = np.array([[0, len(self.v)]])
        while True:
            steps, violation = dual.solve_on_gram(
                K, self.row, everything, self.tau, self.d, self.c, self.lo, self.hi, self.group,
                len(problem.delta), self.t, self.v, self._size(), self.target,
                self.budget.steps_left(self.n_iter, _STEPS_AT_ONCE),
            )  # fmt: skip
            self.n_iter += steps
            status = self._judge(violation, len(self.v), steps)
            if status is None:
                continue
            if self._float32_failed(status):
                self._enter(np.float64)
                K = self.kernel.gram(self.points, n_threads=n_threads)
                self.work.kernel_values += K.size
                self.v = K @ self._beta()
                continue
            return status

    def _solve_by_rows(self) -> Status:
        self._begin(self.dtype)
        if self.settings.trace:
            self.tracer = Tracer(self.problem, np.abs(self.t), self.v, self.work)
        while True:
            violation, open_variables = self._look_at_all()
            if violation <= self.target:
                return Status.CONVERGED
            active = _Active(self, open_variables)
            status = active.optimise()
            active.write_back()
            self._thaw(active)
            if self._float32_failed(status):
                self._begin(np.float64)
            elif status is not Status.CONVERGED:
                return status

    def _begin(self, dtype: Any) -> None:
        """Enter a precision; variables with equal rows share one point, whose values are computed once."""
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

    def _judge(self, violation: float, n_active: int, steps: int) -> Status | None:
        """Report progress; the reason to stop, or None to go on."""
        if self.callback is not None:
            self.callback(Progress(self.n_iter, violation, n_active, self.budget.seconds))
        if violation <= self.target:
            return Status.CONVERGED
        if (status := self.budget.exhausted(self.n_iter)) is not None:
            return status
        return Status.STALLED if steps == 0 or self._no_progress(violation) else None

    def _no_progress(self, violation: float) -> bool:
        """True when a great many steps have not lowered the violation: rounding is all that is left."""
        if violation < (1 - 1e-3) * self.best:
            self.best, self.improved_at = violation, self.n_iter
        return self.n_iter - self.improved_at > max(_PATIENCE, 100 * len(self.t))

    def _size(self) -> int:
        """Points in a working set: larger ones need fewer passes over all points, but dearer blocks."""
        default = 512 if len(self.v) < 8000 else 1024
        chosen = self.settings.size or default
        affordable = self.bytes // (2 * np.dtype(self.dtype).itemsize * max(1, len(self.v)))
        return int(min(dual.MAX_BLOCK, max(16, min(chosen, affordable))))

    def _enter(self, dtype: Any) -> None:
        """Choose the precision of kernel values."""
        self.dtype = np.dtype(dtype)
        self.points = for_engine(self.problem.Q.points, dtype)

    def _beta(self) -> FloatArray:
        beta: FloatArray = np.bincount(self.row, weights=self.tau * self.t, minlength=len(self.v))
        return beta

    def _refresh_all(self) -> None:
        """v = K beta from the variables, for a warm start or after a change of precision."""
        beta = self._beta()
        support = np.flatnonzero(beta)
        self.v[:] = 0.0
        if len(support):
            self.v = self._times(self.points, self.points.take(support), beta[support])

    def _times(self, left: Any, right: Any, weights: FloatArray) -> FloatArray:
        self.work.kernel_values += len(left) * len(right)
        return kernel_times(self.kernel, left, right, weights, n_threads=self.settings.n_threads)

    def _float32_failed(self, status: Status) -> bool:
        """Is float32 to blame for a stall, or too far from the truth where it says it has converged?"""
        if self.dtype != np.float32 or status not in (Status.CONVERGED, Status.STALLED):
            return False
        self.best, self.improved_at = np.inf, self.n_iter
        return status is Status.STALLED or self._float32_drifted()

    def _float32_drifted(self) -> bool:
        """Compare v with float64 on a sample of rows: is the error more than a quarter of tol?"""
        beta = self._beta()
        support = np.flatnonzero(beta)
        rows = np.random.default_rng(0).permutation(len(self.v))[:_PROBE]
        exact = self.problem.Q.points
        true = self._times(
            exact.take(self.distinct[rows]).astype(np.float64),
            exact.take(self.distinct[support]).astype(np.float64),
            beta[support],
        )
        tau = float(np.abs(self.tau).max())
        return float(np.abs(true - self.v[rows]).max()) * tau > 0.25 * self.settings.tol

    def _look_at_all(self) -> tuple[float, BoolArray]:
        """The violation over all variables, and which of them are not clearly settled."""
        g = np.empty(len(self.t))
        dual.gradient(self.v, self.row, self.tau, self.d, self.t, self.c, g)
        low, high = dual.extremes(g, self.t, self.lo, self.hi, self.group, len(self.problem.delta))
        aside = settled(g, self.t, self.lo, self.hi, low[self.group], high[self.group])
        return float((high - low).max()), ~aside

    def _thaw(self, active: _Active) -> None:
        """Bring v of the points that were set aside up to date with what has changed since."""
        beta = self._beta()
        for frozen in active.frozen:
            change = beta - frozen.beta
            moved = np.flatnonzero(change)
            if len(moved):
                self.v[frozen.points] += self._times(
                    self.points.take(frozen.points), self.points.take(moved), change[moved]
                )


@dataclass(frozen=True)
class _Frozen:
    """Points set aside, and the coefficients of all points at that moment."""

    points: IntArray
    beta: FloatArray


class _Active:
    """The variables and points that still take part, packed together."""

    def __init__(self, whole: _Run, open_variables: BoolArray) -> None:
        self.whole = whole
        self.frozen: list[_Frozen] = []
        n = len(whole.v)
        if whole.settings.shrinking:
            keep_points = np.zeros(n, dtype=bool)
            keep_points[whole.row[open_variables]] = True
        else:
            keep_points = np.ones(n, dtype=bool)
        self._pack(keep_points, whole.v)
        self.freeze(np.flatnonzero(~keep_points))

    def freeze(self, points: IntArray) -> None:
        if len(points):
            self.frozen.append(_Frozen(points, self.whole._beta()))

    def _pack(self, keep_points: BoolArray, v: FloatArray) -> None:
        """Gather what belongs to the kept points (a mask over all points); v is over all points."""
        whole = self.whole
        self.ids = np.flatnonzero(keep_points)
        self.variables = np.flatnonzero(keep_points[whole.row])
        position = np.empty(len(keep_points), dtype=np.int64)
        position[self.ids] = np.arange(len(self.ids))
        self.row = position[whole.row[self.variables]]
        self.t = whole.t[self.variables]
        self.lo, self.hi = whole.lo[self.variables], whole.hi[self.variables]
        self.c, self.d = whole.c[self.variables], whole.d[self.variables]
        self.tau, self.group = whole.tau[self.variables], whole.group[self.variables]
        self.v = v[self.ids]
        self.g = np.empty(len(self.t))
        self.points = whole.points if len(self.ids) == len(keep_points) else whole.points.take(self.ids)
        self.store = RowStore(len(self.ids), whole.dtype, whole.bytes, at_least=whole._size())
        self.kept = np.empty(0, dtype=np.int64)

    def write_back(self) -> None:
        self.whole.t[self.variables] = self.t
        self.whole.v[self.ids] = self.v

    def optimise(self) -> Status:
        """Rounds until the active variables are solved, or time or steps run out."""
        whole = self.whole
        n_groups = len(whole.problem.delta)
        size = whole._size()
        round_ = 0
        steps = 1
        while True:
            dual.gradient(self.v, self.row, self.tau, self.d, self.t, self.c, self.g)
            low, high = dual.extremes(self.g, self.t, self.lo, self.hi, self.group, n_groups)
            violation = float((high - low).max())
            if (status := whole._judge(violation, len(self.ids), steps)) is not None:
                return status
            if round_ and round_ % _SHRINK_EVERY == 0 and whole.settings.shrinking:
                self._shrink(low, high)
            steps = self._round(low, high, violation, n_groups, size)
            whole.n_iter += steps
            round_ += 1

    def _round(self, low: FloatArray, high: FloatArray, violation: float, n_groups: int, size: int) -> int:
        whole = self.whole
        chosen = dual.choose(
            self.g, self.t, self.lo, self.hi, self.group, low, high, self.kept, size - len(self.kept)
        )
        fresh = chosen[len(self.kept) :]
        order, starts, stops = dual.group_layout(self.group[chosen], n_groups)
        ws = chosen[order]
        B = self._block(ws)
        t_block = self.t[ws]
        g_block = self.g[ws]
        steps: int = dual.solve_block(
            B, g_block, t_block, self.lo[ws], self.hi[ws], starts, stops,
            max(0.5 * whole.target, 0.1 * violation),
            whole.budget.steps_left(whole.n_iter, 4 * _STEPS_AT_ONCE),
        )  # fmt: skip
        if whole.tracer is not None:
            self._record(whole.tracer, ws, t_block, g_block, violation)
        self._move(ws, t_block)
        self.kept = np.concatenate([fresh, self.kept])[: size // 2]
        return steps

    def _record(
        self, tracer: Tracer, ws: IntArray, t_new: FloatArray, g_new: FloatArray, violation: float
    ) -> None:
        """A row of the trace, before the step is taken over."""
        variables = self.variables[ws]
        complete = len(self.ids) == len(self.whole.v)
        slopes = self.whole.problem.s[variables] * (self.g[ws] + g_new)
        gap = tracer.gap(np.abs(self.t), self.v) if complete else np.nan
        tracer.step(
            variables, np.abs(self.t[ws]), np.abs(t_new), slopes,
            violation=violation, n_active=len(self.ids), gap=gap,
        )  # fmt: skip

    def _block(self, ws: IntArray) -> AnyArray:
        """Kernel values among the working set, computed afresh: cheaper than gathering them from rows."""
        whole = self.whole
        whole.work.kernel_values += len(ws) ** 2
        mine = self.points.take(self.row[ws])
        B = whole.kernel.gram(mine, n_threads=whole.settings.n_threads)
        dual.scale_block(B, self.tau[ws], self.d[ws])
        return B

    def _move(self, ws: IntArray, t_new: FloatArray) -> None:
        """Take over the new values of the working set and update v with the rows of what changed."""
        n = len(self.ids)
        change = np.bincount(self.row[ws], weights=self.tau[ws] * (t_new - self.t[ws]), minlength=n)
        self.t[ws] = t_new
        moved = np.flatnonzero(change)
        computed = self.store.n_computed
        slots = self.store.slots(moved, self._fill)
        computed = self.store.n_computed - computed
        self.whole.work.kernel_values += computed * n
        self.whole.work.cache_hits += len(moved) - computed
        n_threads = self.whole.settings.n_threads
        weights = change[moved]
        run(
            [partial(dual.add_rows, self.v, self.store.rows, slots, weights, part.start, part.stop)
             for part in split(n, n_threads)],
            n_threads,
        )  # fmt: skip

    def _fill(self, points: IntArray, out: AnyArray) -> None:
        self.whole.kernel.gram(
            self.points.take(points), self.points, out=out, n_threads=self.whole.settings.n_threads
        )

    def _shrink(self, low: FloatArray, high: FloatArray) -> None:
        aside = settled(self.g, self.t, self.lo, self.hi, low[self.group], high[self.group])
        open_points = np.zeros(len(self.ids), dtype=bool)
        open_points[self.row[~aside]] = True
        if open_points.mean() > _SHRINK_BELOW:
            return
        self.write_back()
        kept = self.variables[self.kept]
        leaving = self.ids[~open_points]
        keep = np.zeros(len(self.whole.v), dtype=bool)
        keep[self.ids[open_points]] = True
        self.freeze(leaving)
        self._pack(keep, self.whole.v)
        dual.gradient(self.v, self.row, self.tau, self.d, self.t, self.c, self.g)
        still = np.isin(kept, self.variables)
        self.kept = np.searchsorted(self.variables, kept[still])
