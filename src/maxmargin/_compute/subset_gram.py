"""Gram matrices of subsets of columns, as updates of a matrix of distances or products.

A statistic of a pair of rows is a sum over columns of (x - z)^2, x z or |x - z|. Adding or removing a column
changes every entry by one term, whatever the number of columns.
"""

from __future__ import annotations

import numpy as np

from maxmargin._compute.jit import jit_finite
from maxmargin.typing import FloatArray

SQUARES, PRODUCTS, MODULI = 0, 1, 2


@jit_finite
def _squares(total: FloatArray, xs: FloatArray, factors: FloatArray, scale: float, out: FloatArray) -> None:
    n = total.shape[1]
    row = np.empty(n)
    for i in range(n):
        for j in range(n):
            row[j] = scale * total[i, j]
        for k in range(len(xs)):
            x, value, factor = xs[k], xs[k, i], scale * factors[k]
            for j in range(n):
                difference = x[j] - value
                row[j] += factor * (difference * difference)
        for j in range(n):
            out[i, j] = row[j]


@jit_finite
def _products(total: FloatArray, xs: FloatArray, factors: FloatArray, scale: float, out: FloatArray) -> None:
    n = total.shape[1]
    row = np.empty(n)
    for i in range(n):
        for j in range(n):
            row[j] = scale * total[i, j]
        for k in range(len(xs)):
            x, value = xs[k], scale * factors[k] * xs[k, i]
            for j in range(n):
                row[j] += value * x[j]
        for j in range(n):
            out[i, j] = row[j]


@jit_finite
def _moduli(total: FloatArray, xs: FloatArray, factors: FloatArray, scale: float, out: FloatArray) -> None:
    n = total.shape[1]
    row = np.empty(n)
    for i in range(n):
        for j in range(n):
            row[j] = scale * total[i, j]
        for k in range(len(xs)):
            x, value, factor = xs[k], xs[k, i], scale * factors[k]
            for j in range(n):
                row[j] += factor * abs(x[j] - value)
        for j in range(n):
            out[i, j] = row[j]


_MOVED = {SQUARES: _squares, PRODUCTS: _products, MODULI: _moduli}


def moved(
    kind: int, total: FloatArray, xs: FloatArray, factors: FloatArray, scale: float, out: FloatArray
) -> None:
    """out = scale (total + sum_k factors_k terms of the column xs_k); ``out`` may be ``total`` itself.

    ``total`` and ``out`` are C-contiguous of shape (n, n), ``xs`` of shape (k, n).
    """
    _MOVED[kind](total, xs, factors, scale, out)
