"""Sparse SVMs as selectors: the path, the choice, the end of the path."""

from __future__ import annotations

import doctest

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import LinearSVC
from maxmargin.feature_selection import SparseSVMSelector, sparse

PENALTIES = ["l1", "l0", "l1l2", "l0l2"]


def data():
    X, y = make_classification(
        100, 10, n_informative=3, n_redundant=0, n_clusters_per_class=1, shuffle=False, random_state=4
    )
    return pd.DataFrame(StandardScaler().fit_transform(X), columns=list("abcdefghij")), y


@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_path_is_that_of_the_machine(penalty):
    X, y = data()
    tol = 1e-2 if penalty.startswith("l0") else 1e-6
    fitted = SparseSVMSelector(penalty, n_features=2, n_lambdas=6, ratio=0.01, tol=tol).fit(X, y)
    for value, weights in zip(fitted.lambdas_, fitted.coef_path_, strict=True):
        model = LinearSVC(C=1 / value, penalty=penalty, tol=tol, random_state=0).fit(X, y)
        np.testing.assert_allclose(weights, model.coef_[0], atol=1e-2 if penalty.startswith("l0") else 1e-3)
    assert fitted.support_.sum() == 2
    counts = (np.abs(fitted.coef_path_) > 1e-6).sum(axis=1)
    np.testing.assert_array_equal(fitted.history_["n_features"], counts)
    place = int(np.flatnonzero(fitted.lambdas_ == fitted.lambda_)[0])
    assert counts[place] >= 2
    assert (counts[:place] < 2).all()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("n_down", [30, 50, 75])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 5.0, 1: 0.5}])
def test_the_largest_lambda_keeps_nothing_and_is_not_far_too_large(loss, n_down, class_weight):
    rng = np.random.default_rng(n_down)
    y = np.repeat([0, 1], [n_down, 100 - n_down])
    X = rng.normal(size=(100, 5)) + np.outer(y, [1.0, 0.5, 0, 0, 0])
    uneven = loss == "hinge" and isinstance(class_weight, dict)
    ratio = 0.001 if uneven else 0.1  # for the hinge it is an upper bound, loose where the weights are uneven
    options = {"loss": loss, "class_weight": class_weight, "tol": 1e-6, "n_lambdas": 40, "ratio": ratio}
    fitted = SparseSVMSelector("l1", n_features=1, **options).fit(X, y)
    assert fitted.history_["n_features"][0] == 0
    # exact for smooth losses, where something enters a step below; an upper bound for the hinge
    enters = int((fitted.history_["n_features"] > 0).to_numpy().argmax())
    assert enters == 1 if loss != "hinge" else 0 < enters < 40


def test_choice_by_cross_validation():
    X, y = data()
    folds = StratifiedKFold(4)
    fitted = SparseSVMSelector("l1", cv=folds, n_lambdas=8).fit(X, y)
    errors = [
        1
        - cross_val_score(
            make_pipeline(StandardScaler(), LinearSVC(C=1 / value, penalty="l1")), X, y, cv=folds
        ).mean()
        for value in fitted.lambdas_
    ]
    np.testing.assert_allclose(fitted.history_["error"], errors, atol=1e-12)
    usable = np.where(fitted.history_["n_features"] > 0, errors, np.inf)
    assert fitted.lambda_ == fitted.lambdas_[np.argmin(usable)]
    np.testing.assert_array_equal(fitted.support_, np.abs(fitted.coef_[0]) > 1e-7)


def test_units_do_not_matter_unless_asked():
    X, y = data()
    other = X * np.logspace(-3, 3, 10) + 100
    first, second = (SparseSVMSelector("l1", 3).fit(table, y) for table in (X, other))
    np.testing.assert_array_equal(first.support_, second.support_)
    np.testing.assert_allclose(first.lambdas_, second.lambdas_)
    raw = SparseSVMSelector("l1", 3, standardize=False).fit(X, y)
    np.testing.assert_allclose(raw.lambdas_, first.lambdas_)


