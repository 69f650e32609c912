"""Any C and any scale: small problems on which pairwise steps crawl are solved by an interior point."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin.problems.formulations import Classification, NuRegression, Regression
from maxmargin.problems.solution import Status
from maxmargin.solvers.dual.gram.gram_problem import GramProblem
from maxmargin.solvers.dual.gram.interior_point import interior_point

CANCER, LABELS = load_breast_cancer(return_X_y=True)
Z = StandardScaler().fit_transform(CANCER)


def low_rank() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 20))
    return X, np.sign(X[:, 0] + 0.5 * rng.normal(size=300))


@pytest.mark.parametrize(
    ("model", "data"),
    [
        pytest.param(mm.SVC(kernel="linear", C=1e6), low_rank(), id="low rank, C = 1e6"),
        pytest.param(mm.SVC(kernel="linear", C=1e8), low_rank(), id="low rank, C = 1e8"),
        pytest.param(mm.SVC(kernel="linear"), (1000 * Z, LABELS), id="columns times 1000"),
        pytest.param(mm.SVC(kernel="linear", C=1000.0, tol=1e-6), (Z, LABELS), id="C = 1000, tol = 1e-6"),
        pytest.param(mm.SVC(kernel="poly", C=1e4), (Z[:, :5], LABELS), id="polynomial, C = 1e4"),
        pytest.param(mm.SVR(C=1e6, gamma=1e-3), (Z[:200, :4], Z[:200, 4]), id="regression, C = 1e6"),
    ],
)
def test_small_problems_converge_in_few_steps(model: Any, data: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = model.fit(*data)
    assert fitted.certificate_.kkt <= model.tol
    assert np.sum(fitted.n_iter_) < 2_000_000


@pytest.mark.parametrize("C", [1.0, 1e4])
@pytest.mark.parametrize("form", ["classification", "regression", "nu"])
def test_an_interior_point_ends_near_the_solution(form: str, C: float) -> None:
    """Against the conditions of the problem alone: bounds, sums, and no pair that could improve."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4))
    K = np.exp(-0.2 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    target = X[:, 0] + 0.3 * rng.normal(size=60)
    forms = {
        "classification": Classification(C=C),
        "regression": Regression(C=C, epsilon=0.1),
        "nu": NuRegression(C=C, nu=0.5),
    }
    y = np.sign(target) if form == "classification" else target
    rows = np.arange(60)
    problem = forms[form].build(None, rows, y, np.ones(60))
    gram = GramProblem.of(problem, K, rows, np.array([[0, 60]]))
    start = problem.s * problem.start
    t = interior_point(K, gram.signed, gram.n_groups, start, 1e-6)
    assert t is not None
    assert ((gram.signed.lo <= t) & (t <= gram.signed.hi)).all()
    sums = np.bincount(gram.signed.group, weights=t, minlength=gram.n_groups)
    np.testing.assert_allclose(sums, problem.delta, atol=1e-9 * C * 60)
    assert gram.violation(t, gram.sums_of(t)) <= 1e-2 < gram.violation(start, gram.sums_of(start))


def test_what_float64_cannot_decide_is_said() -> None:
    """Kernel values of 1e13 leave about 1e-3 of rounding in every decision: no tolerance below is reached."""
    with pytest.warns(ConvergenceWarning, match="KKT violation"):
        fitted = mm.SVC(kernel="linear", tol=1e-5, time_limit=5).fit(1000 * CANCER[:, :10], LABELS)
    assert fitted.certificate_.kkt > 1e-5
    assert fitted.machines_[0].solution.status is not Status.CONVERGED
