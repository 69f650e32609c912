"""Solve one dual problem on a kernel matrix in memory: pairwise steps, smaller matrices, Newton steps.

Pairwise steps find out which variables still move. These are then solved on a matrix of their own, as long as
it is much smaller: its rows are short and stay in the cache. Where pairwise steps are slow because many
variables are free, a Newton step moves all of them together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxmargin.base.typing import AnyArray, BoolArray, FloatArray, IntArray
from maxmargin.compute.dual import block_solver
from maxmargin.compute.dual.block_solver import Signed
from maxmargin.compute.dual.bounds import ROUNDING
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.solution import Ending, Status
from maxmargin.solvers.dual.gram.free_system import FreeSystem, free_variables
from maxmargin.solvers.dual.gram.interior_point import MOST_POINTS, interior_point
from maxmargin.solvers.stopping import Budget, Referee

_STEPS_AT_ONCE = 4_000
_LARGEST_BLOCK = 768  # a longer solve takes a fourth of its free variables at once: they move together
_SHARE = 0.6  # of the points at most, for a matrix of their own
_PATIENCE = 30  # pairwise steps per free variable that take as long as Newton steps
_WINDOW = 4  # chunks of steps over which the pace is measured
_FEW = 64  # free variables with which pairwise steps are never slow
_BEFORE_INTERIOR = 20_000  # pairwise steps at least, before an interior point is tried
_AFTER_INTERIOR = 1_500_000  # steps at least, before a solve is given up
_SETTLED = 0.003  # share of the free variables that may reach or leave a bound meanwhile


@dataclass(frozen=True)
class Watch:
    """When a solve stops: the violation to reach, the budget, and who is told about progress.

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
        """For a smaller matrix: the same budget, and nobody is told."""
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

    @classmethod
    def of(cls, problem: BoxQP, K: AnyArray, rows: IntArray, segments: IntArray) -> GramProblem:
        """A BoxQP whose points are the rows ``rows`` of K."""
        s = problem.s
        lo, hi = problem.signed_bounds()
        signed = Signed(
            point=rows[problem.Q.row],
            tau=s * problem.Q.sign,
            d=problem.d,
            c=s * problem.p,
            lo=lo,
            hi=hi,
            group=problem.group.astype(np.int64),
        )
        return cls(K, segments, signed, len(problem.delta))

    @cached_property
    def block(self) -> int:
        """Size of a working set: gathering a block costs its square, so small problems take less."""
        return self.size or int(np.clip(len(self.signed.point) // 12, 64, 512))

    def solve(self, t: FloatArray, v: FloatArray, watch: Watch, steps: int = 0) -> Ending:
        """Solve from ``t`` with v = K weights(t), after ``steps`` other steps; both arrays are changed."""
        pace = Pace(watch.tol)
        block = self.block
        before = steps
        patience = interior_patience(len(self.signed.point))
        system: FreeSystem | None = None
        while True:
            free = self.free(t)
            left = watch.budget.steps_left(steps, _STEPS_AT_ONCE)
            made, violation = block_solver.solve_on_gram(
                self.K, self.signed, self.n_groups, self.segments, t, v, block, watch.tol, left
            )
            steps += made
            n_free = int(np.count_nonzero(now_free := self.free(t)))
            stuck = made == 0 and (pace.failed or n_free == 0)
            status = watch.referee.judge(violation, n_iter=steps, n_pairs=steps, n_active=len(t), stuck=stuck)
            if status is not None:
                return Ending(status, steps - before, violation)
            pace.note(violation, int(np.count_nonzero(now_free != free)))
            if steps - before > 2 * _STEPS_AT_ONCE:
                block = max(self.block, min(n_free // 4, _LARGEST_BLOCK))
            taken = steps - before
            is_small = len(self.signed.point) <= 2 * MOST_POINTS
            if is_small and taken > (max(_AFTER_INTERIOR, 10 * patience) if pace.direct else patience):
                if pace.direct or self.K.dtype != np.float64:
                    return Ending(Status.STALLED, taken, violation)
                pace.direct = True
                self._interior_step(t, v, watch.tol)
                system = None
            elif made == 0 or pace.is_slow(n_free):
                system, moved = self._newton_step(t, v, watch.tol, system)
                pace.restart(moved)
            elif watch.shrinking:
                steps += self._solve_moving(t, v, watch, steps)

    def free(self, t: FloatArray) -> BoolArray:
        return (t > self.signed.lo) & (t < self.signed.hi)

    def gradient(self, t: FloatArray, v: FloatArray) -> FloatArray:
        g = np.empty(len(t))
        block_solver.gradient(v, self.signed.point, self.signed.tau, self.signed.d, t, self.signed.c, g)
        return g

    def add(self, v: FloatArray, point: IntArray, weights: FloatArray) -> None:
        """v += K[:, point] weights."""
        used = np.flatnonzero(weights)
        for start, stop in self.segments:
            block_solver.add_rows(v, self.K, point[used], weights[used], start, stop)

    def sums_of(self, t: FloatArray) -> FloatArray:
        """v = K weights(t)."""
        v = np.zeros(len(self.K))
        self.add(v, self.signed.point, self.signed.tau * t)
        return v

    def violation(self, t: FloatArray, v: FloatArray) -> float:
        """The largest KKT violation at ``t``."""
        s = self.signed
        low, high = block_solver.extremes(self.gradient(t, v), t, s.lo, s.hi, s.group, self.n_groups)
        return float((high - low).max())

    def _solve_moving(self, t: FloatArray, v: FloatArray, watch: Watch, steps: int) -> int:
        """Solve for the variables that are free or violate, the others fixed, where they are few."""
        s = self.signed
        g = self.gradient(t, v)
        smallest_up, largest_down = block_solver.extremes(g, t, s.lo, s.hi, s.group, self.n_groups)
        up = (t < s.hi) & ((t > s.lo) | (g < largest_down[s.group]))
        down = (t > s.lo) & (g > smallest_up[s.group])
        which = np.flatnonzero(up | down)
        is_used = np.zeros(len(self.K), dtype=bool)
        is_used[s.point[which]] = True
        points = np.flatnonzero(is_used)
        share = _SHARE if self.K.itemsize == 4 else 0.5 * _SHARE  # memory, see `matrix_bytes`
        if len(points) > share * len(self.K):
            return 0
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
        K = block_solver.gathered(self.K, points)
        part = GramProblem(K, np.array([[0, len(points)]]), inner, self.n_groups)
        new = t[which]
        made = part.solve(new, v[points], watch.of_part(len(new)), steps).n_iter
        change = new - t[which]
        t[which] = new
        self.add(v, s.point[which], s.tau[which] * change)
        return made

    def _interior_step(self, t: FloatArray, v: FloatArray, tol: float) -> None:
        """Go on from an interior point where that violates the conditions less."""
        new = interior_point(self.K, self.signed, self.n_groups, t, tol)
        if new is None:
            return
        sums = v.copy()
        self.add(sums, self.signed.point, self.signed.tau * (new - t))
        if self.violation(new, sums) < self.violation(t, v) or self._value(new, sums) < self._value(t, v):
            t[:], v[:] = new, sums

    def _value(self, t: FloatArray, v: FloatArray) -> float:
        s = self.signed
        return float(0.5 * (s.tau * t) @ v[s.point] + 0.5 * (s.d @ (t * t)) + s.c @ t)

    def _newton_step(
        self, t: FloatArray, v: FloatArray, tol: float, system: FreeSystem | None
    ) -> tuple[FreeSystem | None, bool]:
        """Move the free variables towards the answer of their linear system.

        Returns the system for the next step and whether anything moved.
        """
        free = free_variables(t, self.gradient(t, v), self.signed, tol)
        if system is not None and self._move(t, v, tol, system, free):
            return system, True
        if not len(free):
            return None, False
        system = FreeSystem(self.K, self.signed, self.n_groups, free)
        return system, self._move(t, v, tol, system, free)

    def _move(self, t: FloatArray, v: FloatArray, tol: float, system: FreeSystem, free: IntArray) -> bool:
        """As far towards the destination of the system as the objective falls; False if that is nowhere."""
        s = self.signed
        g = self.gradient(t, v)
        try:
            found = system.destination(t, g, free, 0.5 * tol)
        except np.linalg.LinAlgError:  # rows so alike that rounding makes the small system singular
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

    def __init__(self, tol: float) -> None:
        self._tol = tol
        self._violations: list[float] = []
        self._n_changed = 0
        self._moved = False
        self.failed = False  # the last Newton step moved nothing
        self.direct = False  # an interior point was tried: Newton steps then pay with few variables too

    def note(self, violation: float, n_changed: int) -> None:
        """The violation after a chunk of steps, and how many variables reached or left a bound in it."""
        self._violations.append(violation)
        self._n_changed = n_changed

    def restart(self, moved: bool) -> None:
        self._violations.clear()
        self._moved = moved
        self.failed = not moved

    def is_slow(self, n_free: int) -> bool:
        """True when more than _PATIENCE steps per free variable lie ahead, or soon after a Newton step."""
        if n_free < _FEW and not self.direct:
            return False
        if self._moved:
            return len(self._violations) * _STEPS_AT_ONCE >= n_free
        if len(self._violations) <= _WINDOW or self._n_changed > _SETTLED * n_free:
            return False
        last = self._violations[-1]
        fall = np.log(self._violations[-1 - _WINDOW] / last) / _WINDOW
        return bool(np.log(last / self._tol) * _STEPS_AT_ONCE > _PATIENCE * n_free * max(fall, 0.0))


def interior_patience(n_variables: int) -> int:
    """Pairwise steps that take about as long as an interior point; float64 decides what takes more."""
    return _BEFORE_INTERIOR + n_variables**3 // 400


def on_bounds(t: FloatArray, lo: FloatArray, hi: FloatArray) -> FloatArray:
    """Values within rounding of a bound are put on it, so that they count as bounded."""
    slack = ROUNDING * np.minimum(hi - lo, np.abs(t).max(initial=0.0))
    t = np.where(t >= hi - slack, hi, t)
    return np.where(t <= lo + slack, lo, t)


__all__ = ["GramProblem", "Pace", "Watch", "interior_patience", "on_bounds"]
