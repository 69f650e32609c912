"""Sums of weighted squares of rows of a small dense table: the Hessians of Newton's method.

The symmetric product of BLAS has no weights, and its general product computes both triangles.
"""

from __future__ import annotations

import numpy as np

from maxmargin.base.typing import FloatArray
from maxmargin.compute.intrinsics.panel_tile import DOUBLE_WIDTH, ROWS, double_products
from maxmargin.compute.jit import part_sums

_BLOCK = 256  # rows gathered at a time


def room_for_squares(p: int) -> FloatArray:
    """The ``room`` of `add_row_squares` for p columns: a block of rows, the weighted rows, and a tile."""
    width = -(-(p + 1) // DOUBLE_WIDTH) * DOUBLE_WIDTH
    return np.empty(2 * _BLOCK * width + ROWS + ROWS * DOUBLE_WIDTH)


@part_sums
def add_row_squares(X: FloatArray, weights: FloatArray, gram: FloatArray, room: FloatArray) -> None:
    """gram += sum over rows of weight (x, 1)(x, 1)', of shape (n_features + 1, n_features + 1).

    Rows of weight 0 cost nothing. Only the lower triangle is valid; entries just above the diagonal are not.
    """
    n, p = X.shape
    m = p + 1
    width = -(-m // DOUBLE_WIDTH) * DOUBLE_WIDTH
    scaled, tile = _BLOCK * width, 2 * _BLOCK * width + ROWS
    length = np.int64(0)
    for k in range(n):
        weight = weights[k]
        if weight != 0.0:
            at = length * width
            row, mine, other = X[k], room[at : at + m], room[scaled + at : scaled + at + m]
            for j in range(p):
                mine[j] = row[j]
                other[j] = weight * row[j]
            mine[p], other[p] = 1.0, weight
            length += 1
        if length < _BLOCK and k < n - 1:
            continue
        for i in range(0, m, ROWS):
            below = i + ROWS if i + ROWS < m else m
            for j in range(0, below, DOUBLE_WIDTH):
                beside = j + DOUBLE_WIDTH if j + DOUBLE_WIDTH < m else m
                double_products(room, scaled + i, 1, width, length, room, j, width, room, tile, DOUBLE_WIDTH)
                for r in range(i, below):
                    for c in range(j, beside):
                        gram[r, c] += room[tile + (r - i) * DOUBLE_WIDTH + c - j]
        length = np.int64(0)
