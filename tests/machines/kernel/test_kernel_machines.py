"""Kernel ridge and the kernel perceptron."""

from __future__ import annotations

import doctest
import importlib

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge as Reference
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin as mm


def expected_failures(estimator):
    if isinstance(estimator, mm.KernelPerceptron):
        reason = "a row seen twice is two steps, a weight of two is one step of twice the length"
        names = (
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        )
        return dict.fromkeys(names, reason)
    return {}


# gamma="scale" would follow the rows that the weights stand for
MACHINES = [mm.KernelRidge(gamma=0.1), mm.KernelPerceptron()]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # toy data that is not separable
@parametrize_with_checks(MACHINES, expected_failed_checks=expected_failures)
def test_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", ["kernel_ridge", "kernel_perceptron"])
def test_docstring_examples(name):
    result = doctest.testmod(importlib.import_module(f"maxmargin.machines.kernel.{name}"))
    assert result.attempted > 0
    assert result.failed == 0


def _data(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n), rng.uniform(0.5, 2, size=n)


@pytest.mark.parametrize("alphas", [[0.3], [0.03, 0.3, 3.0]])
def test_ridge_and_brute_force_leave_one_out(alphas):
    X, y, weights = _data()
    model = mm.KernelRidge(alphas=alphas, gamma=0.4).fit(X, y, sample_weight=weights)
    for k, alpha in enumerate(alphas):
        other = Reference(alpha=alpha, kernel="rbf", gamma=0.4)
        left_out = []
        for i in range(len(y)):
            rest = np.arange(len(y)) != i
            other.fit(X[rest], y[rest], sample_weight=weights[rest])
            left_out.append(y[i] - other.predict(X[[i]])[0])
        np.testing.assert_allclose(model.path_.loo_residuals[:, k], left_out, rtol=1e-6, atol=1e-9)
        other.fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(model.path_.coef[k], other.dual_coef_, rtol=1e-6, atol=1e-9)
    assert model.alpha_ == alphas[int(np.argmin(model.path_.loo_mse))]
    np.testing.assert_allclose(
        model.predict(X), Reference(alpha=model.alpha_, kernel="rbf", gamma=0.4).fit(X, y, weights).predict(X)
    )


def test_ridge_takes_kernels_of_every_kind():
    X, y, _ = _data()
    by_name = mm.KernelRidge(kernel="rbf", gamma=0.4).fit(X, y)
    kernel = mm.kernels.RBF(gamma=0.4)
    by_object = mm.KernelRidge(kernel=kernel).fit(X, y)
    given = mm.KernelRidge(kernel="precomputed").fit(kernel(X), y)
    thin = mm.KernelRidge(kernel="rbf", gamma=0.4).fit(sparse.csr_matrix(X), y)
    for model in (by_object, given, thin):
        np.testing.assert_allclose(model.dual_coef_, by_name.dual_coef_, rtol=1e-7)


def _circle(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    radius = np.linalg.norm(X, axis=1)
    keep = np.abs(radius - 1.1) > 0.15
    return X[keep], np.where(radius[keep] > 1.1, "out", "in")


def _plain(K, y, passes):
    """[1, section 5.1] in a few lines: a counts the mistakes."""
    a = np.zeros(len(y))
    total = np.zeros(len(y))
    for _ in range(passes):
        for i in range(len(y)):
            if y[i] * np.sum(a * y * (K[i] + 1)) <= 0:
                a[i] += 1
            total += a
    return a * y, total * y / (passes * len(y))


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # two passes are meant
def test_perceptron_is_the_text(average):
    X, labels = _circle()
    y = np.where(labels == "out", 1.0, -1.0)
    model = mm.KernelPerceptron(gamma=0.5, shuffle=False, max_iter=2, average=average).fit(X, labels)
    K = mm.kernels.RBF(gamma=0.5)(X)
    expected = _plain(K, y, 2)[int(average)]
    np.testing.assert_allclose(model.decision_function(X), K @ expected + expected.sum(), atol=1e-8)


def test_perceptron_separates_a_circle():
    X, y = _circle()
    model = mm.KernelPerceptron(gamma=1.0, random_state=0).fit(X, y)
    assert model.converged_
    assert model.score(X, y) == 1.0
    assert model.history_["mistakes"].iloc[-1] == 0


def test_budget_bounds_the_support():
    X, y = _circle(300)
    with pytest.warns(ConvergenceWarning, match="gave up"):
        model = mm.KernelPerceptron(gamma=1.0, budget=10, max_iter=20, random_state=0).fit(X, y)
    assert len(model.support_) <= 10
    with pytest.raises(ValueError, match="exclude each other"):
        mm.KernelPerceptron(budget=5, average=True).fit(X, y)


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_perceptron_of_several_classes(multiclass):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2)) * 0.3 + np.repeat([[0, 0], [2, 0], [0, 2]], 30, axis=0)
    y = np.repeat([3, 1, 2], 30)
    model = mm.KernelPerceptron(gamma=1.0, multiclass=multiclass, random_state=0).fit(X, y)
    assert model.dual_coef_.shape[0] == 3
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize("average", [False, True])
def test_chunks_in_order_are_one_pass(average):
    """The same steps, whether the rows come at once or in chunks; support_ counts the rows of the stream."""
    X, y = _circle()
    whole = mm.KernelPerceptron(gamma=0.5, shuffle=False, max_iter=1, average=average).fit(X, y)
    parts = mm.KernelPerceptron(gamma=0.5, shuffle=False, average=average)
    for rows in np.array_split(np.arange(len(y)), 5):
        parts.partial_fit(X[rows], y[rows], classes=["in", "out"])
    np.testing.assert_array_equal(parts.support_, whole.support_)
    np.testing.assert_allclose(parts.dual_coef_, whole.dual_coef_)
    np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X), atol=1e-10)
    assert parts.history_["mistakes"].sum() == whole.history_["mistakes"].sum() == parts.n_mistakes_.sum()
    assert parts.n_iter_ == 5


