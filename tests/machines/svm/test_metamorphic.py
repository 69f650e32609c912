"""What must not change the answer, or must change it in a known way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import maxmargin as mm
from maxmargin.kernels import RBF, Kernel, Linear
from tests.strategies import Problem, problems

KERNEL = RBF(gamma=0.5)
TIGHT = 1e-10
SHAPES = ("overlapping", "separable", "duplicated", "constant_columns")


def machines() -> dict[str, Any]:
    common: dict[str, Any] = {"kernel": KERNEL, "tol": TIGHT}
    return {
        "hinge": mm.SVC(C=0.7, **common),
        "squared_hinge": mm.SVC(C=0.7, loss="squared_hinge", **common),
        "nu_svc": mm.NuSVC(nu=0.6, **common),
        "svr": mm.SVR(C=0.7, **common),
        "squared_svr": mm.SVR(C=0.7, loss="squared_epsilon_insensitive", **common),
        "nu_svr": mm.NuSVR(nu=0.4, C=0.7, **common),
        "one_class": mm.OneClassSVM(nu=0.3, **common),
        "svdd": mm.SVDD(C=0.2, **common),
    }


REGRESSORS = ("svr", "squared_svr", "nu_svr")


def target_of(name: str, problem: Problem) -> Any:
    return problem.target if name in REGRESSORS else problem.y


def values(model: Any, X: Any) -> Any:
    """The function a machine stands for, up to what its tolerance leaves open."""
    return model.predict(X) if hasattr(model, "epsilon_") else model.decision_function(X)


def objective(model: Any) -> float:
    return float(model.certificate_.dual)


def balanced(n: int, seed: int) -> Problem:
    """A problem whose halves have equal size, so that nu = 0.3 is feasible whatever the weights 1 and 2."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, 3))
    y = np.repeat([-1.0, 1.0], n)
    X[:, 0] += 0.5 * y
    return Problem("balanced", X, y, X @ [1.0, -1.0, 0.5] + 0.2 * rng.normal(size=2 * n), np.ones(2 * n))


NAMES = list(machines())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_weight_two_is_the_row_twice(name: str, seed: int) -> None:
    problem = balanced(15, seed)
    X, y = problem.X, target_of(name, problem)
    twice = np.arange(len(X)) % 3 == 0
    weighted = machines()[name].fit(X, y, sample_weight=np.where(twice, 2.0, 1.0))
    repeated = machines()[name].fit(np.vstack([X, X[twice]]), np.concatenate([y, y[twice]]))
    np.testing.assert_allclose(values(weighted, X), values(repeated, X), atol=1e-7)
    assert objective(weighted) == pytest.approx(objective(repeated), rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_weight_zero_is_the_row_removed(name: str) -> None:
    problem = balanced(15, 4)
    X, y = problem.X, target_of(name, problem)
    keep = np.arange(len(X)) % 5 != 0
    weighted = machines()[name].fit(X, y, sample_weight=keep.astype(float))
    removed = machines()[name].fit(X[keep], y[keep])
    np.testing.assert_allclose(values(weighted, X), values(removed, X), atol=1e-9)
    assert weighted.alpha_.shape == (len(X),)
    assert not weighted.alpha_[~keep].any()
    assert set(weighted.support_) <= set(np.flatnonzero(keep))


@pytest.mark.parametrize("name", NAMES)
def test_order_of_rows(name: str) -> None:
    problem = balanced(15, 5)
    X, y = problem.X, target_of(name, problem)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_allclose(
        values(machines()[name].fit(X, y), X), values(machines()[name].fit(X[order], y[order]), X), atol=1e-7
    )


@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "nu_svc"])
def test_flipped_labels_flip_the_decision(name: str) -> None:
    problem = balanced(15, 6)
    model = machines()[name].fit(problem.X, problem.y)
    flipped = machines()[name].fit(problem.X, -problem.y)
    np.testing.assert_allclose(values(model, problem.X), -values(flipped, problem.X), atol=1e-7)


