"""An interior-point method for small dual problems on which pairwise steps are too slow.

With D the diagonal of the barrier, a Newton step solves (T K T' + D) dt = r, where T maps the points of the
kernel matrix to the variables (one variable of a point, or two in regression). Each variable belongs to one
point, so S = T' D^-1 T is diagonal, and the step follows from the matrix I + S^1/2 K S^1/2, whose eigenvalues
are at least one: badly scaled rows and huge bounds do no harm (Ferris and Munson, SIAM J. Optim. 13, 2002).
Predictor and corrector steps as Mehrotra (SIAM J. Optim. 2, 1992) chooses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lstsq
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpstrf

from maxmargin.base.threads import check_stop, single_threaded_blas
from maxmargin.base.typing import AnyArray, BoolArray, FloatArray, IntArray
from maxmargin.compute.dual.block_solver import Signed
from maxmargin.solvers.dual.gram.free_system import hand_out

MOST_POINTS = 1500  # a step factorises a matrix of that size
_MOST_STEPS = 60
_MOST_FREE = 800  # variables that a least-squares correction moves
_LOST = 1e4  # factor on the smallest error: steps to larger errors consist of rounding
_IDLE = 6  # steps without progress, after which only rounding is left
_CANDIDATES, _EXCHANGES = 3, 12  # iterates that are moved onto bounds, and how often each exchanges some
_FLOPS = 2e9  # operations of all exchanges together, about 0.4 s
_REFINED = 3  # refinements of one direction, after which only rounding is left
_LEAST = 3e-14  # of the largest K(x, x), on the diagonal of a step: K is not more accurate
_TINY = 1e-25  # of the diagonal: values below become 0, because products of them are slow denormal numbers
_BACK = 0.995  # share of the way to the nearest bound


def interior_point(
    K: AnyArray, signed: Signed, n_groups: int, t: FloatArray, tol: float
) -> FloatArray | None:
    """A point close to the minimiser with the group sums of ``t``, or None if rounding prevents it.

    Variables that end close to a bound are moved onto it.
    """
    with np.errstate(all="ignore"), single_threaded_blas():
        solver = _Interior(K, signed, n_groups, t)
        for _ in range(_MOST_STEPS):
            check_stop()
            if solver.is_done(tol) or not solver.step():
                break
        return solver.best_on_bounds(tol)


class _Iterate(NamedTuple):
    """A point, how far it is from a solution, and which of its variables approach their bounds."""

    error: float
    mu: float
    x: FloatArray
    y: FloatArray
    to_lower: BoolArray
    to_upper: BoolArray


_Solve = Callable[[FloatArray], FloatArray]


class _Whole:
    """Steps with any K: one factorisation of its size for every S."""

    def __init__(self, K: FloatArray) -> None:
        self._K = K

    def factorised(self, S: FloatArray) -> _Solve:
        """A function that solves w = K (b - S w) for w."""
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
        M = dsyrk(1.0, (G * np.sqrt(S)[:, None]).T, lower=1)  # half of the products; the rest is not read
        np.fill_diagonal(M, M.diagonal() + 1.0)
        size = 1.0 / np.sqrt(M.diagonal())
        factor = cho_factor(M * size * size[:, None], lower=True, overwrite_a=True, check_finite=False)
        return lambda b: G @ (size * cho_solve(factor, size * (G.T @ b), check_finite=False))


def _factor_of(K: FloatArray) -> _Whole | _LowRank:
    """The form of the matrix in which steps are cheap and accurate."""
    C, pivots, rank, _ = dpstrf(K, lower=1)
    if rank == len(K):
        return _Whole(K)
    G = np.zeros((len(K), max(rank, 1)))  # BLAS refuses a table without columns
    G[pivots - 1, :rank] = np.tril(C)[:, :rank]
    return _LowRank(G)


class _Interior:
    """State of the method: variables x - lo > 0, hi - x > 0 and the multipliers of both."""

    def __init__(self, K: AnyArray, signed: Signed, n_groups: int, t: FloatArray) -> None:
        points, self.place = np.unique(signed.point, return_inverse=True)
        self.K = np.asarray(K[np.ix_(points, points)], dtype=np.float64)
        root = np.sqrt(np.abs(self.K.diagonal()))
        self.K[np.abs(self.K) < _TINY * root[:, None] * root] = 0.0
        self.matrix = _factor_of(self.K)
        self.tau, self.d, self.c = signed.tau, signed.d, signed.c
        self.lo, self.hi = signed.lo, signed.hi
        self.E = (signed.group == np.arange(n_groups)[:, None]).astype(np.float64)
        self.sums = self.E @ t
        self.above, self.below = np.isfinite(self.lo), np.isfinite(self.hi)
        self.x = self._inside(t)
        gradient = self._gradient(self.x)
        scale = max(float(np.abs(self.c).max()), float(np.abs(gradient - gradient.mean()).max()))
        self.zl = np.where(self.above, scale, 0.0)
        self.zu = np.where(self.below, scale, 0.0)
        self.y: FloatArray = np.zeros(n_groups)
        self.iterates: list[_Iterate] = []
        self._smallest, self._idle = np.full(2, np.inf), 0

    @cached_property
    def opposites(self) -> tuple[IntArray, IntArray]:
        """The variables t >= 0 and t <= 0 of the same point and group: their sum alone counts."""
        order = np.lexsort((self.lo < 0, self.E.argmax(axis=0), self.place))
        key = self.place * len(self.E) + self.E.argmax(axis=0)
        up, down = order[:-1], order[1:]
        twin = (
            (key[up] == key[down])
            & (self.lo[up] == 0)
            & (self.hi[down] == 0)
            & (self.tau[up] == self.tau[down])
        )
        return up[twin], down[twin]

    def _inside(self, t: FloatArray) -> FloatArray:
        """A point well inside its bounds; the sums need not hold yet."""
        typical = float(np.abs(t).mean()) or 1.0
        width = np.where(self.above & self.below, self.hi - self.lo, np.inf)
        distance = np.where(np.isinf(width), typical, np.minimum(0.1 * width, max(typical, 1.0)))
        return np.clip(np.zeros_like(t), self.lo + distance, self.hi - distance)

    def _times(self, x: FloatArray) -> FloatArray:
        """B x without the diagonal d."""
        return np.asarray(self.tau * (self.K @ self._by_point(self.tau * x))[self.place])

    def _gradient(self, x: FloatArray) -> FloatArray:
        return np.asarray(self._times(x) + self.d * x + self.c)

    def _by_point(self, values: FloatArray) -> FloatArray:
        """Sums over the variables of each point."""
        sums = np.bincount(self.place, weights=values, minlength=len(self.K))
        return np.asarray(sums, dtype=np.float64)

    def _residuals(self) -> tuple[FloatArray, FloatArray, float]:
        gradient = self._gradient(self.x)
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
        """Record the point; True when the conditions hold to ``tol``, or rounding leads away from them."""
        dual, primal, mu = self._residuals()
        size = max(1.0, float(np.abs(self.x).max()))
        error = max(float(np.abs(dual).max()), float(np.abs(primal).max()) / size * tol * 1e6, mu / size)
        if not np.isfinite(error) or not np.isfinite(mu):
            return True
        sizes, forces = float(np.abs(self.x).max()), max(self.zl.max(), self.zu.max(), 1e-300)
        left, right = self._left(), self._right()
        lower = self.above & (left <= right) & (left * forces < self.zl * sizes)
        upper = self.below & (right < left) & (right * forces < self.zu * sizes)
        self.iterates.append(_Iterate(error, mu, self.x, self.y, lower, upper))
        enough = 1e-16 * max(tol, error) * size
        now = np.array([error, max(mu, enough)])
        self._idle = 0 if (now < 0.9 * self._smallest).any() else self._idle + 1
        self._smallest = np.minimum(self._smallest, now)
        return (error <= 0.1 * tol and mu <= enough) or self._idle > _IDLE

    def step(self) -> bool:
        """One predictor and corrector step; False if it cannot be computed or makes no progress."""
        left, right = self._left(), self._right()
        D = np.maximum(self.d + self.zl / left + self.zu / right, _LEAST * np.abs(self.K.diagonal()).max())
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
            dx, dy = np.zeros_like(r), np.zeros(len(small))
            for _ in range(_REFINED):
                free = solve(r - self._times(dx) - D * dx + self.E.T @ dy)
                more = np.linalg.solve(small, primal - self.E @ (dx + free))
                dx, dy = dx + free + columns @ more, dy + more
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
        self._go((dx, dy, dl, du), a, b)
        return True

    def _go(self, moves: tuple[FloatArray, ...], a: float, b: float) -> None:
        """Move x by ``a`` and the multipliers by ``b``, or all by the shorter length if that is closer."""
        start = self.x, self.y, self.zl, self.zu
        ends: list[tuple[float, int, list[FloatArray]]] = []
        for lengths in ((a, b), (min(a, b), min(a, b))):
            own, other = (_BACK * length if length < 1 else 1.0 for length in lengths)
            scales = (own, other, other, other)
            now = [value + k * move for value, k, move in zip(start, scales, moves, strict=True)]
            self.x, self.y, self.zl, self.zu = now
            dual, _, mu = self._residuals()
            error = max(float(np.abs(dual).max()), mu / max(1.0, float(np.abs(self.x).max())))
            ends.append((error, len(ends), now))
        self.x, self.y, self.zl, self.zu = min(ends)[2]

    def best_on_bounds(self, tol: float) -> FloatArray | None:
        """The last iterate with the smallest violation after its variables are moved onto their bounds."""
        close = [one for one in self.iterates if one.error <= max(tol, _LOST * self._smallest[0])]
        least, best, flops = np.inf, None, 0.0
        for iterate in sorted(close, key=lambda one: one.mu)[:_CANDIDATES]:
            for n_free, x in self._on_bounds(iterate, tol):
                flops += 4.0 * n_free**3
                if (violation := self._violation(x)) < least:
                    least, best = violation, x
                if least <= 0.1 * tol or flops > _FLOPS:
                    return best
        return best

    def _violation(self, x: FloatArray) -> float:
        g = self._gradient(x)
        largest = 0.0
        for row in self.E > 0:
            low = g[row & (x < self.hi)].min(initial=np.inf)
            largest = max(largest, float(g[row & (x > self.lo)].max(initial=-np.inf) - low))
        return largest

    def _on_bounds(self, iterate: _Iterate, tol: float) -> Iterator[tuple[int, FloatArray]]:
        """The point with variables on the bounds that they approach, and the free ones moved.

        Free variables that would leave the box are then fixed, and bounded ones that would move inside are
        freed. This active-set method begins so close to the solution that it may exchange many variables at
        once.
        """
        lower, upper, x, allowed = iterate.to_lower, iterate.to_upper, iterate.x, len(iterate.x)
        for _ in range(_EXCHANGES):
            x = np.where(lower, self.lo, np.where(upper, self.hi, x))
            free = np.flatnonzero(~(lower | upper))
            yield 0, self._summed(np.clip(x, self.lo, self.hi))
            if not 0 < len(free) <= _MOST_FREE:
                return
            change, y = self._correction(x, iterate.y, free)
            x[free] += change
            yield len(free), self._summed(np.clip(x, self.lo, self.hi))
            force = self._gradient(x) - self.E.T @ y
            leaves_lower, leaves_upper = self.above & (x < self.lo), self.below & (x > self.hi)
            freed = (lower & (force < -tol)) | (upper & (force > tol))
            exchanged = int(np.count_nonzero(leaves_lower | leaves_upper | freed))
            if exchanged > allowed:
                return
            allowed, iterate = exchanged, iterate._replace(y=y)
            lower, upper = (lower & ~freed) | leaves_lower, (upper & ~freed) | leaves_upper

    def _summed(self, x: FloatArray) -> FloatArray:
        """The point with the sums of the groups made right."""
        x = x.copy()
        up, down = self.opposites
        both = np.minimum(x[up], -x[down])
        x[up], x[down] = x[up] - both, x[down] + both
        movable = (x > self.lo) & (x < self.hi)
        for row, total in zip(self.E, self.sums, strict=True):
            missing = float(total - row @ x)
            for candidates in ((row > 0) & movable, row > 0):
                missing = hand_out(missing, candidates, x, self.lo, self.hi)
        return x

    def _correction(self, x: FloatArray, y: FloatArray, free: IntArray) -> tuple[FloatArray, FloatArray]:
        """The smallest change of the free variables that corrects their gradients and the sums, and y."""
        gradient = self._gradient(x) - self.E.T @ y
        B = self.tau[free][:, None] * self.K[np.ix_(self.place[free], self.place[free])] * self.tau[free]
        B.ravel()[:: len(free) + 1] += self.d[free]
        size = float(B.diagonal().max()) or 1.0
        E = self.E[:, free]
        A = np.block([[B / size, E.T], [E, np.zeros((len(E), len(E)))]])
        right = np.concatenate([-gradient[free] / size, self.sums - self.E @ x])
        found = lstsq(A, right, cond=1e-13, overwrite_a=True, check_finite=False, lapack_driver="gelsy")[0]
        return found[: len(free)], y - size * found[len(free) :]

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
