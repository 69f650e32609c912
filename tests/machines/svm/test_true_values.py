"""Certificates and warnings are about the model that is returned: stopped fits, and a tiny nu."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm


def _objective(model: Any, X: Any, y: Any, bound: Any) -> float:
    """1/2 ||w||^2 plus the losses, from the decisions of the model at its training rows."""
    f = model.decision_function(X)
    coef = np.zeros(len(X))
    coef[model.support_] = model.dual_coef_[0]
    return float(0.5 * coef @ (f - model.intercept_[0]) + bound @ np.maximum(0.0, 1.0 - y * f))


@pytest.mark.parametrize("limit", [{"max_iter": 1}, {"max_iter": 5}, {"time_limit": 1e-9}, {}], ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_the_primal_value_is_that_of_the_model(limit, seed):
    """The intercept came from the sums of the solver, which drift: 2 % of the objective was missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 1)) * rng.normal(size=(1, 3))
    y = np.where(X[:, 0] + rng.normal(size=40) > 0, 1, -1)
    weight = 10.0 ** rng.uniform(-3, 3, 40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = mm.SVC(C=1e4, gamma=0.02, **limit).fit(X, y, sample_weight=weight)
    value = _objective(model, X, y, 1e4 * weight)
    assert model.certificate_.primal == pytest.approx(value, rel=1e-6)


def test_a_stopped_nu_svc_warns_although_its_violation_is_within_tol():
    """With a tiny nu the margin is tiny too, and tol alone says nothing about the labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter .* too coarse"):
        model = mm.NuSVC(nu=1e-4, gamma=1.0, max_iter=5).fit(X, y)
    assert model.certificate_.kkt <= model.tol


@pytest.mark.parametrize("nu", [1e-9, 1e-6, 1e-4, 1e-3])
def test_a_tiny_nu_leaves_next_to_nothing_outside(nu):
    """Decisions of 1e-5 beside a tolerance of 1e-3: 99 % of the rows were outside, as in LIBSVM."""
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = mm.OneClassSVM(nu=nu, gamma=0.5).fit(X)
    assert np.mean(model.predict(X) < 0) <= 0.1
    assert model.decision_function(X).min() >= -1e-3 * nu * len(X)  # of the sum of the multipliers
    options: Any = {"cv": 2, "refit": False, "scoring": "accuracy"}
    tuned = mm.tune(mm.OneClassSVM(gamma=0.5), X, np.ones(100, dtype=int), {"nu": [nu]}, **options)
    assert tuned.folds.mean() < 0.4
