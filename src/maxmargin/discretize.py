"""Entropies of discrete columns, and Fayyad and Irani's rule that cuts a numeric column into intervals.

All entropies are in bits. A column of labels may hold anything that has an order or can be compared
(numbers, strings, categories); ``sample_weight`` holds counts or probabilities of the rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import rel_entr
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import as_numbers
from maxmargin.base.tables import checked_labels, fitted_table, row_weights
from maxmargin.base.threads import effective_threads, run
from maxmargin.base.typing import AnyArray, BoolArray, FloatArray, IntArray, TableLike, TargetLike, WeightLike
from maxmargin.compute.columns.column_entropy import accepted_cuts

__all__ = [
    "MDLDiscretizer",
    "conditional_entropy",
    "discretize_column",
    "entropy",
    "information_gain",
    "kl_divergence",
    "mdl_discretize",
    "symmetrical_uncertainty",
]


def entropy(
    x: npt.ArrayLike, z: npt.ArrayLike | None = None, *, sample_weight: WeightLike | None = None
) -> float:
    """Entropy E(X) = - sum p log2 p of a column of labels, or the joint entropy E(X, Z) of two.

    Parameters
    ----------
    x, z : labels, of shape (n_samples,).
    sample_weight : counts or probabilities of shape (n_samples,); equal when None.

    Notes
    -----
    Costs one sort, O(n log n). Shannon, A mathematical theory of communication (1948).

    Examples
    --------
    >>> from maxmargin.discretize import entropy
    >>> entropy(["a", "b", "a", "b"])
    1.0
    >>> entropy(["a", "b", "a", "b"], [0, 0, 1, 1])
    2.0
    """
    if z is None:
        return _entropy_of(_joint(x, np.zeros(len(column_or_1d(x))), sample_weight))
    return _entropy_of(_joint(x, z, sample_weight))


def conditional_entropy(
    x: npt.ArrayLike, z: npt.ArrayLike, *, sample_weight: WeightLike | None = None
) -> float:
    """Entropy E(X | Z) = E(X, Z) - E(Z) that is left in X when Z is known.

    Examples
    --------
    >>> from maxmargin.discretize import conditional_entropy
    >>> conditional_entropy(["a", "b", "a", "b"], [0, 0, 1, 1])
    1.0
    """
    joint = _joint(x, z, sample_weight)
    return max(0.0, _entropy_of(joint) - _entropy_of(joint.sum(axis=0)))


def information_gain(x: npt.ArrayLike, z: npt.ArrayLike, *, sample_weight: WeightLike | None = None) -> float:
    """Information gain IG(X, Z) = E(X) - E(X | Z), which is symmetric (the mutual information) and >= 0.

    Examples
    --------
    >>> from maxmargin.discretize import information_gain
    >>> information_gain(["a", "b", "a", "b"], [0, 1, 0, 1])
    1.0
    """
    return _shared(_joint(x, z, sample_weight))[0]


def symmetrical_uncertainty(
    x: npt.ArrayLike, z: npt.ArrayLike, *, sample_weight: WeightLike | None = None
) -> float:
    """Symmetrical uncertainty SU = 2 IG(X, Z) / (E(X) + E(Z)), between 0 and 1.

    Two constant columns have SU = 0: neither says anything about the other.

    Examples
    --------
    >>> from maxmargin.discretize import symmetrical_uncertainty
    >>> symmetrical_uncertainty(["a", "b", "a", "b"], [0, 1, 0, 1])
    1.0
    """
    gain, total = _shared(_joint(x, z, sample_weight))
    return 2.0 * gain / total if total > 0 else 0.0


def kl_divergence(p: npt.ArrayLike, q: npt.ArrayLike, *, base: float = 2.0) -> float:
    """Kullback-Leibler divergence KL(p || q) = sum p_k log(p_k / q_k) of two discrete distributions.

    ``p`` and ``q`` hold probabilities or counts of shape (n_categories,) and are divided by their sums.
    Infinite where p_k > 0 = q_k. In bits; with ``base=math.e`` in nats, where KL(p || q) + KL(q || p) is the
    information value of `mm.scorecards` (Fuentes, section 7.5; Kullback & Leibler 1951).

    Examples
    --------
    >>> from maxmargin.discretize import kl_divergence
    >>> round(kl_divergence([1, 1], [1, 3]), 4)  # log2(4/3) / 2
    0.2075
    """
    first, second = _distribution("p", p), _distribution("q", q)
    if first.shape != second.shape:
        raise ValueError(f"p has {len(first)} categories and q has {len(second)}: give both the same ones.")
    if not base > 1:
        raise ValueError(f"base={base!r} must be above 1: 2 for bits, math.e for nats.")
    return max(0.0, float(rel_entr(first, second).sum()) / math.log(base))


def _distribution(name: str, weights: npt.ArrayLike) -> FloatArray:
    values = as_numbers(weights)
    if values.ndim != 1 or not np.isfinite(values).all() or (values < 0).any() or not values.sum() > 0:
        raise ValueError(f"{name} must hold finite numbers >= 0 of shape (n,), not all zero.")
    return values / values.sum()


def mdl_discretize(
    x: npt.ArrayLike, y: npt.ArrayLike, *, sample_weight: WeightLike | None = None
) -> FloatArray:
    """Cut points of a numeric column by class entropy, as many as the minimum description length allows.

    The best cut T of a set S of N rows minimises the class entropy of its two parts. It is accepted when

        Gain(T; S) > (log2(N - 1) + log2(3^k - 2) - k E(S) + k1 E(S1) + k2 E(S2)) / N,

    k, k1, k2 being the numbers of classes in S and its parts, and then both parts are cut in turn.

    Parameters
    ----------
    x : numbers without missing values, of shape (n_samples,).
    y : class labels, of shape (n_samples,).
    sample_weight : counts of the rows, of shape (n_samples,); N is their sum.

    Returns
    -------
    cuts : ascending, of shape (n_bins - 1,); a value belongs to bin ``np.searchsorted(cuts, value)``, that
        is, to the first interval (cuts[i - 1], cuts[i]] that holds it. Empty when no cut is accepted.

    Notes
    -----
    Only boundary points are tried (theorem 1 of the reference). One sort and O(n k) for every level.
    Fayyad and Irani, Multi-interval discretization of continuous-valued attributes (1993), section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.discretize import mdl_discretize
    >>> x = np.arange(40.0)
    >>> mdl_discretize(x, x > 25)
    array([25.5])
    """
    values = _numeric(x)
    codes, n_classes = _encode(y)
    weights = row_weights(sample_weight, len(codes))
    _same_length(values, codes)
    keep = weights > 0  # a row of weight 0 is not there
    return _cut_points(values[keep], codes[keep], weights[keep], n_classes)


def discretize_column(
    x: npt.ArrayLike, y: npt.ArrayLike, *, sample_weight: WeightLike | None = None
) -> IntArray:
    """The bin number of every value of ``x`` under the cuts of `mdl_discretize`, of shape (n_samples,).

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.discretize import discretize_column
    >>> x = np.arange(20.0)
    >>> discretize_column(x, x > 13)[12:16]
    array([0, 0, 1, 1])
    """
    return np.searchsorted(mdl_discretize(x, y, sample_weight=sample_weight), _numeric(x))


@dataclass(eq=False, repr=False, kw_only=True)
class MDLDiscretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Replace numeric columns by bin numbers; the bins are those of `mdl_discretize` for the classes in y.

    A column with no acceptable cut becomes constant (one bin): the rule found no information about y in it.

    Parameters
    ----------
    n_jobs : number of threads over columns; None uses the free cores.

    Attributes
    ----------
    cuts_ : list of n_features_in_ ascending arrays of cut points.
    n_bins_ : numbers of bins, of shape (n_features_in_,).

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.discretize import MDLDiscretizer
    >>> X = np.c_[np.arange(30.0), np.tile([0.0, 1.0], 15)]
    >>> MDLDiscretizer().fit(X, X[:, 0] > 9).n_bins_
    array([2, 1])
    """

    n_jobs: int | None = None

    @all_or_nothing
    def fit(self, X: TableLike, y: TargetLike, sample_weight: WeightLike | None = None) -> MDLDiscretizer:
        X = fitted_table(self, X, dtype=np.float64)
        y = checked_labels(y, X.shape[0], self)
        weights = row_weights(sample_weight, X.shape[0])

        def cuts_of(column: int) -> FloatArray:
            return mdl_discretize(X[:, column], y, sample_weight=weights)

        tasks = [lambda column=column: cuts_of(column) for column in range(X.shape[1])]
        self.cuts_ = run(tasks, effective_threads(self.n_jobs))
        self.n_bins_ = np.array([len(cuts) + 1 for cuts in self.cuts_])
        return self

    def transform(self, X: TableLike) -> IntArray:
        check_is_fitted(self)
        X = fitted_table(self, X, dtype=np.float64, reset=False)
        return np.column_stack([np.searchsorted(cuts, X[:, j]) for j, cuts in enumerate(self.cuts_)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _encode(labels: npt.ArrayLike) -> tuple[IntArray, int]:
    """Codes 0 ... m - 1 of the labels in sorted order, and m."""
    values = column_or_1d(labels)
    if len(values) == 0:
        raise ValueError("The column of labels is empty: give at least one row.")
    codes, uniques = pd.factorize(values, sort=values.dtype.kind != "O")
    if (codes < 0).any():
        raise ValueError(
            f"{int((codes < 0).sum())} labels are missing: drop these rows, or give the missing values a "
            "label of their own."
        )
    return codes, len(uniques)


def _numeric(x: npt.ArrayLike) -> FloatArray:
    values: FloatArray = column_or_1d(np.asarray(x, dtype=np.float64))
    n_bad = int((~np.isfinite(values)).sum())
    if n_bad:
        raise ValueError(
            f"{n_bad} of {len(values)} values are missing or infinite and belong to no interval: "
            "drop or impute them, or give them a bin of their own."
        )
    return values


def _same_length(first: AnyArray, second: AnyArray) -> None:
    if len(first) != len(second):
        raise ValueError(
            f"The columns have {len(first)} and {len(second)} rows: give the same number of both."
        )


def _joint(x: npt.ArrayLike, z: npt.ArrayLike, sample_weight: Any) -> FloatArray:
    """Table of total weights, rows by X and columns by Z."""
    (x_codes, n_x), (z_codes, n_z) = _encode(x), _encode(z)
    _same_length(x_codes, z_codes)
    cells = np.zeros((n_x, n_z))
    np.add.at(cells, (x_codes, z_codes), row_weights(sample_weight, len(x_codes)))
    return cells


def _entropy_of(masses: FloatArray) -> float:
    p = masses[masses > 0] / masses.sum()
    return max(0.0, -float(p @ np.log2(p)))


def _shared(joint: FloatArray) -> tuple[float, float]:
    """Information gain, and the sum of the two entropies."""
    total = _entropy_of(joint.sum(axis=1)) + _entropy_of(joint.sum(axis=0))
    return max(0.0, total - _entropy_of(joint)), total


def _cut_points(values: FloatArray, codes: IntArray, weights: FloatArray, n_classes: int) -> FloatArray:
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    cumulative = np.zeros((len(ordered) + 1, n_classes))
    cumulative[np.arange(1, len(ordered) + 1), codes[order]] = weights[order]
    np.cumsum(cumulative, axis=0, out=cumulative)
    edges = np.r_[starts, len(ordered)]  # rows between two edges share one value
    blocks = np.diff(cumulative[edges], axis=0)
    kept = np.r_[0, np.flatnonzero(_is_boundary(blocks)) + 1, len(blocks)]
    chosen = kept[1:-1][accepted_cuts(cumulative[edges[kept]])]
    return cuts_between(ordered[starts[chosen - 1]], ordered[starts[chosen]])


def cuts_between(below: FloatArray, above: FloatArray) -> FloatArray:
    """Cuts between neighbouring values: their middle, or the lower one where no float lies between."""
    middle = below + (above - below) / 2
    return np.where(middle < above, middle, below)


def _is_boundary(blocks: FloatArray) -> BoolArray:
    """Whether the classes change between consecutive distinct values: nothing else can be the best cut."""
    pure = (blocks > 0).sum(axis=1) == 1
    majority = blocks.argmax(axis=1)
    same: BoolArray = pure[1:] & pure[:-1] & (majority[1:] == majority[:-1])
    return ~same
