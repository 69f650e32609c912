"""Problems whose rows come in pieces."""

from __future__ import annotations

import maxmargin as mm
from maxmargin.problems.loss_penalty import LossPenalty
from maxmargin.problems.rows_in_pieces import LossPenaltyPieces, NumberTargets


def in_pieces(whole: LossPenalty, rows: int) -> LossPenaltyPieces:
    """The same problem with so many rows in a piece."""
    n_rows, n_features = whole.X.shape
    return LossPenaltyPieces(
        pieces=mm.pieces.from_array(whole.X.dense(), whole.y, whole.c, rows=rows),
        targets=NumberTargets(),
        n_features=n_features,
        n_rows=n_rows,
        loss=whole.loss,
        penalty=whole.penalty,
        fit_intercept=whole.fit_intercept,
    )
