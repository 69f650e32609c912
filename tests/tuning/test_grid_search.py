"""GridSearch beside scikit-learn's GridSearchCV: groups, scorers, fit parameters, failures, methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
import sklearn.experimental.enable_halving_search_cv  # makes the name below
from sklearn.datasets import load_diabetes, make_classification
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, HalvingGridSearchCV  # type: ignore[attr-defined]
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, OneClassSVM

import maxmargin as mm

X, Y = make_classification(90, 4, n_redundant=0, flip_y=0.2, random_state=1)
GRID = {"C": [0.1, 10.0], "gamma": [0.05, 0.5]}
GROUPS = np.arange(90) % 7
WEIGHT = np.random.default_rng(0).uniform(0.2, 3.0, 90)
SHARED = "shared Gram matrices"


def both(options: dict[str, Any], fit: dict[str, Any], model: Any = None, theirs: Any = None) -> Any:
    """Our search and scikit-learn's, with the same table of scores."""
    ours = mm.GridSearch(mm.SVC(tol=1e-6) if model is None else model, GRID, **options).fit(X, Y, **fit)
    other = GridSearchCV(SVC(tol=1e-6) if theirs is None else theirs, GRID, **options).fit(X, Y, **fit)
    tables = ours.cv_results_, other.cv_results_
    assert set(tables[0]) == set(tables[1])
    for name in tables[1]:
        if name.startswith(("split", "mean_t", "std_t", "rank")):  # scores, no times
            np.testing.assert_allclose(tables[0][name], tables[1][name], atol=1e-12, err_msg=name)
    assert tables[0]["params"] == tables[1]["params"]
    for name in ("best_params_", "best_index_", "n_splits_", "multimetric_"):
        assert getattr(ours, name) == getattr(other, name)
    assert hasattr(ours, "best_score_") == hasattr(other, "best_score_")
    assert ours.refit_time_ > 0
    np.testing.assert_array_equal(ours.predict(X), other.predict(X))
    return ours


def test_groups_go_to_the_folds() -> None:
    assert both({"cv": GroupKFold(3)}, {"groups": GROUPS}).result_.path == SHARED
    with pytest.raises(ValueError, match="'groups' parameter should not be None"):
        mm.GridSearch(mm.SVC(), GRID, cv=GroupKFold(3)).fit(X, Y)


def test_several_scorers_and_the_one_that_refits() -> None:
    options = {"scoring": ["accuracy", "roc_auc", "f1"], "refit": "roc_auc", "cv": 3}
    search = both(options, {})
    assert search.result_.path == SHARED
    assert search.result_.measure == "1 - roc_auc"
    assert both({**options, "refit": lambda table: 2}, {}).best_index_ == 2
    with pytest.raises(ValueError, match="refit must be set to a scorer key"):
        mm.GridSearch(mm.SVC(), GRID, **{**options, "refit": True}).fit(X, Y)


def test_weights_reach_the_fits_and_train_scores_are_given() -> None:
    assert both({"cv": 3}, {"sample_weight": WEIGHT}).result_.path == SHARED
    assert "training scores" in both({"cv": 3, "return_train_score": True}, {}).result_.path


def test_routed_weights_reach_fits_scores_and_folds() -> None:
    with sklearn.config_context(enable_metadata_routing=True):

        def asking(model: Any) -> Any:
            return model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)

        fit = {"sample_weight": WEIGHT, "groups": GROUPS}
        search = both({"cv": GroupKFold(3)}, fit, asking(mm.SVC(tol=1e-6)), asking(SVC(tol=1e-6)))
        assert search.result_.path == SHARED
        with pytest.raises(ValueError, match="not explicitly set as requested"):
            mm.GridSearch(mm.SVC(), GRID).fit(X, Y, sample_weight=WEIGHT)


