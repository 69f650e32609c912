"""One row of a table, dense or CSR, inside jitted loops.

A table travels as (data, indices, indptr, p). A dense C-contiguous array is its flat view without indices:
Numba compiles an algorithm once for each kind, so the tests for None below cost nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.intrinsics.prefetch import prefetch
from maxmargin.compute.jit import jit_row

_LONG = 256  # numbers of a row that are prefetched

Rows = tuple[FloatArray, IntArray | None, IntArray | None, int]


def rows_of(X: Any) -> Rows:
    """The (data, indices, indptr, p) of a dense array or a CSR matrix."""
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X).reshape(-1), None, None, X.shape[1]
    unsigned = np.uint32 if X.indices.dtype.itemsize == 4 else np.uint64  # no test for negative positions
    indptr = X.indptr.astype(X.indices.dtype, copy=False)
    return X.data, X.indices.view(unsigned), indptr.view(unsigned), X.shape[1]


@jit_row
def row_dot(data: FloatArray, indices: Any, indptr: Any, p: int, i: int, w: FloatArray) -> float:
    """<x_i, w>."""
    total = 0.0
    if indices is None:
        start = i * p
        for j in range(p):
            total += data[start + j] * w[j]
    else:
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * w[indices[k]]
    return total


@jit_row
def row_add(data: FloatArray, indices: Any, indptr: Any, p: int, i: int, step: float, w: FloatArray) -> None:
    """w += step x_i."""
    if indices is None:
        start = i * p
        for j in range(p):
            w[j] += step * data[start + j]
    else:
        for k in range(indptr[i], indptr[i + 1]):
            w[indices[k]] += step * data[k]


@jit_row
def row_norm(data: FloatArray, indices: Any, indptr: Any, p: int, i: int) -> float:
    """||x_i||^2."""
    total = 0.0
    if indices is None:
        start = i * p
        for j in range(p):
            total += data[start + j] * data[start + j]
    else:
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * data[k]
    return total


@jit_row
def ask_for_row(data: FloatArray, indices: Any, indptr: Any, p: int, i: int, after: int) -> None:
    """Prefetch row i, which will be needed soon, and the place where row ``after`` begins.

    Of a long row only the beginning: the processor itself prefetches the rest, which follows in order.
    """
    if indices is None:
        start = np.intp(i * p)
        for k in range(start, start + min(p, _LONG), 8):
            prefetch(data, k)
    else:
        prefetch(indptr, np.intp(after))
        start = np.intp(indptr[i])
        stop = min(np.intp(indptr[i + 1]), start + _LONG)
        for k in range(start, stop, 8):
            prefetch(data, k)
        for k in range(start, stop, 16):
            prefetch(indices, k)
