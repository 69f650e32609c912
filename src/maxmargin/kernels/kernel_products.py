"""K(A, B) w without the matrix: the one primitive behind predictions, certificates and reconstruction."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from maxmargin.base.threads import check_stop, run, single_threaded_blas
from maxmargin.base.typing import FloatArray
from maxmargin.kernels.base import Kernel

_ROWS = 256
_COLUMNS = 1024
_EXPENSIVE_ROWS = 512  # kernels with expensive values split their own work into tasks


def kernel_times(kernel: Kernel, A: Any, B: Any, weights: FloatArray, *, n_threads: int = 1) -> FloatArray:
    """K(A, B) @ weights of shape (len(A),) or (len(A), n_outputs), by tiles, summed in float64.

    Values are computed in the precision of the Points. Memory stays at one tile per thread.
    """
    wide = weights[:, None] if weights.ndim == 1 else weights
    out = np.zeros((len(A), wide.shape[1]))
    if kernel.whole:
        for start in range(0, len(A), _EXPENSIVE_ROWS):
            rows = slice(start, min(start + _EXPENSIVE_ROWS, len(A)))
            out[rows] = kernel.gram(A.take(rows), B, n_threads=n_threads) @ wide
        return out[:, 0] if weights.ndim == 1 else out
    if wide.shape[1] == 1 and len(B) and kernel.adds(A, B):
        kernel.add_products(out[:, 0], A, B, np.ascontiguousarray(wide[:, 0], dtype=np.float64), n_threads)
        return out[:, 0] if weights.ndim == 1 else out
    dtype = np.result_type(A.dtype, B.dtype)
    scale = _scale(wide) if dtype == np.float32 else np.ones(1)
    narrow = np.ascontiguousarray(wide / scale, dtype=dtype)
    starts = range(0, len(A), _ROWS)
    slices = [slice(begin, min(begin + _COLUMNS, len(B))) for begin in range(0, len(B), _COLUMNS)]
    blocks = [(columns, B.take(columns)) for columns in slices]

    def share(first: int) -> None:
        buffer = np.empty(_ROWS * min(_COLUMNS, max(len(B), 1)), dtype=dtype)
        for start in starts[first::n_threads]:
            rows = slice(start, min(start + _ROWS, len(A)))
            left = A.take(rows)
            for columns, right in blocks:
                check_stop()
                shape = (rows.stop - rows.start, columns.stop - columns.start)
                tile = buffer[: shape[0] * shape[1]].reshape(shape)
                kernel.evaluate(left, right, tile)
                out[rows] += tile @ narrow[columns]

    with single_threaded_blas():
        run([partial(share, first) for first in range(min(n_threads, max(len(starts), 1)))], n_threads)
    out *= scale
    return out[:, 0] if weights.ndim == 1 else out


def _scale(weights: FloatArray) -> FloatArray:
    """A factor for each column of weights that would overflow or vanish in float32, 1 for the others."""
    largest = np.abs(weights).max(axis=0, initial=0.0)
    return np.where((largest > 0) & ((largest < 1e-20) | (largest > 1e20)), largest, 1.0)
