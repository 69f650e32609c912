"""Sums of weighted squares of rows of a small dense table: the Hessians of Newton's method.

The symmetric product of BLAS has no weights, and its general product computes both triangles.
"""

from __future__ import annotations

import numpy as np

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.intrinsics.panel_tile import DOUBLE_WIDTH, ROWS, double_products
from maxmargin.compute.jit import part_sums

_BLOCK = 256  # rows gathered at a time


@part_sums
def add_row_squares(X: FloatArray, rows: IntArray, weights: FloatArray, gram: FloatArray) -> None:
    """gram += sum over rows of weight (x, 1)(x, 1)', of shape (n_features + 1, n_features + 1).

    Only the lower triangle is valid; entries just above the diagonal are not.
    """
    p = X.shape[1]
    m = p + 1
    width = -(-m // DOUBLE_WIDTH) * DOUBLE_WIDTH
    block, scaled = np.zeros(_BLOCK * width), np.zeros(_BLOCK * width + ROWS)
    tile = np.empty(ROWS * DOUBLE_WIDTH)
    for start in range(0, len(rows), _BLOCK):
        length = min(_BLOCK, len(rows) - start)
        for k in range(length):
            i, weight, at = rows[start + k], weights[start + k], k * width
            for j in range(p):
                block[at + j] = X[i, j]
                scaled[at + j] = weight * X[i, j]
            block[at + p] = 1.0
            scaled[at + p] = weight
        for i in range(0, m, ROWS):
            for j in range(0, min(i + ROWS, m), DOUBLE_WIDTH):
                double_products(scaled, i, 1, width, length, block, j, width, tile, 0, DOUBLE_WIDTH)
                for r in range(min(ROWS, m - i)):
                    for c in range(min(DOUBLE_WIDTH, m - j)):
                        gram[i + r, j + c] += tile[r * DOUBLE_WIDTH + c]
