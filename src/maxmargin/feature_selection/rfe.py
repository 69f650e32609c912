"""Recursive feature elimination with linear models and with kernel machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import as_number
from maxmargin.base.progress import ProgressReport
from maxmargin.base.table_columns import feature_names
from maxmargin.base.tables import read_classes
from maxmargin.base.threads import effective_threads, run
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.feature_selection.base import Selector, how_many
from maxmargin.feature_selection.column_svc import ColumnSVC, numbers_of
from maxmargin.feature_selection.elimination import AnyElimination, Elimination, SVCElimination
from maxmargin.feature_selection.subset import validated
from maxmargin.tuning.folds import make_folds

Step = int | float | Literal["half"]
MakeElimination = Callable[[IntArray, IntArray], Elimination]


@dataclass(frozen=True)
class Round:
    """One fit: its number of columns, those removed after it and their largest worth, the held-out error."""

    size: int
    removed: IntArray
    worth: float
    error: float


class RFE(Selector):
    """Recursive feature elimination: fit, remove the columns that are worth least, and fit again.

    The worth of a column is w_j^2 for linear models (summed over the machines of several classes) and
    |W^2 - W^2_(-j)| with the dual solution held fixed for `SVC` with a kernel, where W^2 = ||w||^2 in
    feature space; tree models are asked for their ``feature_importances_``. Ties remove the lowest column.

    Parameters
    ----------
    estimator : a linear model, mm.SVC with any kernel of one statistic, a tree model, or a pipeline that ends
        in one of them and keeps the columns (for example StandardScaler).
    n_features : how many columns to keep, or a share in (0, 1). None: half of them, or with ``cv`` as many as
        give the smallest cross-validated error (equal errors: fewer).
    step : how many columns to remove in a round: a number, a share in (0, 1) of those left, or "half".
    cv : None, a number of folds, a splitter or a list of (train, test) row numbers. The whole elimination is
        repeated in every fold, so the error of a size includes the choice of the columns.
    n_jobs : joblib workers over folds; for mm.SVC threads (None: the free cores).
    verbose : 1 prints every round on standard error.

    Attributes
    ----------
    support_, selected_ : what is kept. n_features_ : how many.
    ranking_ : 1 for the columns kept, 2 for those removed last, ..., of shape (n_features_in_,).
    history_ : DataFrame of the rounds (step, size, removed, worth of the removed, and with ``cv`` error and
        deviation over folds for this size).

    Notes
    -----
    One fit a round. With mm.SVC the Gram matrix is updated by the removed columns and every fit starts from
    the last solution: O(n^2 + n p) a round for the linear kernel, O(n_SV^2 p) for others. Guyon, Weston,
    Barnhill and Vapnik, Gene selection for cancer classification using SVM (2002), sections 4.4 and 4.6.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> from maxmargin.feature_selection import RFE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5)); y = (X[:, 1] - X[:, 3] > 0).astype(int)
    >>> RFE(SVC(kernel="linear"), n_features=2).fit(X, y).get_support(indices=True)
    array([1, 3])
    """

    def __init__(
        self,
        estimator: Any,
        n_features: int | float | None = None,
        *,
        step: Step = 1,
        cv: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_features = n_features
        self.step = step
        self.cv = cv
        self.n_jobs = n_jobs
        self.verbose = verbose

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> RFE:
        """Eliminate columns of ``X`` for the target ``y``."""
        X, y = validated(self, X, y)
        make = self._make_elimination(X, y)
        everything = np.arange(len(y))
        self._errors = self._cross_validate(X, y, make)
        n_final = self._n_final()
        verbose = max(self.verbose, int(getattr(self.estimator, "verbose", 0)))
        start = make(everything, everything)
        rounds = eliminate(start, self.n_features_in_, n_final, self.step, verbose=verbose)
        self._store(rounds)
        return self

    def _make_elimination(self, X: Any, y: Any) -> MakeElimination:
        model, values = ColumnSVC.of(self.estimator), numbers_of(X)
        if model is None or values is None:
            return lambda train, test: AnyElimination(self.estimator, X, y, train, test)
        classes = read_classes(y, len(values), self)
        n_threads = 1 if self.cv is not None else model.n_threads(self.n_jobs)
        return lambda train, test: SVCElimination(model, values, classes, train, test, n_threads)

    def _cross_validate(self, X: Any, y: Any, make: MakeElimination) -> pd.DataFrame | None:
        """Mean and deviation of the error over folds, by number of columns."""
        if self.cv is None:
            return None
        splits = make_folds(self.cv, self.estimator, X, y, random_state=None)

        def errors_of(train: IntArray, test: IntArray) -> dict[int, float]:
            rounds = eliminate(make(train, test), self.n_features_in_, 1, self.step, with_error=True)
            return {r.size: r.error for r in rounds}

        if ColumnSVC.of(self.estimator) is not None and numbers_of(X) is not None:
            found = run([partial(errors_of, *s) for s in splits], effective_threads(self.n_jobs))
        else:
            found = Parallel(n_jobs=self.n_jobs, prefer="threads")(delayed(errors_of)(*s) for s in splits)
        table = pd.DataFrame(found)
        return pd.DataFrame({"error": table.mean(), "deviation": table.std(ddof=1)})

    def _n_final(self) -> int:
        if self._errors is None or self.n_features is not None:
            return how_many(self.n_features_in_, self.n_features)
        errors = self._errors["error"].sort_index()
        return int(errors.index[int(np.argmin(errors.to_numpy()))])

    def _store(self, rounds: list[Round]) -> None:
        names = feature_names(self)
        self.ranking_ = np.ones(self.n_features_in_, dtype=np.int64)
        for place, done in enumerate(reversed(rounds[:-1]), start=2):
            self.ranking_[done.removed] = place
        self.support_ = self.ranking_ == 1
        self.n_features_ = int(self.support_.sum())
        records = [
            {
                "step": number,
                "size": r.size,
                "removed": tuple(names[j] for j in r.removed),
                "worth": r.worth,
            }
            for number, r in enumerate(rounds, start=1)
        ]
        self.history_ = pd.DataFrame(records)
        if self._errors is not None:
            self.history_ = self.history_.join(self._errors, on="size")
            self.errors_ = self._errors.sort_index()
        del self._errors


def eliminate(
    elimination: Elimination,
    n_total: int,
    n_final: int,
    step: Step,
    *,
    with_error: bool = False,
    verbose: int = -1,
) -> list[Round]:
    """Rounds from all columns to ``n_final``; the last one removes nothing."""
    columns = np.arange(n_total)
    rounds: list[Round] = []
    with ProgressReport("elimination", n_total - n_final, verbose=verbose) as progress:
        while True:
            worths = elimination.worths()
            error = elimination.error() if with_error else np.nan
            n_removed = min(step_size(step, len(columns)), len(columns) - n_final)
            places = _smallest(worths, n_removed)
            worth = float(worths[places].max(initial=0.0))
            rounds.append(Round(len(columns), columns[places], worth, error))
            if n_removed == 0:
                return rounds
            columns = np.delete(columns, places)
            progress.advance(n_removed, f"{len(columns)} columns left".format)
            elimination.drop(places)


def _smallest(worths: FloatArray, n: int) -> IntArray:
    """Places of the ``n`` smallest; ties take the lowest column."""
    if n == 1:
        return np.array([worths.argmin()])
    return np.sort(np.argsort(worths, kind="stable")[:n])


def step_size(step: Step, n_left: int) -> int:
    """How many of ``n_left`` columns go in this round."""
    share = as_number(0.5 if step == "half" else step)
    if not (0 < share < 1 or (share >= 1 and share.is_integer())):
        raise ValueError(f"step={step!r}: use a number of columns, a share between 0 and 1, or 'half'.")
    return int(share) if share >= 1 else max(1, int(share * n_left))
