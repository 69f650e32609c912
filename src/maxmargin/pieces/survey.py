"""The first pass over the pieces: number of rows, classes, and validity of all values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from maxmargin.base.tables import SQUARES_TOO_LARGE, known_columns
from maxmargin.base.typing import AnyArray, FloatArray
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.piece import Piece


@dataclass(frozen=True)
class Survey:
    """Results of the first pass.

    Attributes
    ----------
    n_rows : number of rows; ``n_features`` of columns.
    weight : sum of the weights.
    mean_x : weighted means of the columns, of shape (n_features,).
    mean_y : weighted mean of the targets (0 for classes).
    labels : the distinct targets in order if they are classes; else empty.
    counts : rows of each, and ``masses`` their sums of weights.
    """

    n_rows: int
    n_features: int
    weight: float
    mean_x: FloatArray
    mean_y: float
    labels: AnyArray
    counts: FloatArray
    masses: FloatArray


def survey(pieces: Pieces, *, classes: bool) -> Survey:
    """Sizes, means and classes, in one pass; an error for values that are not finite."""
    pieces.start_over()
    seen: Survey = pieces.map_reduce(_survey_piece, _names(pieces.first()), classes, combine=_merge)
    if not np.isfinite(seen.mean_x).all():
        raise ValueError(SQUARES_TOO_LARGE)
    return seen


def learn_columns(estimator: BaseEstimator, pieces: Pieces) -> None:
    """Let an estimator learn the number and the names of the columns from the first piece."""
    first = pieces.first()
    X = first.X.iloc[:1] if hasattr(first.X, "iloc") else first.X[:1]
    known_columns(estimator, X)


def _names(piece: Piece) -> list[Any] | None:
    return list(piece.X.columns) if hasattr(piece.X, "columns") else None


def _survey_piece(piece: Piece, names: list[Any] | None, classes: bool) -> Survey:
    if _names(piece) != names:
        raise ValueError(
            f"piece {piece.index}{f', of {piece.source},' if piece.source else ''} has the columns "
            f"{_names(piece)} and the first one has {names}: all pieces need the same columns in the same "
            "order."
        )
    X, y, weights = piece.table(), piece.labels(), piece.weights()
    _check_finite(X, piece, names)
    _check_finite(weights, piece, "sample_weight")
    if (weights < 0).any():
        where = piece.place(int(np.argmax(weights < 0)), _column_name(piece.weight, "sample_weight"))
        raise ValueError(f"{where} is negative: use weights >= 0.")
    total = float(weights.sum())
    with np.errstate(over="ignore", invalid="ignore"):  # the mean of all rows is checked
        mean_x = _times(weights, X) / total if total > 0 else np.zeros(X.shape[1])
    if not classes:
        y = as_numbers(y, piece)
        mean_y = float(weights @ y) / total if total > 0 else 0.0
        return Survey(len(piece), X.shape[1], total, mean_x, mean_y, y[:0], np.empty(0), np.empty(0))
    if y.dtype.kind == "f":
        _check_finite(y, piece, "y")
    labels, codes = np.unique(y, return_inverse=True)
    counts = np.bincount(codes, minlength=len(labels)).astype(np.float64)
    masses = np.bincount(codes, weights=weights, minlength=len(labels)).astype(np.float64, copy=False)
    return Survey(len(piece), X.shape[1], total, mean_x, 0.0, labels, counts, masses)


def as_numbers(y: AnyArray, piece: Piece) -> FloatArray:
    """Targets of a regression in float64."""
    numbers = np.asarray(y, dtype=np.float64)
    _check_finite(numbers, piece, "y")
    return numbers


def _check_finite(values: Any, piece: Piece, column: Any) -> None:
    """An error that names the first cell with NaN or infinity; ``column`` is its name, or those of X."""
    numbers = values.data if sparse.issparse(values) else values
    # the sum is finite if every value is, up to overflow: one cheap pass instead of a table of booleans
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(numbers, dtype=np.float64)) or np.isfinite(numbers).all():
            return
    if values.ndim == 2:
        wrong = (
            sparse.csr_array((~np.isfinite(numbers), values.indices, values.indptr), values.shape).nonzero()
            if sparse.issparse(values)
            else np.nonzero(~np.isfinite(values))
        )
        i, j = int(wrong[0][0]), int(wrong[1][0])
        column, value = (j if column is None else column[j]), values[i, j]
    else:
        i = int(np.argmax(~np.isfinite(values)))
        column, value = _column_name(piece.y if column == "y" else piece.weight, column), values[i]
    raise ValueError(f"{piece.place(i, column)} is {value}: drop such rows, or impute them first.")


def _column_name(values: Any, otherwise: str) -> str:
    """The name of a series, or its role."""
    return str(getattr(values, "name", None) or otherwise)


def _times(weights: FloatArray, X: Any) -> FloatArray:
    if sparse.issparse(X):
        return np.asarray(X.T @ weights, dtype=np.float64).ravel()
    if X.dtype == np.float64:
        return np.asarray(weights @ X)
    total = np.zeros(X.shape[1])
    for start in range(0, len(X), 4096):
        total += weights[start : start + 4096] @ X[start : start + 4096].astype(np.float64)
    return total


def _merge(left: Survey, right: Survey) -> Survey:
    if left.n_features != right.n_features:
        raise ValueError(
            f"pieces have {left.n_features} and {right.n_features} columns: all need the same columns."
        )
    weight = left.weight + right.weight
    share = right.weight / weight if weight > 0 else 0.0
    labels, codes = np.unique(np.concatenate([left.labels, right.labels]), return_inverse=True)

    def sums(values: list[FloatArray]) -> FloatArray:
        return np.bincount(codes, np.concatenate(values), len(labels)).astype(np.float64, copy=False)

    with np.errstate(over="ignore", invalid="ignore"):
        mean_x = left.mean_x + share * (right.mean_x - left.mean_x)
    return Survey(
        left.n_rows + right.n_rows,
        left.n_features,
        weight,
        mean_x,
        left.mean_y + share * (right.mean_y - left.mean_y),
        labels,
        sums([left.counts, right.counts]),
        sums([left.masses, right.masses]),
    )
