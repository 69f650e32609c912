"""One row of a table, dense or CSR, inside jitted loops.

A table travels as (data, indices, indptr, p). A dense C-contiguous array is its flat view with empty indices,
so that one algorithm serves both and the test costs one branch per row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._compute.jit import jit_sums
from maxmargin.typing import FloatArray, IntArray

Rows = tuple[FloatArray, IntArray, IntArray, int]
_NOTHING = np.empty(0, dtype=np.int32)


def rows_of(X: Any) -> Rows:
    """The (data, indices, indptr, p) of a dense array or a CSR matrix."""
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X).reshape(-1), _NOTHING, _NOTHING, X.shape[1]
    return X.data, X.indices, X.indptr.astype(X.indices.dtype, copy=False), X.shape[1]


@jit_sums
def row_dot(data: FloatArray, indices: IntArray, indptr: IntArray, p: int, i: int, w: FloatArray) -> float:
    """<x_i, w>."""
    total = 0.0
    if len(indices) == 0:
        start = i * p
        for j in range(p):
            total += data[start + j] * w[j]
    else:
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * w[indices[k]]
    return total


@jit_sums
def row_add(
    data: FloatArray, indices: IntArray, indptr: IntArray, p: int, i: int, step: float, w: FloatArray
) -> None:
    """w += step x_i."""
    if len(indices) == 0:
        start = i * p
        for j in range(p):
            w[j] += step * data[start + j]
    else:
        for k in range(indptr[i], indptr[i + 1]):
            w[indices[k]] += step * data[k]


@jit_sums
def row_norm(data: FloatArray, indices: IntArray, indptr: IntArray, p: int, i: int) -> float:
    """||x_i||^2."""
    total = 0.0
    start, stop = (i * p, i * p + p) if len(indices) == 0 else (indptr[i], indptr[i + 1])
    for k in range(start, stop):
        total += data[k] * data[k]
    return total
