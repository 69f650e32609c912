"""scikit-learn's searches on shared kernel matrices, and nested validation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import (
    GridSearchCV,
    ParameterGrid,
    ParameterSampler,
    RandomizedSearchCV,
    check_cv,
)
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._validation import _score, _warn_or_raise_about_fit_failures
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import _check_method_params, _num_samples

from maxmargin.base import work_clock
from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.tables import as_rows, as_targets, n_rows
from maxmargin.base.typing import (
    AnyArray,
    FloatArray,
    FoldsLike,
    IntArray,
    Matrix,
    RandomStateLike,
    TableLike,
    TargetLike,
)
from maxmargin.tuning.errors import ErrorMeasure, needs_probabilities, stand_in
from maxmargin.tuning.folds import make_folds
from maxmargin.tuning.grid import Grid, default_grid
from maxmargin.tuning.result import TuneResult, make_table
from maxmargin.tuning.search import GridRun, read_data, tune
from maxmargin.tuning.sharing import SCIKIT, SHARED, configured, make_plan, shared_parts

Cells = list[dict[str, Any]]
# attributes that a fit sets only with a refit, with one scorer, with named columns or after the last cell
_OF_ONE_FIT = {
    *("best_estimator_", "best_index_", "best_params_", "best_score_", "refit_time_", "feature_names_in_"),
    "cv_results_",
}


class SharedSearch(BaseSearchCV):
    """Base class of the searches: cells and folds on shared kernel matrices."""

    def _cells(self) -> Cells:
        """The combinations of parameters to compare."""
        raise NotImplementedError

    def fit(self, /, X: TableLike, y: TargetLike | None = None, **params: Any) -> Self:
        """Search; ``groups`` go to the folds, other parameters to the fits.

        Ctrl-C raises KeyboardInterrupt. The cells that are finished are then in ``result_`` and
        ``cv_results_``, and there is no model; without a finished cell the search stays as it was.
        """
        if self._search(X, y, params).result_.interrupted:
            raise KeyboardInterrupt("result_ and cv_results_ have the finished cells; there is no model")
        return self

    @all_or_nothing
    def _search(self, X: Any, y: Any, params: dict[str, Any]) -> Self:
        """Fit; an interrupt after finished cells is noted in the result."""
        self._validate_params()
        for name in _OF_ONE_FIT & set(vars(self)):
            delattr(self, name)  # nothing of an earlier search may stay beside this one
        began = work_clock.now()
        cells = self._cells()
        reason, run, interrupted = self._why_not_shared(X, params, cells), None, False
        try:
            if reason:
                super().fit(X, y, **params)
            else:
                run, refit = self._score_cells(X, y, params, cells)
                interrupted = run.interrupted
                if self.refit and not interrupted:
                    refit()
        except KeyboardInterrupt:
            if "cv_results_" not in vars(self) or (run is None and not reason):
                raise
            interrupted = True
        if interrupted:
            self.__dict__.pop("best_estimator_", None)  # not fitted
        self.__dict__.pop("_checked_cv_orig", None)  # a model file cannot hold every splitter
        statuses = run.status_names() if run else ["fitted"] * len(self.cv_results_["params"])
        result = self._as_result(f"{SCIKIT}: {reason}" if reason else SHARED, statuses, began)
        self.result_ = replace(result, interrupted=interrupted)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "result_") and (not self.refit or hasattr(self, "best_estimator_"))

    def _select_best_index(self, refit: Any, refit_metric: str, results: dict[str, Any]) -> int:
        """scikit-learn calls this before the refit: an interrupted refit leaves the table."""
        self.cv_results_ = results
        self.n_splits_ = len({name.partition("_")[0] for name in results if name.startswith("split")})
        return int(super()._select_best_index(refit, refit_metric, results))

    @property
    def scorer_(self) -> Any:
        """The scorer, or a dict of them; it follows from ``scoring``."""
        scorers = self._get_scorers()[0]
        return getattr(scorers, "_scorers", scorers)

    @scorer_.setter
    def scorer_(self, scorers: Any) -> None:
        """scikit-learn sets it in fit; it is not stored, because a model file could not hold it."""

    # -- shared kernel matrices ------------------------------------------------------------------------

    def _why_not_shared(self, X: Any, params: dict[str, Any], cells: Cells) -> str:
        """Why cells and folds cannot be solved on shared matrices; empty where they can."""
        last = self.estimator.steps[-1][0] if hasattr(self.estimator, "steps") else ""
        others = set(params) - {"groups", "sample_weight", f"{last}__sample_weight"}
        parts = shared_parts(self.estimator)
        if parts.model is None:
            return parts.reason
        if hasattr(self, "_skl_callbacks"):
            return "callbacks hear of every fit"
        if self.return_train_score:
            return "training scores need the fitted models"
        if others:
            return f"the fits take {', '.join(sorted(others))}"
        weighted = _steps_with_weights(self.estimator) if "sample_weight" in params else []
        if weighted not in ([], [last]):
            return f"sample_weight is routed to {', '.join(weighted)}"
        scorers = self.scorer_
        scorers = list(scorers.values()) if isinstance(scorers, dict) else [scorers]
        if not all(hasattr(scorer, "_accept_sample_weight") for scorer in scorers):
            return "a scorer that is a function may ask for anything"
        probabilities = any(needs_probabilities(scorer) for scorer in scorers)
        plan = make_plan(configured(self.estimator, cells), cells, _num_samples(X), probabilities)
        return "" if plan.path == SHARED else plan.reason

    def _score_cells(
        self, X: Any, y: Any, params: dict[str, Any], cells: Cells
    ) -> tuple[GridRun, Callable[[], None]]:
        """As BaseSearchCV.fit before its refit, with scores from shared matrices; the refit is returned."""
        scorers, refit_metric = self._get_scorers()
        X, y = indexable(X, y)
        params = _check_method_params(X, params=params)
        routed = self._get_routed_params_for_fit(params)
        fit_params, score_params = routed.estimator.fit, routed.scorer.score
        y = as_targets(self.estimator, y, _num_samples(X))
        splitter = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        folds = list(splitter.split(X, y, **routed.splitter.split))
        measure = StoredScores(self.estimator, scorers, score_params, self.error_score)
        data = read_data(self.estimator, X, y, next(iter(fit_params.values()), None), folds, measure)
        run = GridRun(self.estimator, cells, data, self.n_jobs)
        run.run(self.verbose)
        kept = run.kept()
        if not len(kept):
            raise KeyboardInterrupt("no cell was finished")
        run.warn(kept)
        out = self._outcomes(run, data)
        _warn_or_raise_about_fit_failures(out, self.error_score)
        self.n_splits_ = len(folds)
        self.multimetric_ = isinstance(out[0]["test_scores"], dict)
        self.cv_results_ = self._format_results([run.cells[k] for k in kept], self.n_splits_, out)
        if self.refit or not self.multimetric_:
            self.best_index_ = self._select_best_index(self.refit, refit_metric, self.cv_results_)
            self.best_params_ = self.cv_results_["params"][self.best_index_]
            if not callable(self.refit):
                self.best_score_ = self.cv_results_[f"mean_test_{refit_metric}"][self.best_index_]
        return run, partial(self._refit_best, X, y, fit_params)

    def _refit_best(self, X: Any, y: Any, fit_params: dict[str, Any]) -> None:
        began = work_clock.now()
        self.best_estimator_ = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
        self.best_estimator_.fit(X, y, **fit_params)
        self.refit_time_ = work_clock.now() - began
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_

    def _outcomes(self, run: GridRun, data: Any) -> list[dict[str, Any]]:
        """Scores, times and failures in the form of scikit-learn's _fit_and_score, cell by cell."""
        out = []
        names = list(getattr(self.scorer_, "keys", list)())
        for cell in run.kept():
            for fold in range(len(data.folds)):
                scores = run.scores.get((cell, fold))
                failure = None if scores is not None else run.failures[cell]
                if failure is not None:
                    if self.error_score == "raise":
                        raise ValueError(failure)
                    scores = dict.fromkeys(names, self.error_score) if names else self.error_score
                seconds = run.seconds[cell] / len(data.folds)
                out.append(
                    {"test_scores": scores, "fit_time": seconds, "score_time": 0.0, "fit_error": failure}
                )
        return out

    # -- the result ------------------------------------------------------------------------------------

    def _as_result(self, path: str, statuses: list[str], began: float) -> TuneResult:
        """The table of scores as a table of errors."""
        table, metric = self.cv_results_, self.refit if self.multimetric_ else "score"
        if not isinstance(metric, str):  # several scorers without a refit: the first one
            metric = next(name[10:] for name in table if name.startswith("mean_test_"))
        name = metric if self.multimetric_ else self.scoring
        negated = isinstance(name, str) and name.startswith("neg_")
        scores = np.column_stack([table[f"split{k}_test_{metric}"] for k in range(self.n_splits_)])
        errors = -scores if negated else 1.0 - scores
        fit_seconds = table["mean_fit_time"] * self.n_splits_
        if self.scoring is None:
            name = "accuracy" if is_classifier(self.estimator) else "score"
        return TuneResult(
            table=make_table(table["params"], errors, fit_seconds, statuses),
            folds=errors,
            params=table["params"],
            measure=str(name).removeprefix("neg_")
            if negated
            else f"1 - {name if isinstance(name, str) else 'score'}",
            path=path,
            seconds=work_clock.now() - began,
            best_estimator=getattr(self, "best_estimator_", None),
        )


