"""Starts for a problem on a shared kernel matrix from known solutions.

Along C the last solution is scaled. From one fold to the next the rows that leave pass their multipliers on,
and the rows that enter start at the value that satisfies their own condition.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from maxmargin.base.typing import AnyArray, BoolArray, FloatArray, IntArray
from maxmargin.compute.dual import one_group
from maxmargin.compute.dual.block_solver import Signed
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.solution import Ending
from maxmargin.solvers.dual.gram.free_system import hand_out
from maxmargin.solvers.dual.gram.gram_problem import GramProblem, on_bounds

Start = tuple[FloatArray, FloatArray]  # signed variables t, and v = K weights(t)


@dataclass
class GramState:
    """A solution: signed variables t, kernel sums v of all points, multipliers of the equalities."""

    t: FloatArray
    v: FloatArray
    signed: Signed
    multipliers: FloatArray
    ending: Ending
    wide: bool = False  # float32 values were not good enough

    def n_at_bounds(self) -> int:
        """Number of variables at an outer bound; if small, a larger C hardly changes the others."""
        t, s = self.t, self.signed
        return int(np.count_nonzero((t != 0) & ((t >= s.hi) | (t <= s.lo))))


class PlacedProblem:
    """A BoxQP on the rows ``rows`` of a kernel matrix; ``segments`` are the columns that are updated."""

    def __init__(
        self, problem: BoxQP, K: AnyArray, rows: IntArray, segments: IntArray, *, as_block: bool = False
    ) -> None:
        self.problem = problem
        self.rows = rows
        self.gram = GramProblem.of(problem, K, rows, segments, as_block=as_block)
        self.signed = self.gram.signed

    def state(self, t: FloatArray, v: FloatArray, ending: Ending) -> GramState:
        """The state after a solve, with the multipliers of the equalities."""
        if self.gram.n_groups == 1 and self.problem.fixed_sums and not self.gram.as_block:
            multipliers = np.array([one_group.multiplier_at(self.signed, t, v)])
        else:
            multipliers = self.problem.multipliers(self.gram.gradient(t, v), np.abs(t))
        return GramState(t, v, self.signed, multipliers, ending)

    def restart(self, t: FloatArray) -> Start:
        """A start from known variables whose sums are not known on this matrix."""
        return t, self.gram.sums_of(t)

    def checked(self, state: GramState) -> Ending:
        """How a state ended, with its violation computed again from the variables alone."""
        violation = self.gram.violation(state.t, self.gram.sums_of(state.t))
        return replace(state.ending, violation=violation)

    def weights_of(self, t: FloatArray) -> FloatArray:
        """Coefficients of the rows."""
        row, weights = self.problem.Q.row, self.signed.tau * t
        return np.asarray(np.bincount(row, weights=weights, minlength=len(self.rows)), dtype=np.float64)

    # -- starts --------------------------------------------------------------------------------------

    def first_start(self) -> Start:
        """A start without an earlier solution.

        If C is so small that nearly all variables end at their bounds, all at their bounds is a good start.
        """
        problem, s = self.problem, self.signed
        t = problem.s * problem.start
        one_each = len(s.point) == len(self.rows)
        if problem.delta.any() or not one_each or not np.isfinite(problem.C).all():
            return t, self.gram.sums_of(t)
        up, down = s.hi.sum(), -s.lo.sum()
        full = s.hi * (min(up, down) / up) + s.lo * (min(up, down) / down)
        v = self.gram.sums_of(full)
        factor = self._best_multiple(full, v)
        if factor < 0.5:
            return t, np.zeros_like(v)
        return on_bounds(full * factor, s.lo, s.hi), v * factor

    def start_from_scaled(self, before: GramState) -> Start | None:
        """A start from a solution for the same rows with other bounds, or None if no multiple is feasible.

        With equal bounds the solution is used unchanged, otherwise it is scaled.
        """
        if self.problem.delta.any():
            return None
        old, s = before.signed, self.signed
        if np.array_equal(s.lo, old.lo) and np.array_equal(s.hi, old.hi):
            return before.t.copy(), before.v.copy()
        t, v = np.empty_like(before.t), np.empty_like(before.v)
        one_group.scaled_start(s, before.t, before.v, old.lo, old.hi, t, v)
        return t, v

    def start_from_fold(self, before: GramState) -> Start | None:
        """A start from the solution of the same problem on other rows, or None if it cannot be repaired."""
        n, s, old = len(self.gram.K), self.signed, before.signed
        copies = len(s.point) // len(self.rows)  # variables per row: two in regression
        values = _by_point(before.t, old.point, n, copies)
        known = np.zeros(n, dtype=bool)
        known[old.point] = True
        position = np.tile(np.arange(len(self.rows)), copies)
        layer = np.repeat(np.arange(copies), len(self.rows))
        t = np.where(known[s.point], values[layer, self.rows[position]], 0.0)
        t = np.clip(t, s.lo, s.hi)
        arriving = ~known[s.point]
        t[arriving] = self._alone(before, arriving)
        if not self._repair(t, arriving):
            return None
        t = on_bounds(t, s.lo, s.hi)
        new_weights = _by_point(s.tau * t, s.point, n, copies).sum(axis=0)
        old_weights = _by_point(old.tau * before.t, old.point, n, copies).sum(axis=0)
        v = before.v.copy()
        self.gram.add(v, np.arange(n), new_weights - old_weights)
        return t, v

    def _alone(self, before: GramState, which: BoolArray) -> FloatArray:
        """The best value of each entering variable if it alone could move."""
        s = self.signed
        point = s.point[which]
        g = s.tau[which] * before.v[point] + s.c[which] - before.multipliers[s.group[which]]
        curvature = s.tau[which] ** 2 * self.gram.K[point, point] + s.d[which]
        return np.clip(-g / np.maximum(curvature, 1e-12), s.lo[which], s.hi[which])

    def _repair(self, t: FloatArray, arriving: BoolArray) -> bool:
        """Restore the sum of each group: entering rows are changed first, then free ones."""
        s = self.signed
        sums = np.bincount(s.group, weights=t, minlength=self.gram.n_groups)
        free = self.gram.free(t)
        for k in range(self.gram.n_groups):
            missing = float(self.problem.delta[k] - sums[k])
            mine = s.group == k
            for candidates in (mine & arriving, mine & free & ~arriving, mine):
                missing = hand_out(missing, candidates, t, s.lo, s.hi)
            if abs(missing) > 1e-12 * max(1.0, float(np.abs(t).sum())):
                return False
        return True

    def _best_multiple(self, t: FloatArray, v: FloatArray) -> float:
        """The multiple of a balanced point with the smallest objective that stays within the bounds."""
        s = self.signed
        quadratic = float((s.tau * t) @ v[s.point] + s.d @ (t * t))
        used = np.flatnonzero(t)
        bounds = np.where(t[used] > 0, s.hi[used], s.lo[used])
        room = (bounds / t[used]).min(initial=np.inf)
        if not quadratic > 0:
            return float(min(room, 1.0))
        return float(np.clip(-float(s.c @ t) / quadratic, 0.0, room))


def _by_point(values: FloatArray, point: IntArray, n: int, copies: int) -> FloatArray:
    """Values of variables as a table of shape (copies, n_points)."""
    table = np.zeros((copies, n))
    layer = np.repeat(np.arange(copies), len(point) // copies)
    table[layer, point] = values
    return table
