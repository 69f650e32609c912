"""The selector that combines a search with a criterion, and its two shortcuts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils import check_array, check_random_state, get_tags

from maxmargin.base import work_clock
from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import as_number, check_choice, check_flags
from maxmargin.base.table_columns import feature_names
from maxmargin.base.tables import checked_target, checked_targets, fitted_table, known_columns, n_rows
from maxmargin.base.typing import FoldsLike, RandomStateLike, TableLike, TargetLike
from maxmargin.base.user_line import warnings_once
from maxmargin.feature_selection.base import Selector, takes_missing, told_by
from maxmargin.feature_selection.criteria import Criterion, Subset
from maxmargin.feature_selection.evaluations import Evaluations
from maxmargin.feature_selection.searches import Search
from maxmargin.feature_selection.sequential import Backward, Direction, Floating, Forward, check_direction
from maxmargin.feature_selection.wrappers import CrossValidatedError


class _SearchSelector(Selector):
    """Base class that runs a search over a criterion; a subclass gives both."""

    verbose: int
    criterion: Any
    random_state: RandomStateLike | None = None

    @all_or_nothing
    def fit(self, /, X: TableLike, y: TargetLike | None = None, **params: Any) -> Self:
        """Search the columns of ``X`` for the target ``y``. Ctrl-C ends with the best subset so far.

        Where an estimator's error is the criterion, ``groups`` go to its folds and other parameters (such as
        sample_weight) to its fits.
        """
        wraps = self._wraps()
        if params and not wraps:
            raise ValueError(
                f"{', '.join(params)}: only criteria that fit an estimator take parameters of fit."
            )
        X, y = validated(self, X, y, for_estimator=wraps)
        search, criterion = self._parts()
        search.check(criterion)
        with warnings_once():
            scorer = criterion.prepare(X, y, **params)
            evaluations = Evaluations(
                scorer,
                feature_names(self),
                maximize=criterion.maximize,
                verbose=told_by(self, getattr(criterion, "estimator", None)),
                groups=self._groups(),
            )
            start = work_clock.now()
            chosen = self._run(search, evaluations)
        self.seconds_ = work_clock.now() - start
        self._store(chosen, evaluations)
        return self

    def _parts(self) -> tuple[Search, Criterion]:
        raise NotImplementedError

    def _groups(self) -> list[Subset] | None:
        """Columns that are kept or left out together; None if there are no such groups."""
        return None

    def _wraps(self) -> bool:
        """Whether the criterion is the error of an estimator, which then decides what X may contain."""
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self._wraps():
            estimator = getattr(self, "estimator", None) or self.criterion.estimator
            inner = get_tags(estimator)
            tags.input_tags.allow_nan = takes_missing(estimator)
            tags.input_tags.sparse = inner.input_tags.sparse
            tags.target_tags.required = inner.target_tags.required
        return tags

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
        self.support_ = np.isin(np.arange(self.n_features_in_), evaluations.columns(chosen))
        self.score_ = evaluations.value(chosen)
        self.n_evaluations_ = evaluations.n_evaluations
        self.history_ = evaluations.history()
        self.path_ = evaluations.path()


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

    def _wraps(self) -> bool:
        return isinstance(self.criterion, CrossValidatedError)


@dataclass(eq=False, repr=False)
class SFS(_SearchSelector):
    """Sequential forward selection by an estimator's cross-validated error.

    The shortcut for ``SubsetSelector(Forward(size, target=target), CrossValidatedError(estimator, cv))``.

    Parameters
    ----------
    estimator, cv, scoring, n_jobs : as in `CrossValidatedError`.
    size, target : as in `Forward`; with neither the best subset of the whole path is kept.
    verbose : as in `SubsetSelector`, whose attributes it has too.

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


