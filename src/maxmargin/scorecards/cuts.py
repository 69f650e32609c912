"""Cut points of a numeric column. Intervals are (cut, next cut], so a value equal to a cut lies below it."""

from __future__ import annotations

import numpy as np

from maxmargin.base.typing import BoolArray, FloatArray, IntArray
from maxmargin.compute.columns.bin_search import grow
from maxmargin.discretize import cuts_between, mdl_discretize

_SLACK = 1e-12  # a leaf of exactly the minimum weight is allowed, even if weights are not whole numbers
METHODS = ("quantile", "width", "mdl", "tree")


def cut_points(
    method: str, x: FloatArray, event: BoolArray, weight: FloatArray | None, n_bins: int, min_share: float
) -> FloatArray:
    """Ascending cuts of the finite values ``x`` for about ``n_bins`` intervals; empty when x is constant.

    "quantile" and "width" ignore the classes; "mdl" chooses its own number of cuts; "tree" is a
    decision tree (Gini) with at most ``n_bins`` leaves of at least ``min_share`` of the rows.
    """
    if len(x) == 0:
        return np.empty(0)
    if method == "width":
        return width_cuts(float(x.min()), float(x.max()), n_bins)
    if method == "mdl":
        return np.asarray(mdl_discretize(x, event, sample_weight=weight))
    if method == "quantile" and weight is None:  # sorting values is much quicker than finding their order
        ordered = np.sort(x)
        return _behind(ordered, _quantile_gaps(ordered, None, n_bins))
    order = np.argsort(x, kind="stable")
    ordered, weight = x[order], None if weight is None else weight[order]
    if method == "quantile":
        return _behind(ordered, _quantile_gaps(ordered, weight, n_bins))
    return _behind(ordered, tree_gaps(ordered, event[order], weight, n_bins, min_share))


def width_cuts(low: float, high: float, n_bins: int) -> FloatArray:
    """Cuts of ``n_bins`` intervals of equal width from the smallest to the largest value."""
    inner = np.linspace(low, high, n_bins + 1)[1:-1]
    return np.unique(inner[inner < high])


def tree_gaps(
    ordered: FloatArray, event: BoolArray, weight: FloatArray | None, n_leaves: int, min_share: float
) -> IntArray:
    """Positions in the ascending ``ordered`` after which a tree by Gini impurity cuts, ascending.

    Equals scikit-learn's tree with ``max_leaf_nodes`` (leaves are split in order of gain) on a single column,
    but only needs one sort and sums of counts. Every leaf holds at least ``min_share`` of the weight.
    Cost: O(n) for each level of the tree.
    """
    w = np.ones(len(ordered)) if weight is None else weight
    ends = np.flatnonzero(np.append(ordered[1:] > ordered[:-1], True))  # the last row of each value
    P = np.append(0.0, np.cumsum(np.where(event, w, 0.0))[ends])
    W = np.append(0.0, np.cumsum(w)[ends])
    splits = np.sort(grow(P, W, n_leaves, min_share * W[-1] * (1 - _SLACK)))
    return ends[splits - 1]


def _behind(ordered: FloatArray, gaps: IntArray) -> FloatArray:
    """The cuts that lie after some positions of ascending values."""
    return cuts_between(ordered[gaps], ordered[gaps + 1])


def _quantile_gaps(ordered: FloatArray, weight: FloatArray | None, n_bins: int) -> IntArray:
    """Positions of the cuts nearest to the shares 1/n_bins, 2/n_bins, ...

    All gaps when there are at most ``n_bins`` distinct values. Rows of equal value are never split; the cut
    goes to the nearer side.
    """
    gaps = np.flatnonzero(ordered[1:] > ordered[:-1])  # positions after which a cut is possible
    if len(gaps) < n_bins:
        return gaps
    cumulative = np.arange(1, len(ordered) + 1, dtype=np.float64) if weight is None else np.cumsum(weight)
    targets = cumulative[-1] * np.arange(1, n_bins) / n_bins
    return gaps[nearest_places(cumulative[gaps], targets)]


def nearest_places(places: FloatArray, targets: FloatArray) -> IntArray:
    """Distinct indices of the ascending ``places`` nearest to each target; the lower one in a tie."""
    above = np.searchsorted(places, targets).clip(1, len(places) - 1)
    below = above - 1
    return np.unique(np.where(targets - places[below] <= places[above] - targets, below, above))
