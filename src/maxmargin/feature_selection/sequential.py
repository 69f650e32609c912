"""Searches that move one column at a time: forward, backward, floating, best first."""

from __future__ import annotations

import heapq
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from maxmargin.base.parameters import check_choice, check_count
from maxmargin.feature_selection.criteria import Subset
from maxmargin.feature_selection.evaluations import Evaluations
from maxmargin.feature_selection.searches import Search, check_size, with_column, without_column

Direction = Literal["forward", "backward"]
Move = tuple[float, int, Subset]  # loss, column moved, where it leads


def best_addition(evaluations: Evaluations, subset: Subset) -> Move:
    """The column whose addition gives the smallest loss; ties go to the lowest column."""
    columns = [j for j in range(evaluations.n_features) if j not in set(subset)]
    return _best_move(evaluations, subset, columns, with_column)


def best_removal(evaluations: Evaluations, subset: Subset, fixed: Subset = ()) -> Move:
    """The column, none of the fixed ones, whose removal gives the smallest loss; ties go to the lowest."""
    return _best_move(evaluations, subset, [j for j in subset if j not in fixed], without_column)


def _best_move(
    evaluations: Evaluations, subset: Subset, columns: list[int], move: Callable[[Subset, int], Subset]
) -> Move:
    led = [move(subset, j) for j in columns]
    return min(zip(evaluations.losses(led), columns, led, strict=True))


@dataclass(eq=False, repr=False)
class _Sequential(Search):
    size: int | tuple[int, int] | None = None
    _: KW_ONLY
    target: float | None = None
    tol: float | None = None
    fixed: Subset = ()
    parsimonious: bool = False

    def _range(self, n_features: int) -> tuple[int, int]:
        """The smallest and the largest size that may be kept."""
        given = [name for name in ("size", "target", "tol") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} exclude each other: give one of them.")
        if self.parsimonious and (self.target is not None or self.tol is not None or self._is_one_size()):
            raise ValueError(
                "parsimonious=True chooses among sizes: leave target, tol and a single size out."
            )
        least = max(1, len(self.fixed))
        sizes = self.size if isinstance(self.size, tuple) else (self.size, self.size)
        for size in sizes:
            check_size(size, n_features)
        low, high = sizes[0] or least, sizes[1] or n_features
        if not least <= low <= high:
            raise ValueError(f"size={self.size!r} must be a range from at least {least} columns upwards.")
        return low, high

    def _is_one_size(self) -> bool:
        return self.size is not None and not isinstance(self.size, tuple)

    def _is_too_small(self, before: float, after: float) -> bool:
        """Whether a step from one loss to another improves it by less than ``tol``."""
        return self.tol is not None and before - after < self.tol

    def _reached(self, evaluations: Evaluations, loss: float) -> bool:
        return self.target is not None and loss <= evaluations.loss_of(self.target)

    def _best_of(self, evaluations: Evaluations, path: list[Subset]) -> Subset:
        """The best subset of the path; among equal losses the one with fewer columns."""
        best = min(path, key=lambda subset: (evaluations.loss(subset), len(subset), subset))
        if self.parsimonious:
            limit = evaluations.loss(best) + evaluations.standard_error(best)
            return min((s for s in path if evaluations.loss(s) <= limit), key=lambda s: (len(s), s))
        if self.target is not None:
            warnings.warn(
                f"no subset on the path reaches target={self.target!r}: the best one has "
                f"{evaluations.value(best):.6g} and is kept.",
                UserWarning,
                stacklevel=3,
            )
        return best


class Forward(_Sequential):
    """Sequential forward selection: add the column that helps most, one at a time.

    Parameters
    ----------
    size : stop at this number of columns; a range (least, most) keeps the best subset of these sizes.
    target : stop at the first subset whose criterion is at least as good as this value.
    tol : stop when the next column improves the criterion by less than this.
        With none of them, the whole path to all columns is walked and its best subset kept (ties: fewer
        columns).
    fixed : numbers of columns that are always kept.
    parsimonious : keep the smallest subset within one standard error (over folds) of the best one.

    Notes
    -----
    p + (p - 1) + ... evaluations, O(p^2) for the whole path. Whitney (1971); Gómez 2024, algorithm 2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.feature_selection import CFSMerit, Forward, SubsetSelector
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> SubsetSelector(Forward(size=1), CFSMerit()).fit(X, y).selected_
    ['petal width (cm)']
    """

    def run(self, evaluations: Evaluations, rng: np.random.RandomState) -> Subset:
        least, most = self._range(evaluations.n_features)
        subset: Subset = tuple(self.fixed)
        path: list[Subset] = []
        last = np.inf
        if subset:
            evaluations.step("start", None, subset)
            path, last = [subset], evaluations.loss(subset)
        while len(subset) < most - (self.tol is not None):
            loss, column, larger = best_addition(evaluations, subset)
            if self._is_too_small(last, loss):
                break
            subset, last = larger, loss
            evaluations.step("add", column, subset)
            path.append(subset)
            if self._reached(evaluations, loss):
                return subset
        if self._is_one_size() or self.tol is not None:
            return subset
        return self._best_of(evaluations, [s for s in path if len(s) >= least])


