"""SVC(fit_intercept=False): a hyperplane through the origin, on every path."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, cross_val_score

import maxmargin as mm
from maxmargin.feature_selection import RFE, SFS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4)) + 0.5
Y = np.sign(X @ [1.0, -1.0, 0.5, 0.0] + 0.7 + RNG.normal(size=120))
EXACT = ("working_set", "qp", "chunking", "decomposition", "smo")


def fitted(**options):
    return mm.SVC(**{"kernel": "linear", "fit_intercept": False, "tol": 1e-6} | options).fit(X, Y)


def primal_value(model, loss="hinge"):
    """1/2 ||w||^2 + C sum of losses of f(x) = <w, x>, for C = 1."""
    w = model.coef_[0]
    hinge = np.maximum(0.0, 1.0 - Y * (X @ w))
    return 0.5 * w @ w + (hinge if loss == "hinge" else hinge**2).sum()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("solver", EXACT)
def test_every_solver_finds_the_optimum_through_the_origin(solver, loss):
    model = fitted(solver=solver, loss=loss)
    reference = mm.LinearSVC(loss=loss, fit_intercept=False, tol=1e-10).fit(X, Y)
    assert model.intercept_.tolist() == [0.0]
    assert np.allclose(model.coef_, reference.coef_, atol=1e-5)
    assert model.certificate_.kkt <= 1e-6
    assert abs(model.certificate_.gap) <= 1e-6 * model.certificate_.dual
    assert np.isclose(model.certificate_.primal, primal_value(model, loss), rtol=1e-9)
    assert abs(model.alpha_ @ Y) > 1.0  # the sum is free: with an intercept it would be zero


@pytest.mark.parametrize("solver", ["subgradient", "pegasos"])
def test_descents_on_the_primal_have_a_true_gap(solver):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = fitted(solver=solver, tol=1e-3, max_iter=400)
    best = primal_value(fitted())
    assert model.intercept_.tolist() == [0.0]
    assert np.isclose(model.certificate_.primal, primal_value(model), rtol=1e-9)
    assert model.certificate_.primal - best <= model.certificate_.gap + 1e-9
    assert model.certificate_.relative_gap < 0.1


def test_the_row_store_and_the_matrix_agree():
    rows = fitted(kernel="rbf", gamma=0.3, cache_size=0.01)
    matrix = fitted(kernel="rbf", gamma=0.3)
    assert np.allclose(rows.alpha_, matrix.alpha_, atol=1e-4)
    assert mm.certify(rows, X, Y).kkt <= 1e-6


@pytest.mark.parametrize("C", [1e-3, 1e3, 1e6])
def test_small_and_large_C_are_certified(C):
    model = fitted(kernel="rbf", gamma=1.0, C=C)
    found = mm.certify(model, X, Y)
    assert found.kkt <= 1e-6
    assert found.infeasibility == 0.0


def test_many_free_vectors_take_newton_steps():
    """A large C with the squared hinge: nearly all variables are within their bounds."""
    model = fitted(kernel="rbf", gamma=2.0, C=1e4, loss="squared_hinge")
    assert np.count_nonzero(model.alpha_) > 100
    assert mm.certify(model, X, Y).kkt <= 1e-6


def test_far_columns_are_not_centred():
    """Rows about their mean are another problem where the hyperplane goes through the origin."""
    far = X + 1000.0
    model = mm.SVC(kernel="linear", fit_intercept=False, C=1e-4, tol=1e-6).fit(far, Y)
    reference = mm.LinearSVC(loss="hinge", fit_intercept=False, C=1e-4, tol=1e-10).fit(far, Y)
    assert model.intercept_.tolist() == [0.0]
    assert np.allclose(model.decision_function(far), far @ model.coef_[0])
    assert np.isclose(model.certificate_.primal, reference.certificate_.primal, rtol=1e-6)


def test_multipliers_of_your_own_need_no_zero_sum():
    model = fitted()
    found = mm.certify(model, X, Y, alpha=np.where(np.arange(len(Y)) == 3, 1.0, 0.0))
    assert found.infeasibility == 0.0
    assert np.isfinite(found.gap)
    assert found.gap > 0
    assert mm.certify(model, X, Y, alpha=model.alpha_).kkt <= 1e-6


def test_conditions_and_steps_of_single_variables():
    model = fitted(solver="smo", trace=True, tol=1e-4)
    table = mm.kkt_table(model)
    assert table["violation"].max() <= 1e-4
    assert np.allclose(table["y_f"], Y * (X @ model.coef_[0]))
    assert np.array_equal(mm.replay(model.trace_)[0], model.alpha_)
    assert set(model.trace_["variables"].map(len)[1:]) == {1, 2}
    assert (model.trace_["intercept"] == 0.0).all()
    states = mm.steps(model, X, Y)
    assert states[-1].intercept == 0.0
    assert abs(states[-1].gap) < 1e-3
    assert np.diff(states.series()["dual"]).min() >= -1e-9


def test_a_certificate_sees_a_wrong_intercept():
    """The multipliers of the problem with an intercept are not optimal without one."""
    other = mm.SVC(kernel="linear", tol=1e-6).fit(X, Y)
    assert mm.certify(fitted(), X, Y, alpha=other.alpha_).kkt > 0.05


def test_tuning_takes_the_plain_path_and_says_why():
    folds = StratifiedKFold(3)
    model = mm.SVC(kernel="linear", fit_intercept=False)
    result = mm.tune(model, X, Y, {"C": [0.1, 1.0]}, cv=folds)
    assert "fit_intercept=False" in result.path
    expected = 1.0 - cross_val_score(model.set_params(C=0.1), X, Y, cv=folds).mean()
    assert np.isclose(result.table["error"][0], expected)
    assert result.best_estimator.intercept_.tolist() == [0.0]


def test_selectors_fit_through_the_origin_too():
    model, folds = mm.SVC(kernel="linear", fit_intercept=False), StratifiedKFold(3)
    search = SFS(model, size=1, cv=folds).fit(X, Y)
    rates = [cross_val_score(model, X[:, [j]], Y, cv=folds).mean() for j in range(4)]
    assert search.get_support(indices=True).tolist() == [int(np.argmax(rates))]
    removed = int(np.argmin(np.abs(model.fit(X, Y).coef_[0])))
    assert not RFE(model, 3).fit(X, Y).get_support()[removed]


def test_files_and_scikit_learn_keep_it(tmp_path):
    model = fitted()
    again = mm.load(mm.save(model, tmp_path / "model.mm"))
    assert again.fit_intercept is False
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert np.allclose(mm.to_sklearn(model).decision_function(X), X @ model.coef_[0])


def test_weights_and_warm_starts():
    weight = np.random.default_rng(1).integers(0, 3, size=len(Y))
    twice = np.repeat(np.arange(len(Y)), weight)
    weighted = mm.SVC(kernel="linear", fit_intercept=False, tol=1e-8).fit(X, Y, weight)
    repeated = mm.SVC(kernel="linear", fit_intercept=False, tol=1e-8).fit(X[twice], Y[twice])
    assert np.allclose(weighted.coef_, repeated.coef_, atol=1e-6)
    for loss in ("hinge", "squared_hinge"):
        model = fitted(warm_start=True, C=10.0, loss=loss)
        model.set_params(C=0.1).fit(X, Y)
        assert np.allclose(model.coef_, fitted(C=0.1, loss=loss).coef_, atol=1e-5)


def test_three_classes_and_probabilities():
    labels = np.digitize(X[:, 0] - X[:, 1], [-0.5, 0.5])
    model = mm.SVC(gamma=0.5, fit_intercept=False, probability=True).fit(X, labels)
    assert model.intercept_.tolist() == [0.0] * 3
    assert model.predict_proba(X).shape == (len(X), 3)


def test_slacks_with_a_budget():
    model = mm.slack_budget(mm.SVC(kernel="linear", fit_intercept=False), X, Y, 60.0)
    assert np.isclose(model.slack_.sum(), 60.0)
    assert model.intercept_.tolist() == [0.0]
    with pytest.raises(ValueError, match="use less than 120"):
        mm.slack_budget(mm.SVC(kernel="linear", fit_intercept=False), X, Y, 120.0)


def test_where_an_intercept_is_needed():
    with pytest.raises(ValueError, match="C=inf needs fit_intercept=True"):
        fitted(C=np.inf)
    with pytest.raises(ValueError, match="fit_intercept"):
        fitted(fit_intercept="no")
    for other in (mm.HardMarginSVC, mm.NuSVC, mm.SVR):
        with pytest.raises(TypeError, match="fit_intercept"):
            other(fit_intercept=False)
