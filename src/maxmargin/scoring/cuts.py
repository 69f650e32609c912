"""Cut points of a numeric column. Intervals are (cut, next cut], so a value equal to a cut lies below it."""

from __future__ import annotations

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from maxmargin.discretize import mdl_discretize
from maxmargin.typing import BoolArray, FloatArray

METHODS = ("quantile", "width", "mdl", "tree")


def cut_points(
    method: str, x: FloatArray, event: BoolArray, weight: FloatArray | None, n_bins: int, min_share: float
) -> FloatArray:
    """Ascending cuts of the finite values ``x`` for about ``n_bins`` intervals; empty when x is constant.

    "quantile" and "width" do not look at the classes; "mdl" chooses its own number of cuts; "tree" is a
    decision tree (Gini) with at most ``n_bins`` leaves of at least ``min_share`` of the rows.
    """
    if len(x) == 0:
        return np.empty(0)
    if method == "quantile":
        return _quantile_cuts(x, weight, n_bins)
    if method == "width":
        inner = np.linspace(x.min(), x.max(), n_bins + 1)[1:-1]
        return np.unique(inner[inner < x.max()])
    if method == "mdl":
        return np.asarray(mdl_discretize(x, event, sample_weight=weight))
    return _tree_cuts(x, event, weight, n_bins, min_share)


def middle(below: FloatArray, above: FloatArray) -> FloatArray:
    """A number in [below, above): their mean, or ``below`` where no float lies between."""
    mean = below + (above - below) / 2
    return np.where(mean < above, mean, below)


def _quantile_cuts(x: FloatArray, weight: FloatArray | None, n_bins: int) -> FloatArray:
    """Cuts between distinct values, nearest to the shares 1/n_bins, 2/n_bins, ...

    All gaps when there are at most ``n_bins`` distinct values. A value with many rows is never split, and
    the cut goes to its nearer side.
    """
    if weight is None:
        ordered = np.sort(x)
        cumulative = np.arange(1, len(x) + 1, dtype=np.float64)
    else:
        order = np.argsort(x, kind="stable")
        ordered, cumulative = x[order], np.cumsum(weight[order])
    gaps = np.flatnonzero(ordered[1:] > ordered[:-1])  # a cut may lie behind these positions
    if len(gaps) == 0:
        return np.empty(0)
    if len(gaps) >= n_bins:
        targets = cumulative[-1] * np.arange(1, n_bins) / n_bins
        gaps = gaps[_nearest(cumulative[gaps], targets)]
    return middle(ordered[gaps], ordered[gaps + 1])


def _nearest(places: FloatArray, targets: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Distinct indices of the ascending ``places`` nearest to each target; the lower of two as near."""
    above = np.searchsorted(places, targets).clip(1, len(places) - 1) if len(places) > 1 else 0 * targets
    above = np.asarray(above, dtype=np.int64)
    below = np.maximum(above - 1, 0)
    nearer = np.where(targets - places[below] <= places[above] - targets, below, above)
    return np.unique(nearer)


def _tree_cuts(
    x: FloatArray, event: BoolArray, weight: FloatArray | None, n_bins: int, min_share: float
) -> FloatArray:
    """Thresholds of a tree on the ranks of distinct values, which survive scikit-learn's float32."""
    values, rank = np.unique(x, return_inverse=True)
    leaf: dict[str, float | int] = {"min_samples_leaf": max(1, int(np.ceil(min_share * len(x))))}
    if weight is not None:
        leaf = {"min_weight_fraction_leaf": min(min_share, 0.5)}
    if len(values) < 2 or n_bins < 2:
        return np.empty(0)
    tree = DecisionTreeClassifier(max_leaf_nodes=n_bins, random_state=0, **leaf)
    tree.fit(rank.reshape(-1, 1).astype(np.float32), event, sample_weight=weight)
    inner = tree.tree_.children_left != -1
    below = np.sort(np.floor(tree.tree_.threshold[inner]).astype(np.int64))
    return middle(values[below], values[below + 1])