def test_chunks_with_a_budget_hold_a_bounded_number_of_rows():
    X, y = _circle(600)
    model = mm.KernelPerceptron(gamma=1.0, budget=12, random_state=0)
    for start in range(0, len(y), 40):
        model.partial_fit(X[start : start + 40], y[start : start + 40], classes=["in", "out"])
        assert len(model.support_) <= 12
        assert model._past.rows.shape[0] == len(model._points) == len(model.support_)
    assert model.score(X, y) > 0.7


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_chunks_of_text_and_several_classes(multiclass):
    """Words that a later chunk brings are new symbols, and a chunk may lack a class."""
    texts = ["red fox", "red hen", "blue whale", "blue cod", "green frog", "green newt"]
    y = np.array([0, 0, 1, 1, 2, 2])
    kernel = mm.kernels.Spectrum(length=1, tokens="words")
    model = mm.KernelPerceptron(kernel=kernel, multiclass=multiclass, shuffle=False)
    for _ in range(4):
        for k in range(0, 6, 2):
            model.partial_fit(texts[k : k + 2], y[k : k + 2], classes=[0, 1, 2])
    assert model.predict(["red newt cod fox", "blue cod"]).tolist() == [0, 1]
    np.testing.assert_array_equal(model.predict(texts), y)


def test_scores_that_overflow_are_refused():
    X, y = np.array([[-1.0], [-2.0], [3.0]]), np.array([0, 0, 1])
    model = mm.KernelPerceptron("linear", max_iter=3)
    rows = X * 1e75
    assert np.isfinite(model.fit(rows, y, sample_weight=np.full(3, 1e50)).decision_function(rows)).all()
    with pytest.raises(ValueError, match=r"kernel values up to 9e\+150 with these weights"):
        model.fit(rows, y, sample_weight=np.full(3, 1e90))


def test_chunks_say_what_they_need():
    X, y = _circle()
    with pytest.raises(ValueError, match="needs classes="):
        mm.KernelPerceptron().partial_fit(X, y)
    with pytest.raises(ValueError, match="not in classes"):
        mm.KernelPerceptron().partial_fit(X, y, classes=["in", "elsewhere"])
    with pytest.raises(ValueError, match="precomputed"):
        mm.KernelPerceptron(kernel="precomputed").partial_fit(X @ X.T, y, classes=["in", "out"])
    with pytest.raises(ValueError, match="balanced"):
        mm.KernelPerceptron(class_weight="balanced").partial_fit(X, y, classes=["in", "out"])


def test_rows_without_weight_have_no_effect():
    rng = np.random.default_rng(0)
    K, y = mm.kernels.RBF(gamma=0.4)(rng.normal(size=(30, 3))), rng.normal(size=30)
    weights = np.where(np.arange(30) < 5, 0.0, rng.uniform(0.5, 2.0, size=30))
    model = mm.KernelRidge(alphas=[1e-11, 1e-3, 1.0], kernel="precomputed")
    path = model.fit(K, y, sample_weight=weights).path_
    others = model.fit(K[5:, 5:], y[5:], sample_weight=weights[5:]).path_
    np.testing.assert_array_equal(path.coef, np.hstack([np.zeros((3, 5)), others.coef]))
    expected = np.vstack([np.full((5, 3), np.nan), others.loo_residuals])
    np.testing.assert_array_equal(path.loo_residuals, expected)
    np.testing.assert_array_equal(path.loo_mse, others.loo_mse)


def test_a_penalty_lost_in_rounding_has_no_leave_one_out_error():
    """Equal rows make K singular: with 1e-20 the equations are not those of a ridge any more."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(10, 2)), 2, axis=0)
    model = mm.KernelRidge(alphas=[1e-20, 0.1, 1.0]).fit(X, rng.normal(size=20))
    assert np.isnan(model.path_.loo_mse[0])
    assert model.alpha_ > 1e-20
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_rows_that_change_after_the_fit_do_not_change_the_model(kernel) -> None:
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(30, 3)), rng.normal(size=(5, 3))
    model = mm.KernelRidge(kernel=kernel).fit(X, X[:, 0])
    before = model.predict(new)
    X += 1.0
    np.testing.assert_array_equal(model.predict(new), before)
