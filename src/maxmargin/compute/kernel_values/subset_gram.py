"""Gram matrices of subsets of columns, as updates of a matrix of distances or products.

A statistic of a pair of rows is a sum over columns of (x - z)^2, x z or |x - z|. Adding or removing a column
changes every entry by one term, whatever the number of columns.
"""

from __future__ import annotations

import numpy as np

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.jit import jit_finite

SQUARES, PRODUCTS, MODULI = "squares", "products", "moduli"


@jit_finite
def _scaled(source: FloatArray, rows: IntArray, scale: float, row: FloatArray) -> None:
    """row = scale source[rows], where ``rows`` ascend; all of them need no index."""
    if len(rows) == len(source):
        for j in range(len(row)):
            row[j] = scale * source[j]
        return
    for j in range(len(row)):
        row[j] = scale * source[rows[j]]


@jit_finite
def _squares(
    total: FloatArray, rows: IntArray, xs: FloatArray, factors: FloatArray, scale: float, out: FloatArray
) -> None:
    n = len(rows)
    row = np.empty(n)
    for i in range(n):
        _scaled(total[rows[i]], rows, scale, row)
        for k in range(len(xs)):
            x, value, factor = xs[k], xs[k, i], scale * factors[k]
            for j in range(n):
                difference = x[j] - value
                row[j] += factor * (difference * difference)
        for j in range(n):
            out[i, j] = row[j]


@jit_finite
def _products(
    total: FloatArray, rows: IntArray, xs: FloatArray, factors: FloatArray, scale: float, out: FloatArray
) -> None:
    n = len(rows)
    row = np.empty(n)
    for i in range(n):
        _scaled(total[rows[i]], rows, scale, row)
        for k in range(len(xs)):
            x, value = xs[k], scale * factors[k] * xs[k, i]
            for j in range(n):
                row[j] += value * x[j]
        for j in range(n):
            out[i, j] = row[j]


@jit_finite
def _moduli(
    total: FloatArray, rows: IntArray, xs: FloatArray, factors: FloatArray, scale: float, out: FloatArray
) -> None:
    n = len(rows)
    row = np.empty(n)
    for i in range(n):
        _scaled(total[rows[i]], rows, scale, row)
        for k in range(len(xs)):
            x, value, factor = xs[k], xs[k, i], scale * factors[k]
            for j in range(n):
                row[j] += factor * abs(x[j] - value)
        for j in range(n):
            out[i, j] = row[j]


_MOVED = {SQUARES: _squares, PRODUCTS: _products, MODULI: _moduli}


def moved(
    kind: str,
    total: FloatArray,
    rows: IntArray,
    xs: FloatArray,
    factors: FloatArray,
    scale: float,
    out: FloatArray,
) -> None:
    """out = scale (total + sum_k factors_k terms of the column xs_k), for some rows of ``total``.

    ``total`` and ``out`` are C-contiguous, ``out`` of shape (n_rows, n_rows) and ``xs`` of shape (k, n_rows).
    The rows ascend; with all of them ``out`` may be ``total`` itself.
    """
    _MOVED[kind](total, rows, xs, factors, scale, out)
