"""Newton steps for a dual problem with many free variables, where pairwise steps are slow.

With the bounded variables fixed, the problem is a linear system in the free ones. Its solution usually leaves
the box for some of them: those are put on their bound and the system is solved again, with the same
factorisation, until none leaves the box (a primal-dual active set method: Hintermueller, Ito and Kunisch,
SIAM J. Optim. 13, 2002, algorithm 1). The factorisation is computed once: a variable that is fixed or freed
later costs one column (a Schur complement), not a new factorisation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.base.typing import AnyArray, BoolArray, FloatArray, IntArray
from maxmargin.compute.dual.block_solver import Signed, scale_block
from maxmargin.compute.dual.gram_parts import gathered
from maxmargin.compute.lapack.cholesky import Cholesky

_RELEASES = 8  # rounds in which fixed variables may be freed again; later rounds only fix, so they end
_SINGLE_ROWS = 1024  # larger systems are factorised in float32: half the time, and accurate enough for a step
_ROUNDING = 1e-7


def factorise(K: AnyArray, points: IntArray, tau: FloatArray, d: FloatArray) -> tuple[Cholesky, float]:
    """B = tau_i tau_j K_ij + d_i [i = j] + shift, and the shift, a constant that steps of sum zero ignore."""
    narrow = K.dtype == np.float32 and len(points) > _SINGLE_ROWS
    dtype: Any
    for dtype in (np.float32, np.float64) if narrow else (np.float64,):
        B = gathered(K, points).astype(dtype, copy=False)
        scale_block(B, tau.astype(dtype), d.astype(dtype))
        shift = B.diagonal().max()
        B += shift
        noise = _ROUNDING if dtype == np.float32 else _ROUNDING * np.sqrt(len(points))
        B.ravel()[:: len(points) + 1] += shift * dtype(noise if K.dtype == np.float32 else 1e-12)
        factor = Cholesky(B)
        if factor.definite:
            break
    return factor, float(shift)


class FreeSystem:
    """The factorised linear system of the variables ``base``, and its solutions when some of them are fixed.

    Variables are those of ``signed``, on the kernel matrix K (see `GramProblem`).
    """

    def __init__(self, K: AnyArray, signed: Signed, n_groups: int, base: IntArray) -> None:
        self._K, self._signed, self._n_groups = K, signed, n_groups
        self._base = base
        self._factor, self._shift = factorise(K, signed.point[base], signed.tau[base], signed.d[base])
        self._place = np.full(len(signed.point), -1)  # of a variable in the base
        self._place[base] = np.arange(len(base))
        self._column = np.full(len(signed.point), -1)  # of a variable that left or joined the base
        self._sums = self._groups_of(base)
        self._used = n_groups
        if self._factor.definite:
            room = n_groups + max(len(base) // 4, min(len(base), 128))
            self._columns = np.empty((len(base), room), self._factor.dtype, order="F")
            self._columns[:, : self._used] = self._factor.solve(self._sums)

    def destination(
        self, t: FloatArray, g: FloatArray, free: IntArray, tol: float
    ) -> tuple[IntArray, FloatArray] | None:
        """The minimiser over the base and ``free`` within the bounds and the sums of the groups.

        Gradients at the bounds may be wrong by ``tol``. Returns variables and their values; None if it
        needs so many columns that a new factorisation or a few pairwise steps are better.
        """
        if not self._factor.definite:
            return None
        m = len(self._base)
        is_joined = self._place[free] < 0
        joined = free[is_joined]
        both = np.concatenate([self._base, joined])
        now, lo, hi = t[both], self._signed.lo[both], self._signed.hi[both]
        fixed = np.ones(len(both), dtype=bool)
        fixed[self._place[free[~is_joined]]] = False
        fixed[m:] = False
        if not self._make_columns(np.concatenate([self._base[fixed[:m]], joined])):
            return None
        plain = self._factor.solve(-g[self._base][:, None])[:, 0].astype(np.float64)
        between = self._between(joined, both)
        bound = now.copy()
        for attempt in range(5 * _RELEASES):
            step, forces = self._constrained(plain, g[joined], between, joined, fixed, bound - now)
            new = now + step
            hit = ((new < lo) | (new > hi)) & ~fixed
            wrong = fixed & np.where(bound == lo, forces < -tol, forces > tol) & (attempt < _RELEASES)
            if not hit.any() and not wrong.any():
                new = np.where(fixed, bound, new)
                return both, _within(new, now, lo, hi, self._signed.group[both], ~fixed)
            if not self._make_columns(self._base[hit[:m]]):
                return None
            bound[hit] = np.clip(new[hit], lo[hit], hi[hit])
            fixed = (fixed & ~wrong) | hit
        return None

    def _groups_of(self, variables: IntArray) -> FloatArray:
        """Membership in the groups, of shape (n_variables, n_groups)."""
        return (self._signed.group[variables][:, None] == np.arange(self._n_groups)).astype(float)

    def _make_columns(self, variables: IntArray) -> bool:
        """Compute missing columns of variables; False if there is no room for them.

        B^-1 times a unit vector for a variable of the base, times its values with the base for another one.
        """
        fresh = variables[self._column[variables] < 0]
        end = self._used + len(fresh)
        if end > self._columns.shape[1]:
            return False
        inside = fresh[self._place[fresh] >= 0]
        outside = fresh[self._place[fresh] < 0]
        right = np.zeros((len(self._base), len(fresh)), order="F")
        right[self._place[inside], np.arange(len(inside))] = 1.0
        right[:, len(inside) :] = self._between(outside, self._base).T
        self._columns[:, self._used : end] = self._factor.solve(right)
        self._column[np.concatenate([inside, outside])] = np.arange(self._used, end)
        self._used = end
        return True

    def _between(self, some: IntArray, others: IntArray) -> FloatArray:
        """Values of B between variables, of shape (n_some, n_others)."""
        s = self._signed
        values = self._K[np.ix_(s.point[some], s.point[others])].astype(np.float64)
        values *= s.tau[some][:, None] * s.tau[others]
        return values + self._shift + s.d[some][:, None] * (some[:, None] == others)

    def _constrained(
        self,
        plain: FloatArray,
        g_joined: FloatArray,
        between: FloatArray,
        joined: IntArray,
        fixed: BoolArray,
        target: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """The step with zero sums and step[fixed] = target[fixed], and the gradient there after it.

        With W the columns, the step of the base is plain + W z, where z are the steps of the joined variables
        (with the opposite sign), the gradients left at the fixed ones of the base, and the multipliers.
        """
        m, k = len(self._base), len(joined)
        out = np.flatnonzero(fixed[:m])
        held = np.flatnonzero(fixed[m:])
        end = k + len(out)
        own = np.arange(self._n_groups)
        chosen = np.concatenate([self._column[joined], self._column[self._base[out]], own])
        W = self._columns[:, : self._used]
        sums = self._groups_of(joined)
        small = np.empty((len(chosen), len(chosen)))
        small[:k] = (between[:, :m].astype(W.dtype) @ W)[:, chosen]
        small[:k, :k] -= between[:, m:]
        small[:k, end:] -= sums
        small[k:end] = W[out][:, chosen]
        small[end:] = (self._sums.T.astype(W.dtype) @ W)[:, chosen]
        small[end:, :k] -= sums.T
        missing = np.concatenate(
            [-g_joined - between[:, :m] @ plain, (target[:m] - plain)[out], -(self._sums.T @ plain)]
        )
        small[held] = 0.0
        small[held, held] = 1.0
        missing[held] = -target[m:][held]
        z = np.linalg.solve(small, missing)
        weights = np.zeros(self._used, W.dtype)
        weights[chosen] = z
        step = np.concatenate([plain + (W @ weights).astype(np.float64), -z[:k]])
        forces = np.zeros(len(fixed))
        forces[out] = z[k:end]
        forces[m + held] = (g_joined + between @ step - sums @ z[end:])[held]
        return step, forces


def _within(
    new: FloatArray, now: FloatArray, lo: FloatArray, hi: FloatArray, group: IntArray, movable: BoolArray
) -> FloatArray:
    """``new`` clipped to its bounds, with exactly the sums of ``now``."""
    new = np.clip(new, lo, hi)
    for k in np.unique(group):
        mine = group == k
        missing = float(now[mine].sum() - new[mine].sum())
        for candidates in (mine & movable, mine):
            missing = hand_out(missing, candidates, new, lo, hi)
    return new


def hand_out(missing: float, candidates: AnyArray, t: FloatArray, lo: FloatArray, hi: FloatArray) -> float:
    """Change the candidates in proportion to their room by ``missing`` in total; returns the rest."""
    chosen = np.flatnonzero(candidates)
    room = hi[chosen] - t[chosen] if missing > 0 else t[chosen] - lo[chosen]
    room = np.minimum(room, abs(missing))  # infinite bounds
    total = float(room.sum())
    if missing == 0.0 or total <= 0.0:
        return missing
    share = min(1.0, abs(missing) / total)
    t[chosen] = np.clip(t[chosen] + np.sign(missing) * share * room, lo[chosen], hi[chosen])
    return float(np.sign(missing)) * (abs(missing) - total) if share == 1.0 else 0.0


def free_variables(t: FloatArray, g: FloatArray, signed: Signed, tol: float) -> IntArray:
    """Variables within their bounds and those that should leave one, at most one per point."""
    lo, hi, group = signed.lo, signed.hi, signed.group
    free = (t > lo) & (t < hi)
    count = np.bincount(group[free], minlength=group.max() + 1)
    with np.errstate(invalid="ignore"):
        level = (np.bincount(group[free], weights=g[free], minlength=len(count)) / count)[group]
    leaving = ~free & (((t < hi) & (g < level - 0.5 * tol)) | ((t > lo) & (g > level + 0.5 * tol)))
    candidates = np.concatenate([np.flatnonzero(free), np.flatnonzero(leaving)])
    own = np.where(signed.tau[candidates] == 0, -1, signed.point[candidates])  # tau = 0: `BoxQP.with_sums`
    _, first = np.unique(own, return_index=True)
    return np.sort(candidates[first])
