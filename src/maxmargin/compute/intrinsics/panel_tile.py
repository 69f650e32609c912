"""Inner products of a few points with a panel of many, kept in registers.

Written as loops, the compiler keeps the sums in memory. The tile has as many sums as fill the registers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.base.typing import FloatArray
from maxmargin.compute.intrinsics.choice import code_for, vector_bits

ROWS = 6
_WIDE = vector_bits() == 512
WIDTH = 64 if _WIDE else 16  # of a panel of float32
DOUBLE_WIDTH = 16 if _WIDE else 8


def plain_tile(width: int) -> Any:
    """The plain twin for panels of ``width`` points."""

    def products_plain(
        A: FloatArray, a_at: int, a_row: int, a_step: int, length: int, panel: FloatArray, at: int,
        panel_step: int, out: FloatArray, out_at: int, out_row: int,
    ) -> None:  # fmt: skip
        """out[r, c] = sum over k < length of A[r, k] panel[k, c]; all arrays are flat.

        A[r, k] is at a_at + r a_row + k a_step, panel[k, c] at at + k panel_step + c, out[r, c] at
        out_at + r out_row + c.
        """
        for r in range(ROWS):
            sums = out[out_at + r * out_row : out_at + r * out_row + width]
            sums[:] = 0.0
            for k in range(length):
                a, columns = A[a_at + r * a_row + k * a_step], panel[at + k * panel_step :]
                for c in range(width):
                    sums[c] += a * columns[c]

    return products_plain


def _trial(function: Any) -> Any:
    def two_terms(A: FloatArray, panel: FloatArray) -> FloatArray:
        out = np.zeros(ROWS * len(panel), A.dtype)
        function(A, 0, 2, 1, 2, panel, 0, len(panel) // 2, out, 0, len(panel))
        return out

    return two_terms


def _tile(dtype: Any, n_lanes: int, n_vectors: int) -> Any:
    width, bits = n_lanes * n_vectors, 8 * np.dtype(dtype).itemsize
    A, panel = np.arange(2 * ROWS, dtype=dtype), np.arange(2 * width, dtype=dtype)
    return code_for(
        lambda llvm_code: llvm_code.tile(bits, ROWS, n_lanes, n_vectors), plain_tile(width), _trial, A, panel
    )


products = _tile(np.float32, 16, 4) if _WIDE else _tile(np.float32, 8, 2)
double_products = _tile(np.float64, DOUBLE_WIDTH // 2, 2)
