"""Where to cut a column: the best partition of pre-bins, and a tree by Gini impurity."""

from __future__ import annotations

import numpy as np

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.columns.column_bins import bin_evidence
from maxmargin.compute.jit import jit

RATE_SLACK = 1e-12  # equal rates must compare equal also when weights are not whole numbers
IV_SLACK = 1e-12  # a further bin must add more than rounding


@jit
def _follows(p: float, w: float, p_next: float, w_next: float, direction: int) -> bool:
    """Whether the event rate p_next/w_next may stand after p/w."""
    if direction == 0:
        return True
    left, right = p * w_next, p_next * w
    slack = RATE_SLACK * max(left, right)
    return left <= right + slack if direction > 0 else right <= left + slack


@jit
def _bin_values(
    P: FloatArray, N: FloatArray, all_p: float, all_n: float, least: float, fewest: float, smoothing: float
) -> FloatArray:
    """IV of every bin (i, j], of shape (K + 1, K + 1); minus infinity where a rule forbids the bin."""
    K = len(P) - 1
    value = np.full((K + 1, K + 1), -np.inf)
    for i in range(K):
        for j in range(i + 1, K + 1):
            p, n = P[j] - P[i], N[j] - N[i]
            if p + n < least or min(p, n) < fewest:
                continue
            value[i, j] = bin_evidence(p, n, all_p, all_n, smoothing)[1]
    return value


@jit
def best_partition(
    P: FloatArray,
    N: FloatArray,
    all_p: float,
    all_n: float,
    least: float,
    most: int,
    direction: int,
    fewest: float,
    smoothing: float,
) -> IntArray:
    K = len(P) - 1
    value = _bin_values(P, N, all_p, all_n, least, fewest, smoothing)
    best = np.full((most + 1, K + 1, K + 1), -np.inf)
    before = np.zeros((most + 1, K + 1, K + 1), dtype=np.int64)
    for j in range(K + 1):  # a row assignment made this almost four times slower to compile
        best[1, 0, j] = value[0, j]
    n_bins, last, top = 1, 0, best[1, 0, K]
    for b in range(2, most + 1):
        _extend(P, N, value, best[b - 1], best[b], before[b], direction)
        for i in range(b - 1, K):
            if best[b, i, K] > top + IV_SLACK:
                n_bins, last, top = b, i, best[b, i, K]
    ends = np.empty(n_bins, dtype=np.int64)
    j = K
    for b in range(n_bins, 0, -1):
        ends[b - 1] = j
        j, last = last, before[b, last, j]
    return ends


@jit
def _extend(
    P: FloatArray,
    N: FloatArray,
    value: FloatArray,
    shorter: FloatArray,
    longer: FloatArray,
    before: IntArray,
    direction: int,
) -> None:
    """One more bin (i, j] behind every partition that ends at i."""
    K = len(P) - 1
    for i in range(1, K):
        for h in range(i):
            if shorter[h, i] == -np.inf:
                continue
            p, w = P[i] - P[h], P[i] - P[h] + N[i] - N[h]
            for j in range(i + 1, K + 1):
                total = shorter[h, i] + value[i, j]
                if total <= longer[i, j]:
                    continue
                p_next, w_next = P[j] - P[i], P[j] - P[i] + N[j] - N[i]
                if _follows(p, w, p_next, w_next, direction):
                    longer[i, j] = total
                    before[i, j] = h


@jit
def grow(P: FloatArray, W: FloatArray, n_leaves: int, least: float) -> IntArray:
    """Starts of the leaves but the first; always the leaf with the largest gain is split next."""
    start = np.zeros(n_leaves, dtype=np.int64)
    stop = np.full(n_leaves, len(P) - 1)
    gain = np.full(n_leaves, -np.inf)
    at = np.zeros(n_leaves, dtype=np.int64)
    gain[0], at[0] = _best_split(P, W, 0, len(P) - 1, least)
    n = 1
    while n < n_leaves:
        k = np.argmax(gain[:n])
        if gain[k] == -np.inf:
            break
        start[n], stop[n], stop[k] = at[k], stop[k], at[k]
        gain[k], at[k] = _best_split(P, W, start[k], stop[k], least)
        gain[n], at[n] = _best_split(P, W, start[n], stop[n], least)
        n += 1
    return start[1:n]


@jit
def _best_split(P: FloatArray, W: FloatArray, start: int, stop: int, least: float) -> tuple[float, int]:
    """Largest decrease of weight times Gini impurity, and where; minus infinity where no split is allowed."""
    p, w = P[stop] - P[start], W[stop] - W[start]
    best, at = -np.inf, start
    if p <= 0.0 or p >= w:
        return best, at
    for k in range(start + 1, stop):
        w_left, w_right = W[k] - W[start], W[stop] - W[k]
        if w_left < least or w_right < least:
            continue
        p_left, p_right = P[k] - P[start], P[stop] - P[k]
        value = _purity(p_left, w_left) + _purity(p_right, w_right)
        if value > best:
            best, at = value, k
    return best - _purity(p, w), at


@jit
def _purity(p: float, w: float) -> float:
    n = w - p
    return (p * p + n * n) / w
