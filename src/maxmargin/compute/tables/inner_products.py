"""Inner products between rows, dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.base.threads import portions
from maxmargin.base.typing import FloatArray
from maxmargin.compute.jit import jit_sums

_COLUMNS_AT_ONCE = 64
_AT_ONCE = 1 << 27  # products in one compiled call, so that Ctrl-C is not delayed


@jit_sums
def _csr_times_dense(data, indices, indptr, dense, out, start, stop):
    """out[c, i] = sum_k A[i, k] dense[k, c] for i = start ... stop: sparse A, a narrow dense block."""
    width = dense.shape[1]
    total = np.zeros(width, dense.dtype)
    for i in range(start, stop):
        total[:] = 0
        for position in range(indptr[i], indptr[i + 1]):
            value = data[position]
            row = dense[indices[position]]
            for c in range(width):
                total[c] += value * row[c]
        for c in range(width):
            out[c, i] = total[c]


def inner_products(A: Any, B: Any, out: FloatArray) -> None:
    """out = A B' for row matrices of shapes (a, p) and (b, p), both dense or both CSR."""
    if not sp.issparse(A):
        np.matmul(A, B.T, out=out)
        return
    size = _AT_ONCE * B.shape[0] // (_COLUMNS_AT_ONCE * max(B.nnz, 1))
    for rows in portions(slice(0, A.shape[0]), _COLUMNS_AT_ONCE):
        block = np.ascontiguousarray(A[rows].toarray().T)
        for others in portions(slice(0, B.shape[0]), size):
            _csr_times_dense(B.data, B.indices, B.indptr, block, out[rows], others.start, others.stop)


@jit_sums
def _csr_squared_norms(data, indptr, out):
    for i in range(len(out)):
        total = 0.0
        for position in range(indptr[i], indptr[i + 1]):
            value = np.float64(data[position])
            total += value * value
        out[i] = total


def squared_norms(X: Any) -> FloatArray:
    """Squared row norms in float64, whatever the dtype of ``X``."""
    if not sp.issparse(X):
        return np.einsum("ij,ij->i", X, X, dtype=np.float64)
    X = X.tocsr()
    if not X.has_canonical_format:  # duplicate entries of a sparse matrix are summed
        X = X.copy()
        X.sum_duplicates()
    out: FloatArray = np.empty(X.shape[0])
    _csr_squared_norms(X.data, X.indptr, out)
    return out
