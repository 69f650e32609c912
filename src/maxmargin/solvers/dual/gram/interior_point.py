"""An interior-point method for small dual problems on which pairwise steps crawl.

With D the diagonal of the barrier, a Newton step solves (T K T' + D) dt = r, where T maps the points of the
kernel matrix to the variables (one variable of a point, or two in regression). Each variable belongs to one
point, so S = T' D^-1 T is diagonal, and the step follows from the matrix I + S^1/2 K S^1/2, whose eigenvalues
are at least one: badly scaled rows and huge bounds do no harm (Ferris and Munson, SIAM J. Optim. 13, 2002).
Predictor and corrector steps as Mehrotra (SIAM J. Optim. 2, 1992) chooses them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpstrf

from maxmargin.base.threads import check_stop, single_threaded_blas
from maxmargin.base.typing import AnyArray, FloatArray, IntArray
from maxmargin.compute.dual.block_solver import Signed
from maxmargin.solvers.dual.gram.free_system import hand_out

MOST_POINTS = 1500  # a step factorises a matrix of that size
_MOST_STEPS = 60
_MOST_FREE = 800  # variables that a least-squares correction moves
_NEAR = 1e-3  # of the largest variable: never further from a bound that a variable approaches
_BACK = 0.995  # share of the way to the nearest bound


def interior_point(
    K: AnyArray, signed: Signed, n_groups: int, t: FloatArray, tol: float
) -> FloatArray | None:
    """A point close to the minimiser with the group sums of ``t``, or None where rounding forbids it.

    Variables that end close to a bound are put on it.
    """
    with np.errstate(all="ignore"), single_threaded_blas():
        solver = _Interior(K, signed, n_groups, t)
        for _ in range(_MOST_STEPS):
            check_stop()
            if solver.is_done(tol) or not solver.step():
                break
    return solver.on_bounds()


class _Best(NamedTuple):
    """The best point so far, and the distance below which a variable counts as approaching its bound."""

    x: FloatArray
    y: FloatArray
    near: float


_Solve = Callable[[FloatArray], FloatArray]


class _Whole:
    """Steps with any K: one factorisation of its size for every S."""

    def __init__(self, K: FloatArray) -> None:
        self._K = K

    def factorised(self, S: FloatArray) -> _Solve:
        """A function that gives w = K (b - S w)."""
        root = np.sqrt(S)
        M = root[:, None] * self._K * root
        M.ravel()[:: len(M) + 1] += 1.0
        factor = cho_factor(M, lower=True, overwrite_a=True, check_finite=False)

        def solve(b: FloatArray) -> FloatArray:
            w = cho_solve(factor, root * (self._K @ b), check_finite=False)
            return np.divide(w, root, out=np.zeros_like(w), where=root > 0)

        return solve


class _LowRank:
    """As `_Whole`, for K = G G' with few columns: the matrix of a step has their number."""

    def __init__(self, G: FloatArray) -> None:
        self._G = G

    def factorised(self, S: FloatArray) -> _Solve:
        G = self._G
        M = (G * S[:, None]).T @ G
        M.ravel()[:: len(M) + 1] += 1.0
        size = 1.0 / np.sqrt(M.diagonal())
        factor = cho_factor(M * size * size[:, None], lower=True, overwrite_a=True, check_finite=False)
        return lambda b: G @ (size * cho_solve(factor, size * (G.T @ b), check_finite=False))


def _factor_of(K: FloatArray) -> _Whole | _LowRank:
    """The form in which steps with this matrix are cheap and exact."""
    C, pivots, rank, _ = dpstrf(K, lower=1)
    if rank > len(K) // 2:
        return _Whole(K)
    G = np.zeros((len(K), rank))
    G[pivots - 1] = np.tril(C)[:, :rank]
    return _LowRank(G)


