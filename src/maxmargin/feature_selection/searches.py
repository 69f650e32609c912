"""Base class of all searches, and the two that prove their result: exhaustive, branch and bound."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, islice
from math import comb

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.base.parameters import check_count
from maxmargin.feature_selection.criteria import Criterion, Subset
from maxmargin.feature_selection.evaluations import Evaluations

HOPELESS_SECONDS = 3600.0
BATCH = 4096  # subsets generated at once


class Search(BaseEstimator):
    """Proposes subsets. A subclass implements `run`, which evaluates subsets and returns the chosen one.

    Examples
    --------
    >>> from maxmargin.feature_selection import CFSMerit, Search, SubsetSelector
    >>> class Singles(Search):  # the best single column
    ...     def run(self, evaluations, rng):
    ...         evaluations.losses([(j,) for j in range(evaluations.n_features)])
    ...         return evaluations.best
    >>> X, y = [[1, 0], [2, 1], [1, 5], [2, 6], [1, 7], [2, 8]], [0, 0, 0, 1, 1, 1]
    >>> SubsetSelector(Singles(), CFSMerit()).fit(X, y).selected_
    ['x1']
    """

    def check(self, criterion: Criterion) -> None:
        """Refuse a criterion that the search cannot work with."""

    def run(self, evaluations: Evaluations, rng: np.random.RandomState) -> Subset:
        raise NotImplementedError


def with_column(subset: Subset, column: int) -> Subset:
    return tuple(sorted((*subset, column)))


def without_column(subset: Subset, column: int) -> Subset:
    return tuple(j for j in subset if j != column)


def check_size(size: int | None, n_features: int) -> None:
    if size is not None:
        check_count("size", size, most=n_features)


def readable(seconds: float) -> str:
    """A duration in the largest unit of which there are at least two."""
    for unit, length in (("years", 31_557_600.0), ("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} seconds"


@dataclass(eq=False, repr=False)
class Exhaustive(Search):
    """Evaluate every subset, or every subset of ``size`` columns, and keep the best.

    There are 2^p - 1 subsets (or p over size). If the first ones show that the search will take more than an
    hour, a warning says how long; Ctrl-C then ends the search with the best subset so far.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.feature_selection import CFSMerit, Exhaustive, SubsetSelector
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(Exhaustive(), CFSMerit()).fit(X, y).n_evaluations_
    15
    """

    size: int | None = None

    def run(self, evaluations: Evaluations, rng: np.random.RandomState) -> Subset:
        p = evaluations.n_features
        check_size(self.size, p)
        sizes = range(1, p + 1) if self.size is None else [int(self.size)]
        total = sum(comb(p, size) for size in sizes)
        subsets: Iterator[Subset] = chain.from_iterable(combinations(range(p), size) for size in sizes)
        # time one subset of every size, since the smallest are not typical
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


@dataclass(eq=False, repr=False)
class BranchAndBound(Search):
    """The best subset of ``size`` columns for a monotone criterion, without evaluating all of them.

    A set that is worse than a known subset of the right size cannot contain a better one, so its whole branch
    is cut. The result equals that of `Exhaustive`; the worst case is still exponential. Criteria that are not
    declared monotone (cross-validated error, CFS) are refused.

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

    size: int

    def check(self, criterion: Criterion) -> None:
        if not criterion.monotone:
            raise ValueError(
                f"BranchAndBound needs a monotone criterion, and {type(criterion).__name__} is not "
                "declared monotone: use Bhattacharyya, Divergence, Mahalanobis, Custom(..., monotone=True) "
                "or another search."
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
        self, evaluations: Evaluations, subset: Subset, removable: Subset, best: list[tuple[float, Subset]]
    ) -> None:
        """Remove columns from ``subset``, only those in ``removable``, so that no set is reached twice."""
        to_remove = len(subset) - self.size
        if to_remove == 0:
            best[0] = min(best[0], (evaluations.loss(subset), subset))
            return
        children = [without_column(subset, j) for j in removable]
        losses = evaluations.losses(children)
        # the worst child gets the largest branch, which is then cut early
        order = sorted(range(len(removable)), key=lambda c: (-losses[c], removable[c]))
        n_branches = len(removable) - to_remove + 1
        for place in reversed(range(n_branches)):
            c = order[place]
            # branches of equal loss stay open, so that ties are broken as in an exhaustive search
            if losses[c] <= best[0][0]:
                later = tuple(removable[other] for other in order[place + 1 :])
                self._expand(evaluations, children[c], later, best)
