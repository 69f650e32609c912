"""Solve one dual problem on a kernel matrix in memory: pairwise steps, smaller matrices, Newton steps.

Pairwise steps find out which variables still move. These are then solved on their own matrix if it is much
smaller, because its short rows stay in the cache. If pairwise steps are slow because many variables are free,
a Newton step moves all of them together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from maxmargin.base.threads import blas_threads_for
from maxmargin.base.typing import AnyArray, BoolArray, FloatArray, IntArray
from maxmargin.compute.dual import block_solver, one_group
from maxmargin.compute.dual.block_solver import Signed
from maxmargin.compute.dual.bounds import ROUNDING
from maxmargin.compute.dual.gram_parts import add_rows, gathered
from maxmargin.compute.dual.narrow_block import MOST
from maxmargin.kernels.points import is_beyond_float32
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.solution import Ending, Status
from maxmargin.solvers.dual.gram.free_system import FreeSystem, free_variables
from maxmargin.solvers.dual.gram.interior_point import MOST_POINTS, interior_point
from maxmargin.solvers.stopping import Budget, Referee

STEPS_AT_ONCE = 4_000
_LARGEST_BLOCK = 768  # longer solves take a quarter of their free variables at once ...
_WHOLE = 1024  # ... or all variables, up to this number: their matrix stays in the cache
_SHARE = 0.6  # share of the points up to which they get their own matrix
_PATIENCE = 30  # pairwise steps per free variable that take as long as Newton steps
_WINDOW = 4  # chunks of steps over which the pace is measured
_FEW = 64  # free variables with which pairwise steps are never slow
_BEFORE_INTERIOR = 20_000  # pairwise steps at least, before an interior point is tried
_AFTER_INTERIOR = 40_000  # pairwise steps after it, before a solve is given up; twice that if they help
_LEAST_ROUND = 400  # pairwise steps for which every round counts: a Newton step takes that long
_WORK_OF_STEP = 1_000  # numbers read: rounds that read more count as more steps
_AFRESH = 10  # rounds of pairwise steps from the start, if other steps led away from the solution
_REFINEMENTS = 3  # Newton steps near a solution: one is enough if the bounded variables are known
_SETTLED = 0.003  # share of the free variables that may reach or leave a bound meanwhile


@dataclass(frozen=True)
class Watch:
    """When a solve stops: the violation to reach, the budget, and the callback for progress.

    ``part_tol`` is the violation to reach on smaller matrices; ``shrinking=False`` never makes them.
    """

    tol: float
    budget: Budget
    referee: Referee
    part_tol: float
    shrinking: bool = True

    @classmethod
    def of(cls, tol: float, max_iter: int, time_limit: float | None, n: int, *, shrinking: bool) -> Watch:
        budget = Budget(max_iter, time_limit)
        return cls(tol, budget, Referee(tol, budget, None, n), 0.5 * tol, shrinking)

    def of_part(self, n: int) -> Watch:
        """For a smaller matrix: the same budget, without the callback."""
        referee = Referee(self.part_tol, self.budget, None, n)
        return Watch(self.part_tol, self.budget, referee, self.part_tol, self.shrinking)


@dataclass
class GramProblem:
    """min 1/2 t'Bt + c't within bounds and with fixed sums of the groups, as `block_solver` states it.

    Variable i belongs to the row ``signed.point[i]`` of K; ``segments`` are the rows whose sums are kept up
    to date.
    """

    K: AnyArray
    segments: IntArray
    signed: Signed
    n_groups: int
    size: int | None = None  # points in a working set, None for a choice from the number of variables
    as_block: bool = False  # solve up to MOST variables as one block, which needs less compiled code
    exact: bool = False  # blocks in the precision of K from the first step

    @classmethod
    def of(
        cls, problem: BoxQP, K: AnyArray, rows: IntArray, segments: IntArray, *, as_block: bool = False
    ) -> GramProblem:
        """A BoxQP whose points are the rows ``rows`` of K."""
        s = problem.s
        lo, hi = problem.signed_bounds
        signed = Signed(
            point=rows[problem.Q.row],
            tau=s * problem.Q.sign,
            d=problem.d,
            c=s * problem.p,
            lo=lo,
            hi=hi,
            group=problem.group.astype(np.int64),
        )
        return cls(K, segments, signed, len(problem.delta), as_block=as_block)

    @cached_property
    def block(self) -> int:
        """Size of a working set: gathering a block costs its square, so small problems take less."""
        return self.size or min(max(len(self.signed.point) // 12, 64), 512)

    def solve(
        self, t: FloatArray, v: FloatArray, watch: Watch, steps: int = 0, *, is_late: bool = False
    ) -> Ending:
        """Solve from ``t`` with v = K weights(t), after ``steps`` other steps; both arrays are changed.

        ``is_late``: pairwise steps were tried on another matrix before.
        """
        if self._scale != 1.0:
            return self._solve_scaled(t, v, watch, steps, is_late=is_late)
        seen = [t.copy()]
        pace = Pace(watch.tol, exact=self.exact)
        block = self.block
        before, spent, aim = steps, 0, 0.0
        patience = STEPS_AT_ONCE if is_late else 0  # 0: not computed yet; most problems end before
        system: FreeSystem | None = None
        while True:
            free = self.free(t)
            left = watch.budget.steps_left(steps, STEPS_AT_ONCE)
            narrow = self.n_groups == 1 and not pace.exact
            if narrow:  # float32 blocks as long as they lower the violation on a float64 matrix
                made, violation, work = self._pairwise_steps(t, v, block, watch.tol, left)
                pace.exact = self.K.itemsize == 8 and violation > max(watch.tol, 0.5 * pace.last)
            if not narrow or (pace.exact and made == 0):
                made, violation, work = block_solver.solve_on_gram(
                    self.K, self.signed, self.n_groups, self.segments, t, v, block, watch.tol, left
                )
            steps += made
            if pace.direct:
                v[:] = self.sums_of(t)  # v contains the rounding of pairwise steps with huge multipliers
                violation = self.violation(t, v)
            n_free = int(np.count_nonzero(now_free := self.free(t)))
            stuck = made == 0 and (pace.failed or n_free == 0)
            status = watch.referee.judge(violation, n_iter=steps, n_pairs=steps, n_active=len(t), stuck=stuck)
            if status is not None:
                return self._ended(Ending(status, steps - before, violation), before, seen, t, v, watch)
            pace.note(violation, int(np.count_nonzero(now_free != free)))
            if steps - before > 2 * STEPS_AT_ONCE:
                block = len(t) if len(t) <= _WHOLE else max(self.block, min(n_free // 4, _LARGEST_BLOCK))
            taken, spent = steps - before, spent + max(made, _LEAST_ROUND, work // _WORK_OF_STEP)
            is_small = len(self.signed.point) <= 2 * MOST_POINTS
            if pace.direct and violation < aim:
                aim, patience = 0.0, patience + _AFTER_INTERIOR
            patience = patience or interior_patience(int(np.count_nonzero(np.bincount(self.signed.point))))
            if is_small and max(taken, spent) > patience:
                if pace.direct or self.K.dtype != np.float64:
                    return self._ended(Ending(Status.STALLED, taken, violation), before, seen, t, v, watch)
                pace.direct = True
                patience = max(taken, spent) + _AFTER_INTERIOR
                self._interior_step(t, v, watch.tol)
                aim = 0.5 * self.violation(t, v)
                seen.append(t.copy())
                system = None
            elif made == 0 or pace.is_slow(n_free):
                system, moved = self._newton_step(t, v, watch.tol, system)
                pace.restart(moved)
            elif watch.shrinking and not pace.part_stalled:
                part = self._solve_moving(t, v, watch, steps)
                steps += part.n_iter
                pace.part_stalled = part.status is Status.STALLED

    @cached_property
    def _scale(self) -> float:
        """A power of two near the largest K(x, x) where blocks in float32 cannot hold the values, else 1."""
        largest = float(np.abs(self.K[self.signed.point, self.signed.point]).max(initial=0.0))
        if self.K.itemsize == 4 or not is_beyond_float32(largest):
            return 1.0
        return float(2.0 ** np.floor(np.log2(largest)))

    def _solve_scaled(
        self, t: FloatArray, v: FloatArray, watch: Watch, steps: int, *, is_late: bool
    ) -> Ending:
        """Solve for scale * t with K / scale: the sums, and so all conditions, are the same."""
        s, scale = self.signed, self._scale
        with np.errstate(over="ignore"):  # a bound beyond the largest number is none
            signed = s._replace(d=s.d / scale, lo=s.lo * scale, hi=s.hi * scale)
        inner = replace(self, K=self.K / scale, signed=signed)
        new = t * scale
        ending = inner.solve(new, v, watch, steps, is_late=is_late)
        t[:] = new / scale
        return ending

    def _pairwise_steps(
        self, t: FloatArray, v: FloatArray, block: int, tol: float, max_steps: int
    ) -> tuple[int, float, int]:
        """Steps of one group: how many were made, the violation reached, and how many numbers were read."""
        s, steps, work = self.signed, 0, 0
        if not self.as_block or len(t) > MOST:
            found: tuple[int, float, int] = one_group.solve_on_gram(
                self.K, s, self.segments, t, v, block, tol, max_steps
            )
            return found
        while True:
            g = self.gradient(t, v)
            low, high = self.extremes(g, t)
            violation = float(high[0] - low[0])
            if violation <= tol or steps >= max_steps or work > one_group.WORK_AT_ONCE:
                return steps, violation, work
            new = t.copy()
            inner = 0.1 * violation if violation > 5.0 * tol else 0.5 * tol
            taken = one_group.solve_block(self._block_of_all, g, new, s.lo, s.hi, inner, max_steps - steps)
            if taken == 0:
                return steps, violation, work
            self.add(v, s.point, s.tau * (new - t))
            t[:] = new
            steps += taken
            work += len(t) * (len(t) + taken)

    @cached_property
    def _block_of_all(self) -> AnyArray:
        """B = tau_i tau_j K_ij + [i = j] d_i in float32."""
        s, B = self.signed, self.K.astype(np.float32, copy=False)
        if len(s.point) != len(B) or (s.point[1:] <= s.point[:-1]).any():
            B = among(B, s.point)
        if (s.tau != 1.0).any():
            tau = s.tau.astype(np.float32)
            B = B * tau * tau[:, None]
        if s.d.any():
            B = B + np.diag(s.d.astype(np.float32))
        return B

    def refine(self, t: FloatArray, v: FloatArray, tol: float) -> None:
        """Newton steps from a point near the solution, as long as they help; both arrays are changed."""
        for _ in range(_REFINEMENTS):
            if self.violation(t, v) <= tol or not self._newton_step(t, v, tol, None)[1]:
                return

    def _ended(
        self, ending: Ending, before: int, seen: list[FloatArray], t: FloatArray, v: FloatArray, watch: Watch
    ) -> Ending:
        """After a stall take the point with the smallest violation, with fresh sums: updated sums drift.

        With huge kernel values rounding can lead to a point worse than the start, ``seen[0]``. Then pairwise
        steps begin again at the start, with blocks in float64.
        """
        if ending.status is not Status.STALLED or self.K.dtype != np.float64:
            return ending
        violations = []
        for one in [t.copy(), *seen[1:]]:
            sums = self.sums_of(one)
            violations.append(self.violation(one, sums))
            if violations[-1] <= min(violations):
                t[:], v[:] = one, sums
        stopped, steps, tol = None, before + ending.n_iter, watch.tol
        if self.back_to(seen[0], t, v):
            new, sums = t.copy(), v.copy()
            for _ in range(_AFRESH):
                left = watch.budget.steps_left(steps, STEPS_AT_ONCE)
                made, _, _ = block_solver.solve_on_gram(
                    self.K, self.signed, self.n_groups, self.segments, new, sums, _WHOLE, tol, left
                )
                steps += made
                sums[:] = self.sums_of(new)
                self.back_to(new, t, v)
                if made == 0 or (stopped := watch.budget.exhausted(steps)) is not None:
                    break
        least = self.violation(t, v)
        status = Status.CONVERGED if least <= tol else stopped or Status.STALLED
        return Ending(status, steps - before, least)

    def back_to(self, start: FloatArray, t: FloatArray, v: FloatArray) -> bool:
        """Set t to ``start``, with fresh sums, if its duality gap is smaller."""
        sums = self.sums_of(start)
        if nearer := self._gap(start, sums) < self._gap(t, v):
            t[:], v[:] = start, sums
        return bool(nearer)

    def _gap(self, t: FloatArray, v: FloatArray) -> float:
        """How far the value at ``t`` can fall, to first order, within the bounds; infinite without them."""
        g = self.gradient(t, v)
        r = g - np.mean(self.extremes(g, t), axis=0)[self.signed.group]
        room = np.where(r == 0, 0.0, t - np.where(r > 0, self.signed.lo, self.signed.hi))
        with np.errstate(over="ignore", invalid="ignore"):
            return float(r @ room)

    def free(self, t: FloatArray) -> BoolArray:
        return (t > self.signed.lo) & (t < self.signed.hi)

    def gradient(self, t: FloatArray, v: FloatArray) -> FloatArray:
        s = self.signed
        return s.tau * v[s.point] + s.d * t + s.c

    def extremes(self, g: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Smallest g that can go up and largest g that can go down, for every group."""
        s = self.signed
        up, down = np.where(t < s.hi, g, block_solver.BIG), np.where(t > s.lo, g, -block_solver.BIG)
        groups = [s.group == k for k in range(self.n_groups)] if self.n_groups > 1 else [slice(None)]
        lowest = [up[group].min(initial=block_solver.BIG) for group in groups]
        highest = [down[group].max(initial=-block_solver.BIG) for group in groups]
        return np.array(lowest), np.array(highest)

    def add(self, v: FloatArray, point: IntArray, weights: FloatArray) -> None:
        """v += K[:, point] weights."""
        used = np.flatnonzero(weights)
        if self.as_block:
            v += weights[used] @ self.K[point[used]].astype(np.float64, copy=False)
            return
        for start, stop in self.segments:
            add_rows(v, self.K, point[used], weights[used], start, stop)

    def sums_of(self, t: FloatArray) -> FloatArray:
        """v = K weights(t); the variables of a point are added first, because they may nearly cancel."""
        v = np.zeros(len(self.K))
        self.add(
            v,
            np.arange(len(v)),
            np.bincount(self.signed.point, self.signed.tau * t, len(v)).astype(np.float64),
        )
        return v

    def own_sums(self, t: FloatArray, v: FloatArray) -> FloatArray:
        """The part of the sums ``v`` that belongs to ``t``; the rest, of fixed variables, goes into c."""
        s, own = self.signed, self.sums_of(t)
        self.signed = s._replace(c=s.c + s.tau * (v - own)[s.point])
        return own

    def violation(self, t: FloatArray, v: FloatArray) -> float:
        """The largest KKT violation at ``t``."""
        low, high = self.extremes(self.gradient(t, v), t)
        return float((high - low).max())

    def _solve_moving(self, t: FloatArray, v: FloatArray, watch: Watch, steps: int) -> Ending:
        """If few variables are free or violate their condition, solve for them with the others fixed."""
        s = self.signed
        g = self.gradient(t, v)
        smallest_up, largest_down = self.extremes(g, t)
        up = (t < s.hi) & ((t > s.lo) | (g < largest_down[s.group]))
        down = (t > s.lo) & (g > smallest_up[s.group])
        which = np.flatnonzero(up | down)
        is_used = np.zeros(len(self.K), dtype=bool)
        is_used[s.point[which]] = True
        points = np.flatnonzero(is_used)
        share = _SHARE if self.K.itemsize == 4 else 0.5 * _SHARE  # memory, see `matrix_bytes`
        if len(points) > share * len(self.K):
            return Ending(Status.CONVERGED, 0, np.inf)
        place = np.cumsum(is_used) - 1
        inner = Signed(
            place[s.point[which]],
            s.tau[which],
            s.d[which],
            s.c[which],
            s.lo[which],
            s.hi[which],
            s.group[which],
        )
        K = among(self.K, points) if self.as_block else gathered(self.K, points)
        part = GramProblem(K, np.array([[0, len(points)]]), inner, self.n_groups, as_block=self.as_block)
        new = t[which]
        ending = part.solve(new, part.own_sums(new, v[points]), watch.of_part(len(new)), steps)
        change = new - t[which]
        t[which] = new
        self.add(v, s.point[which], s.tau[which] * change)
        return ending

    def _interior_step(self, t: FloatArray, v: FloatArray, tol: float) -> None:
        """Continue from an interior point with a smaller violation, or a value smaller beyond rounding."""
        new = interior_point(self.K, self.signed, self.n_groups, t, tol)
        if new is None:
            return
        sums, v[:] = self.sums_of(new), self.sums_of(t)
        with np.errstate(over="ignore", invalid="ignore"):  # of huge kernel values only violations count
            fall = self._value(t, v) - self._value(new, sums)
        if self.violation(new, sums) < self.violation(t, v) or fall > self._rounding(new) + self._rounding(t):
            t[:], v[:] = new, sums

    def _value(self, t: FloatArray, v: FloatArray) -> float:
        s = self.signed
        return float(0.5 * (s.tau * t) @ v[s.point] + 0.5 * (s.d @ (t * t)) + s.c @ t)

    def _rounding(self, t: FloatArray) -> float:
        """A Cauchy-Schwarz bound on the error of `_value`."""
        root = np.sqrt(np.abs(self.K.diagonal().astype(np.float64)))
        return float(np.finfo(np.float64).eps * (np.abs(t) @ root[self.signed.point]) ** 2)

    def _newton_step(
        self, t: FloatArray, v: FloatArray, tol: float, system: FreeSystem | None
    ) -> tuple[FreeSystem | None, bool]:
        """Move the free variables towards the solution of their linear system.

        Returns the system for the next step and whether anything moved.
        """
        free = free_variables(t, self.gradient(t, v), self.signed, tol)
        with blas_threads_for(len(free)):
            if system is not None and self._move(t, v, tol, system, free):
                return system, True
            if not len(free):
                return None, False
            system = FreeSystem(self.K, self.signed, self.n_groups, free)
            return system, self._move(t, v, tol, system, free)

    def _move(self, t: FloatArray, v: FloatArray, tol: float, system: FreeSystem, free: IntArray) -> bool:
        """Move towards the solution of the system as far as the objective decreases; False if it does not."""
        s = self.signed
        g = self.gradient(t, v)
        try:
            found = system.destination(t, g, free, 0.5 * tol)
        except np.linalg.LinAlgError:  # rows so similar that rounding makes the small system singular
            return False
        if found is None:
            return False
        which, new = found
        step = new - t[which]
        ahead = np.zeros_like(v)
        self.add(ahead, s.point[which], s.tau[which] * step)
        curvature = float((s.tau[which] * step) @ ahead[s.point[which]] + s.d[which] @ (step * step))
        length = min(1.0, -float(g[which] @ step) / curvature) if curvature > 0 else 0.0
        if length <= 0.0:
            return False
        t[which] = new if length == 1.0 else t[which] + length * step
        t[:] = on_bounds(t, s.lo, s.hi)
        v += length * ahead
        return True


