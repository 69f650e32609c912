"""A decision tree on one column, for its cuts only.

The tree of scikit-learn with ``max_leaf_nodes`` (leaves are split in the order of their gain) on a single
column, without what a tree of many columns needs: one sort, then sums of counts.
"""

from __future__ import annotations

import numpy as np

from maxmargin.base.typing import BoolArray, FloatArray, IntArray
from maxmargin.compute.jit import jit

_SLACK = 1e-12  # a leaf of exactly the smallest weight is allowed, also when weights are not whole numbers


def tree_gaps(
    ordered: FloatArray, event: BoolArray, weight: FloatArray | None, n_leaves: int, min_share: float
) -> IntArray:
    """Positions in the ascending ``ordered`` behind which a tree by Gini impurity cuts, ascending.

    Every leaf holds at least ``min_share`` of the weight. Cost: O(n) for each level of the tree.
    """
    w = np.ones(len(ordered)) if weight is None else weight
    ends = np.flatnonzero(np.append(ordered[1:] > ordered[:-1], True))  # the last row of each value
    P = np.append(0.0, np.cumsum(np.where(event, w, 0.0))[ends])
    W = np.append(0.0, np.cumsum(w)[ends])
    splits = np.sort(_grow(P, W, n_leaves, min_share * W[-1] * (1 - _SLACK)))
    found: IntArray = ends[splits - 1]
    return found


@jit
def _grow(P: FloatArray, W: FloatArray, n_leaves: int, least: float) -> IntArray:
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
