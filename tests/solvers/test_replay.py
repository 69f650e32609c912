"""Traces of the online learners lead to what they learnt."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin as mm

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

LEARNERS: dict[str, Any] = {
    "perceptron": mm.Perceptron(max_iter=5, random_state=0),
    "averaged": mm.Perceptron(average=True, max_iter=5, multiclass="ovo", random_state=0),
    "pa1": mm.PassiveAggressive(random_state=0),
    "pa2": mm.PassiveAggressive(variant="pa2", average=True, random_state=0),
    "pegasos": mm.Pegasos(random_state=0),
    "plain_pegasos": mm.Pegasos(project=False, average=False, random_state=0),
    "stochastic": mm.SubgradientDescent(max_iter=5, random_state=0),
    "constant": mm.SubgradientDescent(step="constant", max_iter=5, random_state=0),
    "batch": mm.SubgradientDescent(mode="batch"),
}


def rows(n_classes: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(60, 3))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=60), np.linspace(-0.5, 0.5, n_classes - 1))
    return X, y, rng.integers(0, 3, 60).astype(float)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", LEARNERS)
def test_online_learners(name: str, n_classes: int) -> None:
    X, y, weight = rows(n_classes)
    model = LEARNERS[name].set_params(trace=True).fit(X, y, sample_weight=weight)
    thetas = np.array(mm.replay(model.trace_, X, average=model.average))
    scale = 100 * max(1.0, float(np.abs(model.coef_).max()))  # averages are kept as differences of sums
    np.testing.assert_allclose(thetas[:, :-1], model.coef_, rtol=0, atol=1e-8 * scale)
    np.testing.assert_allclose(thetas[:, -1], model.intercept_, rtol=0, atol=1e-8 * scale)
    if "row" in model.trace_:
        assert (weight[model.trace_["row"]] > 0).all()  # rows of weight zero do nothing
    untraced = LEARNERS[name].set_params(trace=False).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(untraced.coef_, model.coef_)


def test_sparse_rows_and_the_history_of_the_perceptron() -> None:
    X, y, _ = rows(2)
    model = mm.Perceptron(max_iter=3, shuffle=False, trace=True).fit(sp.csr_array(X), y)
    trace = model.trace_
    np.testing.assert_allclose(mm.replay(trace, sp.csr_array(X))[0][:-1], model.coef_[0], atol=1e-12)
    signs = np.where(y[trace["row"]] == 1, 1.0, -1.0)
    mistakes = signs * trace["score"] <= 0
    np.testing.assert_array_equal(trace["change"] != 0, mistakes)
    assert mistakes.sum() == model.n_mistakes_[0]
    np.testing.assert_array_equal(trace["row"].iloc[:60], np.arange(60))


@pytest.mark.parametrize("budget", [None, 10])
def test_kernel_perceptron(budget: int | None) -> None:
    X, y, weight = rows(3)
    model = mm.KernelPerceptron(max_iter=4, budget=budget, random_state=0, trace=True)
    model.fit(X, y, sample_weight=weight)
    coefficients = np.array(mm.replay(model.trace_))
    np.testing.assert_array_equal(coefficients[:, model.support_], model.dual_coef_)
    assert np.count_nonzero(coefficients) == np.count_nonzero(model.dual_coef_)


def test_partial_fit_goes_on_with_the_trace() -> None:
    X, y, _ = rows(2)
    model = mm.Pegasos(trace=True, shuffle=False)
    model.partial_fit(X[:30], y[:30], classes=[0, 1]).partial_fit(X[30:], y[30:])
    assert model.trace_["pass"].tolist() == [1] * 30 + [2] * 30
    assert model.trace_["step"].tolist() == list(range(1, 61))


def test_a_linear_trace_needs_its_rows() -> None:
    X, y, _ = rows(2)
    model = mm.Pegasos(trace=True).fit(X, y)
    with pytest.raises(ValueError, match=r"needs X, the training rows: replay\(trace, X\)"):
        mm.replay(model.trace_)
