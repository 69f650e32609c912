"""The problem behind every linear model, and its certificate."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from maxmargin.base.typing import FloatArray
from maxmargin.compute.tables.design import Design
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.losses import Loss
from maxmargin.problems.penalties import Penalty


@dataclass(frozen=True, kw_only=True)
class LossPenalty:
    """min over w, b   sum_i c_i L(y_i, <w, x_i> + b) + P(w).                                     (PRIMAL)

    The intercept b is not penalised. The dual has one variable u_i per row, a slope of c_i L:

        max over u   - sum_i c_i L*(u_i / c_i) - P*(-X'u)   subject to   sum_i u_i = 0 (with an intercept).

    An answer is theta = (w, b) of shape (n_features + 1,); b is 0 when ``fit_intercept`` is False.
    """

    X: Design
    y: FloatArray
    c: FloatArray
    loss: Loss
    penalty: Penalty
    fit_intercept: bool = True

    def scores(self, theta: FloatArray) -> FloatArray:
        scores: FloatArray = self.X.scores(theta[:-1]) + theta[-1]
        return scores

    def value(self, theta: FloatArray, scores: FloatArray | None = None) -> float:
        """The primal value."""
        f = self.scores(theta) if scores is None else scores
        return float(self.c @ self.loss.value(f, self.y)) + self.penalty.value(theta[:-1])

    def dual_point(self, u: FloatArray) -> FloatArray:
        """The feasible point made from slopes u: inside the loss's domain, balanced, inside the l1 ball.

        Balancing scales the heavier of the positive and the negative side down, which keeps every u_i
        between 0 and where it was.
        """
        used = self.c > 0
        c = self.c if used.all() else np.where(used, self.c, 1.0)
        u = c * self.loss.clip(u / c, self.y)
        if c is not self.c:
            u = np.where(used, u, 0.0)
        if self.fit_intercept:
            positive, negative = np.maximum(u, 0.0), np.minimum(u, 0.0)
            up, down = float(positive.sum()), -float(negative.sum())
            if up > down:
                u = positive * (down / up) + negative
            elif down > up:
                u = positive + negative * (up / down)
        return u

    def dual_value(self, u: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """The dual value at the feasible point made from slopes u; also that point and its X'u.

        Without an l2 part X'u is scaled into the l1 ball. Without any penalty X'u must vanish; what is left
        is dropped here and told by `certify` as infeasibility.
        """
        u = self.dual_point(u)
        adjoint = self.X.adjoint(u)
        if self.penalty.l2 == 0 and np.any(self.penalty.l1):
            shrink = float(np.min(self.penalty.l1 / np.maximum(np.abs(adjoint), 1e-300), initial=1.0))
            u, adjoint = u * shrink, adjoint * shrink
        c, u_used, y = self._used(self.c, u, self.y)
        value = -float(c @ self.loss.conjugate(u_used / c, y))
        if self.penalty.l2 > 0:
            value -= self.penalty.conjugate(-adjoint)
        return value, u, adjoint

    def certify(self, theta: FloatArray, slopes: FloatArray | None = None) -> Certificate:
        """Primal, dual, gap and the largest violation of the optimality conditions, in float64.

        ``slopes`` are the multipliers u; where none are given the slopes of the losses at the answer are
        taken, which is exact at the optimum of a smooth loss. ``kkt`` is the larger of
        |f_i - prox_L(f_i + u_i / c_i)| over rows (|u_i / c_i - L'(f_i)| for smooth losses) and
        `Penalty.stationarity` over columns: both vanish at an optimum and nowhere else.
        ``infeasibility`` (no penalty only) is <|X'u|, |w|> relative to the dual value: what slopes that are
        not quite orthogonal to X can hide. Cost: two products with X.
        """
        f = self.scores(theta)
        u = self.c * self.loss.slope(f, self.y) if slopes is None else slopes
        w = theta[:-1]
        primal = self.value(theta, f)
        if not self.penalty.convex:
            u = self.dual_point(u)
            kkt = max(self._row_residual(f, u), self._column_residual(w, self.X.adjoint(u)))
            return Certificate(primal=primal, kkt=kkt, n_checked=len(f), convex=False)
        dual, u, adjoint = self.dual_value(u)
        free = self.penalty.smooth and self.penalty.l2 == 0
        hidden = float(np.abs(adjoint) @ np.abs(w)) / max(abs(dual), 1e-300) if free else 0.0
        return Certificate.between(
            primal,
            dual,
            kkt=max(self._row_residual(f, u), self._column_residual(w, adjoint)),
            infeasibility=hidden,
            n_checked=len(f),
        )

    def _used(self, *arrays: FloatArray) -> tuple[FloatArray, ...]:
        """The rows that have a weight."""
        used = self.c > 0
        return arrays if used.all() else tuple(array[used] for array in arrays)

    def _column_residual(self, w: FloatArray, adjoint: FloatArray) -> float:
        return float(np.max(np.abs(self.penalty.stationarity(w, adjoint)), initial=0.0))

    def _row_residual(self, f: FloatArray, u: FloatArray) -> float:
        f, y, u, c = self._used(f, self.y, u, self.c)
        slope = u / c
        if self.loss.smooth:
            return float(np.max(np.abs(slope - self.loss.slope(f, y)), initial=0.0))
        return float(np.max(np.abs(f - self.loss.prox(f + slope, y, 1.0)), initial=0.0))


def solved(certificate: Certificate, tol: float) -> bool:
    """True when an answer is good to ``tol``: by its relative gap, or by stationarity where no gap exists."""
    if not certificate.convex:
        return bool(certificate.kkt <= tol)
    close = closed(certificate.gap, certificate.dual, tol, certificate.n_checked)
    return close and certificate.infeasibility <= tol


def closed(gap: float, dual: float, tol: float, n_rows: int) -> bool:
    """True when a gap is at most ``tol`` of the dual value, or no more than rounding: an optimum may be 0."""
    return bool(gap <= max(tol * abs(dual), 1e-12 * n_rows))


def worst_gap(certificates: list[Certificate], tol: float) -> Certificate:
    """The certificate of the machine furthest from its optimum; those not good to ``tol`` come first."""
    chosen = max(certificates, key=lambda c: (not solved(c, tol), c.relative_gap if c.convex else c.kkt))
    return replace(chosen, n_machines=len(certificates))


def warn_unsolved(certificate: Certificate, tol: float, what: str, remedy: str) -> None:
    """A ConvergenceWarning that says what was reached, when an answer is not good to ``tol``."""
    if solved(certificate, tol):
        return
    if not certificate.convex:
        reached = f"a stationarity of {certificate.kkt:.3g}"
    elif certificate.infeasibility > tol:  # a gap to a dual point that is not feasible says nothing
        reached = f"a relative infeasibility of {certificate.infeasibility:.3g}"
    else:
        reached = f"a relative duality gap of {certificate.relative_gap:.3g}"
    warnings.warn(f"{what} reached {reached}, not tol={tol:g}: {remedy}.", ConvergenceWarning, stacklevel=4)
