"""Newton steps on the free variables: the linear algebra, one step, and whole solves that use them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold

import maxmargin as mm
from maxmargin._compute.cholesky import Cholesky
from maxmargin.tuning import chain
from maxmargin.tuning.chain import GramView, Signed, first_start
from maxmargin.tuning.free_system import FreeSystem, factorise, free_variables


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-3), (np.float64, 1e-10)])
def test_cholesky_solves(dtype, rtol) -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(60, 60))
    B = A @ A.T + 10 * np.eye(60)
    R = rng.normal(size=(60, 3))
    factor = Cholesky(B.astype(dtype))
    assert factor.definite
    assert factor.solve(R).dtype == dtype
    assert_allclose(factor.solve(R), np.linalg.solve(B, R), rtol=rtol, atol=rtol * 0.1)


def test_an_indefinite_matrix_is_said_to_be() -> None:
    assert not Cholesky(np.diag([1.0, -1.0, 2.0])).definite


def _regression(C: float, epsilon: float, machine: type = mm.SVR) -> tuple[np.ndarray, np.ndarray, Signed]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.2 * rng.normal(size=300)
    K = np.exp(-3.0 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    rows = np.arange(300)
    model = machine(C=C, epsilon=epsilon) if machine is mm.SVR else machine(C=C, nu=epsilon)
    problem = model._formulation().build(None, rows, y, np.ones(300))
    return K, y, Signed(problem, GramView(K, rows, np.array([[0, 300]])))


def _objective(signed: Signed, t: np.ndarray, v: np.ndarray) -> float:
    return float(0.5 * (signed.tau * t) @ v[signed.point] + 0.5 * signed.d @ (t * t) + signed.c @ t)


def test_destination_is_the_minimiser_within_the_box() -> None:
    rng = np.random.default_rng(2)
    m = 120
    A = rng.normal(size=(m, m))
    K = A @ A.T / m + 0.05 * np.eye(m)
    g = rng.normal(size=m)
    now = rng.uniform(-0.3, 0.3, size=m)
    lo, hi = np.full(m, -0.5), np.full(m, 0.5)
    factor = factorise(K, np.arange(m), np.ones(m), np.zeros(m))
    assert factor is not None
    new = FreeSystem(now, lo, hi, g, np.zeros(m, dtype=int), factor).destination()
    assert new is not None
    gradient = g + K @ (new - now)
    at_lower, at_upper = new == lo, new == hi
    inside = ~at_lower & ~at_upper
    for side in (at_lower, at_upper, inside):
        assert side.any()
    level = gradient[inside].mean()
    assert_allclose(gradient[inside], level, atol=1e-8)
    assert (gradient[at_lower] >= level - 1e-8).all()
    assert (gradient[at_upper] <= level + 1e-8).all()
    assert new.sum() == pytest.approx(now.sum(), abs=1e-12)


def test_a_step_keeps_the_constraints_and_lowers_the_objective() -> None:
    _, _, signed = _regression(C=20.0, epsilon=0.05)
    t, v = first_start(signed)
    signed.solve(t, v, 0.3, -1)
    before = _objective(signed, t, v)
    assert signed._newton_step(t, v, 1e-3)
    assert _objective(signed, t, v) < before
    assert ((t >= signed.lo) & (t <= signed.hi)).all()
    assert t.sum() == pytest.approx(0.0, abs=1e-9)
    assert_allclose(v, signed.sums_of(t), atol=1e-9)


def test_at_most_one_variable_of_a_row_is_taken() -> None:
    t = np.array([0.5, 0.0, -0.1, 0.0])
    chosen = free_variables(
        t,
        np.array([0.0, 0.0, -1.0, -1.0]),
        np.array([1.0, 1.0, 0.0, 0.0]),
        np.array([0.0, -1.0, 0.0, 1.0]),
        np.zeros(4, dtype=int),
        np.array([0, 1, 0, 1]),
        1e-3,
    )
    assert chosen.tolist() == [0, 1]


@pytest.mark.parametrize(("machine", "C", "width"), [(mm.SVR, 50.0, 0.02), (mm.NuSVR, 5.0, 0.5)])
def test_solves_with_and_without_newton_steps_agree(machine, C, width, monkeypatch) -> None:
    _, _, signed = _regression(C, width, machine)
    plain, steps = signed.solve(*first_start(signed), 1e-7, -1)
    monkeypatch.setattr(chain, "_PATIENCE", 0)
    monkeypatch.setattr(chain, "_PATIENCE_AFTER", 0)
    monkeypatch.setattr(chain, "_STEPS_AT_ONCE", 300)
    helped, fewer = signed.solve(*first_start(signed), 1e-7, -1)
    assert fewer < steps
    assert_allclose(helped.v, plain.v, atol=2e-6)
    a = np.abs(helped.t)
    gradient = signed.problem.signed_gradient(a, helped.v[signed.point])
    assert signed.problem.violation(gradient, a) <= 1e-7


def test_tuning_with_newton_steps_gives_the_errors_of_separate_fits(monkeypatch) -> None:
    monkeypatch.setattr(chain, "_PATIENCE", 0)
    monkeypatch.setattr(chain, "_STEPS_AT_ONCE", 200)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(250, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=250)
    grid = {"C": [1.0, 100.0], "epsilon": [0.01, 0.1]}
    result = mm.tune(mm.SVR(gamma=0.5, tol=1e-6), X, y, grid, cv=KFold(3), refit=False)
    folds = list(KFold(3).split(X))
    for row, params in zip(result.folds, result.table[["C", "epsilon"]].to_dict("records"), strict=True):
        for error, (train, test) in zip(row, folds, strict=True):
            model = mm.SVR(gamma=0.5, tol=1e-6, **params).fit(X[train], y[train])
            assert error == pytest.approx(np.mean((model.predict(X[test]) - y[test]) ** 2), abs=1e-5)
