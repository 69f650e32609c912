"""Problems whose rows come in pieces.

Each piece has its own problem without the penalty, and the sums over rows are added. Nothing has the length
of the table: dual variables are not stored but recomputed from the two points that define them (`Slopes`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from maxmargin.base.typing import AnyArray, BoolArray, FloatArray
from maxmargin.compute.tables.design import design
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.piece import Piece, add
from maxmargin.problems.loss_penalty import Factors, LossPenalty, RowsProblem, RowSums, Sides, Slopes
from maxmargin.problems.losses import Loss
from maxmargin.problems.multinomial import Multinomial, MultinomialProblem, RowChecks
from maxmargin.problems.penalties import Penalty

Targets = Callable[[Piece], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True)
class BinaryTargets:
    """(y, c) of a piece: -1 or +1 and C times the weights; c = 0 for rows of other classes."""

    positive: Any
    negative: Any  # None for all others
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
class LossRows:
    """Makes the problem of one piece, on one thread, because pieces run in parallel."""

    targets: Targets
    loss: Loss
    penalty: Penalty
    fit_intercept: bool

    def __call__(self, piece: Piece) -> LossPenalty:
        y, c = self.targets(piece)
        mapped = hasattr(piece.X, "hessian_product")  # a design already: features computed on the fly
        return LossPenalty(
            X=piece.X if mapped else design(piece.table(), 1),
            y=y,
            c=c,
            loss=self.loss,
            penalty=self.penalty,
            fit_intercept=self.fit_intercept,
        )


@dataclass(frozen=True)
class MultinomialRows:
    """As `LossRows` for several classes; ``class_weights`` holds C times their weights."""

    classes: AnyArray
    class_weights: FloatArray
    fit_intercept: bool

    def __call__(self, piece: Piece) -> Multinomial:
        codes = np.searchsorted(self.classes, piece.labels())
        return Multinomial(
            X=design(piece.table(), 1),
            codes=codes,
            c=self.class_weights[codes] * piece.weights(),
            n_classes=len(self.classes),
            l2=0.0,
            fit_intercept=self.fit_intercept,
        )


def _on_piece(piece: Piece, rows: Callable[[Piece], Any], function: Callable[..., Any], *args: Any) -> Any:
    return function(rows(piece), *args)


@dataclass(frozen=True, kw_only=True)
class LossPenaltyPieces(RowsProblem):
    """The problem of `LossPenalty` over the rows of all pieces. Every method costs one pass."""

    pieces: Pieces
    targets: Targets
    n_features: int
    n_rows: int
    loss: Loss
    penalty: Penalty
    fit_intercept: bool = True

    def size(self) -> tuple[int, int]:
        return self.n_rows, self.n_features

    def _total(self, function: Callable[..., Any], *args: Any, combine: Any = add) -> Any:
        rows = LossRows(self.targets, self.loss, self.penalty, self.fit_intercept)
        return self.pieces.map_reduce(_on_piece, rows, function, *args, combine=combine)

    def sums(self, theta: FloatArray, *, hessian: bool = True) -> RowSums:
        return self._total(partial(LossPenalty.sums, hessian=hessian), theta)

    def slopes_along(self, theta: FloatArray, step: FloatArray, lengths: FloatArray) -> FloatArray:
        """As `LossPenalty.slopes_along`."""
        return self._total(LossPenalty.slopes_along, theta, step, lengths)

    def hessian_product(self, theta: FloatArray, v: FloatArray) -> FloatArray:
        """As `LossPenalty.hessian_product`."""
        return self._total(LossPenalty.hessian_product, theta, v)

    def extreme_margins(self, theta: FloatArray) -> tuple[float, float]:
        """The smallest and the largest y_i <(x_i, 1), theta> of the rows of positive weight."""
        return self._total(_extremes, theta, combine=_wider)

    def dual_sums(
        self, theta: FloatArray, slopes: Slopes | None
    ) -> tuple[Sides, Callable[[Factors], tuple[float, float]]]:
        sides = Sides(*self._total(_sides, theta, slopes))
        return sides, lambda factors: self._total(
            LossPenalty.conjugates, theta, slopes, factors, combine=_add_and_max
        )


def _extremes(rows: LossPenalty, theta: FloatArray) -> tuple[float, float]:
    return rows.extreme_margins(rows.scores(theta))


def _wider(left: tuple[float, float], right: tuple[float, float]) -> tuple[float, float]:
    return min(left[0], right[0]), max(left[1], right[1])


def _sides(rows: LossPenalty, theta: FloatArray, slopes: Slopes | None) -> Sides:
    return rows.dual_sums(theta, slopes, apart=True)[0]


def _add_and_max(left: tuple[float, float], right: tuple[float, float]) -> tuple[float, float]:
    return left[0] + right[0], max(left[1], right[1])


@dataclass(frozen=True)
class MultinomialSums:
    """`MultinomialPoint` of rows in pieces, as sums."""

    value: float
    gradient: FloatArray
    hessian: FloatArray
    least: float

    def __add__(self, other: MultinomialSums) -> MultinomialSums:
        return MultinomialSums(
            self.value + other.value,
            self.gradient + other.gradient,
            self.hessian + other.hessian,
            min(self.least, other.least),
        )

    def hessian_of(self, unknowns: BoolArray) -> FloatArray:
        return self.hessian[np.ix_(unknowns.ravel(), unknowns.ravel())]


@dataclass(frozen=True, kw_only=True)
class MultinomialPieces(MultinomialProblem):
    """The problem of `Multinomial` with its rows in pieces. Every method costs one pass."""

    pieces: Pieces
    rows: MultinomialRows
    n_features: int
    l2: float

    def shape(self) -> tuple[int, int]:
        return len(self.rows.classes), self.n_features

    def has_intercept(self) -> bool:
        return self.rows.fit_intercept

    def at(self, theta: FloatArray) -> MultinomialSums:
        sums: MultinomialSums = self.pieces.map_reduce(_on_piece, self.rows, _multinomial_sums, theta)
        w = theta.copy()
        w[:, -1] = 0.0
        ridge = np.where(np.arange(theta.size) % theta.shape[1] < theta.shape[1] - 1, self.l2, 0.0)
        value = sums.value + 0.5 * self.l2 * float(np.sum(w**2))
        return MultinomialSums(value, sums.gradient + self.l2 * w, sums.hessian + np.diag(ridge), sums.least)

    def checks(self, theta: FloatArray, slopes: Slopes | None, least: float = 0.0) -> RowChecks:
        return self.pieces.map_reduce(_on_piece, self.rows, Multinomial.checks, theta, slopes, least)


def _multinomial_sums(rows: Multinomial, theta: FloatArray) -> MultinomialSums:
    at = rows.at(theta)
    return MultinomialSums(at.value, at.gradient, at.hessian, at.least)
