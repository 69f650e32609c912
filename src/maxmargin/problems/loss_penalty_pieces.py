"""The problem behind every linear model, for rows that come in pieces; and its certificate by pieces.

Nothing here has the length of the table: a dual variable is not stored but computed again, row by row, from
the two points that define it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from maxmargin.base.typing import AnyArray, FloatArray
from maxmargin.compute.tables.design import Design, design
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.piece import Piece
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.losses import Loss
from maxmargin.problems.penalties import Penalty

Targets = Callable[[Piece], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True)
class BinaryTargets:
    """(y, c) of a piece: -1 or +1 and C times the weights; c = 0 for rows of classes that take no part."""

    positive: Any
    negative: Any  # None for all the others
    classes: AnyArray
    C: float
    class_weights: FloatArray

    def __call__(self, piece: Piece) -> tuple[FloatArray, FloatArray]:
        labels = piece.labels()
        mine = labels == self.positive
        c = self.C * piece.weights()
        if np.any(self.class_weights != 1.0):
            c = c * self.class_weights[np.searchsorted(self.classes, labels)]
        if self.negative is not None:
            c = np.where(mine | (labels == self.negative), c, 0.0)
        return np.where(mine, 1.0, -1.0), c


@dataclass(frozen=True)
class NumberTargets:
    """(y, c) of a piece of a regression."""

    C: float = 1.0

    def __call__(self, piece: Piece) -> tuple[FloatArray, FloatArray]:
        return np.asarray(piece.labels(), dtype=np.float64), self.C * piece.weights()


@dataclass(frozen=True)
class RowSums:
    """Sums over rows at a point theta, without the penalty.

    ``hessian`` is None where only value and gradient were asked for. ``least`` and ``largest`` are the
    extreme margins y f of the rows that count.
    """

    value: float
    gradient: FloatArray
    hessian: FloatArray | None
    least: float
    largest: float

    def __add__(self, other: RowSums) -> RowSums:
        hessian = None
        if self.hessian is not None and other.hessian is not None:
            hessian = self.hessian + other.hessian
        return RowSums(
            self.value + other.value,
            self.gradient + other.gradient,
            hessian,
            min(self.least, other.least),
            max(self.largest, other.largest),
        )


@dataclass(frozen=True)
class Slopes:
    """Dual variables u_i = c_i (L'(f_i) + L''(f_i) <(x_i, 1), step>) of rows with f = X w + b at ``base``.

    After a full Newton step they satisfy X'u + l2 w = 0 and sum u = 0 up to rounding.
    """

    base: FloatArray
    step: FloatArray


@dataclass(frozen=True, kw_only=True)
class LossPenaltyPieces:
    """min over w, b   sum_i c_i L(y_i, <w, x_i> + b) + P(w)   over the rows of all pieces.

    The same problem as `LossPenalty`, with the same certificate.
    """

    pieces: Pieces
    targets: Targets
    n_features: int
    n_rows: int
    loss: Loss
    penalty: Penalty
    fit_intercept: bool = True

    def sums(self, theta: FloatArray, *, hessian: bool = True) -> RowSums:
        """Value, gradient and Hessian of the losses at theta. Cost: one pass, n p^2 (n p without Hessian)."""
        sums: RowSums = self.pieces.map_reduce(
            _row_sums, theta, self.targets, self.loss, self.fit_intercept, hessian
        )
        return sums

    def slopes_along(self, theta: FloatArray, step: FloatArray, lengths: FloatArray) -> FloatArray:
        """Derivatives of the losses along a step at theta + t step for several t. Cost: one pass, n p."""
        along: FloatArray = self.pieces.map_reduce(
            _slopes_along, theta, step, lengths, self.targets, self.loss
        )
        return along

    def hessian_product(self, theta: FloatArray, v: FloatArray) -> FloatArray:
        """The Hessian of the losses at theta times v. Cost: one pass, n p."""
        product: FloatArray = self.pieces.map_reduce(
            _hessian_product, theta, v, self.targets, self.loss, self.fit_intercept
        )
        return product

    def gains(self, step: FloatArray) -> tuple[float, float]:
        """The smallest and the largest y_i <(x_i, 1), step> of the rows that count."""
        sums: RowSums = self.pieces.map_reduce(_margins, step, self.targets)
        return sums.least, sums.largest

    def certify(self, theta: FloatArray, slopes: Slopes | None = None) -> Certificate:
        """Primal, dual, gap and the largest violation of the conditions, as `LossPenalty.certify` has them.

        Cost: two passes of n p. The first adds up the positive and the negative dual variables, the second
        uses the factors that balance them.
        """
        at = Slopes(theta, np.zeros_like(theta)) if slopes is None else slopes
        up, down, adjoint_up, adjoint_down, primal = self.pieces.map_reduce(
            _sides, at, theta, self.targets, self.loss
        )
        factors = (1.0, 1.0)
        if self.fit_intercept:
            factors = (
                min(1.0, down / up if up > 0 else 1.0),
                min(1.0, up / down if down > 0 else 1.0),
            )
        adjoint = factors[0] * adjoint_up + factors[1] * adjoint_down
        conjugate, residual = self.pieces.map_reduce(
            _conjugates, at, theta, factors, self.targets, self.loss, combine=_add_and_max
        )
        w = theta[:-1]
        primal += self.penalty.value(w)
        dual = -conjugate - (self.penalty.conjugate(-adjoint) if self.penalty.l2 > 0 else 0.0)
        hidden = 0.0
        if self.penalty.l2 == 0:
            hidden = float(np.abs(adjoint) @ np.abs(w)) / max(abs(dual), 1e-300)
        stationarity = float(np.max(np.abs(self.penalty.stationarity(w, adjoint)), initial=0.0))
        kkt = max(residual, stationarity)
        return Certificate.between(primal, dual, kkt=kkt, infeasibility=hidden, n_checked=self.n_rows)


def _add_and_max(left: tuple[float, float], right: tuple[float, float]) -> tuple[float, float]:
    return left[0] + right[0], max(left[1], right[1])


def _rows(piece: Piece, targets: Targets) -> tuple[Design, FloatArray, FloatArray]:
    """The design of a piece (on one thread: pieces run side by side), its targets and weights."""
    y, c = targets(piece)
    mapped = hasattr(piece.X, "hessian_product")  # a design already: features that are computed on the way
    return piece.X if mapped else design(piece.table(), 1), y, c


def _extremes(margins: FloatArray, c: FloatArray) -> tuple[float, float]:
    used = margins[c > 0]
    return float(used.min(initial=inf)), float(used.max(initial=-inf))


def _row_sums(
    piece: Piece, theta: FloatArray, targets: Targets, loss: Loss, fit_intercept: bool, hessian: bool
) -> RowSums:
    X, y, c = _rows(piece, targets)
    f = X.scores(theta[:-1]) + theta[-1]
    u = c * loss.slope(f, y)
    value = float(c @ loss.value(f, y))
    least, largest = _extremes(y * f, c)
    if not hessian:
        gradient = np.append(X.adjoint(u), u.sum() * fit_intercept)
        return RowSums(value, gradient, None, least, largest)
    d = c * loss.curvature(f, y)
    H = np.zeros((len(theta), len(theta)))
    adjoints = X.adjoint(np.stack([u, d]))
    H[:-1, :-1] = X.gram(d)
    if fit_intercept:
        H[-1, :-1] = H[:-1, -1] = adjoints[1]
        H[-1, -1] = d.sum()
    return RowSums(value, np.append(adjoints[0], u.sum() * fit_intercept), H, least, largest)


def _slopes_along(
    piece: Piece, theta: FloatArray, step: FloatArray, lengths: FloatArray, targets: Targets, loss: Loss
) -> FloatArray:
    X, y, c = _rows(piece, targets)
    f, along = X.scores(theta[:-1]) + theta[-1], X.scores(step[:-1]) + step[-1]
    return np.array([(c * along) @ loss.slope(f + t * along, y) for t in lengths])


def _hessian_product(
    piece: Piece, theta: FloatArray, v: FloatArray, targets: Targets, loss: Loss, fit_intercept: bool
) -> FloatArray:
    X, y, c = _rows(piece, targets)
    d = c * loss.curvature(X.scores(theta[:-1]) + theta[-1], y)
    product, last = X.hessian_product(d, v[:-1], float(v[-1]))
    return np.append(product, last * fit_intercept)


def _margins(piece: Piece, theta: FloatArray, targets: Targets) -> RowSums:
    X, y, c = _rows(piece, targets)
    least, largest = _extremes(y * (X.scores(theta[:-1]) + theta[-1]), c)
    return RowSums(0.0, np.zeros(0), None, least, largest)


def _dual_rows(X: Design, y: FloatArray, c: FloatArray, loss: Loss, at: Slopes) -> FloatArray:
    """u_i / c_i inside the domain of the loss's conjugate; 0 for rows that do not count."""
    f = X.scores(at.base[:-1]) + at.base[-1]
    u = loss.slope(f, y)
    if at.step.any():
        u = u + loss.curvature(f, y) * (X.scores(at.step[:-1]) + at.step[-1])
    return np.where(c > 0, loss.clip(u, y), 0.0)


def _sides(piece: Piece, at: Slopes, theta: FloatArray, targets: Targets, loss: Loss) -> tuple[Any, ...]:
    X, y, c = _rows(piece, targets)
    u = c * _dual_rows(X, y, c, loss, at)
    above, below = np.maximum(u, 0.0), np.minimum(u, 0.0)
    adjoints = X.adjoint(np.stack([above, below]))
    primal = float(c @ loss.value(X.scores(theta[:-1]) + theta[-1], y))
    return float(above.sum()), -float(below.sum()), adjoints[0], adjoints[1], primal


def _conjugates(
    piece: Piece, at: Slopes, theta: FloatArray, factors: tuple[float, float], targets: Targets, loss: Loss
) -> tuple[float, float]:
    X, y, c = _rows(piece, targets)
    v = _dual_rows(X, y, c, loss, at)
    v = np.where(v > 0, v * factors[0], v * factors[1])
    used = c > 0
    f = (X.scores(theta[:-1]) + theta[-1])[used]
    v, y, c = v[used], y[used], c[used]
    residual = float(np.max(np.abs(v - loss.slope(f, y)), initial=0.0))
    return float(c @ loss.conjugate(v, y)), residual
