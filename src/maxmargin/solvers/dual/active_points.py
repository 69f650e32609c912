"""Rounds of the dual engine over the active points; the others are frozen until the end."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from maxmargin.base.threads import run_short, split
from maxmargin.base.typing import AnyArray, BoolArray, FloatArray, IntArray
from maxmargin.compute.dual import block_solver as dual
from maxmargin.compute.dual.block_solver import Signed
from maxmargin.compute.dual.gram_parts import add_rows, gather
from maxmargin.compute.dual.row_store import RowStore
from maxmargin.kernels.points import VectorPoints
from maxmargin.problems.solution import Ending, Status
from maxmargin.solvers.dual.dual_state import settled
from maxmargin.solvers.dual.gram.gram_problem import GramProblem, Watch
from maxmargin.solvers.trace import Tracer

if TYPE_CHECKING:
    from maxmargin.solvers.dual.working_set import Engine

_STEPS_AT_ONCE = 80_000  # inner steps of a round between two checks of the clock and of Ctrl-C
_SHRINK_EVERY = 8
_SHRINK_BELOW = 0.7  # shrink if at most this share of the active points stays
_MOST_TOGETHER = 5000  # points that may share a matrix: Ctrl-C waits 0.7 s for a Newton step on so many
_BELOW = 0.9  # of the tolerance, on a smaller matrix: rounding must not lift the violation above it
_MATRICES = 3  # matrices of that size at most, including factorised parts
_VALUE, _COLUMN = 6.0, 18.0  # a kernel value takes as long as a step over 6 + columns / 18 variables


@dataclass(frozen=True)
class _Frozen:
    """Points set aside, and the coefficients of all points at that moment."""

    points: IntArray
    beta: FloatArray


class ActivePoints:
    """The active variables and points, packed together."""

    def __init__(self, whole: Engine, open_variables: BoolArray) -> None:
        self.whole = whole
        self.frozen: list[_Frozen] = []
        self.store: RowStore | None = None  # created when a row is stored
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
            self.frozen.append(_Frozen(points, self.whole.beta()))

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
        self.uses = np.zeros(len(self.ids), dtype=np.int64)
        self.kept = np.empty(0, dtype=np.int64)

    def write_back(self) -> None:
        self.whole.t[self.variables] = self.t
        self.whole.v[self.ids] = self.v

    def optimise(self) -> Status:
        """Rounds until the active variables are solved, or time or steps run out."""
        whole = self.whole
        n_groups = len(whole.problem.delta)
        size = whole.size()
        round_ = 0
        steps, begun = 1, whole.n_iter
        while True:
            dual.gradient(self.v, self.row, self.tau, self.d, self.t, self.c, self.g)
            low, high = dual.extremes(self.g, self.t, self.lo, self.hi, self.group, n_groups)
            violation = float((high - low).max())
            if (status := whole.judge(violation, len(self.ids), steps)) is not None:
                return status
            if round_ and round_ % _SHRINK_EVERY == 0 and whole.settings.shrinking:
                self._shrink(low, high)
            ending = self._solve_together(n_groups) if self._is_slow(whole.n_iter - begun) else None
            steps = self._round(low, high, violation, n_groups, size) if ending is None else ending.n_iter
            whole.n_iter += steps
            round_ += 1
            if ending is not None:
                begun = whole.n_iter
                if ending.status is not Status.CONVERGED:
                    return ending.status

    def _is_slow(self, steps: int) -> bool:
        """True if the pairwise steps so far took longer than the matrix of all active points would."""
        whole, n = self.whole, len(self.ids)
        fits = n <= _MOST_TOGETHER and _MATRICES * n * n * whole.dtype.itemsize <= whole.bytes
        columns = self.points.X.shape[1] if isinstance(self.points, VectorPoints) else whole.size()
        return fits and whole.tracer is None and steps * whole.size() > n * n * (_VALUE + columns / _COLUMN)

    def _solve_together(self, n_groups: int) -> Ending:
        """Solve for the active variables on their own matrix, where Newton steps move all free ones."""
        whole, n = self.whole, len(self.ids)
        self.store = None  # the matrix takes its memory
        memory = RowStore(n, whole.dtype, 0, at_least=n)
        K = memory.rows
        whole.kernel.gram(self.points, out=K, n_threads=whole.settings.n_threads)
        whole.work.kernel_values += K.size
        signed = Signed(self.row, self.tau, self.d, self.c, self.lo, self.hi, self.group)
        problem = GramProblem(K, np.array([[0, n]]), signed, n_groups, whole.size())
        own = problem.own_sums(self.t, self.v)
        others = self.v - own
        tol = _BELOW * whole.target
        referee = whole.referee.aiming_at(tol)
        watch = Watch(tol, whole.budget, referee, 0.5 * tol, whole.settings.shrinking)
        ending = problem.solve(self.t, own, watch, whole.n_iter)
        self.v = own + others
        return ending

    def _round(self, low: FloatArray, high: FloatArray, violation: float, n_groups: int, size: int) -> int:
        whole = self.whole
        chosen = dual.choose(
            self.g, self.t, self.lo, self.hi, self.group, low, high, self.kept, size - len(self.kept)
        )
        fresh = chosen[len(self.kept) :]
        if not self._recomputes:
            chosen = self._unstored_first(chosen)
        order, starts, stops = dual.group_layout(self.group[chosen], n_groups)
        ws = chosen[order]
        B = self._block(ws)
        t_block = self.t[ws]
        g_block = self.g[ws]
        steps: int = dual.solve_block(
            B, g_block, t_block, self.lo[ws], self.hi[ws], starts, stops,
            max(0.5 * whole.target, 0.1 * violation),
            whole.budget.steps_left(whole.n_iter, _STEPS_AT_ONCE),
        )  # fmt: skip
        if whole.tracer is not None:
            self._record(whole.tracer, ws, t_block, g_block, violation)
        self._move(ws, t_block)
        self.kept = np.concatenate([fresh, self.kept])[: size // 2]
        return steps

    def _record(
        self, tracer: Tracer, ws: IntArray, t_new: FloatArray, g_new: FloatArray, violation: float
    ) -> None:
        """Record a row of the trace before the step is applied."""
        variables = self.variables[ws]
        complete = len(self.ids) == len(self.whole.v)
        slopes = self.whole.problem.s[variables] * (self.g[ws] + g_new)
        if complete:
            tracer.describe_all(np.abs(self.t), self.v)
        else:
            tracer.describe(violation)
        tracer.step(variables, np.abs(self.t[ws]), np.abs(t_new), slopes, n_active=len(self.ids))

    @property
    def _recomputes(self) -> bool:
        """True if computing all values of a block is cheaper than gathering some. Groups fix the order."""
        return not self.whole.expensive_rows or len(self.whole.problem.delta) > 1

    def _unstored_first(self, variables: IntArray) -> IntArray:
        stored = self._places(variables) >= 0
        return np.concatenate([variables[~stored], variables[stored]])

    def _places(self, variables: IntArray) -> IntArray:
        """Where their rows are stored, or -1."""
        points = self.row[variables]
        return np.full(len(points), -1) if self.store is None else self.store.places(points)

    def _block(self, ws: IntArray) -> AnyArray:
        """Kernel values within the working set; those of stored rows are not computed again."""
        places, points = self._places(ws), self.row[ws]
        n_fresh = len(ws) if self._recomputes else int(np.count_nonzero(places < 0))
        self.whole.work.kernel_values += n_fresh**2
        fresh = self.points.take(points[:n_fresh])
        B = self.whole.kernel.gram(fresh, n_threads=self.whole.settings.n_threads)
        if self.store is not None and n_fresh < len(ws):
            computed, B = B, np.empty((len(ws), len(ws)), B.dtype)
            B[:n_fresh, :n_fresh] = computed
            gather(self.store.rows, places, points, n_fresh, len(ws), B)
        dual.scale_block(B, self.tau[ws], self.d[ws])
        return B

    def _move(self, ws: IntArray, t_new: FloatArray) -> None:
        """Apply the new values of the working set and update v with the rows of the changed variables."""
        whole, n = self.whole, len(self.ids)
        change: FloatArray = np.zeros(n)
        np.add.at(change, self.row[ws], self.tau[ws] * (t_new - self.t[ws]))
        self.t[ws] = t_new
        moved = np.flatnonzero(change)
        self.uses[moved] += 1
        stored = self.uses[moved] > self._stores_late
        if stored.any():
            self._add_stored(moved[stored], change[moved[stored]])
        passing = moved[~stored]
        if len(passing):
            whole.work.kernel_values += len(passing) * n
            whole.kernel.add_products(
                self.v, self.points, self.points.take(passing), change[passing], whole.settings.n_threads
            )

    @property
    def _stores_late(self) -> bool:
        """True if rows are stored only when needed again: computing one is cheaper than storing it."""
        fresh = self.store is not None and self.store.needs_fresh_pages
        return self.whole.adds_cheaply or (fresh and self.whole.adds_beyond)

    def _add_stored(self, moved: IntArray, weights: FloatArray) -> None:
        """v += the rows of ``moved`` times ``weights``, from the store, which computes missing rows."""
        whole, n = self.whole, len(self.ids)
        if self.store is None:
            self.store = RowStore(n, whole.dtype, whole.bytes, at_least=whole.size())
        store = self.store
        computed = store.n_computed
        slots = store.slots(moved, self._fill)
        computed = store.n_computed - computed
        whole.work.kernel_values += computed * n
        whole.work.cache_hits += len(moved) - computed
        n_threads = whole.settings.n_threads
        run_short(
            [partial(add_rows, self.v, store.rows, slots, weights, part.start, part.stop)
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
        if open_points.mean() > _SHRINK_BELOW or (
            self.whole.expensive_rows and self.store and not self.store.full
        ):
            return  # shrinking would then need values for the frozen points that cost more than it saves
        self.write_back()
        kept = self.variables[self.kept]
        leaving = self.ids[~open_points]
        keep = np.zeros(len(self.whole.v), dtype=bool)
        keep[self.ids[open_points]] = True
        self.freeze(leaving)
        self.store = None
        self._pack(keep, self.whole.v)
        dual.gradient(self.v, self.row, self.tau, self.d, self.t, self.c, self.g)
        still = np.isin(kept, self.variables)
        self.kept = np.searchsorted(self.variables, kept[still])