class Pace:
    """How fast pairwise steps lower the violation, and whether a Newton step would be faster."""

    def __init__(self, tol: float, *, exact: bool = False) -> None:
        self._tol = tol
        self._violations: list[float] = []
        self._n_changed = 0
        self._moved = False
        self.failed = False  # the last Newton step moved nothing
        self.part_stalled = False  # rounding stopped a solve on a smaller matrix
        self.exact = exact  # float32 blocks no longer help
        self.direct = False  # an interior point was tried: then Newton steps pay off with few variables too

    @property
    def last(self) -> float:
        """The last violation noted."""
        return self._violations[-1] if self._violations else np.inf

    def note(self, violation: float, n_changed: int) -> None:
        """The violation after a chunk of steps, and how many variables reached or left a bound in it."""
        self._violations.append(violation)
        self._n_changed = n_changed

    def restart(self, moved: bool) -> None:
        self._violations.clear()
        self._moved = moved
        self.failed = not moved

    def is_slow(self, n_free: int) -> bool:
        """True if more than _PATIENCE steps per free variable are expected, or soon after a Newton step."""
        if n_free < _FEW and not self.direct:
            return False
        if self._moved:
            return len(self._violations) * STEPS_AT_ONCE >= n_free
        if len(self._violations) <= _WINDOW or self._n_changed > _SETTLED * n_free:
            return False
        last = self._violations[-1]
        fall = np.log(self._violations[-1 - _WINDOW] / last) / _WINDOW
        return bool(np.log(last / self._tol) * STEPS_AT_ONCE > _PATIENCE * n_free * max(fall, 0.0))


def interior_patience(n_points: int) -> int:
    """The number of pairwise steps that take about as long as an interior point."""
    return _BEFORE_INTERIOR + n_points**3 // 4000


def among(K: AnyArray, points: IntArray) -> AnyArray:
    """K[points][:, points] by rows, so that compiled code sees the same layout as in a whole matrix."""
    return K[points].take(points, axis=1)


def on_bounds(t: FloatArray, lo: FloatArray, hi: FloatArray) -> FloatArray:
    """Move values within rounding of a bound onto it, so that they count as bounded."""
    slack = ROUNDING * np.minimum(hi - lo, np.abs(t).max(initial=0.0))
    t = np.where(t >= hi - slack, hi, t)
    return np.where(t <= lo + slack, lo, t)


__all__ = ["STEPS_AT_ONCE", "GramProblem", "Pace", "Watch", "among", "interior_patience", "on_bounds"]