def test_history_and_ranking_show_when_a_column_entered():
    X, y = data()
    fitted = SparseSVMSelector("l1", n_features=3, n_lambdas=12).fit(X, y)
    present: set[str] = set()
    for _, step in fitted.history_.iterrows():
        present = (present | set(step["entered"])) - set(step["left"])
        assert len(present) == step["n_features"]
    first = fitted.history_[fitted.history_["n_features"] > 0].iloc[0]["entered"]
    assert {X.columns[j] for j in np.flatnonzero(fitted.ranking_ == 1)} == set(first)
    assert set(fitted.selected_) <= set("abc")


def test_several_classes_and_given_lambdas():
    X, y = load_iris(return_X_y=True)
    fitted = SparseSVMSelector("l1", 2, lambdas=[1.0, 100.0, 10.0]).fit(StandardScaler().fit_transform(X), y)
    assert fitted.lambdas_.tolist() == [100.0, 10.0, 1.0]
    assert fitted.coef_.shape == (3, 4)
    assert fitted.support_.sum() == 2


def test_wrong_settings_are_refused(capsys):
    X, y = data()
    with pytest.raises(ValueError, match="penalty"):
        SparseSVMSelector("l2").fit(X, y)
    with pytest.raises(ValueError, match="no lambda of the path keeps 9"):
        SparseSVMSelector("l1", 9, n_lambdas=2, ratio=0.9).fit(X, y)
    with pytest.raises(ValueError, match="lambdas"):
        SparseSVMSelector("l1", 2, lambdas=[-1.0]).fit(X, y)
    with pytest.raises(ValueError, match="ratio"):
        SparseSVMSelector("l1", 2, ratio=2.0).fit(X, y)
    SparseSVMSelector("l1", 1, n_lambdas=3, verbose=1).fit(X, y)
    assert "lambda" in capsys.readouterr().err


@parametrize_with_checks(
    [SparseSVMSelector("l1", n_lambdas=4, cv=2), SparseSVMSelector("l1l2", n_lambdas=4, cv=2)]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_docstrings_run():
    result = doctest.testmod(sparse)
    assert result.attempted > 0
    assert result.failed == 0


def test_an_l0_path_is_a_continuation():
    """Each fit begins at the weights of the one before: few convex problems, and a stationary point each."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 10))
    y = (X[:, 1] - X[:, 4] + 0.5 * rng.normal(size=80) > 0).astype(int)
    selector = SparseSVMSelector("l0", n_features=2, n_lambdas=6, standardize=False).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [1, 4]
    before = None
    for value, weights in zip(selector.lambdas_, selector.coef_path_, strict=True):
        model = LinearSVC(1.0 / value, penalty="l0", random_state=0).fit(
            X - X.mean(axis=0), y, coef_init=before
        )
        np.testing.assert_allclose(model.coef_[0], weights, atol=1e-3)
        assert model.certificate_.kkt <= model.tol
        before = model.coef_
    assert selector.n_iter_ < 400


def test_separable_classes_end_where_the_penalty_is_flat():
    """Without loss the objective is at most the number of columns: ever larger weights gain nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 16))
    y = rng.integers(0, 2, 24)
    model = LinearSVC(100.0, penalty="l0").fit(X, y, coef_init=np.zeros((1, 16)))
    assert model.certificate_.kkt <= model.tol
    assert model.certificate_.primal <= np.count_nonzero(model.coef_) + 1e-3
    assert model.n_iter_[0] < 100


def test_a_start_is_used_or_refused():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] > 0).astype(int)
    with pytest.raises(ValueError, match="coef_init is for penalty='l0'"):
        LinearSVC().fit(X, y, coef_init=np.zeros((1, 3)))
    with pytest.raises(ValueError, match=r"coef_init must hold finite numbers of shape \(1, 3\)"):
        LinearSVC(penalty="l0").fit(X, y, coef_init=np.zeros((2, 3)))
    one = LinearSVC(penalty="l0").fit(X, y, coef_init=np.zeros((1, 3)))
    assert len(one.solution_.trace) < len(LinearSVC(penalty="l0").fit(X, y).solution_.trace)
