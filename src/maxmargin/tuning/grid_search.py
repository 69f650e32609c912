"""The tuner as a scikit-learn meta-estimator, and nested validation."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.tables import as_rows, as_targets
from maxmargin.base.typing import FloatArray
from maxmargin.tuning.errors import ErrorMeasure
from maxmargin.tuning.folds import make_folds, n_rows
from maxmargin.tuning.grid import Grid
from maxmargin.tuning.search import tune


def _has(name: str) -> Any:
    def check(self: Any) -> bool:
        model = getattr(self, "best_estimator_", self.estimator)
        getattr(model, name)
        return True

    return check


class GridSearch(MetaEstimatorMixin, BaseEstimator):
    """`mm.tune` as an estimator: fit searches the grid and fits the best cell on all rows.

    Parameters as in `tune`. Fitted: ``result_`` (a TuneResult), ``best_params_``, ``best_score_``,
    ``best_index_``, ``best_estimator_``, ``cv_results_`` as in scikit-learn's GridSearchCV.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> search = mm.GridSearch(mm.SVC(), {"C": [0.1, 1, 10]}, cv=5).fit(X, y)
    >>> search.best_params_
    {'C': 10}
    """

    def __init__(
        self,
        estimator: Any,
        grid: Grid | None = None,
        *,
        cv: Any = 10,
        scoring: Any = None,
        refit: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.grid = grid
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Search the grid."""
        result = tune(
            self.estimator,
            X,
            y,
            self.grid,
            cv=self.cv,
            scoring=self.scoring,
            refit=self.refit,
            sample_weight=sample_weight,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        measure = ErrorMeasure(self.estimator, self.scoring)
        self.result_ = result
        self.best_index_ = result.best_index
        self.best_params_ = result.best_params
        self.cv_results_ = _cv_results(result, measure)
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.n_splits_ = result.folds.shape[1]
        if result.best_estimator is not None:
            self.best_estimator_ = result.best_estimator
            for name in ("n_features_in_", "feature_names_in_"):
                if hasattr(result.best_estimator, name):
                    setattr(self, name, getattr(result.best_estimator, name))
        return self

    def _best(self) -> Any:
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(
                "refit=False (or an interrupted search) leaves no fitted model to predict with."
            )
        return self.best_estimator_

    @property
    def classes_(self) -> Any:
        """Classes of the best model."""
        return self._best().classes_

    @available_if(_has("predict"))
    def predict(self, X: Any) -> Any:
        """Predictions of the best model."""
        return self._best().predict(X)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """Decisions of the best model."""
        return self._best().decision_function(X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the best model."""
        return self._best().predict_proba(X)

    @available_if(_has("transform"))
    def transform(self, X: Any) -> Any:
        """Transformation by the best model."""
        return self._best().transform(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Score of the best model: by ``scoring``, or its own."""
        best = self._best()
        measure = ErrorMeasure(self.estimator, self.scoring)
        return float(best.score(X, y) if measure.scorer is None else measure.scorer(best, X, y))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.input_tags.pairwise = inner.input_tags.pairwise
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.target_tags.required = inner.target_tags.required
        return tags


def _cv_results(result: Any, measure: ErrorMeasure) -> dict[str, Any]:
    """scikit-learn's table of scores (larger is better)."""
    scores = -result.folds if measure.scorer is None and not measure.classifies else 1.0 - result.folds
    if measure.negated:
        scores = -result.folds
    table: dict[str, Any] = {"params": result.params}
    for name in dict.fromkeys(name for cell in result.params for name in cell):
        masked = np.ma.masked_all(len(result.params), dtype=object)
        for k, cell in enumerate(result.params):
            if name in cell:
                masked[k] = cell[name]
        table[f"param_{name}"] = masked
    for k in range(scores.shape[1]):
        table[f"split{k}_test_score"] = scores[:, k]
    means = scores.mean(axis=1)
    table["mean_test_score"] = means
    table["std_test_score"] = scores.std(axis=1)
    table["rank_test_score"] = rankdata(-np.nan_to_num(means, nan=-np.inf), method="min").astype(np.int32)
    table["mean_fit_time"] = result.table["seconds"].to_numpy() / scores.shape[1]
    return table


def nested_error(
    estimator: Any,
    X: Any,
    y: Any,
    grid: Grid | None = None,
    outer_cv: Any = 5,
    inner_cv: Any = 10,
    *,
    scoring: Any = None,
    random_state: Any = None,
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
    X = as_rows(X)
    y = as_targets(estimator, y, n_rows(X))
    for train, test in make_folds(outer_cv, estimator, X, y, random_state):
        found = tune(
            estimator,
            _safe_indexing(X, train),
            _safe_indexing(y, train),
            grid,
            cv=inner_cv,
            scoring=scoring,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        errors.append(
            measure.of_model(found.best_estimator, _safe_indexing(X, test), _safe_indexing(y, test))
        )
    return np.array(errors)
