"""Newton steps for a dual problem with many free variables, where pairwise steps are slow.

With the bounded variables fixed, the problem is a linear system in the free ones. Its answer usually leaves
the box for some of them: those are put on their bound and the system is solved again, with the same
factorisation, as often as it takes (a primal-dual active set method: Hintermueller, Ito and Kunisch, SIAM J.
Optim. 13, 2002, algorithm 1). A line search towards that feasible point never makes the objective worse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin._compute import dual
from maxmargin._compute.cholesky import Cholesky
from maxmargin.typing import AnyArray, BoolArray, FloatArray, IntArray

_RELEASES = (
    8  # rounds in which fixed variables may be freed again; later ones only fix, and so come to an end
)
_SINGLE_ROWS = 1024  # larger systems are factorised in float32: half the time, and exact enough for a step
_ROUNDING = 1e-7


def factorise(K: AnyArray, points: IntArray, tau: FloatArray, d: FloatArray) -> Cholesky | None:
    """B = tau_i tau_j K_ij + d_i [i = j], plus a constant that steps of sum zero do not see."""
    narrow = K.dtype == np.float32 and len(points) > _SINGLE_ROWS
    for dtype in (np.float32, np.float64) if narrow else (np.float64,):
        B = dual.gathered(K, points).astype(dtype, copy=False)
        dual.scale_block(B, tau.astype(dtype), d.astype(dtype))
        largest = B.diagonal().max()
        B += largest
        noise = _ROUNDING if dtype == np.float32 else _ROUNDING * np.sqrt(len(points))
        B.ravel()[:: len(points) + 1] += largest * dtype(noise if K.dtype == np.float32 else 1e-12)
        factor = Cholesky(B)
        if factor.definite:
            return factor
    return None


@dataclass
class FreeSystem:
    """The free variables of a problem and those that should become free, with their bounds and gradient."""

    now: FloatArray
    lo: FloatArray
    hi: FloatArray
    g: FloatArray
    group: IntArray
    factor: Cholesky

    def destination(self) -> FloatArray | None:
        """The minimiser over these variables within their bounds and the sums of their groups.

        None where so many bounds are met that a few pairwise steps are the better way.
        """
        m = len(self.now)
        sums = (self.group[:, None] == np.unique(self.group)).astype(np.float64)
        ahead = self.factor.solve(np.column_stack([-self.g, sums]))
        n_sums = sums.shape[1]
        columns = np.empty((m, n_sums + max(m // 4, min(m, 512))), self.factor.dtype, order="F")
        columns[:, :n_sums] = ahead[:, 1:]
        place = np.full(m, -1)  # of each variable's column
        used = n_sums
        fixed = np.zeros(m, dtype=bool)
        bound = self.now.copy()  # where each fixed variable stands
        for attempt in range(5 * _RELEASES):
            which = np.flatnonzero(fixed)
            step, forces = _constrained(
                ahead[:, 0], columns[:, :used], sums, which, place[which], bound - self.now
            )
            new = self.now + step
            hit = np.flatnonzero(((new < self.lo) | (new > self.hi)) & ~fixed)
            at_lower = bound[which] == self.lo[which]
            wrong = which[np.where(at_lower, forces < 0, forces > 0)] if attempt < _RELEASES else which[:0]
            if len(hit) + len(wrong) == 0:
                return _within(np.where(fixed, bound, new), self, ~fixed)
            fresh = hit[place[hit] < 0]
            if used + len(fresh) > columns.shape[1]:
                return None
            place[fresh] = np.arange(used, used + len(fresh))
            columns[:, used : used + len(fresh)] = self.factor.solve(_unit_columns(m, fresh))
            used += len(fresh)
            bound[hit] = np.clip(new[hit], self.lo[hit], self.hi[hit])
            fixed[wrong] = False
            fixed[hit] = True
        return None


def _unit_columns(m: int, which: IntArray) -> FloatArray:
    unit = np.zeros((m, len(which)), order="F")
    unit[which, np.arange(len(which))] = 1.0
    return unit


def _constrained(
    plain: AnyArray, columns: AnyArray, sums: FloatArray, which: IntArray, place: IntArray, target: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The step with zero sums and step[which] = target[which], and the gradient left at ``which``."""
    n_sums = sums.shape[1]
    chosen = np.concatenate([np.arange(n_sums), place])
    of_sums = (sums.T.astype(columns.dtype) @ columns)[:, chosen]
    small = np.vstack([of_sums, columns[which][:, chosen]]).astype(np.float64)
    missing = np.concatenate([-(sums.T @ plain), target[which] - plain[which]])
    forces = np.linalg.solve(small, missing)
    weights = np.zeros(columns.shape[1], columns.dtype)
    weights[chosen] = forces
    return plain + (columns @ weights).astype(np.float64), forces[n_sums:]


def _within(new: FloatArray, system: FreeSystem, movable: BoolArray) -> FloatArray:
    """``new`` put within its bounds, and its sums made exactly those of ``now``."""
    new = np.clip(new, system.lo, system.hi)
    for k in np.unique(system.group):
        mine = system.group == k
        missing = float(system.now[mine].sum() - new[mine].sum())
        for candidates in (mine & movable, mine):
            missing = hand_out(missing, candidates, new, system.lo, system.hi)
    return new


def hand_out(missing: float, candidates: AnyArray, t: FloatArray, lo: FloatArray, hi: FloatArray) -> float:
    """Change the candidates in proportion to their room until ``missing`` is gone; returns what is left."""
    chosen = np.flatnonzero(candidates)
    room = hi[chosen] - t[chosen] if missing > 0 else t[chosen] - lo[chosen]
    room = np.minimum(room, abs(missing))  # infinite bounds
    total = float(room.sum())
    if missing == 0.0 or total <= 0.0:
        return missing
    share = min(1.0, abs(missing) / total)
    t[chosen] = np.clip(t[chosen] + np.sign(missing) * share * room, lo[chosen], hi[chosen])
    return float(np.sign(missing)) * (abs(missing) - total) if share == 1.0 else 0.0


def free_variables(
    t: FloatArray, lo: FloatArray, hi: FloatArray, g: FloatArray, group: IntArray, point: IntArray, tol: float
) -> IntArray:
    """Variables within their bounds and those that should leave one, at most one per point."""
    free = (t > lo) & (t < hi)
    count = np.bincount(group[free], minlength=group.max() + 1)
    with np.errstate(invalid="ignore"):
        level = (np.bincount(group[free], weights=g[free], minlength=len(count)) / count)[group]
    leaving = ~free & (((t < hi) & (g < level - 0.5 * tol)) | ((t > lo) & (g > level + 0.5 * tol)))
    candidates = np.concatenate([np.flatnonzero(free), np.flatnonzero(leaving)])
    _, first = np.unique(point[candidates], return_index=True)
    return np.sort(candidates[first])