class Backward(_Sequential):
    """Sequential backward selection: start with all columns and remove the least useful one at a time.

    Parameters
    ----------
    size, fixed, parsimonious : as in `Forward`.
    target : stop when every removal would make the criterion worse than this value.
    tol : stop when a removal improves the criterion by less than this, which may be negative.
        With none of them, the whole path to one column is walked and its best subset kept (ties: fewer
        columns).

    Notes
    -----
    O(p^2) evaluations for the whole path, of large subsets first. Marill and Green (1963); Gómez
    2024, algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.feature_selection import Backward, CFSMerit, SubsetSelector
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> SubsetSelector(Backward(), CFSMerit()).fit(X, y).selected_
    ['petal length (cm)', 'petal width (cm)']
    """

    def run(self, evaluations: Evaluations, rng: np.random.RandomState) -> Subset:
        least, most = self._range(evaluations.n_features)
        subset: Subset = tuple(range(evaluations.n_features))
        evaluations.step("start", None, subset)
        path, last = [subset], np.inf
        while len(subset) > least:
            loss, column, smaller = best_removal(evaluations, subset, self.fixed)
            if self._reached(evaluations, evaluations.loss(subset)) and not self._reached(evaluations, loss):
                return subset
            if self._is_too_small(last, loss):
                break
            subset, last = smaller, loss
            evaluations.step("remove", column, subset)
            path.append(subset)
        done = self._is_one_size() or self.tol is not None
        if done or self._reached(evaluations, evaluations.loss(subset)):
            return subset
        return self._best_of(evaluations, [s for s in path if len(s) <= most])


@dataclass(eq=False, repr=False)
class Floating(Search):
    """Sequential floating selection: every move is followed by moves back while they beat the known best.

    Parameters
    ----------
    size : return the best subset of this number of columns; None for the best of any number.
    direction : "forward" starts with no column (SFFS), "backward" with all (SBFS).

    Notes
    -----
    Pudil, Novovicova and Kittler, Floating search methods in feature selection (1994).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.feature_selection import CFSMerit, Floating, SubsetSelector
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(Floating(), CFSMerit()).fit(X, y).get_support(indices=True)
    array([2, 3])
    """

    size: int | None = None
    _: KW_ONLY
    direction: Direction = "forward"

    def run(self, evaluations: Evaluations, rng: np.random.RandomState) -> Subset:
        p = evaluations.n_features
        check_size(self.size, p)
        check_direction(self.direction)
        forward = self.direction == "forward"
        known: dict[int, tuple[float, Subset]] = {}
        subset: Subset = () if forward else tuple(range(p))
        if not forward:
            evaluations.step("start", None, subset)
            known[p] = (evaluations.loss(subset), subset)
        last = (self.size or p) if forward else (self.size or 1)
        while len(subset) != last:
            subset = self._advance(evaluations, subset, known)
            subset = self._retreat(evaluations, subset, known)
        if self.size is not None:
            return known[int(self.size)][1]
        return min(known.values(), key=lambda pair: (pair[0], len(pair[1]), pair[1]))[1]

    def _advance(
        self, evaluations: Evaluations, subset: Subset, known: dict[int, tuple[float, Subset]]
    ) -> Subset:
        forward = self.direction == "forward"
        loss, column, led = (best_addition if forward else best_removal)(evaluations, subset)
        # continue from the best known subset of this size, so that the search cannot cycle
        if len(led) not in known or loss < known[len(led)][0]:
            known[len(led)] = (loss, led)
            evaluations.step("add" if forward else "remove", column, led)
        else:
            evaluations.step("return", None, known[len(led)][1])
        return known[len(led)][1]

    def _retreat(
        self, evaluations: Evaluations, subset: Subset, known: dict[int, tuple[float, Subset]]
    ) -> Subset:
        forward = self.direction == "forward"
        while (len(subset) > 2) if forward else (len(subset) < evaluations.n_features - 1):
            loss, column, led = (best_removal if forward else best_addition)(evaluations, subset)
            if not loss < known[len(led)][0]:
                break
            known[len(led)] = (loss, led)
            evaluations.step("remove" if forward else "add", column, led)
            subset = led
        return subset


@dataclass(eq=False, repr=False)
class BestFirst(Search):
    """Expand the best open subset; stop after ``patience`` expansions in a row without a better one.

    Parameters
    ----------
    patience : expansions without improvement before the search stops.
    direction : "forward" (start empty, children add a column) or "backward" (start full, children
        remove one).

    Notes
    -----
    p evaluations for every expansion. Kohavi and John, Wrappers for feature subset selection (1997), section
    3.2; the usual search for CFS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.feature_selection import BestFirst, CFSMerit, SubsetSelector
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(BestFirst(), CFSMerit()).fit(X, y).get_support(indices=True)
    array([2, 3])
    """

    patience: int = 5
    _: KW_ONLY
    direction: Direction = "forward"

    def run(self, evaluations: Evaluations, rng: np.random.RandomState) -> Subset:
        check_direction(self.direction)
        check_count("patience", self.patience)
        start: Subset = () if self.direction == "forward" else tuple(range(evaluations.n_features))
        best = (evaluations.loss(start), len(start), start)
        opened = [best]
        seen = {start}
        failures = 0
        while opened and failures < self.patience:
            subset = heapq.heappop(opened)[2]
            if subset:
                evaluations.step("expand", None, subset)
            children = [
                child for child in self._children(subset, evaluations.n_features) if child not in seen
            ]
            seen.update(children)
            found = [
                (loss, len(c), c) for loss, c in zip(evaluations.losses(children), children, strict=True)
            ]
            for child in found:
                heapq.heappush(opened, child)
            better = bool(found) and min(found)[0] < best[0]
            failures = 0 if better else failures + 1
            best = min([best, *found])
        return best[2]

    def _children(self, subset: Subset, n_features: int) -> list[Subset]:
        if self.direction == "backward":
            return [without_column(subset, j) for j in subset if len(subset) > 1]
        inside = set(subset)
        return [with_column(subset, j) for j in range(n_features) if j not in inside]


def check_direction(direction: str) -> None:
    check_choice("direction", direction, ("forward", "backward"))
