"""What fit was given: data in memory or in pieces."""

from __future__ import annotations

from maxmargin.base.typing import TableLike, TargetLike, WeightLike
from maxmargin.pieces.cluster import from_dask, is_dask
from maxmargin.pieces.collection import Pieces


def as_pieces(
    X: TableLike, y: TargetLike | None = None, sample_weight: WeightLike | None = None
) -> Pieces | None:
    """X as pieces, or None if X is a table in memory.

    `Pieces` hold their own targets and weights. Dask arrays and dataframes are converted to pieces. NumPy
    memory maps are not, because joblib passes arrays to its workers as memory maps; use
    ``fit(mm.pieces.from_array(X, y))`` to read one piece by piece.

    >>> as_pieces([[1.0], [2.0]]) is None
    True
    """
    if isinstance(X, Pieces):
        if y is not None or sample_weight is not None:
            raise ValueError(
                "pieces hold their own y and sample_weight: give them where the pieces are made, "
                "for example from_array(X, y), and call fit(pieces)."
            )
        return X
    return from_dask(X, y, sample_weight) if is_dask(X) else None
