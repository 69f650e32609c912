"""Data in pieces: tables that do not fit in memory, or on one computer."""

from maxmargin.pieces.cluster import DaskPieces, from_dask
from maxmargin.pieces.collection import LocalPieces, Pieces
from maxmargin.pieces.given import as_pieces
from maxmargin.pieces.piece import Piece
from maxmargin.pieces.prediction import predict
from maxmargin.pieces.sources import from_array, from_csv, from_iterable, from_parquet

__all__ = [
    "Pieces",
    "Piece",
    "LocalPieces",
    "DaskPieces",
    "from_array",
    "from_parquet",
    "from_csv",
    "from_iterable",
    "from_dask",
    "as_pieces",
    "predict",
]