@pytest.mark.parametrize("name", REGRESSORS)
def test_shifted_and_mirrored_targets(name: str) -> None:
    problem = balanced(15, 6)
    model = machines()[name].fit(problem.X, problem.target)
    shifted = machines()[name].fit(problem.X, problem.target + 7.0)
    mirrored = machines()[name].fit(problem.X, -problem.target)
    np.testing.assert_allclose(values(shifted, problem.X), values(model, problem.X) + 7.0, atol=1e-6)
    np.testing.assert_allclose(values(mirrored, problem.X), -values(model, problem.X), atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kernel", [Linear(), RBF(gamma=0.5)], ids=repr)
@pytest.mark.parametrize("layout", [sp.csr_array, sp.csr_matrix, sp.csc_array])
def test_dense_is_sparse(name: str, kernel: Kernel, layout: Any) -> None:
    problem = balanced(15, 7)
    X = np.where(np.abs(problem.X) < 0.4, 0.0, problem.X)
    y = target_of(name, problem)
    dense = machines()[name].set_params(kernel=kernel, tol=1e-8).fit(X, y)
    sparse = machines()[name].set_params(kernel=kernel, tol=1e-8).fit(layout(X), y)
    assert sp.issparse(sparse.support_vectors_)
    np.testing.assert_allclose(values(dense, X), values(sparse, layout(X)), atol=1e-5)
    np.testing.assert_allclose(values(sparse, X), values(sparse, layout(X)), atol=1e-9)


@given(problem=problems(shapes=SHAPES, max_rows=25), factor=st.sampled_from([0.01, 100.0]))
def test_scaling_the_kernel_is_scaling_C(problem: Problem, factor: float) -> None:
    """K -> c K with C -> C / c leaves f and multiplies alpha and the objective by 1 / c."""
    plain = mm.SVC(C=1.0, kernel=KERNEL, tol=1e-9).fit(problem.X, problem.y)
    scaled = mm.SVC(C=1.0 / factor, kernel=factor * KERNEL, tol=1e-9).fit(problem.X, problem.y)
    assert objective(scaled) * factor == pytest.approx(objective(plain), rel=1e-7)
    np.testing.assert_allclose(
        scaled.decision_function(problem.X) - scaled.intercept_,
        plain.decision_function(problem.X) - plain.intercept_,
        atol=1e-5,
    )


@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_scaling_the_weights_is_scaling_C(factor: float) -> None:
    problem = balanced(20, 8)
    model = mm.SVC(C=factor, kernel=KERNEL, tol=1e-9).fit(problem.X, problem.y)
    weighted = mm.SVC(C=1.0, kernel=KERNEL, tol=1e-9)
    weighted.fit(problem.X, problem.y, sample_weight=np.full(len(problem.y), factor))
    np.testing.assert_array_equal(model.alpha_, weighted.alpha_)


@pytest.mark.parametrize("factor", [0.01, 100.0])
def test_scaling_the_columns_is_scaling_gamma(factor: float) -> None:
    problem = balanced(20, 9)
    model = mm.SVC(gamma=0.5, tol=1e-9).fit(problem.X, problem.y)
    scaled = mm.SVC(gamma=0.5 / factor**2, tol=1e-9).fit(factor * problem.X, problem.y)
    np.testing.assert_allclose(model.alpha_, scaled.alpha_, atol=1e-6)


@given(problem=problems(max_rows=30))
def test_a_larger_C_never_gives_more_slack(problem: Problem) -> None:
    """Along C the norm grows and the total slack falls: a property of every exact path."""
    slacks, norms = [], []
    for C in (0.1, 1.0, 10.0):
        model = mm.SVC(C=C, kernel=KERNEL, tol=1e-8).fit(problem.X, problem.y)
        slacks.append(model.slack_.sum())
        norms.append(model.machines_[0].norm)
    assert slacks[0] >= slacks[1] - 1e-5 >= slacks[2] - 2e-5
    assert norms[0] <= norms[1] + 1e-5 <= norms[2] + 2e-5


@pytest.mark.parametrize("name", ["nu_svc", "nu_svr", "one_class"])
@pytest.mark.parametrize("nu", [0.2, 0.5])
def test_nu_bounds_the_shares(name: str, nu: float) -> None:
    """At most a share nu beyond the margin, at least a share nu of support vectors."""
    problem = balanced(40, 10)
    model = machines()[name].set_params(nu=nu).fit(problem.X, target_of(name, problem))
    n = len(problem.X)
    if name == "nu_svr":
        beyond = (model.slack_ > 1e-6).sum()
    elif name == "nu_svc":
        beyond = (problem.y * model.decision_function(problem.X) < 1 - 1e-6).sum()
    else:
        beyond = (model.decision_function(problem.X) < -1e-7).sum()
    assert beyond <= nu * n
    assert len(model.support_) >= nu * n


def test_nu_svc_is_svc_with_the_C_it_finds() -> None:
    """With rho from nu, the C-machine at C = 1 / rho has the same decision function."""
    problem = balanced(30, 11)
    nu = mm.NuSVC(nu=0.4, kernel=KERNEL, tol=1e-10).fit(problem.X, problem.y)
    rho = nu.machines_[0].scale
    equal = mm.SVC(C=1 / rho, kernel=KERNEL, tol=1e-9).fit(problem.X, problem.y)
    np.testing.assert_allclose(nu.decision_function(problem.X), equal.decision_function(problem.X), atol=1e-5)


def test_nu_svr_is_svr_at_the_width_it_finds() -> None:
    problem = balanced(30, 12)
    nu = mm.NuSVR(nu=0.4, C=0.7, kernel=KERNEL, tol=1e-10).fit(problem.X, problem.target)
    equal = mm.SVR(C=0.7, epsilon=nu.epsilon_, kernel=KERNEL, tol=1e-9).fit(problem.X, problem.target)
    np.testing.assert_allclose(nu.predict(problem.X), equal.predict(problem.X), atol=1e-5)
