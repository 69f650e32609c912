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


def class_means(pieces: Pieces, seen: Survey) -> FloatArray:
    """Weighted means of the classes, of shape (n_classes, n_features). Cost: one pass."""
    # sums of deviations from the overall mean, so that columns far from 0 lose no digits
    sums = pieces.map_reduce(_class_sums, seen.labels, seen.mean_x)
    return np.asarray(seen.mean_x + sums / seen.masses[:, None])


def scatter_of_pieces(pieces: Pieces, seen: Survey) -> tuple[FloatArray, FloatArray]:
    """Means of the classes and the scatter around them, of shape (n_features, n_features): two passes."""
    means = class_means(pieces, seen)
    return means, pieces.map_reduce(_scatter, seen.labels, means)


def variances_of_pieces(pieces: Pieces, seen: Survey) -> tuple[FloatArray, FloatArray]:
    """Means and population variances of the classes, both of shape (n_classes, n_features): two passes."""
    means = class_means(pieces, seen)
    variances = pieces.map_reduce(_squares, seen.labels, means) / seen.masses[:, None]
    if not np.isfinite(variances).all():
        raise ValueError(SQUARES_TOO_LARGE)
    return means, variances


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


def _class_sums(piece: Piece, labels: AnyArray, centre: FloatArray) -> FloatArray:
    total = np.zeros((len(labels), len(centre)))
    for X, codes, weights in _blocks(piece, labels):
        total += _members(codes, weights, len(labels)) @ (X - centre)
    return total


def _scatter(piece: Piece, labels: AnyArray, means: FloatArray) -> FloatArray:
    total = np.zeros((means.shape[1], means.shape[1]))
    for X, codes, weights in _blocks(piece, labels):
        inside = (X - means[codes]) * np.sqrt(weights)[:, None]
        total += inside.T @ inside
    return total


def _squares(piece: Piece, labels: AnyArray, means: FloatArray) -> FloatArray:
    total = np.zeros_like(means)
    for X, codes, weights in _blocks(piece, labels):
        with np.errstate(over="ignore", invalid="ignore"):  # the sums over all pieces are checked
            total += _members(codes, weights, len(labels)) @ (X - means[codes]) ** 2
    return total
