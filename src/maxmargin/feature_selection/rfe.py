"""Recursive feature elimination with linear models and with kernel machines."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from pandas.api.types import is_numeric_dtype
from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import RFE as ScikitRFE  # noqa: N811  # ours has the same name
from sklearn.feature_selection import RFECV as ScikitRFECV  # noqa: N811  # ours has the same name
from sklearn.metrics import check_scoring
from sklearn.utils import Bunch, _safe_indexing
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.metaestimators import available_if

from maxmargin.base.interruption import all_or_nothing, of_one_fit
from maxmargin.base.parameters import as_number, check_count
from maxmargin.base.progress import ProgressReport
from maxmargin.base.table_columns import feature_names
from maxmargin.base.tables import n_rows, read_classes
from maxmargin.base.threads import run
from maxmargin.base.typing import FloatArray, FoldsLike, IntArray, TableLike, TargetLike
from maxmargin.base.user_line import warnings_once
from maxmargin.feature_selection.base import Selector, how_many, takes_missing, told_by
from maxmargin.feature_selection.column_svc import ColumnSVC, numbers_of
from maxmargin.feature_selection.elimination import AnyElimination, Elimination, Fits, SVCElimination
from maxmargin.feature_selection.subset import validated
from maxmargin.tuning.folds import make_folds

Step = int | float | Literal["half"]
MakeElimination = Callable[[IntArray, IntArray], Elimination]


def _of_one_fit(name: str) -> Any:
    """A method of scikit-learn's RFE: the columns and the machine that it uses are those of one fit."""
    method = vars(ScikitRFE)[name]
    return available_if(method.check)(of_one_fit(method.fn))


@dataclass(frozen=True)
class Round:
    """One fit: its number of columns, those removed after it and their largest worth, the held-out error."""

    size: int
    removed: IntArray
    worth: float
    error: float


