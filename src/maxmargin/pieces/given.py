"""What fit was given: data in memory or in pieces."""

from __future__ import annotations

from typing import Any

from maxmargin.pieces.cluster import from_dask, is_dask
from maxmargin.pieces.collection import Pieces


def as_pieces(X: Any, y: Any = None, sample_weight: Any = None) -> Pieces | None:
    """The pieces that fit was given, or None where X is a table in memory.

    `Pieces` hold their own targets and weights. Dask arrays and dataframes are converted to pieces. A
    NumPy memory map does not: joblib hands such maps to its workers unasked, and they behave as arrays; say
    ``fit(mm.pieces.from_array(X, y))`` to read one piece by piece.
    """
    if isinstance(X, Pieces):
        if y is not None or sample_weight is not None:
            raise ValueError(
                "pieces hold their own y and sample_weight: give them where the pieces are made, "
                "for example from_array(X, y), and call fit(pieces)."
            )
        return X
    return from_dask(X, y, sample_weight) if is_dask(X) else None
