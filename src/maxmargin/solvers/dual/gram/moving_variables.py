"""Solve a dual problem on a Gram matrix in memory: pairwise steps, smaller matrices, Newton steps.

Pairwise steps find out which variables still move. These are then solved on a matrix of their own, as long as
it is much smaller: its rows are short and stay in the cache. Where pairwise steps are slow because many
variables are free, a Newton step moves all of them together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.base.typing import AnyArray, BoolArray, FloatArray, IntArray
from maxmargin.compute.dual import block_solver as dual
from maxmargin.compute.dual.bounds import ROUNDING
from maxmargin.solvers.dual.gram.free_system import FreeSystem, free_variables

_STEPS_AT_ONCE = 4_000
_LARGEST_BLOCK = 768  # a longer solve takes a fourth of its free variables at once: they move together
_SHARE = 0.6  # of the points at most, for a matrix of their own
_PATIENCE = 30  # pairwise steps per free variable that take as long as Newton steps
_WINDOW = 4  # chunks of steps over which the pace is measured
_FEW = 64  # free variables with which pairwise steps are never slow
_SETTLED = 0.003  # share of the free variables that may reach or leave a bound meanwhile


@dataclass
class Variables:
    """min 1/2 t'Bt + c't within the bounds and with fixed sums of the groups, as `dual` states it.

    Variable i belongs to the row ``point[i]`` of K; ``segments`` are the rows whose sums are kept up to date.
    """

    K: AnyArray
    segments: IntArray
    point: IntArray
    tau: FloatArray
    d: FloatArray
    c: FloatArray
    lo: FloatArray
    hi: FloatArray
    group: IntArray
    n_groups: int

    def solve(self, t: FloatArray, v: FloatArray, tol: float, max_iter: int, tol_of_parts: float) -> int:
        """Solve from ``t`` with v = K weights(t); both are changed. Returns the number of steps."""
        steps = 0
        pace = Pace(tol)
        block = block_size(len(t))
        system: FreeSystem | None = None
        while True:
            left = _STEPS_AT_ONCE if max_iter < 0 else min(_STEPS_AT_ONCE, max_iter - steps)
            before = self._free(t)
            made, violation = dual.solve_on_gram(
                self.K, self.point, self.segments, self.tau, self.d, self.c, self.lo, self.hi, self.group,
                self.n_groups, t, v, block, tol, left,
            )  # fmt: skip
            steps += made
            if violation <= tol or made == 0 or 0 <= max_iter <= steps:
                return steps
            free = self._free(t)
            pace.note(violation, int(np.count_nonzero(free != before)))
            n_free = int(np.count_nonzero(free))
            if steps > 2 * _STEPS_AT_ONCE:
                block = max(block_size(len(t)), min(n_free // 4, _LARGEST_BLOCK))
            if pace.is_slow(n_free):
                system, moved = self._newton_step(t, v, tol, system)
                pace.restart(moved)
            else:
                steps += self._solve_moving(t, v, tol_of_parts, max_iter - steps if max_iter >= 0 else -1)

    def _free(self, t: FloatArray) -> BoolArray:
        return (t > self.lo) & (t < self.hi)

    def gradient(self, t: FloatArray, v: FloatArray) -> FloatArray:
        g = np.empty(len(t))
        dual.gradient(v, self.point, self.tau, self.d, t, self.c, g)
        return g

    def add(self, v: FloatArray, point: IntArray, weights: FloatArray) -> None:
        """v += K[:, point] weights."""
        used = np.flatnonzero(weights)
        for start, stop in self.segments:
            dual.add_rows(v, self.K, point[used], weights[used], start, stop)

    def _solve_moving(self, t: FloatArray, v: FloatArray, tol: float, max_iter: int) -> int:
        """Solve for the variables that are free or violate, the others fixed, where they are few."""
        g = self.gradient(t, v)
        smallest_up, largest_down = dual.extremes(g, t, self.lo, self.hi, self.group, self.n_groups)
        up = (t < self.hi) & ((t > self.lo) | (g < largest_down[self.group]))
        down = (t > self.lo) & (g > smallest_up[self.group])
        which = np.flatnonzero(up | down)
        is_used = np.zeros(len(self.K), dtype=bool)
        is_used[self.point[which]] = True
        points = np.flatnonzero(is_used)
        share = _SHARE if self.K.itemsize == 4 else 0.5 * _SHARE  # memory, see `plan`
        if len(points) > share * len(self.K):
            return 0
        place = np.cumsum(is_used) - 1
        part = Variables(
            K=dual.gathered(self.K, points),
            segments=np.array([[0, len(points)]]),
            point=place[self.point[which]],
            tau=self.tau[which],
            d=self.d[which],
            c=self.c[which],
            lo=self.lo[which],
            hi=self.hi[which],
            group=self.group[which],
            n_groups=self.n_groups,
        )
        new = t[which]
        steps = part.solve(new, v[points], tol, max_iter, tol)
        change = new - t[which]
        t[which] = new
        self.add(v, self.point[which], self.tau[which] * change)
        return steps

    def _newton_step(
        self, t: FloatArray, v: FloatArray, tol: float, system: FreeSystem | None
    ) -> tuple[FreeSystem | None, bool]:
        """Move the free variables towards the answer of their linear system.

        Returns the system for the next step and whether anything moved.
        """
        free = free_variables(t, self.lo, self.hi, self.gradient(t, v), self.group, self.point, tol)
        if system is not None and self._move(t, v, tol, system, free):
            return system, True
        system = FreeSystem(self, free)
        return system, self._move(t, v, tol, system, free)

    def _move(self, t: FloatArray, v: FloatArray, tol: float, system: FreeSystem, free: IntArray) -> bool:
        """As far towards the destination of the system as the objective falls; False if that is nowhere."""
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
        self.add(ahead, self.point[which], self.tau[which] * step)
        curvature = float((self.tau[which] * step) @ ahead[self.point[which]] + self.d[which] @ (step * step))
        length = min(1.0, -float(g[which] @ step) / curvature) if curvature > 0 else 0.0
        if length <= 0.0:
            return False
        t[which] = new if length == 1.0 else t[which] + length * step
        t[:] = on_bounds(t, self.lo, self.hi)
        v += length * ahead
        return True


class Pace:
    """How fast pairwise steps lower the violation, and whether a Newton step would be faster."""

    def __init__(self, tol: float) -> None:
        self._tol = tol
        self._violations: list[float] = []
        self._n_changed = 0
        self._moved = False

    def note(self, violation: float, n_changed: int) -> None:
        """The violation after a chunk of steps, and how many variables reached or left a bound in it."""
        self._violations.append(violation)
        self._n_changed = n_changed

    def restart(self, moved: bool) -> None:
        self._violations.clear()
        self._moved = moved

    def is_slow(self, n_free: int) -> bool:
        """True when more than _PATIENCE steps per free variable lie ahead, or soon after a Newton step."""
        if n_free < _FEW:
            return False
        if self._moved:
            return len(self._violations) * _STEPS_AT_ONCE >= n_free
        if len(self._violations) <= _WINDOW or self._n_changed > _SETTLED * n_free:
            return False
        last = self._violations[-1]
        fall = np.log(self._violations[-1 - _WINDOW] / last) / _WINDOW
        return bool(np.log(last / self._tol) * _STEPS_AT_ONCE > _PATIENCE * n_free * max(fall, 0.0))


def block_size(n_variables: int) -> int:
    """Working sets on a matrix in memory: gathering a block costs its square, so small problems take less."""
    return int(np.clip(n_variables // 12, 64, 512))


def on_bounds(t: FloatArray, lo: FloatArray, hi: FloatArray) -> FloatArray:
    """Values within rounding of a bound are put on it, so that they count as bounded."""
    slack = ROUNDING * np.minimum(hi - lo, np.abs(t).max(initial=0.0))
    t = np.where(t >= hi - slack, hi, t)
    return np.where(t <= lo + slack, lo, t)
