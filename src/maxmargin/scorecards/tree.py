"""The cuts of a decision tree on one column.

Equals scikit-learn's tree with ``max_leaf_nodes`` (leaves are split in order of gain) on a single column, but
only needs one sort and sums of counts.
"""

from __future__ import annotations

import numpy as np

from maxmargin.base.typing import BoolArray, FloatArray, IntArray
from maxmargin.compute.columns.bin_search import grow

_SLACK = 1e-12  # a leaf of exactly the minimum weight is allowed, even if weights are not whole numbers


def tree_gaps(
    ordered: FloatArray, event: BoolArray, weight: FloatArray | None, n_leaves: int, min_share: float
) -> IntArray:
    """Positions in the ascending ``ordered`` after which a tree by Gini impurity cuts, ascending.

    Every leaf holds at least ``min_share`` of the weight. Cost: O(n) for each level of the tree.
    """
    w = np.ones(len(ordered)) if weight is None else weight
    ends = np.flatnonzero(np.append(ordered[1:] > ordered[:-1], True))  # the last row of each value
    P = np.append(0.0, np.cumsum(np.where(event, w, 0.0))[ends])
    W = np.append(0.0, np.cumsum(w)[ends])
    splits = np.sort(grow(P, W, n_leaves, min_share * W[-1] * (1 - _SLACK)))
    return ends[splits - 1]
