"""The selector that combines a search with a criterion, and its two shortcuts."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.table_columns import feature_names
from maxmargin.base.tables import checked_target, fitted_table, known_columns, n_rows
from maxmargin.base.typing import FoldsLike, RandomStateLike, TableLike, TargetLike
from maxmargin.feature_selection.base import Selector
from maxmargin.feature_selection.criteria import Criterion, Subset
from maxmargin.feature_selection.evaluations import Evaluations
from maxmargin.feature_selection.searches import Search
from maxmargin.feature_selection.sequential import Backward, Forward
from maxmargin.feature_selection.wrappers import CrossValidatedError


class _SearchSelector(Selector):
    """Base class that runs a search over a criterion; a subclass gives both."""

    verbose: int
    random_state: RandomStateLike | None = None

    @all_or_nothing
    def fit(self, X: TableLike, y: TargetLike) -> Self:
        """Search the columns of ``X`` for the target ``y``. Ctrl-C ends with the best subset so far."""
        X, y = validated(self, X, y)
        search, criterion = self._parts()
        search.check(criterion)
        evaluations = Evaluations(
            criterion.prepare(X, y), self.n_features_in_, maximize=criterion.maximize, verbose=self.verbose
        )
        start = time.perf_counter()
        chosen = self._run(search, evaluations)
        self.seconds_ = time.perf_counter() - start
        self._store(chosen, evaluations)
        return self

    def _parts(self) -> tuple[Search, Criterion]:
        raise NotImplementedError

    def _run(self, search: Search, evaluations: Evaluations) -> Subset:
        self.interrupted_ = False
        try:
            return search.run(evaluations, check_random_state(self.random_state))
        except KeyboardInterrupt:
            if evaluations.best is None:
                raise
            self.interrupted_ = True
            warnings.warn(
                f"interrupted after {evaluations.n_evaluations} subsets: the best one so far is kept.",
                UserWarning,
                stacklevel=4,
            )
            return evaluations.best

    def _store(self, chosen: Subset, evaluations: Evaluations) -> None:
        names = feature_names(self)
        self.support_ = np.isin(np.arange(self.n_features_in_), chosen)
        self.score_ = evaluations.value(chosen)
        self.n_evaluations_ = evaluations.n_evaluations
        self.history_ = evaluations.history(names)
        self.path_ = evaluations.path(names)


@dataclass(eq=False, repr=False)
class SubsetSelector(_SearchSelector):
    """Keep the columns that a search finds best for a criterion.

    Parameters
    ----------
    search : Exhaustive, BranchAndBound, Forward, Backward, Floating, SimulatedAnnealing, Genetic, BestFirst.
    criterion : CrossValidatedError, LeaveOneOutError, CFSMerit, Bhattacharyya, Divergence, Mahalanobis,
        Custom.
    random_state : seed of the random searches.
    verbose : 0 shows a live bar on a terminal, 1 lines on standard error elsewhere, -1 nothing.

    Attributes
    ----------
    support_ : mask of the columns kept. selected_ : their names.
    score_ : the criterion's value of this subset.
    n_evaluations_ : number of subsets evaluated; none is evaluated twice.
    history_ : DataFrame of all evaluations (evaluation, size, value, subset).
    path_ : DataFrame of the search's moves (step, action, variable, size, value, subset).
    interrupted_ : True when Ctrl-C ended the search. seconds_ : how long it took.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.feature_selection import CFSMerit, Exhaustive, SubsetSelector
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> selector = SubsetSelector(Exhaustive(), CFSMerit()).fit(X, y)
    >>> selector.selected_, selector.n_evaluations_
    (['petal length (cm)', 'petal width (cm)'], 15)
    """

    search: Search
    criterion: Criterion
    _: KW_ONLY
    random_state: RandomStateLike | None = None
    verbose: int = 0

    def _parts(self) -> tuple[Search, Criterion]:
        if not isinstance(self.search, Search):
            raise TypeError(f"search={self.search!r} is not a search: use Forward(), Exhaustive(), ...")
        if not isinstance(self.criterion, Criterion):
            raise TypeError(
                f"criterion={self.criterion!r} is not a criterion: wrap an estimator in "
                "CrossValidatedError(...) and a function in Custom(function, maximize=...)."
            )
        return clone(self.search), clone(self.criterion)


@dataclass(eq=False, repr=False)
class SFS(_SearchSelector):
    """Sequential forward selection by an estimator's cross-validated error.

    The shortcut for ``SubsetSelector(Forward(size, target=target), CrossValidatedError(estimator, cv))``.

    Parameters
    ----------
    estimator, cv, scoring, n_jobs : as `CrossValidatedError`.
    size, target : as `Forward`; with neither the best subset of the whole path is kept.
    verbose : as `SubsetSelector`, whose attributes it has too.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from maxmargin.feature_selection import SFS
    >>> X, y = load_iris(return_X_y=True)
    >>> SFS(KNeighborsClassifier(), size=2, cv=5).fit(X, y).get_support(indices=True)
    array([2, 3])
    """

    _search: ClassVar[type[Search]] = Forward

    estimator: Any
    size: int | None = None
    _: KW_ONLY
    target: float | None = None
    cv: FoldsLike = 10
    scoring: str | Callable[..., float] | None = None
    n_jobs: int | None = None
    verbose: int = 0

    def _parts(self) -> tuple[Search, Criterion]:
        criterion = CrossValidatedError(
            clone(self.estimator), self.cv, scoring=self.scoring, n_jobs=self.n_jobs
        )
        search: Any = self._search
        return search(self.size, target=self.target), criterion


class SBS(SFS):
    """Sequential backward selection by an estimator's cross-validated error.

    The shortcut for ``SubsetSelector(Backward(size, target=target), CrossValidatedError(estimator, cv))``;
    parameters as `SFS`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from maxmargin.feature_selection import SBS
    >>> X, y = load_iris(return_X_y=True)
    >>> SBS(KNeighborsClassifier(), size=1, cv=5).fit(X, y).get_support(indices=True)
    array([3])
    """

    _search = Backward


def validated(selector: Selector, X: TableLike, y: TargetLike) -> tuple[Any, Any]:
    """A dataframe stays as it is, since the estimator may need its columns; anything else becomes numbers."""
    if not hasattr(X, "columns"):
        X = fitted_table(selector, X)
    known_columns(selector, X)
    return X, checked_target(y, n_rows(X), selector)
