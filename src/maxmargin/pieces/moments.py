"""Means and scatter of classes, in two passes over the pieces."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from maxmargin.base.tables import SQUARES_TOO_LARGE
from maxmargin.base.typing import AnyArray, FloatArray
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.piece import Piece
from maxmargin.pieces.survey import Survey

_BLOCK = 1 << 17  # numbers that are widened and centred at a time


def scatter_of_pieces(pieces: Pieces, seen: Survey) -> tuple[FloatArray, FloatArray]:
    """Means of the classes and the scatter around them, of shape (n_features, n_features): two passes."""
    # sums of deviations from the overall mean, so that columns far from 0 lose no digits
    sums, _ = pieces.map_reduce(_sums_and_sizes, seen.labels, seen.mean_x, combine=_both)
    means = np.asarray(seen.mean_x + sums / seen.masses[:, None])
    return means, pieces.map_reduce(_scatter, seen.labels, means)


def variances_of_pieces(pieces: Pieces, seen: Survey) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Units of the columns, and means and population variances of the classes in these units: two passes.

    The means are differences from the overall mean, of shape (n_classes, n_features) as the variances. The
    units are powers of two near the largest difference, so that squares neither overflow nor vanish.
    """
    sums, sizes = pieces.map_reduce(_sums_and_sizes, seen.labels, seen.mean_x, combine=_both)
    if not np.isfinite(sizes + np.abs(sums).max(axis=0)).all():
        raise ValueError(SQUARES_TOO_LARGE)
    units = np.ldexp(1.0, np.frexp(sizes)[1] - 1)
    means = sums / units / seen.masses[:, None]
    squares = pieces.map_reduce(_squares, seen.labels, seen.mean_x, units, means)
    return units, means, squares / seen.masses[:, None]


def _blocks(piece: Piece, labels: AnyArray) -> Iterator[tuple[FloatArray, AnyArray, FloatArray]]:
    """Float64 rows, class codes and weights, a block at a time."""
    X, weights = piece.table(), piece.weights()
    codes = np.searchsorted(labels, piece.labels())
    step = max(32, _BLOCK // max(1, X.shape[1]))
    for start in range(0, len(piece), step):
        rows = slice(start, start + step)
        block = X[rows].toarray() if sparse.issparse(X) else X[rows]
        yield np.asarray(block, dtype=np.float64), codes[rows], weights[rows]


def _members(codes: AnyArray, weights: FloatArray, n_classes: int) -> FloatArray:
    members = np.zeros((n_classes, len(codes)))
    members[codes, np.arange(len(codes))] = weights
    return members


def _sums_and_sizes(piece: Piece, labels: AnyArray, centre: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sums of the differences from ``centre`` over every class, and the largest differences."""
    sums, sizes = np.zeros((len(labels), len(centre))), np.zeros(len(centre))
    for X, codes, weights in _blocks(piece, labels):
        with np.errstate(over="ignore", invalid="ignore"):  # the totals over all pieces are checked
            differences = X - centre
            sums += _members(codes, weights, len(labels)) @ differences
            sizes = np.maximum(sizes, np.abs(differences).max(axis=0))
    return sums, sizes


def _both(
    left: tuple[FloatArray, FloatArray], right: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, ...]:
    return left[0] + right[0], np.maximum(left[1], right[1])


def _scatter(piece: Piece, labels: AnyArray, means: FloatArray) -> FloatArray:
    total = np.zeros((means.shape[1], means.shape[1]))
    for X, codes, weights in _blocks(piece, labels):
        inside = (X - means[codes]) * np.sqrt(weights)[:, None]
        total += inside.T @ inside
    return total


def _squares(
    piece: Piece, labels: AnyArray, centre: FloatArray, units: FloatArray, means: FloatArray
) -> FloatArray:
    total = np.zeros_like(means)
    for X, codes, weights in _blocks(piece, labels):
        total += _members(codes, weights, len(labels)) @ ((X - centre) / units - means[codes]) ** 2
    return total
