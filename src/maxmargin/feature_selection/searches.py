"""Searches that prove their answer (exhaustive, branch and bound), and what all searches share."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import chain, combinations, islice
from math import comb

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.base.parameters import check_count
from maxmargin.feature_selection.criteria import Criterion, Subset
from maxmargin.feature_selection.evaluations import Evaluations

HOPELESS_SECONDS = 3600.0
BATCH = 4096  # subsets made at once


class Search(BaseEstimator):
    """Proposes subsets. A subclass gives `run`, which asks for losses and returns the chosen subset."""

    def check(self, criterion: Criterion) -> None:
        """Refuse a criterion that the search cannot work with."""

    def run(self, evaluations: Evaluations, rng: np.random.RandomState) -> Subset:
        raise NotImplementedError  # each search has its own rule


def with_column(subset: Subset, column: int) -> Subset:
    return tuple(sorted((*subset, column)))


def without_column(subset: Subset, column: int) -> Subset:
    return tuple(j for j in subset if j != column)


def check_size(size: int | None, n_features: int) -> None:
    if size is not None:
        check_count("size", size, most=n_features)


def readable(seconds: float) -> str:
    """A length of time for people."""
    for unit, length in (("years", 31_557_600.0), ("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} seconds"


class Exhaustive(Search):
    """Evaluate every subset, or every subset of ``size`` columns, and keep the best.

    There are 2^p - 1 subsets (or p over size). When the first ones show that the rest takes more than an
    hour, a warning says how long; Ctrl-C then ends the search with the best subset so far.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.feature_selection import CFSMerit, Exhaustive, SubsetSelector
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(Exhaustive(), CFSMerit()).fit(X, y).n_evaluations_
    15
    """

    def __init__(self, size: int | None = None) -> None:
        self.size = size

    def run(self, evaluations: Evaluations, rng: np.random.RandomState) -> Subset:
        p = evaluations.n_features
        check_size(self.size, p)
        sizes = range(1, p + 1) if self.size is None else [int(self.size)]
        total = sum(comb(p, size) for size in sizes)
        subsets: Iterator[Subset] = chain.from_iterable(combinations(range(p), size) for size in sizes)
        # the time of a typical subset, not of the smallest: one of every size
        evaluations.losses([tuple(range(size)) for size in sizes])
        _warn_if_hopeless(total, evaluations.seconds_each)
        while batch := list(islice(subsets, BATCH)):
            evaluations.losses(batch)
        best = evaluations.best
        assert best is not None
        evaluations.step("best of all", None, best)
        return best


def _warn_if_hopeless(total: int, seconds_each: float) -> None:
    seconds = total * seconds_each
    if seconds > HOPELESS_SECONDS:
        warnings.warn(
            f"{total:.4g} subsets at {seconds_each:.2g} s each take about {readable(seconds)}: give a size, "
            "or use Forward, Floating, Genetic, or BranchAndBound with a monotone criterion. Ctrl-C stops "
            "the search and keeps the best subset so far.",
            UserWarning,
            stacklevel=2,
        )


class BranchAndBound(Search):
    """The best subset of ``size`` columns for a monotone criterion, without looking at all of them.

    A set that is already no better than a known subset of the right size cannot contain a better one, so
    its whole branch is cut. The answer equals that of `Exhaustive`; the worst case is still exponential.
    Criteria that do not declare themselves monotone (cross-validated error, CFS) are refused.

    Notes
    -----
    Children are ordered so that the worst set has the largest branch. Narendra and Fukunaga, A branch and
    bound algorithm for feature subset selection (1977).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from maxmargin.feature_selection import BranchAndBound, Mahalanobis, SubsetSelector
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> found = SubsetSelector(BranchAndBound(5), Mahalanobis()).fit(X.iloc[:, :10], y)
    >>> found.n_evaluations_ < 638  # the sets of 5 or more columns
    True
    """

    def __init__(self, size: int) -> None:
        self.size = size

    def check(self, criterion: Criterion) -> None:
        if not criterion.monotone:
            raise ValueError(
                f"BranchAndBound needs a monotone criterion and {type(criterion).__name__} is not declared "
                "so: use Bhattacharyya, Divergence or Mahalanobis, Custom(..., monotone=True), or another "
                "search."
            )

    def run(self, evaluations: Evaluations, rng: np.random.RandomState) -> Subset:
        p = evaluations.n_features
        check_size(self.size, p)
        self_best: list[tuple[float, Subset]] = [(np.inf, ())]
        everything = tuple(range(p))
        self._expand(evaluations, everything, everything, self_best)
        best = self_best[0][1]
        evaluations.step("best of its size", None, best)
        return best

    def _expand(
        self,
        evaluations: Evaluations,
        subset: Subset,
        removable: Subset,
        best: list[tuple[float, Subset]],
    ) -> None:
        """Remove columns from ``subset``, only those in ``removable``, so that no set is reached twice."""
        to_remove = len(subset) - self.size
        if to_remove == 0:
            best[0] = min(best[0], (evaluations.loss(subset), subset))
            return
        children = [without_column(subset, j) for j in removable]
        losses = evaluations.losses(children)
        # worst child first: it may remove all the others later, so its large branch is cut early
        order = sorted(range(len(removable)), key=lambda c: (-losses[c], removable[c]))
        n_branches = len(removable) - to_remove + 1
        for place in reversed(range(n_branches)):
            c = order[place]
            # equal losses stay open, so that ties are broken as in an exhaustive search
            if losses[c] <= best[0][0]:
                later = tuple(removable[other] for other in order[place + 1 :])
                self._expand(evaluations, children[c], later, best)
