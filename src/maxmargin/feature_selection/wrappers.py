"""What a subset of columns is worth to a model: its cross-validated or leave-one-out error."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import LeaveOneOut
from sklearn.utils import _safe_indexing

from maxmargin.base.tables import Classes, read_classes
from maxmargin.base.threads import run
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.feature_selection.column_svc import ColumnSVC, numbers_of
from maxmargin.feature_selection.criteria import Criterion, Scorer, Subset
from maxmargin.problems.solution import Ending, worst_ending
from maxmargin.solvers.dual.gram.column_subsets import Splits, SubsetFolds, SubsetLeaveOneOut
from maxmargin.solvers.dual.gram.repeated_rows import RepeatedRows
from maxmargin.tuning.folds import make_folds


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

    def __init__(
        self, estimator: Any, cv: Any = 10, *, scoring: Any = None, n_jobs: int | None = None
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs

    @property
    def maximize(self) -> bool:  # type: ignore[override]  # here the direction follows from `scoring`
        return self.scoring is not None

    def prepare(self, X: Any, y: Any) -> Scorer:
        splits = self._splits(X, y)
        if self.scoring is None:
            fast = fold_errors(self.estimator, X, y, splits, n_jobs=self.n_jobs)
            if fast is not None:
                return fast
        return estimator_scorer(self.estimator, X, y, splits, scoring=self.scoring, n_jobs=self.n_jobs)

    def _splits(self, X: Any, y: Any) -> Splits:
        return make_folds(self.cv, self.estimator, X, y, random_state=None)


class LeaveOneOutError(CrossValidatedError):
    """Share of rows that a classifier gets wrong when each is left out in turn.

    For regressors the mean squared error.

    Parameters
    ----------
    estimator, n_jobs : as `CrossValidatedError`.

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

    def __init__(self, estimator: Any, *, n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.n_jobs = n_jobs

    scoring = None

    def prepare(self, X: Any, y: Any) -> Scorer:
        fast = fold_errors(self.estimator, X, y, [], n_jobs=self.n_jobs, leave_one_out=True)
        return super().prepare(X, y) if fast is None else fast

    def _splits(self, X: Any, y: Any) -> Splits:
        return list(LeaveOneOut().split(X))


class FoldErrors:
    """Mean errors of our own SVC over the folds; calling it with subsets gives an error for each."""

    def __init__(self, model: ColumnSVC, folds: SubsetFolds, classes: Classes, n_threads: int) -> None:
        self._model, self._folds, self._classes, self._n_threads = model, folds, classes, n_threads
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
        return mean_error((right * held_out).sum(axis=1) / held_out.sum(axis=1)), ending


def fold_errors(
    estimator: Any, X: Any, y: Any, splits: Splits, *, n_jobs: int | None = None, leave_one_out: bool = False
) -> FoldErrors | None:
    """Errors from shared matrices where that is possible: our SVC, numbers, all classes in every fold."""
    model, values = ColumnSVC.of(estimator), numbers_of(X)
    if model is None or values is None:
        return None
    classes = read_classes(y, len(values), estimator)
    n_threads = model.n_threads(n_jobs)
    if leave_one_out:
        if not _can_be_repaired(model) or classes.masses.min() <= 1:
            return None
        everything = np.arange(len(values))
        problems = model.problems(values, classes, [(everything, everything)])
        left_out = SubsetLeaveOneOut(problems, RepeatedRows(values, classes.codes))
        return FoldErrors(model, left_out, classes, n_threads)
    n_classes = len(classes.labels)
    if any(len(np.unique(classes.codes[train])) < n_classes for train, _ in splits):
        return None
    if not model.fits_in_memory(len(values), n_classes, len(splits), n_threads):
        return None
    problems = model.problems(values, classes, splits)
    return FoldErrors(model, SubsetFolds(problems, RepeatedRows(values, classes.codes)), classes, n_threads)


def _can_be_repaired(model: ColumnSVC) -> bool:
    """True when scaling, gamma and class weights do not change as a row is left out."""
    fixed_weights = model.svc.class_weight is None or isinstance(model.svc.class_weight, dict)
    return model.scaler is None and model.kernel.open_gamma != "scale" and fixed_weights


def mean_error(accuracies: FloatArray) -> float:
    """One minus the mean accuracy over folds.

    Not the mean of the errors, which rounds differently: subsets whose errors are equal up to rounding are
    then taken in the same order as by everything that compares mean accuracies.
    """
    return float(1.0 - np.mean(accuracies))


def estimator_scorer(
    estimator: Any, X: Any, y: Any, splits: Splits, *, scoring: Any = None, n_jobs: int | None = None
) -> Scorer:
    """The function from subsets to mean errors (or scores) of any estimator over the folds."""
    y = np.asarray(y)
    scorer = None if scoring is None else check_scoring(estimator, scoring)
    parallel = Parallel(n_jobs=n_jobs)

    def score(subsets: Sequence[Subset]) -> FloatArray:
        tasks = [
            delayed(_fold_value)(estimator, _safe_indexing(X, list(subset), axis=1), y, train, test, scorer)
            for subset in subsets
            for train, test in splits
        ]
        folds = np.array(parallel(tasks), dtype=float).reshape(len(subsets), len(splits))
        by_accuracy = scorer is None and is_classifier(estimator)
        return np.array([mean_error(values) if by_accuracy else values.mean() for values in folds])

    return score


def _fold_value(estimator: Any, X: Any, y: Any, train: IntArray, test: IntArray, scorer: Any) -> float:
    """The scorer's value of one fold, else a classifier's accuracy or a regressor's mean squared error."""
    model = clone(estimator).fit(_safe_indexing(X, train), y[train])
    held_out = _safe_indexing(X, test)
    if scorer is not None:
        return float(scorer(model, held_out, y[test]))
    predicted = model.predict(held_out)
    if is_classifier(estimator):
        return float(np.mean(predicted == y[test]))
    return float(np.mean((predicted - y[test]) ** 2))