@dataclass(eq=False, repr=False)
class SequentialFeatureSelector(_SearchSelector):
    """scikit-learn's SequentialFeatureSelector, with the whole path kept and shared Gram matrices for mm.SVC.

    Parameters
    ----------
    estimator : any estimator with a score.
    n_features_to_select : how many columns: a number, a share in (0, 1), a range (least, most) of which the
        best subset is kept, "best" for the best subset of the whole path, or "auto": half of the columns, or
        with ``tol`` as many as help.
    tol : with "auto", stop when a step improves the score by less than this. When columns are removed, a
        negative value allows the score to fall.
    direction : "forward" or "backward".
    scoring, cv, n_jobs : as in `CrossValidatedError`; without scoring the estimator's own score counts.
    floating : follow every step by steps back while they beat the best subset of their size (`Floating`).
    fixed : names or numbers of columns that are always kept.
    feature_groups : lists of columns, by name or number, that are kept or left out together, for example the
        columns that encode one category. A column that no list names forms a group by itself. With groups,
        ``n_features_to_select`` and the sizes in ``path_`` and ``history_`` count groups.
    parsimonious : keep the smallest subset whose score is within one standard error of the best one (with
        "best" or a range).
    verbose : as in `SubsetSelector`, whose attributes it has too.

    Attributes
    ----------
    n_features_to_select_ : how many columns were chosen.
    history_ : all evaluations, with the value of every fold.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import maxmargin as mm
    >>> from maxmargin.feature_selection import SequentialFeatureSelector
    >>> X, y = load_iris(return_X_y=True)
    >>> SequentialFeatureSelector(mm.SVC(), n_features_to_select=1).fit(X, y).get_support(indices=True)
    array([3])
    """

    estimator: Any
    _: KW_ONLY
    n_features_to_select: int | float | tuple[int, int] | str = "auto"
    tol: float | None = None
    direction: Direction = "forward"
    scoring: str | Callable[..., float] | None = None
    cv: FoldsLike = 5
    n_jobs: int | None = None
    floating: bool = False
    fixed: Sequence[str | int] = ()
    parsimonious: bool = False
    feature_groups: Sequence[Sequence[str | int]] | None = None
    verbose: int = 0

    def _parts(self) -> tuple[Search, Criterion]:
        check_direction(self.direction)
        check_flags(self, "floating", "parsimonious")
        scoring = self.scoring
        if scoring is None and not is_classifier(self.estimator):
            scoring = check_scoring(self.estimator, None)
        criterion = CrossValidatedError(clone(self.estimator), self.cv, scoring=scoring, n_jobs=self.n_jobs)
        size, tol = self._size(), None
        if self.tol is not None:
            if as_number(self.tol) <= 0 and self.direction == "forward":
                raise ValueError("tol must be strictly positive when doing forward selection")
            tol = self.tol if isinstance(self.n_features_to_select, str) else None
        if self.floating:
            if tol is not None or len(self.fixed) or self.parsimonious or isinstance(size, tuple):
                raise ValueError(
                    "floating=True takes a number of columns, 'auto' or 'best': leave tol, fixed, "
                    "parsimonious and ranges out."
                )
            return Floating(size, direction=self.direction), criterion
        search = Forward if self.direction == "forward" else Backward
        options: dict[str, Any] = {"tol": tol, "fixed": self._fixed(), "parsimonious": self.parsimonious}
        return search(size, **options), criterion

    def _size(self) -> Any:
        wanted, p = self.n_features_to_select, len(self._groups() or range(self.n_features_in_))
        if isinstance(wanted, str):
            check_choice("n_features_to_select", wanted, ("auto", "best"))
            if wanted == "best" or self.tol is not None:
                return None
            return p // 2 if self.direction == "forward" else p - p // 2
        if isinstance(wanted, (tuple, list)):
            return tuple(wanted)
        if isinstance(wanted, float) and 0 < wanted <= 1:
            return max(1, int(p * wanted))
        if as_number(wanted) >= p:
            raise ValueError("n_features_to_select must be < n_features.")
        return wanted

    def _groups(self) -> list[Subset] | None:
        if self.feature_groups is None:
            return None
        groups = [self._numbers("feature_groups", group) for group in self.feature_groups]
        named = [j for group in groups for j in group]
        if len(set(named)) < len(named) or not all(groups):
            raise ValueError(
                f"feature_groups={self.feature_groups!r} must be lists of columns, each column at most once."
            )
        return sorted([*groups, *((j,) for j in range(self.n_features_in_) if j not in named)])

    def _fixed(self) -> Subset:
        columns, groups = self._numbers("fixed", self.fixed), self._groups()
        if groups is None:
            return columns
        return tuple(k for k, group in enumerate(groups) if not set(group).isdisjoint(columns))

    def _numbers(self, option: str, columns: Sequence[str | int]) -> Subset:
        """Numbers of columns that an option gives by name or number."""
        names = feature_names(self)
        unknown = [c for c in columns if c not in names and c not in range(len(names))]
        if unknown:
            raise ValueError(f"{option}={list(columns)!r} names columns that X does not have: {unknown}.")
        return tuple(sorted(names.index(c) if isinstance(c, str) else int(c) for c in columns))

    def _store(self, chosen: Subset, evaluations: Evaluations) -> None:
        super()._store(chosen, evaluations)
        self.n_features_to_select_ = int(self.support_.sum())


def validated(
    selector: Selector, X: TableLike, y: TargetLike | None, *, for_estimator: bool = True
) -> tuple[Any, Any]:
    """Rows and targets. A dataframe stays as it is, since the estimator may need its columns.

    Anything else becomes numbers. With ``for_estimator`` the estimator decides about missing values, sparse
    rows and targets with columns.
    """
    if not for_estimator:
        if not hasattr(X, "columns"):
            X = fitted_table(selector, X)
        known_columns(selector, X)
        return X, checked_target(y, n_rows(X), selector)
    if not hasattr(X, "columns"):
        X = check_array(X, accept_sparse="csr", ensure_all_finite=False, estimator=selector)
    known_columns(selector, X)
    if y is None and not get_tags(selector).target_tags.required:
        return X, None
    if np.asarray(y).ndim == 2:
        return X, checked_targets(y, n_rows(X), selector)
    return X, checked_target(y, n_rows(X), selector)