@dataclass(eq=False, repr=False)
class RFE(Selector, ScikitRFE):
    """Recursive feature elimination: fit, remove the columns that are worth least, and fit again.

    The worth of a column is w_j^2 for linear models (summed over the machines of several classes) and
    |W^2 - W^2_(-j)| with the dual solution held fixed for `SVC` with a kernel, where W^2 = ||w||^2 in
    feature space; for tree models it is ``feature_importances_``. Ties remove the lowest column.

    Parameters
    ----------
    estimator : a linear model, mm.SVC with any kernel of one statistic, a tree model, or a pipeline that ends
        in one of them and keeps the columns (for example StandardScaler).
    n_features_to_select : how many columns to keep, or a share in (0, 1). None: half of them, or with ``cv``
        as many as give the smallest cross-validated error (equal errors: fewer).
    step : how many columns to remove in a round: a number, a share in (0, 1) of all columns, or "half" of
        those that are left.
    cv : None, a number of folds, a splitter or a list of (train, test) row numbers. The whole elimination is
        repeated in every fold, so the error of a size includes the choice of the columns.
    scoring : scorer of the folds; None takes the estimator's own score.
    min_features_to_select : smallest size that the folds try.
    importance_getter : "auto" for the worths above, or as in scikit-learn the name of an attribute or a
        function of the fitted estimator.
    n_jobs : joblib workers over folds; for mm.SVC threads (None: the n_jobs of the SVC).
    verbose : 1 prints every round on standard error.

    Attributes
    ----------
    support_, selected_ : what is kept. n_features_ : how many.
    ranking_ : 1 for the columns kept, 2 for those removed last, ..., of shape (n_features_in_,).
    estimator_ : the estimator fitted on the columns kept; predict, score and the others ask it.
    history_ : DataFrame of the rounds (step, size, removed, worth of the removed, and with ``cv`` error,
        1 - score, and deviation over folds for this size).
    cv_results_ : with ``cv``, as in scikit-learn's RFECV.

    Notes
    -----
    One fit a round. With mm.SVC the Gram matrix is updated by the removed columns and every fit starts from
    the last solution: O(n^2 + n p) a round for the linear kernel, O(n_SV^2 p) for others. Guyon, Weston,
    Barnhill and Vapnik, Gene selection for cancer classification using SVM (2002), sections 4.4 and 4.6.

    Give an SVC with a kernel a number as gamma, such as 1 / n_features: gamma="scale" and "auto" grow as
    columns are removed, and with a narrow kernel columns of noise look as useful as others.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> from maxmargin.feature_selection import RFE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5)); y = (X[:, 1] - X[:, 3] > 0).astype(int)
    >>> RFE(SVC(kernel="linear"), 2).fit(X, y).get_support(indices=True)
    array([1, 3])
    """

    estimator: BaseEstimator
    n_features_to_select: int | float | None = None
    _: KW_ONLY
    step: Step = 1
    cv: FoldsLike | None = None
    scoring: str | Callable[..., float] | None = None
    min_features_to_select: int = 1
    importance_getter: str | Callable[[Any], FloatArray] = "auto"
    n_jobs: int | None = None
    verbose: int = 0

    predict = _of_one_fit("predict")
    decision_function = _of_one_fit("decision_function")
    predict_proba = _of_one_fit("predict_proba")
    predict_log_proba = _of_one_fit("predict_log_proba")
    score = _of_one_fit("score")

    @all_or_nothing
    def fit(self, /, X: TableLike, y: TargetLike | None, **params: Any) -> Self:
        """Eliminate columns of ``X`` for the target ``y``.

        ``groups`` go to the folds, other parameters (such as sample_weight) to the fits of the estimator.
        """
        routed = self._route(params)
        X, y = validated(self, X, y)
        with warnings_once():
            self._fit(X, y, routed)
        return self

    def _fit(self, X: Any, y: Any, routed: Bunch) -> None:
        fit_params = routed.estimator.fit
        make, n_threads = self._make_elimination(X, y, fit_params, routed.scorer.score)
        everything = np.arange(n_rows(X))
        self._cross_validate(X, y, make, n_threads, routed.splitter.split)
        start = make(everything, everything)
        size = Sizes.of(self.step, self.n_features_in_)
        rounds = eliminate(start, self._n_final(), size, verbose=told_by(self, self.estimator))
        self._store(rounds)
        self.estimator_ = clone(self.estimator).fit(self._kept(X), y, **fit_params)

    def _kept(self, X: Any) -> Any:
        """The columns kept, as predict passes them to the estimator; categories stay in their dataframe."""
        if all(is_numeric_dtype(dtype) for dtype in getattr(X, "dtypes", ())):
            return self.transform(X)
        return _safe_indexing(X, np.flatnonzero(self.support_), axis=1)

    def _route(self, params: dict[str, Any]) -> Bunch:
        """Which steps get which parameter of fit."""
        nothing: dict[str, dict[str, Any]] = {
            "estimator": {"fit": {}},
            "splitter": {"split": {}},
            "scorer": {"score": {}},
        }
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **params)
            found = {owner: {**parts, **routed.get(owner, {})} for owner, parts in nothing.items()}
        else:
            groups = {"groups": params["groups"]} if params.get("groups") is not None else {}
            own = {name: value for name, value in params.items() if name != "groups"}
            found = {**nothing, "estimator": {"fit": own}, "splitter": {"split": groups}}
        return Bunch(**{owner: Bunch(**parts) for owner, parts in found.items()})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = takes_missing(self.estimator)
        return tags

    def _wants_folds(self) -> bool:
        return self.cv is not None

    def _make_elimination(
        self, X: Any, y: Any, fit_params: dict[str, Any], score_params: dict[str, Any]
    ) -> tuple[MakeElimination, int]:
        """One elimination for each training set, and threads for several of them; 0 for joblib's workers."""
        plain = self.importance_getter == "auto" and not fit_params and self.scoring in (None, "accuracy")
        shared = self._shared_elimination(X, y) if plain and y.ndim == 1 else None
        if shared is not None:
            return shared
        fits = Fits(
            self.estimator,
            X,
            y,
            fit_params,
            score_params,
            importance_getter=self.importance_getter,
            scorer=check_scoring(self.estimator, self.scoring) if self._wants_folds() else None,
        )
        return partial(AnyElimination, fits), 0

    def _shared_elimination(self, X: Any, y: Any) -> tuple[MakeElimination, int] | None:
        """With a kernel matrix that is updated, if the estimator and its cache_size allow it."""
        model, values = ColumnSVC.of(self.estimator), numbers_of(X)
        if model is None or values is None:
            return None
        classes, n_threads = read_classes(y, len(values), self), model.n_threads(self.n_jobs)
        if not model.fits_in_memory(len(values), len(classes.labels), 1, n_threads):
            return None
        inside = 1 if self._wants_folds() else n_threads
        return lambda train, test: SVCElimination(model, values, classes, train, test, inside), n_threads

    def _cross_validate(
        self, X: Any, y: Any, make: MakeElimination, n_threads: int, split_params: dict[str, Any]
    ) -> None:
        """``cv_results_``: the scores of every fold by number of columns."""
        self.__dict__.pop("cv_results_", None)
        if not self._wants_folds():
            return
        splits = make_folds(self.cv, self.estimator, X, y, None, **split_params)
        smallest = self._least_columns()
        size = Sizes.of(self.step, self.n_features_in_)

        def rounds_of(train: IntArray, test: IntArray) -> list[Round]:
            return eliminate(make(train, test), smallest, size, with_error=True)

        if n_threads:
            found = run([partial(rounds_of, *s) for s in splits], n_threads)
        else:
            found = Parallel(n_jobs=self.n_jobs, prefer="threads")(delayed(rounds_of)(*s) for s in splits)
        self.cv_results_ = _cv_results(found, self.n_features_in_)

    def _least_columns(self) -> int:
        """The smallest size that the folds try."""
        least = check_count("min_features_to_select", self.min_features_to_select)
        if least > self.n_features_in_:
            warnings.warn(
                f"Found min_features_to_select={least} > n_features={self.n_features_in_}. There will be no "
                "feature selection and all features will be kept.",
                UserWarning,
                stacklevel=4,
            )
        return min(least, self.n_features_in_)

    def _n_final(self) -> int:
        wanted, total = self.n_features_to_select, self.n_features_in_
        if wanted is None and self._wants_folds():
            sizes, scores = self.cv_results_["n_features"], self.cv_results_["mean_test_score"]
            return int(sizes[int(np.argmax(scores))])
        if isinstance(wanted, Integral) and wanted > total:
            warnings.warn(
                f"Found n_features_to_select={wanted} > n_features={total}. There will be no feature "
                "selection and all features will be kept.",
                UserWarning,
                stacklevel=4,
            )
            return total
        if 0 < as_number(wanted) < 1:
            return max(1, int(total * as_number(wanted)))
        return how_many(total, wanted)

    def _store(self, rounds: list[Round]) -> None:
        names = feature_names(self)
        self.ranking_ = np.ones(self.n_features_in_, dtype=np.int64)
        for place, done in enumerate(reversed(rounds[:-1]), start=2):
            self.ranking_[done.removed] = place
        self.support_ = self.ranking_ == 1
        self.n_features_ = int(self.support_.sum())
        records = [
            {"step": number, "size": r.size, "removed": tuple(names[j] for j in r.removed), "worth": r.worth}
            for number, r in enumerate(rounds, start=1)
        ]
        self.history_ = pd.DataFrame(records)
        self.__dict__.pop("errors_", None)
        if self._wants_folds():
            found = self.cv_results_
            scores = np.array([found[f"split{k}_test_score"] for k in range(_n_folds(found))])
            deviation = scores.std(axis=0, ddof=1) if len(scores) > 1 else np.zeros(scores.shape[1])
            self.errors_ = pd.DataFrame(
                {"error": 1.0 - scores.mean(axis=0), "deviation": deviation}, index=found["n_features"]
            )
            self.history_ = self.history_.join(self.errors_, on="size")


