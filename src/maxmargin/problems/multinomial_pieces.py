"""Logistic regression with several classes on rows in pieces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.base.typing import AnyArray, FloatArray
from maxmargin.compute.tables.design import design
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.piece import Piece
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.loss_penalty_pieces import Slopes
from maxmargin.problems.multinomial import Multinomial, RowChecks, curvature_product


@dataclass(frozen=True)
class MultinomialRows:
    """Makes the problem of one piece, without the penalty; ``class_weights`` holds C times their weights."""

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


@dataclass(frozen=True, kw_only=True)
class MultinomialPieces:
    """The problem of `Multinomial` with its rows in pieces."""

    pieces: Pieces
    rows: MultinomialRows
    n_features: int
    l2: float

    def certify(self, theta: FloatArray, slopes: Slopes) -> Certificate:
        """As `Multinomial.certify`, in one pass."""
        checks: RowChecks = self.pieces.map_reduce(_checks, self.rows, theta, slopes)
        return checks.certificate(theta, self.l2)


def _checks(piece: Piece, rows: MultinomialRows, theta: FloatArray, at: Slopes) -> RowChecks:
    problem = rows(piece)
    u = problem.slopes(problem.scores(at.base))
    return problem.checks(theta, u + curvature_product(problem, u, problem.scores(at.step)))
