"""What a subset of columns is worth to a model: its cross-validated or leave-one-out error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import LeaveOneOut
from sklearn.utils import _safe_indexing

from maxmargin.base.memory import cache_bytes
from maxmargin.base.tables import read_classes
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.feature_selection.criteria import Criterion, Scorer, Subset
from maxmargin.feature_selection.machine import machine_of, numbers_of
from maxmargin.solvers.dual.gram.column_subsets import FoldErrors, LeaveOneOutErrors, Splits, mean_error
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
    n_jobs : number of joblib workers over subsets and folds; for mm.SVC see the notes.

    Notes
    -----
    `maxmargin.SVC` (hinge loss, kernel of one statistic: rbf, linear, poly, sigmoid, laplacian, exponential;
    up to 4096 rows; alone or behind a StandardScaler, MinMaxScaler, MaxAbsScaler or RobustScaler) is not
    fitted through its fit method: the Gram matrix of a subset is an update of a neighbour's, all folds share
    it, and the estimator's ``n_jobs`` counts threads over subsets. The errors are the same up to ``tol``.

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
        fast = fold_errors(self.estimator, X, y, splits) if self.scoring is None else None
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
        machine, values = machine_of(self.estimator), numbers_of(X)
        if machine is not None and values is not None and LeaveOneOutErrors.suits(machine):
            classes = read_classes(y, len(values), self.estimator)
            if classes.masses.min() > 1:
                return LeaveOneOutErrors(machine, values, classes)
        return super().prepare(X, y)

    def _splits(self, X: Any, y: Any) -> Splits:
        return list(LeaveOneOut().split(X))


def fold_errors(estimator: Any, X: Any, y: Any, splits: Splits) -> Scorer | None:
    """The shared-matrix engine where it applies: mm.SVC, numbers, all classes in every fold, memory."""
    machine, values = machine_of(estimator), numbers_of(X)
    if machine is None or values is None:
        return None
    classes = read_classes(y, len(values), estimator)
    n_classes = len(classes.labels)
    if any(len(np.unique(classes.codes[train])) < n_classes for train, _ in splits):
        return None
    if FoldErrors.bytes_needed(machine, len(values), n_classes, len(splits)) > cache_bytes(None):
        return None
    return FoldErrors(machine, values, classes, splits)


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
