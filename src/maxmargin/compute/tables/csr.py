"""Jitted products with a CSR matrix; every function works on the rows start ... stop - 1.

Indices are unsigned (see `rows_of` in table_rows): signed ones would be tested at every use.
"""

from __future__ import annotations

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.jit import jit_sums


@jit_sums
def csr_scores(
    data: FloatArray,
    indices: IntArray,
    indptr: IntArray,
    w: FloatArray,
    out: FloatArray,
    start: int,
    stop: int,
) -> None:
    """out[i] = <x_i, w>."""
    for i in range(start, stop):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * w[indices[k]]
        out[i] = total


@jit_sums
def csr_adjoint(
    data: FloatArray,
    indices: IntArray,
    indptr: IntArray,
    u: FloatArray,
    out: FloatArray,
    start: int,
    stop: int,
) -> None:
    """out += sum of u_i x_i."""
    for i in range(start, stop):
        if u[i] != 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                out[indices[k]] += u[i] * data[k]


@jit_sums
def csr_two_adjoints(
    data: FloatArray,
    indices: IntArray,
    indptr: IntArray,
    u: FloatArray,
    out: FloatArray,
    start: int,
    stop: int,
) -> None:
    """out[m] += sum of u[m, i] x_i for m = 0, 1, in one pass."""
    for i in range(start, stop):
        first, second = u[0, i], u[1, i]
        if first != 0.0 or second != 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                out[0, indices[k]] += first * data[k]
                out[1, indices[k]] += second * data[k]


@jit_sums
def csr_gram(
    data: FloatArray,
    indices: IntArray,
    indptr: IntArray,
    d: FloatArray,
    out: FloatArray,
    start: int,
    stop: int,
) -> None:
    """Add sum of d_i x_i x_i' to out; only entries (j, k) with j stored before k, and the diagonal."""
    for i in range(start, stop):
        if d[i] != 0.0:
            last = indptr[i + 1]
            for k in range(indptr[i], last):
                row = out[indices[k]]
                scaled = d[i] * data[k]
                for m in range(k, last):
                    row[indices[m]] += scaled * data[m]


@jit_sums
def csr_hessian_product(
    data: FloatArray,
    indices: IntArray,
    indptr: IntArray,
    d: FloatArray,
    v: FloatArray,
    bias: float,
    out: FloatArray,
    start: int,
    stop: int,
) -> float:
    """Add sum of d_i <(x_i, 1), (v, bias)> x_i to out in one pass; returns the sum for the ones."""
    total = 0.0
    for i in range(start, stop):
        if d[i] != 0.0:
            score = bias
            for k in range(indptr[i], indptr[i + 1]):
                score += data[k] * v[indices[k]]
            score *= d[i]
            total += score
            for k in range(indptr[i], indptr[i + 1]):
                out[indices[k]] += score * data[k]
    return total