class _Interior:
    """Where the method stands: variables x - lo > 0, hi - x > 0 and the multipliers of both."""

    def __init__(self, K: AnyArray, signed: Signed, n_groups: int, t: FloatArray) -> None:
        points, self.place = np.unique(signed.point, return_inverse=True)
        self.K = np.asarray(K[np.ix_(points, points)], dtype=np.float64)
        self.matrix = _factor_of(self.K)
        self.tau, self.d, self.c = signed.tau, signed.d, signed.c
        self.lo, self.hi = signed.lo, signed.hi
        self.E = (signed.group == np.arange(n_groups)[:, None]).astype(np.float64)
        self.sums = self.E @ t
        self.above, self.below = np.isfinite(self.lo), np.isfinite(self.hi)
        self.x = self._inside(t)
        gradient = self._times(self.x) + self.d * self.x + self.c
        scale = max(float(np.abs(self.c).max()), float(np.abs(gradient - gradient.mean()).max()))
        self.zl = np.where(self.above, scale, 0.0)
        self.zu = np.where(self.below, scale, 0.0)
        self.y = np.zeros(n_groups)
        self.best: _Best | None = None
        self._smallest = np.inf

    def _inside(self, t: FloatArray) -> FloatArray:
        """A point well inside its bounds; the sums need not hold yet."""
        typical = float(np.abs(t).mean()) or 1.0
        width = np.where(self.above & self.below, self.hi - self.lo, np.inf)
        distance = np.minimum(0.1 * width, typical)
        return np.clip(t, self.lo + distance, self.hi - distance)

    def _times(self, x: FloatArray) -> FloatArray:
        """B x without the diagonal d."""
        return np.asarray(self.tau * (self.K @ self._by_point(self.tau * x))[self.place])

    def _by_point(self, values: FloatArray) -> FloatArray:
        """Sums over the variables of each point."""
        sums = np.bincount(self.place, weights=values, minlength=len(self.K))
        return np.asarray(sums, dtype=np.float64)

    def _residuals(self) -> tuple[FloatArray, FloatArray, float]:
        gradient = self._times(self.x) + self.d * self.x + self.c
        dual = gradient - self.E.T @ self.y - self.zl + self.zu
        primal = self.sums - self.E @ self.x
        pairs = self.above.sum() + self.below.sum()
        mu = (self._left() @ self.zl + self._right() @ self.zu) / max(1, pairs)
        return dual, primal, float(mu)

    def _left(self) -> FloatArray:
        return np.where(self.above, self.x - self.lo, 1.0)

    def _right(self) -> FloatArray:
        return np.where(self.below, self.hi - self.x, 1.0)

    def is_done(self, tol: float) -> bool:
        """Keep the best point so far; True when the conditions hold to ``tol``."""
        dual, primal, mu = self._residuals()
        slack = np.minimum(self._left() * self.zl, self._right() * self.zu)
        size = max(1.0, float(np.abs(self.x).max()))
        error = max(float(np.abs(dual).max()), float(np.abs(primal).max()) / size * tol * 1e6, mu / size)
        if not np.isfinite(error) or not np.isfinite(slack).all():
            return True
        if error < self._smallest:
            sizes, forces = float(np.abs(self.x).max()), max(self.zl.max(), self.zu.max(), 1e-300)
            near = min(float(np.sqrt(mu * sizes / forces)), _NEAR * sizes)
            self._smallest, self.best = error, _Best(self.x, self.y, near)
        return error <= 0.1 * tol

    def step(self) -> bool:
        """One predictor and corrector step; False where it cannot be computed or leads nowhere."""
        left, right = self._left(), self._right()
        D = self.d + self.zl / left + self.zu / right
        S = self._by_point(self.tau**2 / D)
        try:
            moved = self.matrix.factorised(S)
        except np.linalg.LinAlgError:
            return False

        def solve(r: FloatArray) -> FloatArray:
            return np.asarray((r - self.tau * moved(self._by_point(self.tau * r / D))[self.place]) / D)

        columns = np.stack([solve(row) for row in self.E], axis=1)
        small = self.E @ columns
        dual, primal, mu = self._residuals()

        def direction(rl: FloatArray, ru: FloatArray) -> tuple[FloatArray, ...]:
            r = -dual + np.where(self.above, rl / left, 0.0) - np.where(self.below, ru / right, 0.0)
            free = solve(r)
            dy = np.linalg.solve(small, primal - self.E @ free)
            dx = free + columns @ dy
            return (
                dx,
                dy,
                np.where(self.above, (rl - self.zl * dx) / left, 0.0),
                np.where(self.below, (ru + self.zu * dx) / right, 0.0),
            )

        if not np.isfinite(small).all() or np.linalg.matrix_rank(small) < len(small):
            return False
        dx, dy, dl, du = direction(-self.zl * left, -self.zu * right)
        a, b = self._room(dx, dl, du)
        ahead = (left + a * dx) @ (self.zl + b * dl) + (right - a * dx) @ (self.zu + b * du)
        pairs = max(1, self.above.sum() + self.below.sum())
        aim = mu * min(1.0, max(ahead / pairs / mu, 0.0)) ** 3 if mu > 0 else 0.0
        dx, dy, dl, du = direction(aim - self.zl * left - dx * dl, aim - self.zu * right + dx * du)
        a, b = self._room(dx, dl, du)
        if not np.isfinite(dx).all() or max(a, b) < 1e-10:
            return False
        self.x = self.x + _BACK * a * dx if a < 1 else self.x + dx
        scale = _BACK * b if b < 1 else 1.0
        self.y, self.zl, self.zu = self.y + scale * dy, self.zl + scale * dl, self.zu + scale * du
        return True

    def on_bounds(self) -> FloatArray | None:
        """The best point with variables on the bounds that they approach, the free ones moved to make up."""
        if self.best is None:
            return None
        x, y, near = self.best
        x = np.where((x - self.lo < near) & (x - self.lo <= self.hi - x), self.lo, x)
        x = np.where(self.hi - x < near, self.hi, x)
        free = np.flatnonzero((x > self.lo) & (x < self.hi))
        if 0 < len(free) <= _MOST_FREE:
            x[free] += self._correction(x, y, free)
            x = np.clip(x, self.lo, self.hi)
        movable = (x > self.lo) & (x < self.hi)
        for row, total in zip(self.E, self.sums, strict=True):
            missing = float(total - row @ x)
            for candidates in ((row > 0) & movable, row > 0):
                missing = hand_out(missing, candidates, x, self.lo, self.hi)
        return x

    def _correction(self, x: FloatArray, y: FloatArray, free: IntArray) -> FloatArray:
        """The smallest change of the free variables after which their gradients and the sums are right."""
        gradient = self._times(x) + self.d * x + self.c - self.E.T @ y
        B = self.tau[free][:, None] * self.K[np.ix_(self.place[free], self.place[free])] * self.tau[free]
        B.ravel()[:: len(free) + 1] += self.d[free]
        size = float(B.diagonal().max()) or 1.0
        E = self.E[:, free]
        A = np.block([[B / size, E.T], [E, np.zeros((len(E), len(E)))]])
        right = np.concatenate([-gradient[free] / size, self.sums - self.E @ x])
        found = np.linalg.lstsq(A, right, rcond=1e-13)[0]
        return np.asarray(found[: len(free)], dtype=np.float64)

    def _room(self, dx: FloatArray, dl: FloatArray, du: FloatArray) -> tuple[float, float]:
        """How far variables and multipliers can go until one of them reaches zero, at most 1."""
        left, right = self._left(), self._right()
        primal = min(
            _reach(left, np.where(self.above, dx, 0.0)), _reach(right, np.where(self.below, -dx, 0.0))
        )
        return primal, min(_reach(self.zl, dl), _reach(self.zu, du))


def _reach(value: FloatArray, change: FloatArray) -> float:
    falling = change < 0
    return float(min(1.0, (value[falling] / -change[falling]).min(initial=np.inf)))
