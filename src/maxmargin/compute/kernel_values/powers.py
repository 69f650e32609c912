"""Powers K ** (1 + s) of kernel values in (0, 1], as K exp(s log K) by Taylor's formula, vectorised.

An RBF kernel whose gamma is larger by the share s is such a power. The remainder after m terms stays near
(s m / e)^m / m! for every K <= 1: below 1.8e-7 with 5 terms for |s| <= 1/16, below 1.6e-7 with 10 terms for
|s| <= 1/4. A weighted sum of rows is a polynomial in s, sum_k s^k / k! sum_i w_i K_i (log K_i)^k, and its
coefficients serve every s.
"""

from __future__ import annotations

from math import factorial

import numpy as np

from maxmargin.compute.jit import jit_finite, part

_LITTLE = 1 / 16
_A2, _A3, _A4, _A5 = (1.0 / factorial(k) for k in (2, 3, 4, 5))
_A6, _A7, _A8, _A9 = (1.0 / factorial(k) for k in (6, 7, 8, 9))
_LOWEST = -87.0  # kernel values below exp(-87) count as 0, and their power series must not overflow
_COLUMNS = 256  # columns at a time, so that the sums stay in the nearest cache


@part
def n_terms(shares):
    """Terms of the series that serves all shares."""
    terms = np.int64(1)
    for share in shares:
        if share != 0.0 and terms == 1:
            terms = 5
        if share > _LITTLE or share < -_LITTLE:
            terms = 10
    return terms


@jit_finite
def power_sums(K, logs, rows, weights, out):
    """out[k, j] = sum_i weights_i K_ij (log K_ij)^k over the rows, of shape (n_terms, n_columns).

    Four rows at a time, whose terms are added before they meet the float64 sums.
    """
    n = out.shape[1]
    lowest = K.dtype.type(_LOWEST)
    terms = np.zeros((4, _COLUMNS), K.dtype)
    factors = np.zeros((4, _COLUMNS), K.dtype)
    totals = np.empty((out.shape[0], _COLUMNS))
    for begin in range(0, n, _COLUMNS):
        width = _COLUMNS if n - begin > _COLUMNS else n - begin
        for k in range(len(totals)):
            for j in range(_COLUMNS):
                totals[k, j] = 0.0
        for first in range(0, len(rows), 4):
            for q in range(4):
                present = first + q < len(rows)
                i = rows[first + q] if present else rows[first]
                weight = K.dtype.type(weights[first + q] if present else 0.0)
                row, log = K[i, begin : begin + width], logs[i, begin : begin + width]
                term, factor = terms[q], factors[q]
                for j in range(width):
                    term[j] = weight * row[j]
                    factor[j] = log[j] if log[j] > lowest else lowest
            _accumulate(terms, factors, totals)
        for k in range(len(totals)):
            for j in range(width):
                out[k, begin + j] = totals[k, j]


@jit_finite
def _accumulate(terms, factors, totals):
    t0, t1, t2, t3 = terms[0], terms[1], terms[2], terms[3]
    f0, f1, f2, f3 = factors[0], factors[1], factors[2], factors[3]
    for k in range(len(totals)):
        total = totals[k]
        for j in range(_COLUMNS):
            total[j] += (t0[j] + t1[j]) + (t2[j] + t3[j])
            t0[j] *= f0[j]
            t1[j] *= f1[j]
            t2[j] *= f2[j]
            t3[j] *= f3[j]


@jit_finite
def power(row, log, stretch, out):
    """out = row ** (1 + stretch), where ``log`` holds the logarithms."""
    one = row.dtype.type(1.0)
    s = row.dtype.type(stretch)
    lowest = row.dtype.type(_LOWEST)
    a2, a3, a4, a5 = row.dtype.type(_A2), row.dtype.type(_A3), row.dtype.type(_A4), row.dtype.type(_A5)
    if -_LITTLE <= stretch <= _LITTLE:
        for j in range(len(row)):
            x = s * (log[j] if log[j] > lowest else lowest)
            out[j] = row[j] * (one + x * (one + x * (a2 + x * (a3 + x * a4))))
        return
    a6, a7, a8, a9 = row.dtype.type(_A6), row.dtype.type(_A7), row.dtype.type(_A8), row.dtype.type(_A9)
    for j in range(len(row)):
        x = s * (log[j] if log[j] > lowest else lowest)
        rest = a5 + x * (a6 + x * (a7 + x * (a8 + x * a9)))
        out[j] = row[j] * (one + x * (one + x * (a2 + x * (a3 + x * (a4 + x * rest)))))
