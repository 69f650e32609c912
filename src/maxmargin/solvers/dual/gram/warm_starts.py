"""Solve one problem after another on a shared Gram matrix, each from an answer that is already known.

Along C the last answer is scaled; from one fold to the next the rows that leave hand their multipliers over,
and the rows that arrive start where their own condition alone would put them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.base.typing import AnyArray, FloatArray, IntArray
from maxmargin.problems.box_qp import BoxQP
from maxmargin.solvers.dual.gram.free_system import hand_out
from maxmargin.solvers.dual.gram.moving_variables import Variables, on_bounds


@dataclass(frozen=True)
class GramView:
    """A Gram matrix over all rows, the rows of one problem, and the columns that it keeps up to date."""

    K: AnyArray
    rows: IntArray
    segments: IntArray


@dataclass
class State:
    """An answer: signed variables t of the points ``point``, kernel sums v of all points, its multipliers."""

    t: FloatArray
    v: FloatArray
    lo: FloatArray
    hi: FloatArray
    point: IntArray
    tau: FloatArray
    multipliers: FloatArray
    wide: bool = False  # float32 values were not good enough


class Signed(Variables):
    """A BoxQP in signed variables t = s a on the rows of a view."""

    def __init__(self, problem: BoxQP, view: GramView) -> None:
        s = problem.s
        self.view = view
        self.problem = problem
        super().__init__(
            K=view.K,
            segments=view.segments,
            point=view.rows[problem.Q.row],
            tau=s * problem.Q.sign,
            d=problem.d,
            c=s * problem.p,
            lo=np.where(s > 0, 0.0, -problem.C),
            hi=np.where(s > 0, problem.C, 0.0),
            group=problem.group.astype(np.int64),
            n_groups=len(problem.delta),
        )

    def answer(self, t: FloatArray, v: FloatArray, tol: float, max_iter: int) -> tuple[State, int]:
        """Solve from ``t`` with v = K weights(t); both are changed. Returns the answer and the steps."""
        steps = self.solve(t, v, tol, max_iter, 0.5 * tol)
        multipliers = self.problem.multipliers(self.gradient(t, v), np.abs(t))
        return State(t, v, self.lo, self.hi, self.point, self.tau, multipliers), steps

    def sums_of(self, t: FloatArray) -> FloatArray:
        v = np.zeros(len(self.view.K))
        self.add(v, self.point, self.tau * t)
        return v

    def weights_of(self, t: FloatArray) -> FloatArray:
        """Coefficients of the rows of the view."""
        beta = np.bincount(self.problem.Q.row, weights=self.tau * t, minlength=len(self.view.rows))
        return beta.astype(np.float64, copy=False)


# -- starts --------------------------------------------------------------------------------------------


def first_start(signed: Signed) -> tuple[FloatArray, FloatArray]:
    """A start without any earlier answer.

    Where C is so small that nearly everything ends at its bound, both sides full is nearly the answer.
    """
    problem = signed.problem
    t = problem.s * problem.start
    one_each = len(signed.point) == len(signed.view.rows)
    if problem.delta.any() or not one_each or not np.isfinite(problem.C).all():
        return t, signed.sums_of(t)
    up, down = signed.hi.sum(), -signed.lo.sum()
    full = signed.hi * (min(up, down) / up) + signed.lo * (min(up, down) / down)
    v = signed.sums_of(full)
    factor = _best_multiple(signed, full, v)
    if factor < 0.5:
        return t, np.zeros_like(v)
    return on_bounds(full * factor, signed.lo, signed.hi), v * factor


def start_from_scaled(signed: Signed, before: State) -> tuple[FloatArray, FloatArray] | None:
    """A start from an answer for the same rows with other bounds, or None where no multiple is feasible.

    Where the bounds are the same it stands as it is. Else, where most support vectors stood at their bound,
    the whole answer is scaled; where most were free they are nearly right as they stand, and scaling would
    make every one of them move again.
    """
    if signed.problem.delta.any():
        return None
    t = before.t
    if np.array_equal(signed.lo, before.lo) and np.array_equal(signed.hi, before.hi):
        return t.copy(), before.v.copy()
    bounded = (t != 0) & ((t >= before.hi) | (t <= before.lo))
    free = (t > before.lo) & (t < before.hi)
    factor = _best_multiple(signed, t, before.v)
    if free.sum() > bounded.sum():
        factor = min(factor, 1.0)
    return on_bounds(t * factor, signed.lo, signed.hi), before.v * factor


def unaffected_by_bounds(state: State, at_most: int) -> bool:
    """True when at most that many variables stood at an outer bound: a larger C then changes little else."""
    return int(np.count_nonzero((state.t != 0) & ((state.t >= state.hi) | (state.t <= state.lo)))) <= at_most


def start_from_fold(signed: Signed, before: State) -> tuple[FloatArray, FloatArray] | None:
    """A start from the answer to the same problem on other rows, or None where it cannot be repaired."""
    n = len(signed.view.K)
    copies = len(signed.point) // len(signed.view.rows)  # variables per row: two in regression
    old = _by_point(before.t, before.point, n, copies)
    known = np.zeros(n, dtype=bool)
    known[before.point] = True
    position = np.tile(np.arange(len(signed.view.rows)), copies)
    layer = np.repeat(np.arange(copies), len(signed.view.rows))
    t = np.where(known[signed.point], old[layer, signed.view.rows[position]], 0.0)
    t = np.clip(t, signed.lo, signed.hi)
    arriving = ~known[signed.point]
    t[arriving] = _alone(signed, before, arriving)
    if not _repair(signed, t, arriving):
        return None
    t = on_bounds(t, signed.lo, signed.hi)
    new = _by_point(signed.tau * t, signed.point, n, copies).sum(axis=0)
    old_weights = _by_point(before.tau * before.t, before.point, n, copies).sum(axis=0)
    change = new - old_weights
    v = before.v.copy()
    signed.add(v, np.arange(n), change)
    return t, v


def _by_point(values: FloatArray, point: IntArray, n: int, copies: int) -> FloatArray:
    """Values of variables as a table of shape (copies, n_points)."""
    table = np.zeros((copies, n))
    layer = np.repeat(np.arange(copies), len(point) // copies)
    table[layer, point] = values
    return table


def _alone(signed: Signed, before: State, which: AnyArray) -> FloatArray:
    """The best value of each arriving variable if it alone could move."""
    point = signed.point[which]
    g = signed.tau[which] * before.v[point] + signed.c[which] - before.multipliers[signed.group[which]]
    curvature = signed.tau[which] ** 2 * signed.view.K[point, point] + signed.d[which]
    return np.clip(-g / np.maximum(curvature, 1e-12), signed.lo[which], signed.hi[which])


def _repair(signed: Signed, t: FloatArray, arriving: AnyArray) -> bool:
    """Bring the sum of each group back to its value: arriving rows give or take first, then free ones."""
    sums = np.bincount(signed.group, weights=t, minlength=signed.n_groups)
    free = (t > signed.lo) & (t < signed.hi)
    for k in range(signed.n_groups):
        missing = float(signed.problem.delta[k] - sums[k])
        mine = signed.group == k
        for candidates in (mine & arriving, mine & free & ~arriving, mine):
            missing = hand_out(missing, candidates, t, signed.lo, signed.hi)
        if abs(missing) > 1e-12 * max(1.0, float(np.abs(t).sum())):
            return False
    return True


def _best_multiple(signed: Signed, t: FloatArray, v: FloatArray) -> float:
    """The multiple of a balanced point with the smallest objective that keeps to the bounds."""
    quadratic = float((signed.tau * t) @ v[signed.point] + signed.d @ (t * t))
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(t > 0, signed.hi / t, np.where(t < 0, signed.lo / t, np.inf)).min(initial=np.inf)
    if not quadratic > 0:
        return float(min(room, 1.0))
    return float(np.clip(-float(signed.c @ t) / quadratic, 0.0, room))
