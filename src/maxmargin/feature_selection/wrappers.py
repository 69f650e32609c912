"""What a subset of columns is worth to a model: its cross-validated or leave-one-out error."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from multiprocessing import current_process
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import LeaveOneOut
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from maxmargin.base.tables import Classes, read_classes
from maxmargin.base.threads import run, start_workers
from maxmargin.base.typing import AnyArray, FloatArray, FoldsLike, IntArray, Matrix, TableLike, TargetLike
from maxmargin.feature_selection.column_svc import ColumnSVC, numbers_of
from maxmargin.feature_selection.criteria import Criterion, Scorer, Subset
from maxmargin.problems.solution import Ending, worst_ending
from maxmargin.solvers.dual.gram.column_subsets import Splits, SubsetFolds, SubsetLeaveOneOut
from maxmargin.solvers.dual.gram.repeated_rows import RepeatedRows
from maxmargin.tuning.folds import make_folds


@dataclass(eq=False, repr=False)
class CrossValidatedError(Criterion):
    """Mean over the folds of an estimator's error on the columns of the subset.

    The error is the share of wrong predictions for classifiers and the mean squared error for regressors. The
    folds are made once, so that all subsets are compared on the same ones.

    Parameters
    ----------
    estimator : any scikit-learn classifier or regressor, or a pipeline that ends in one.
    cv : number of folds (stratified for classifiers, in the order of the rows, as scikit-learn's), a
        splitter, or a list of (train, test) row numbers.
    scoring : a scikit-learn scorer or its name; the criterion is then this score, and larger is better.
    n_jobs : joblib workers over subsets and folds; threads over subsets for mm.SVC (see the notes), where
        None takes the n_jobs of the SVC.

    Notes
    -----
    `maxmargin.SVC` (hinge loss, kernel of one statistic: rbf, linear, poly, sigmoid, laplacian, exponential;
    up to 4096 rows; alone or behind a StandardScaler, MinMaxScaler, MaxAbsScaler or RobustScaler) is not
    fitted through its fit method: the kernel matrix of a subset is an update of a neighbour's, and all folds
    share it. The errors are the same up to ``tol``. With max_iter, time_limit or certify="full" every fold is
    fitted in the ordinary way, so that these options hold.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from maxmargin.feature_selection import CrossValidatedError, Forward, SubsetSelector
    >>> X, y = load_iris(return_X_y=True)
    >>> error = CrossValidatedError(KNeighborsClassifier(), cv=5)
    >>> SubsetSelector(Forward(), error).fit(X, y).get_support(indices=True)
    array([0, 1, 2, 3])
    """

    estimator: BaseEstimator
    cv: FoldsLike = 10
    _: KW_ONLY
    scoring: Any = None
    n_jobs: int | None = None

    @property
    def maximize(self) -> bool:  # type: ignore[override]  # here the direction follows from `scoring`
        return self.scoring is not None

    def prepare(
        self, X: TableLike, y: TargetLike, *, groups: AnyArray | None = None, **fit_params: Any
    ) -> Scorer:
        """As in `Criterion`; ``groups`` make the folds, other parameters go to the fits."""
        splits = self._splits(X, y, groups)
        if self.scoring is None and not fit_params:
            fast = fold_errors(self.estimator, X, y, splits, n_jobs=self.n_jobs)
            if fast is not None:
                return fast
        return EstimatorErrors(
            self.estimator, X, y, splits, fit_params, scoring=self.scoring, n_jobs=self.n_jobs
        )

    def _splits(self, X: Any, y: Any, groups: Any) -> Splits:
        return make_folds(self.cv, self.estimator, X, y, None, groups)


@dataclass(eq=False, repr=False)
class LeaveOneOutError(CrossValidatedError):
    """Share of rows that a classifier gets wrong when each is left out in turn.

    For regressors the mean squared error.

    Parameters
    ----------
    estimator, n_jobs : as in `CrossValidatedError`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from maxmargin.feature_selection import LeaveOneOutError
    >>> X, y = load_iris(return_X_y=True)
    >>> float(LeaveOneOutError(KNeighborsClassifier(1)).prepare(X, y)([(2, 3)])[0].round(3))
    0.047
    """

    maximize = False

    cv: ClassVar[Any] = None  # type: ignore[misc]  # these two are not parameters here
    scoring: ClassVar[None] = None  # type: ignore[misc]

    def prepare(
        self, X: TableLike, y: TargetLike, *, groups: AnyArray | None = None, **fit_params: Any
    ) -> Scorer:
        if groups is not None:
            raise ValueError("groups are for folds: LeaveOneOutError leaves single rows out.")
        fast = None
        if not fit_params:
            fast = fold_errors(self.estimator, X, y, [], n_jobs=self.n_jobs, leave_one_out=True)
        return super().prepare(X, y, **fit_params) if fast is None else fast

    def _splits(self, X: Any, y: Any, groups: Any) -> Splits:
        return list(LeaveOneOut().split(X))


class FoldErrors:
    """Mean errors of our own SVC over the folds; calling it with subsets gives an error for each."""

    def __init__(self, model: ColumnSVC, folds: SubsetFolds, classes: Classes, n_threads: int) -> None:
        self._model, self._folds, self._classes, self._n_threads = model, folds, classes, n_threads
        self.folds: dict[Subset, FloatArray] = {}
        self._held_out = np.zeros((len(folds.problems.splits), len(classes.codes)), dtype=np.int64)
        for f, (_, test) in enumerate(folds.problems.splits):
            self._held_out[f, test] = 1

    def __call__(self, subsets: Sequence[Subset]) -> FloatArray:
        self._folds.move_between(subsets)
        found = run([partial(self._error, subset) for subset in subsets], self._n_threads)
        self._model.warn_if_open(worst_ending([ending for _, ending in found]))
        return np.array([error for error, _ in found])

    def _error(self, subset: Subset) -> tuple[float, Ending]:
        merged = self._folds.merged(subset)
        decisions, _, ending = self._folds.solve(subset, merged)
        n_folds, _, n = decisions.shape
        by_row = decisions.transpose(0, 2, 1).reshape(n_folds * n, -1)
        predicted = self._model.predict(by_row, len(self._classes.labels))
        right = predicted.reshape(n_folds, n) == merged.take(self._classes.codes)
        held_out = merged.sums(self._held_out)
        accuracies = (right * held_out).sum(axis=1) / held_out.sum(axis=1)
        self.folds[subset] = 1.0 - accuracies
        return mean_error(accuracies), ending


def fold_errors(
    estimator: Any,
    X: Matrix,
    y: TargetLike,
    splits: Splits,
    *,
    n_jobs: int | None = None,
    leave_one_out: bool = False,
) -> FoldErrors | None:
    """Errors from shared matrices where that is possible: our SVC, numbers, all classes in every fold."""
    model, values = ColumnSVC.of(estimator), numbers_of(X)
    if model is None or values is None:
        return None
    classes = read_classes(y, len(values), estimator)
    n_classes, n_threads = len(classes.labels), model.n_threads(n_jobs)
    if leave_one_out:
        if not _can_be_repaired(model) or classes.masses.min() <= 1:
            return None
        everything = np.arange(len(values))
        splits = [(everything, everything)]
    if any(len(np.unique(classes.codes[train])) < n_classes for train, _ in splits):
        return None
    if not model.fits_in_memory(len(values), n_classes, len(splits), n_threads):
        return None
    problems, repeats = model.problems(values, classes, splits), RepeatedRows(values, classes.codes)
    folds = (SubsetLeaveOneOut if leave_one_out else SubsetFolds)(problems, repeats)
    return FoldErrors(model, folds, classes, n_threads)


def _can_be_repaired(model: ColumnSVC) -> bool:
    """True if leaving a row out does not change scaling, gamma and class weights."""
    fixed_weights = model.svc.class_weight is None or isinstance(model.svc.class_weight, dict)
    return model.scaler is None and model.kernel.open_gamma != "scale" and fixed_weights


def mean_error(accuracies: FloatArray) -> float:
    """One minus the mean accuracy over folds.

    The mean of the errors would round differently, and ties between subsets must be broken as in code that
    compares mean accuracies.
    """
    return float(1.0 - np.mean(accuracies))


class EstimatorErrors:
    """Mean errors (or scores) of any estimator over the folds; calling it with subsets gives one for each."""

    def __init__(
        self,
        estimator: BaseEstimator,
        X: TableLike,
        y: TargetLike | None,
        splits: Splits,
        fit_params: dict[str, Any],
        *,
        scoring: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self._estimator, self._X = estimator, X
        self._y = None if y is None else np.asarray(y)
        self._splits = splits
        self._params = [_check_method_params(X, fit_params, indices=train) for train, _ in splits]
        self._scorer = None if scoring is None else check_scoring(estimator, scoring)
        self._parallel = Parallel(n_jobs=n_jobs)
        start_workers(n_jobs)
        self.folds: dict[Subset, FloatArray] = {}

    def __call__(self, subsets: Sequence[Subset]) -> FloatArray:
        tasks = [
            delayed(_fold_value)(self._estimator, columns, self._y, fold, params, self._scorer)
            for columns in (_safe_indexing(self._X, list(subset), axis=1) for subset in subsets)
            for fold, params in zip(self._splits, self._params, strict=True)
        ]
        found = self._parallel(tasks)
        for category, text in (each for _, texts in found for each in texts):
            warnings.warn(text, category, stacklevel=2)
        folds = np.array([value for value, _ in found]).reshape(len(subsets), len(self._splits))
        if self._scorer is not None or not is_classifier(self._estimator):
            self.folds.update(zip(subsets, folds, strict=True))
            return folds.mean(axis=1)
        self.folds.update(zip(subsets, 1.0 - folds, strict=True))
        return np.array([mean_error(values) for values in folds])


def _fold_value(*arguments: Any) -> tuple[float, list[tuple[type[Warning], str]]]:
    """The value of one fold, and the warnings where a worker process would print them itself."""
    if current_process().name == "MainProcess":
        return _value(*arguments), []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = _value(*arguments)
    return value, [(w.category, str(w.message)) for w in caught]


def _value(
    estimator: Any, X: Any, y: Any, fold: tuple[IntArray, IntArray], params: dict[str, Any], scorer: Any
) -> float:
    """The scorer's value of one fold, else a classifier's accuracy or a regressor's mean squared error."""
    train, test = fold
    held_out = _safe_indexing(X, test)
    if y is None:
        model = clone(estimator).fit(_safe_indexing(X, train), **params)
        return float(scorer(model, held_out))
    model = clone(estimator).fit(_safe_indexing(X, train), y[train], **params)
    if scorer is not None:
        return float(scorer(model, held_out, y[test]))
    predicted = model.predict(held_out)
    if is_classifier(estimator):
        return float(np.mean(predicted == y[test]))
    return float(np.mean((predicted - y[test]) ** 2))
