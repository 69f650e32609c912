"""The problem behind every linear model, and its certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from maxmargin.base.typing import FloatArray
from maxmargin.base.user_line import warn_user
from maxmargin.compute.tables.design import Design
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.losses import Loss
from maxmargin.problems.newton_system import EXPLICIT, solve_symmetric
from maxmargin.problems.penalties import Penalty

ROUNDING = 1e-9  # a sum <u, x_j> below this share of ||u|| ||x_j|| counts as zero

Factors = tuple[float, float]


@dataclass(frozen=True)
class Slopes:
    """Dual variables u_i = c_i (L'(f_i) + L''(f_i) <(x_i, 1), step>) with the scores f of ``base``.

    After a full Newton step they satisfy X'u + l2 w = 0 and sum u = 0 up to rounding.
    """

    base: FloatArray
    step: FloatArray


@dataclass(frozen=True)
class RowSums:
    """Sums over rows at a point theta, without the penalty.

    ``hessian`` is None if only value and gradient were requested. ``least`` and ``largest`` are the extreme
    margins y f of the rows of positive weight.
    """

    value: float
    gradient: FloatArray
    hessian: FloatArray | None
    least: float
    largest: float

    def __add__(self, other: RowSums) -> RowSums:
        return RowSums(
            self.value + other.value,
            self.gradient + other.gradient,
            None if self.hessian is None or other.hessian is None else self.hessian + other.hessian,
            min(self.least, other.least),
            max(self.largest, other.largest),
        )


class Sides(NamedTuple):
    """Sums over the positive and the negative dual variables, and other sums for a certificate.

    ``up`` and ``down`` are the sums of both sides (``down`` >= 0), with X'u of each; ``squares`` is ||u||^2,
    ``norms`` are the squared norms of the columns (of an l1 penalty or none), ``loss`` is the sum of losses
    and ``rounding`` that of `Loss.rounding`.
    """

    up: float
    down: float
    adjoint_up: FloatArray
    adjoint_down: FloatArray
    squares: float
    norms: FloatArray
    loss: float
    rounding: float


class RowsProblem:
    """min over w, b   sum_i c_i L(y_i, <w, x_i> + b) + P(w),   with rows in memory or in pieces.

    The intercept b is not penalised. The dual has one variable u_i per row, a slope of c_i L:

        max over u   - sum_i c_i L*(u_i / c_i) - P*(-X'u)   subject to   sum_i u_i = 0 (with an intercept).

    A solution is theta = (w, b) of shape (n_features + 1,); b is 0 when ``fit_intercept`` is False.
    """

    loss: Loss
    penalty: Penalty
    fit_intercept: bool

    def size(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        raise NotImplementedError  # implemented for rows in memory and in pieces

    def sums(self, theta: FloatArray, *, hessian: bool = True) -> RowSums:
        """Value, gradient and Hessian of the losses at theta. Cost: n p^2 (n p without the Hessian)."""
        raise NotImplementedError  # implemented for rows in memory and in pieces

    def dual_sums(
        self, theta: FloatArray, slopes: Any
    ) -> tuple[Sides, Callable[[Factors], tuple[float, float]]]:
        """Sums at a dual point; and a function of the factors of its two sides that returns the sum of
        c L*(u / c) and the largest residual of a row."""
        raise NotImplementedError  # implemented for rows in memory and in pieces

    def balance(self, up: float, down: float) -> Factors:
        """The factors of the two sides after which their sums are equal; one of them is 1."""
        if not self.fit_intercept:
            return 1.0, 1.0
        return min(1.0, down / up) if up > 0 else 1.0, min(1.0, up / down) if down > 0 else 1.0

    def certify(self, theta: FloatArray, slopes: Any = None) -> Certificate:
        """Primal, dual, gap and the largest violation of the optimality conditions, in float64.

        ``slopes`` are the multipliers u, or `Slopes`; by default the slopes of the losses at theta, which are
        exact at the optimum of a smooth loss. They are made feasible first: moved into the domain of L*,
        balanced, and scaled into the l1 ball. Without a penalty X'u must vanish. If it does not, the
        slopes after a Newton step from theta are tried, which is a projection; if that leaves the domain
        of L*, the dual point is u = 0 and the bound is 0. So ``gap`` always bounds the distance to the
        optimum. ``kkt`` is the larger of |f_i - prox_L(f_i + u_i / c_i)| over rows (|u_i / c_i - L'(f_i)| for
        smooth losses) and `Penalty.stationarity` over columns: both vanish at an optimum and nowhere else.
        Cost: two products with X; a projection costs a Newton step.
        """
        certificate, feasible = self._certificate(theta, *self.dual_sums(theta, slopes))
        free = self.penalty.smooth and self.penalty.l2 == 0
        if feasible or not (free and self.loss.smooth) or self.size()[1] > EXPLICIT:
            return certificate
        at = self.sums(theta)
        assert at.hessian is not None
        H = with_penalty(at.hessian, 0.0, self.fit_intercept)
        balanced = Slopes(theta, solve_symmetric(H, -at.gradient))
        other, feasible = self._certificate(theta, *self.dual_sums(theta, balanced))
        return other if feasible else certificate

    def _certificate(
        self, theta: FloatArray, sides: Sides, conjugates: Callable[[Factors], tuple[float, float]]
    ) -> tuple[Certificate, bool]:
        """The certificate of a dual point, and whether it was feasible before it was scaled."""
        penalty, w = self.penalty, theta[:-1]
        up, down = self.balance(sides.up, sides.down)
        adjoint = up * sides.adjoint_up + down * sides.adjoint_down
        limit = ROUNDING * np.sqrt(sides.squares * sides.norms)
        share = inside_share(penalty, adjoint, limit)
        adjoint = share * adjoint
        conjugate, residual = conjugates((share * up, share * down))
        dual, infeasibility = penalty.constant - conjugate, 0.0
        # sums that should vanish have rounding errors: subtract their possible effect from the bound
        dual -= abs(share * (up * sides.up - down * sides.down) * float(theta[-1]))
        if penalty.l2 > 0:
            dual -= penalty.conjugate(-adjoint) + penalty.constant
        else:
            excess = np.maximum(np.abs(adjoint) - penalty.l1, 0.0)
            dual -= float(excess @ np.abs(w))
            infeasibility = ROUNDING * float(np.max(excess / np.maximum(limit, 1e-300), initial=0.0))
        stationarity = float(np.max(np.abs(penalty.stationarity(w, adjoint)), initial=0.0))
        certificate = Certificate.between(
            sides.loss + penalty.value(w),
            dual,
            kkt=max(residual, stationarity),
            infeasibility=infeasibility,
            rounding=sides.rounding,
            n_checked=self.size()[0],
        )
        return certificate, share == 1.0


def inside_share(penalty: Penalty, adjoint: FloatArray, limit: FloatArray) -> float:
    """The factor in [0, 1] that scales X'u into the l1 ball; 1 if it is inside up to ``limit``."""
    if penalty.l2 > 0:
        return 1.0
    size, l1 = np.abs(adjoint), np.broadcast_to(penalty.l1, adjoint.shape)
    outside = size > l1 + limit
    return float(np.min(l1[outside] / size[outside], initial=1.0))


def column_squares(X: Design) -> FloatArray:
    """||x_j||^2 of the columns, of shape (n_features,)."""
    table = X.X
    if sparse.issparse(table):
        squares = np.square(table.data, dtype=np.float64)
        return np.asarray(np.bincount(table.indices, squares, table.shape[1]), dtype=np.float64)
    return np.asarray(np.einsum("ij,ij->j", table, table, dtype=np.float64))


def with_penalty(hessian: FloatArray, l2: float, fit_intercept: bool) -> FloatArray:
    """The Hessian of losses plus penalty; without an intercept its row is that of the identity."""
    H = hessian.copy()
    p = len(H) - 1
    H[np.arange(p), np.arange(p)] += l2
    if not fit_intercept:
        H[p, p] = 1.0
    return H


@dataclass(frozen=True, kw_only=True)
class LossPenalty(RowsProblem):
    """The problem of `RowsProblem` with its rows in memory: a design X, targets y and weights c."""

    X: Design
    y: FloatArray
    c: FloatArray
    loss: Loss
    penalty: Penalty
    fit_intercept: bool = True

    def size(self) -> tuple[int, int]:
        return self.X.shape

    def scores(self, theta: FloatArray) -> FloatArray:
        return self.X.scores(theta[:-1]) + theta[-1]

    def value(self, theta: FloatArray, scores: FloatArray | None = None) -> float:
        """The primal value."""
        f = self.scores(theta) if scores is None else scores
        return float(self.c @ self.loss.value(f, self.y)) + self.penalty.value(theta[:-1])

    @cached_property
    def rounding(self) -> float:
        """The sum of losses that rounding alone can cause."""
        return float(self.c @ self.loss.rounding(self.y))

    @cached_property
    def column_squares(self) -> FloatArray:
        """||x_j||^2 of the columns if it is needed (an l1 penalty or none), else zeros."""
        return np.zeros(self.X.shape[1]) if self.penalty.l2 > 0 else column_squares(self.X)

    # -- dual points -----------------------------------------------------------------------------------

    def dual_point(self, u: FloatArray) -> FloatArray:
        """The slopes u moved into the domain of L* and balanced.

        Balancing scales down the larger of the positive and the negative side, so every u_i stays between 0
        and its old value.
        """
        u = self.c * self._shares(u)
        if self.fit_intercept:
            positive, negative = np.maximum(u, 0.0), np.minimum(u, 0.0)
            up, down = float(positive.sum()), -float(negative.sum())
            if up > down:
                u = positive * (down / up) + negative
            elif down > up:
                u = positive + negative * (up / down)
        return u

    def dual_value(self, u: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """The dual value at the feasible point derived from slopes u; also that point and its X'u."""
        u = self.dual_point(u)
        adjoint = self.X.adjoint(u)
        if self.penalty.l2 == 0:
            limit = ROUNDING * np.sqrt(float(u @ u) * self.column_squares)
            share = inside_share(self.penalty, adjoint, limit)
            u, adjoint = share * u, share * adjoint
        c, u_used, y = self._used(self.c, u, self.y)
        value = self.penalty.constant - float(c @ self.loss.conjugate(u_used / c, y))
        if self.penalty.l2 > 0:
            value -= self.penalty.conjugate(-adjoint) + self.penalty.constant
        return value, u, adjoint

    def _shares(self, u: FloatArray) -> FloatArray:
        """u_i / c_i moved into the domain of L*; 0 for rows without a weight."""
        used = self.c > 0
        if used.all():
            return self.loss.clip(u / self.c, self.y)
        return np.where(used, self.loss.clip(u / np.where(used, self.c, 1.0), self.y), 0.0)

    def _dual_rows(self, f: FloatArray, slopes: Any) -> FloatArray:
        """u_i / c_i of a dual point (see `certify`), from the scores f of the solution."""
        if isinstance(slopes, np.ndarray):
            return self._shares(slopes)
        at = f if slopes is None else self.scores(slopes.base)
        v = self.loss.slope(at, self.y)
        if slopes is not None and slopes.step.any():
            v = v + self.loss.curvature(at, self.y) * self.scores(slopes.step)
        return np.where(self.c > 0, self.loss.clip(v, self.y), 0.0)

    def dual_sums(
        self, theta: FloatArray, slopes: Any, *, apart: bool = False
    ) -> tuple[Sides, Callable[[Factors], tuple[float, float]]]:
        """The sums of both sides of a dual point, and the conjugates after factors for the sides.

        With ``apart`` X'u is computed for each side, so that the sums of other rows can be added. Otherwise
        the balance is known, and the side whose factor is 1 receives X'u of both: one product instead of two
        takes a third of the time.
        """
        f = self.scores(theta)
        v = self._dual_rows(f, slopes)
        u = self.c * v
        above, below = np.maximum(u, 0.0), np.minimum(u, 0.0)
        up, down = float(above.sum()), -float(below.sum())
        if apart:
            adjoints = self.X.adjoint(np.stack([above, below]))
        else:
            factors = self.balance(up, down)
            adjoints = np.zeros((2, self.X.shape[1]))
            adjoints[factors.index(1.0)] = self.X.adjoint(factors[0] * above + factors[1] * below)
        sides = Sides(
            up,
            down,
            adjoints[0],
            adjoints[1],
            float(u @ u),
            self.column_squares,
            float(self.c @ self.loss.value(f, self.y)),
            self.rounding,
        )
        return sides, partial(self._conjugates, f, v)

    def conjugates(self, theta: FloatArray, slopes: Any, factors: Factors) -> tuple[float, float]:
        """The second part of `dual_sums`, for one piece of the rows."""
        f = self.scores(theta)
        return self._conjugates(f, self._dual_rows(f, slopes), factors)

    def _conjugates(self, f: FloatArray, v: FloatArray, factors: Factors) -> tuple[float, float]:
        c, f, y, v = self._used(self.c, f, self.y, np.where(v > 0, v * factors[0], v * factors[1]))
        if self.loss.smooth:
            residual = np.abs(v - self.loss.slope(f, y))
        else:
            residual = np.abs(f - self.loss.prox(f + v, y, 1.0))
        return float(c @ self.loss.conjugate(v, y)), float(np.max(residual, initial=0.0))

    def certify(self, theta: FloatArray, slopes: Any = None) -> Certificate:
        if self.penalty.convex:
            return super().certify(theta, slopes)
        f = self.scores(theta)
        u = self.dual_point(self.c * self._dual_rows(f, slopes))
        _, residual = self._conjugates(f, self._shares(u), (1.0, 1.0))
        stationarity = self.penalty.stationarity(theta[:-1], self.X.adjoint(u))
        kkt = max(residual, float(np.max(np.abs(stationarity), initial=0.0)))
        return Certificate(primal=self.value(theta, f), kkt=kkt, n_checked=len(f), convex=False)

    def _used(self, *arrays: FloatArray) -> tuple[FloatArray, ...]:
        """The rows of positive weight."""
        used = self.c > 0
        return arrays if used.all() else tuple(array[used] for array in arrays)

    # -- sums over rows ----------------------------------------------------------------------------------

    def sums(self, theta: FloatArray, *, hessian: bool = True) -> RowSums:
        f = self.scores(theta)
        u = self.c * self.loss.slope(f, self.y)
        value = float(self.c @ self.loss.value(f, self.y))
        extremes = self.extreme_margins(f)
        if not hessian:
            gradient = np.append(self.X.adjoint(u), u.sum() * self.fit_intercept)
            return RowSums(value, gradient, None, *extremes)
        d = self.c * self.loss.curvature(f, self.y)
        adjoints = self.X.adjoint(np.stack([u, d]))
        gradient = np.append(adjoints[0], u.sum() * self.fit_intercept)
        H = np.zeros((len(theta), len(theta)))
        H[:-1, :-1] = self.X.gram(d)
        if self.fit_intercept:
            H[-1, :-1] = H[:-1, -1] = adjoints[1]
            H[-1, -1] = d.sum()
        return RowSums(value, gradient, H, *extremes)

    def slopes_along(self, theta: FloatArray, step: FloatArray, lengths: FloatArray) -> FloatArray:
        """Derivatives of the losses along a step at theta + t step for several t. Cost: n p."""
        f, along = self.scores(theta), self.scores(step)
        return np.array([(self.c * along) @ self.loss.slope(f + t * along, self.y) for t in lengths])

    def hessian_product(self, theta: FloatArray, v: FloatArray) -> FloatArray:
        """The Hessian of the losses at theta times v. Cost: n p."""
        d = self.c * self.loss.curvature(self.scores(theta), self.y)
        product, last = self.X.hessian_product(d, v[:-1], float(v[-1]))
        return np.append(product, last * self.fit_intercept)

    def extreme_margins(self, f: FloatArray) -> tuple[float, float]:
        """The smallest and the largest y_i f_i of the rows of positive weight."""
        margins = (self.y * f)[self.c > 0]
        return float(margins.min(initial=inf)), float(margins.max(initial=-inf))


def solved(certificate: Certificate, tol: float) -> bool:
    """True if a solution is accurate to ``tol``: by its relative gap or, without one, by stationarity."""
    if not certificate.convex:
        return bool(certificate.kkt <= tol)
    close = closed(certificate.gap, certificate.dual, tol, certificate.rounding)
    return close and certificate.infeasibility <= tol


def closed(gap: float, dual: float, tol: float, rounding: float) -> bool:
    """True if the gap is at most ``tol`` of the dual value or within rounding, since an optimum may be 0."""
    return bool(gap <= max(tol * abs(dual), rounding))


def worst_gap(certificates: list[Certificate], tol: float) -> Certificate:
    """The certificate with the largest gap; those that miss ``tol`` come first."""
    chosen = max(certificates, key=lambda c: (not solved(c, tol), c.relative_gap if c.convex else c.kkt))
    return replace(chosen, n_machines=len(certificates))


def warn_unsolved(certificate: Certificate, tol: float, what: str, remedy: str) -> None:
    """Issue a ConvergenceWarning with the accuracy reached if a solution misses ``tol``."""
    if solved(certificate, tol):
        return
    if not certificate.convex:
        reached = f"a stationarity of {certificate.kkt:.3g}"
    elif certificate.infeasibility > tol:
        reached = f"a relative infeasibility of {certificate.infeasibility:.3g}"
    elif certificate.dual == 0:
        reached = f"an objective of {certificate.primal:.3g} without a lower bound above 0"
    else:
        reached = f"a relative duality gap of {certificate.relative_gap:.3g}"
    warn_user(f"{what} reached {reached}, not tol={tol:g}: {remedy}.", ConvergenceWarning)