@pytest.mark.parametrize(("scaler", "machine"), [(True, True), (True, False), (False, True)])
def test_routed_weights_reach_the_steps_that_ask(scaler: bool, machine: bool) -> None:
    weight = np.where(np.arange(90) < 20, 100.0, WEIGHT)
    grid = {"svc__C": [0.1, 10.0], "svc__gamma": [0.05]}
    with sklearn.config_context(enable_metadata_routing=True):
        accuracy = make_scorer(accuracy_score).set_score_request(sample_weight=False)
        steps = StandardScaler().set_fit_request(sample_weight=scaler)
        ours, theirs = (
            search(
                make_pipeline(steps, model(tol=1e-6).set_fit_request(sample_weight=machine)),
                grid,
                cv=3,
                scoring=accuracy,
            ).fit(X, Y, sample_weight=weight)
            for search, model in ((mm.GridSearch, mm.SVC), (GridSearchCV, SVC))
        )
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert (ours.result_.path == SHARED) == (not scaler)


@pytest.mark.parametrize("model", [mm.NuSVC(), SVC()], ids=["shared", "scikit"])
def test_a_cell_that_fails_has_the_error_score_or_raises(model: Any) -> None:
    grid = {"nu": [0.3, 0.999]} if isinstance(model, mm.NuSVC) else {"C": [1.0, -1.0]}
    chosen = np.r_[np.flatnonzero(Y == 0)[:40], np.flatnonzero(Y == 1)[:20]]  # the second nu is infeasible
    rows, sides = X[chosen], Y[chosen]
    with pytest.warns(FitFailedWarning, match="3 fits failed out of a total of 6"):
        search = mm.GridSearch(model, grid, cv=3, error_score=-1.0).fit(rows, sides)
    assert search.cv_results_["mean_test_score"][1] == -1.0
    assert search.best_index_ == 0
    with pytest.raises(ValueError, match=r"nu=0.999|'C' parameter"):
        mm.GridSearch(model, grid, cv=3, error_score="raise").fit(rows, sides)


def test_kernel_values_of_1e229_only_stall() -> None:
    rows, labels = np.full((6, 1), 3.4e38, dtype=np.float32), [False, False, False, True, True, True]
    search = mm.GridSearch(mm.SVC(kernel="poly"), {"C": [1, 1e3]}, cv=2, error_score="raise")
    with pytest.warns(ConvergenceWarning, match="no longer made useful progress"):
        search.fit(rows, labels)
    errors = 3 * (1 - search.cv_results_["split0_test_score"])  # all rows are equal: one class or the other
    assert set(np.round(errors, 9)) <= {1.0, 2.0}


def test_methods_of_the_best_model() -> None:
    search = mm.GridSearch(mm.SVC(probability=True, random_state=0), {"C": [1.0]}, cv=2).fit(X, Y)
    best = search.best_estimator_
    np.testing.assert_array_equal(search.predict_log_proba(X), np.log(best.predict_proba(X)))
    np.testing.assert_array_equal(search.decision_function(X), best.decision_function(X))
    np.testing.assert_array_equal(search.classes_, [0, 1])
    assert search.n_features_in_ == 4
    outliers = mm.GridSearch(mm.OneClassSVM(), {"nu": [0.2]}, cv=2, scoring=lambda model, X, y=None: 1.0)
    theirs = OneClassSVM(nu=0.2).fit(X)
    np.testing.assert_allclose(outliers.fit(X).score_samples(X), theirs.score_samples(X), atol=1e-2)
    steps = mm.GridSearch(make_pipeline(StandardScaler(), PCA()), {"pca__n_components": [2, 4]}, cv=2).fit(X)
    np.testing.assert_allclose(steps.inverse_transform(steps.transform(X)), X)
    assert not hasattr(search, "transform")


def test_scikit_learns_successive_halving_takes_our_models() -> None:
    rows, target = load_diabetes(return_X_y=True)
    grid = {"C": [1.0, 10.0, 100.0, 1000.0]}
    search = HalvingGridSearchCV(mm.SVR(), grid, cv=3, random_state=0, min_resources=60).fit(rows, target)
    assert search.n_iterations_ >= 2
    assert search.best_params_["C"] >= 10.0
    assert search.best_estimator_.score(rows, target) > 0.4
