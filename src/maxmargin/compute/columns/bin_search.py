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
    turns: bool,
    fewest: float,
    smoothing: float,
) -> IntArray:
    """Ends of the best bins with rates in one ``direction``, which reverses at some bin if ``turns``.

    Phase 0 holds the partitions that have not turned, phase 1 those that have.
    """
    K = len(P) - 1
    n_phases = 2 if turns else 1
    value = _bin_values(P, N, all_p, all_n, least, fewest, smoothing)
    best = np.full((n_phases, most + 1, K + 1, K + 1), -np.inf)
    before = np.zeros((n_phases, most + 1, K + 1, K + 1), dtype=np.int64)
    for j in range(K + 1):  # a row assignment made this almost four times slower to compile
        best[0, 1, 0, j] = value[0, j]
    n_bins, phase, last, top = 1, 0, 0, best[0, 1, 0, K]
    for b in range(2, most + 1):
        for to in range(n_phases):
            for come in range(to + 1):
                way = -direction if to else direction
                _extend(P, N, value, best[come, b - 1], best[to, b], before[to, b], way, come * (K + 1))
            for i in range(b - 1, K):
                if best[to, b, i, K] > top + IV_SLACK:
                    n_bins, phase, last, top = b, to, i, best[to, b, i, K]
    ends = np.empty(n_bins, dtype=np.int64)
    j = K
    for b in range(n_bins, 0, -1):
        ends[b - 1] = j
        code = before[phase, b, last, j]
        j, phase, last = last, code // (K + 1), code % (K + 1)
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
    offset: int,
) -> None:
    """Append a bin (i, j] to every partition that ends at i; ``offset`` marks where it comes from."""
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
                    before[i, j] = h + offset


@jit
def best_bent_partition(
    P: FloatArray,
    N: FloatArray,
    all_p: float,
    all_n: float,
    least: float,
    most: int,
    sign: int,
    fewest: float,
    smoothing: float,
) -> IntArray:
    """Ends of the best bins whose rates have second differences <= 0 (``sign`` 1) or >= 0 (-1).

    The last two bins (h, i] and (i, j] are the state: O(B K^4 / 24) steps. Empty bins have no rate.
    """
    K = len(P) - 1
    value = _bin_values(P, N, all_p, all_n, max(least, 1e-300), fewest, smoothing)
    rate = np.zeros((K + 1, K + 1))
    for i in range(K):
        for j in range(i + 1, K + 1):
            if value[i, j] > -np.inf:
                rate[i, j] = sign * (P[j] - P[i]) / (P[j] - P[i] + N[j] - N[i])
    before = np.zeros((most + 1, K + 1, K + 1, K + 1), dtype=np.int16)
    shorter, longer = np.full((K + 1, K + 1, K + 1), -np.inf), np.full((K + 1, K + 1, K + 1), -np.inf)
    for i in range(1, K):
        for j in range(i + 1, K + 1):
            shorter[0, i, j] = value[0, i] + value[i, j]
    n_bins, first, last, top = 1, 0, 0, value[0, K]
    for b in range(2, most + 1):
        if b > 2:
            _extend_bent(value, rate, shorter, longer, before[b])
            shorter, longer = longer, shorter
        for h in range(K):
            for i in range(h + 1, K):
                if shorter[h, i, K] > top + IV_SLACK:
                    n_bins, first, last, top = b, h, i, shorter[h, i, K]
    ends = np.empty(n_bins, dtype=np.int64)
    j = K
    for b in range(n_bins, 0, -1):
        ends[b - 1] = j
        j, last, first = last, first, int(before[b, first, last, j])
    return ends


@jit
def _extend_bent(
    value: FloatArray, rate: FloatArray, shorter: FloatArray, longer: FloatArray, before: IntArray
) -> None:
    """Append a bin (i, j] to every partition that ends with the bins (g, h] and (h, i]."""
    K = len(value) - 1
    longer[:] = -np.inf
    for h in range(1, K):
        for i in range(h + 1, K):
            for g in range(h):
                if shorter[g, h, i] == -np.inf:
                    continue
                highest = 2.0 * rate[h, i] - rate[g, h] + RATE_SLACK
                for j in range(i + 1, K + 1):
                    total = shorter[g, h, i] + value[i, j]
                    if total > longer[h, i, j] and rate[i, j] <= highest:
                        longer[h, i, j] = total
                        before[h, i, j] = g


@jit
def grow(P: FloatArray, W: FloatArray, n_leaves: int, least: float) -> IntArray:
    """Starts of all leaves except the first; the leaf with the largest gain is always split next."""
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