@dataclass(eq=False, repr=False)
class RFECV(RFE, ScikitRFECV):
    """`RFE` with scikit-learn's RFECV's parameters: ``cv=None`` takes five folds, and they choose the size.

    Parameters, attributes and methods are those of `RFE` and of scikit-learn's RFECV.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> from maxmargin.feature_selection import RFECV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5)); y = (X[:, 1] - X[:, 3] > 0).astype(int)
    >>> RFECV(mm.SVC(kernel="linear")).fit(X, y).support_[[1, 3]].all()
    np.True_
    """

    n_features_to_select: ClassVar[None] = None  # type: ignore[misc]  # chosen by the folds

    score = of_one_fit(ScikitRFECV.score)

    def _wants_folds(self) -> bool:
        return True


def _n_folds(results: dict[str, Any]) -> int:
    return sum(name.endswith("_test_score") and name.startswith("split") for name in results)


def _cv_results(folds: list[list[Round]], n_columns: int) -> dict[str, Any]:
    """The rounds of every fold as RFECV's table, by ascending number of columns."""
    scores = np.array([[1.0 - r.error for r in reversed(rounds)] for rounds in folds])
    table: dict[str, Any] = {"mean_test_score": scores.mean(axis=0), "std_test_score": scores.std(axis=0)}
    table.update({f"split{k}_test_score": row for k, row in enumerate(scores)})
    rankings = []
    for rounds in folds:
        ranking, found = np.ones(n_columns, dtype=np.int64), []
        for done in rounds:
            found.append(ranking.copy())
            ranking[done.removed] = 1
            gone = ranking > 1
            gone[done.removed] = True
            ranking[gone] += 1
        rankings.append(np.array(found[::-1]))
    table.update({f"split{k}_ranking": ranking for k, ranking in enumerate(rankings)})
    table.update({f"split{k}_support": ranking == 1 for k, ranking in enumerate(rankings)})
    table["n_features"] = np.array([r.size for r in reversed(folds[0])])
    return table


def eliminate(
    elimination: Elimination, n_final: int, sizes: Sizes, *, with_error: bool = False, verbose: int = -1
) -> list[Round]:
    """Rounds from all columns to ``n_final``; the last one removes nothing."""
    columns = np.arange(sizes.n_total)
    rounds: list[Round] = []
    with ProgressReport("elimination", sizes.n_total - n_final, verbose=verbose) as progress:
        while True:
            worths = elimination.worths()
            error = elimination.error() if with_error else np.nan
            n_removed = min(sizes.step(len(columns)), len(columns) - n_final)
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


@dataclass(frozen=True)
class Sizes:
    """How many columns a round removes; ``n_removed`` 0 means half of the remaining ones."""

    n_total: int
    n_removed: int

    @classmethod
    def of(cls, step: Step, n_total: int) -> Self:
        if isinstance(step, str) and step == "half":
            return cls(n_total, 0)
        share = as_number(step)
        if not (0 < share < 1 or (share >= 1 and share.is_integer())):
            raise ValueError(f"step={step!r}: use a number of columns, a share between 0 and 1, or 'half'.")
        return cls(n_total, int(share) if share >= 1 else max(1, int(share * n_total)))

    def step(self, n_left: int) -> int:
        return self.n_removed or max(1, n_left // 2)
