"""Inner products of a few points with a panel of many, kept in registers, and their Gaussian kernel values.

In plain loops, the compiler keeps the sums in memory. The tile has as many sums as fill the registers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.base.typing import FloatArray
from maxmargin.compute.intrinsics.choice import code_for, vector_bits
from maxmargin.compute.kernel_values.elementwise import LOG2E, POWERS_32, POWERS_64, rbf_values

ROWS = 6
_WIDE = vector_bits() == 512
WIDTH = 64 if _WIDE else 16  # of a panel of float32
HALF_WIDTH = WIDTH // 2  # of a panel of float64, which takes the same registers
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


def gaussians_plain(
    A: FloatArray, a_at: int, length: int, panel: FloatArray, at: int, norms: FloatArray, norm_at: int,
    factors: Any, out: FloatArray, out_at: int, out_row: int,
) -> None:  # fmt: skip
    """out[r, c] = variance 2^(scale (norms[r] + panel[length, c] - 2 sum_k A[r, k] panel[k, c])).

    As `plain_tile`, with rows of ``length`` numbers; the last row of a panel holds the squared norms.
    ``factors`` are scale and variance. A panel has WIDTH points of float32 or HALF_WIDTH of float64.
    """
    scale, variance = factors
    width = WIDTH if A.itemsize == 4 else HALF_WIDTH
    for r in range(ROWS):
        sums = out[out_at + r * out_row : out_at + r * out_row + width]
        sums[:] = 0.0
        for k in range(length):
            a, columns = A[a_at + r * length + k], panel[at + k * width :]
            for c in range(width):
                sums[c] += a * columns[c]
    theirs = panel[at + length * width : at + (length + 1) * width]
    rbf_values(out[out_at:], out_row, norms[norm_at : norm_at + ROWS], theirs, -scale / LOG2E, variance)


def _trial(function: Any) -> Any:
    def two_terms(A: FloatArray, panel: FloatArray) -> FloatArray:
        out = np.zeros(ROWS * len(panel), A.dtype)
        function(A, 0, 2, 1, 2, panel, 0, len(panel) // 2, out, 0, len(panel))
        return out

    return two_terms


def _gaussian_trial(function: Any) -> Any:
    def two_terms(A: FloatArray, panel: FloatArray) -> FloatArray:
        out = np.zeros(ROWS * len(panel), A.dtype)
        factors = (np.float32(-0.01), np.float32(1.0))
        function(A, 0, 2, panel, 0, A, 0, factors, out, 0, len(panel))
        return out

    return two_terms


def _tile(n_lanes: int, n_vectors: int) -> Any:
    width = n_lanes * n_vectors
    A, panel = np.arange(2.0 * ROWS), np.arange(2.0 * width)
    return code_for(
        lambda llvm_code: llvm_code.tile(ROWS, n_lanes, n_vectors), plain_tile(width), _trial, A, panel
    )


def _gaussian_tile(n_vectors: int) -> Any:
    A, panel = np.arange(2 * ROWS, dtype=np.float32), np.arange(3 * WIDTH, dtype=np.float32)
    return code_for(
        lambda llvm_code: llvm_code.gaussian_tile(ROWS, WIDTH // n_vectors, n_vectors, POWERS_32, POWERS_64),
        gaussians_plain, _gaussian_trial, A, panel,
    )  # fmt: skip


gaussians = _gaussian_tile(4 if _WIDE else 2)
double_products = _tile(DOUBLE_WIDTH // 2, 2)