@dataclass(eq=False, repr=False)
class GridSearch(SharedSearch, GridSearchCV):
    """scikit-learn's GridSearchCV, with cells and folds that share kernel matrices.

    Parameters, attributes and methods are those of GridSearchCV. SVC, NuSVC, SVR, NuSVR, OneClassSVM,
    KernelRidge and KernelPerceptron (also behind scalers, imputers and encoders in a Pipeline) are solved as
    `tune` does. Training scores, scorers that are plain functions or need probabilities, and fit parameters
    other than weights need scikit-learn's search, one fit per cell and fold; ``result_.path`` says which ran.

    Parameters
    ----------
    estimator : any scikit-learn estimator.
    param_grid : dict of lists, or list of such dicts. None takes the default grid of SVC or SVR.
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score : as in GridSearchCV.
        On shared matrices ``n_jobs`` is the number of threads, and None uses all cores.

    Attributes
    ----------
    result_ : the search as a `TuneResult`.
    cv_results_, best_estimator_, best_params_, best_score_, best_index_, refit_time_, n_splits_, scorer_,
        multimetric_ : as in GridSearchCV.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> search = mm.GridSearch(mm.SVC(), {"C": [0.1, 1, 10]}, cv=5).fit(X, y)
    >>> search.best_params_
    {'C': 10}
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GridSearchCV._parameter_constraints,
        "param_grid": [*GridSearchCV._parameter_constraints["param_grid"], None],
    }

    estimator: BaseEstimator
    param_grid: Grid | None = None
    _: KW_ONLY
    scoring: str | Callable[..., Any] | Sequence[str] | dict[str, Any] | None = None
    n_jobs: int | None = None
    refit: bool | str | Callable[..., int] = True
    cv: FoldsLike | None = None
    verbose: int = 0
    pre_dispatch: int | str = "2*n_jobs"
    error_score: float | str = np.nan
    return_train_score: bool = False

    def _cells(self) -> Cells:
        return list(
            ParameterGrid(default_grid(self.estimator) if self.param_grid is None else self.param_grid)
        )

    def _run_search(self, evaluate_candidates: Any, *, callback_ctx: Any = None) -> None:
        if self.param_grid is None:
            evaluate_candidates(self._cells())
            return
        context = {} if callback_ctx is None else {"callback_ctx": callback_ctx}
        super()._run_search(evaluate_candidates, **context)


class RandomSearch(SharedSearch, RandomizedSearchCV):
    """scikit-learn's RandomizedSearchCV, with cells and folds that share kernel matrices as in `GridSearch`.

    Parameters, attributes and methods are those of RandomizedSearchCV. Distributions over kernel parameters,
    such as gamma, cost one kernel matrix for each value that is drawn; draws of C share theirs.

    Parameters
    ----------
    estimator : any scikit-learn estimator.
    param_distributions : dict of lists or distributions (objects with a method rvs), or list of such dicts.
    n_iter : number of combinations that are drawn.
    random_state : seed of the draws.
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score : as in `GridSearch`.

    Attributes
    ----------
    result_ and those of RandomizedSearchCV : as in `GridSearch`.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> search = mm.RandomSearch(mm.SVC(), {"C": loguniform(0.1, 100)}, n_iter=5, random_state=0).fit(X, y)
    >>> len(search.cv_results_["params"]), search.result_.path
    (5, 'shared Gram matrices')
    """

    def _cells(self) -> Cells:
        seed = deepcopy(self.random_state)  # scikit-learn's search then draws the same again
        return list(ParameterSampler(self.param_distributions, self.n_iter, random_state=seed))


class StoredScores(ErrorMeasure):
    """Scores of stored answers by one scorer or several; the error in progress lines is 1 - the first."""

    def __init__(
        self,
        estimator: BaseEstimator,
        scorers: Callable[..., Any],
        params: dict[str, Any],
        error_score: float | str,
    ) -> None:
        self.scoring = self.scorer = scorers
        self.classifies = is_classifier(estimator)
        self.params = {name: value for name, value in params.items() if value is not None}
        self.error_score = error_score

    def needs_probabilities(self) -> bool:
        return False  # checked before the search

    def of_stored(
        self, model: Any, X: Matrix, y: AnyArray, predicted: AnyArray, decisions: FloatArray, rows: IntArray
    ) -> Any:
        params = {name: _safe_indexing(value, rows) for name, value in self.params.items()}
        known = stand_in(model, predicted, decisions)
        return _score(known, X, y, self.scorer, params, self.error_score)

    def leading_error(self, scores: Any) -> float:
        first = next(iter(scores.values())) if isinstance(scores, dict) else scores
        return 1.0 - float(first)


def nested_error(
    estimator: BaseEstimator,
    X: TableLike,
    y: TargetLike,
    grid: Grid | None = None,
    outer_cv: FoldsLike = 5,
    inner_cv: FoldsLike = 10,
    *,
    scoring: Any = None,
    random_state: RandomStateLike | None = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Errors of tuned models on rows that neither tuning nor fitting has seen, one per outer fold.

    >>> import maxmargin as mm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> mm.nested_error(mm.SVC(), X, y, {"C": [1, 10]}, outer_cv=3, inner_cv=5).shape
    (3,)
    """
    measure = ErrorMeasure(estimator, scoring)
    errors = []
    rows = as_rows(X)
    targets = as_targets(estimator, y, n_rows(rows))
    for train, test in make_folds(outer_cv, estimator, rows, targets, random_state):
        found = tune(
            estimator,
            _safe_indexing(rows, train),
            _safe_indexing(targets, train),
            grid,
            cv=inner_cv,
            scoring=scoring,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        if found.interrupted:  # an error over only some of the folds would mean something else
            raise KeyboardInterrupt
        errors.append(
            measure.of_model(found.best_estimator, _safe_indexing(rows, test), _safe_indexing(targets, test))
        )
    return np.array(errors)


def _steps_with_weights(estimator: Any) -> list[str]:
    """The steps of a pipeline whose fits get sample_weight; only metadata routing chooses them."""
    if not get_config()["enable_metadata_routing"]:
        return []
    steps = [(name, step) for name, step in getattr(estimator, "steps", ()) if hasattr(step, "fit")]
    return [name for name, step in steps if get_routing_for_object(step).consumes("fit", {"sample_weight"})]
