"""Every machine, on every kind of problem and both paths of the engine, has a certificate that holds."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

import maxmargin as mm
from maxmargin.kernels import RBF, Kernel, Linear, Polynomial
from maxmargin.solvers.dual import working_set
from tests.certificates import DenseDual, assert_certified, rebuilt
from tests.strategies import Problem, kernels, make_problem, prices, problems

TOL = 1e-3


@pytest.fixture(params=["gram", "rows"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The small-problem path and the row path of the engine."""
    if request.param == "rows":
        monkeypatch.setattr(working_set, "_SMALL", 0)
    return request.param


def engine(path: str, draw: Any) -> dict[str, Any]:
    """Settings of the engine that must not change the answer; a tiny cache holds no Gram matrix."""
    return {
        "shrinking": draw(st.booleans()),
        "cache_size": draw(st.sampled_from([None, 1e-6])) if path == "rows" else None,
        "n_jobs": draw(st.sampled_from([1, 2])),
    }


@given(data=st.data(), problem=problems(), kernel=kernels(), C=prices())
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_svc(path: str, loss: str, data: Any, problem: Problem, kernel: Kernel, C: float) -> None:
    C = C if loss == "hinge" else min(C, 1.0)  # see test_squared_losses_with_even_larger_C
    model = mm.SVC(C=C, kernel=kernel, loss=loss, tol=TOL, **engine(path, data.draw))
    model.fit(problem.X, problem.y, problem.weight)
    assert_certified(model, problem.X, problem.y, TOL, problem.weight)


@given(data=st.data(), problem=problems(), kernel=kernels(), C=prices(), epsilon=st.sampled_from([0.0, 0.1]))
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_svr(
    path: str, loss: str, data: Any, problem: Problem, kernel: Kernel, C: float, epsilon: float
) -> None:
    C = C / problem.weight.max() if loss == "epsilon_insensitive" else min(C, 1.0)
    model = mm.SVR(C=C, kernel=kernel, epsilon=epsilon, loss=loss, tol=TOL, **engine(path, data.draw))
    model.fit(problem.X, problem.target, problem.weight)
    assert_certified(model, problem.X, problem.target, TOL, problem.weight)


@pytest.mark.parametrize("shape", ["overlapping", "constant_columns"])
def test_squared_losses_with_huge_C(path: str, shape: str) -> None:
    """The ridge 1/(2C) is 5e-5 here: float32 kernel values would not be convex with it."""
    problem = make_problem(shape, 20, 3, seed=3, weights="equal")
    model = mm.SVC(C=1e4, kernel="linear", loss="squared_hinge", tol=TOL).fit(problem.X, problem.y)
    assert_certified(model, problem.X, problem.y, TOL)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("solver", ["working_set", "smo"])
def test_small_answers_inside_wide_bounds(path: str, solver: str, scale: float) -> None:
    """No multiplier comes near its bound: a bound of 1e12 must not blur them, whatever their size is."""
    x = np.linspace(0, 6, 40)[:, None]
    y = scale * np.sin(x).ravel()
    model = mm.SVR(C=1e12, gamma=10.0, epsilon=0.1 * scale, tol=TOL * scale, solver=solver)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(x, y)
    assert len(seen) == model.certificate_.is_wide  # a violation within tol costs up to 1e12 times as much
    assert_certified(model, x, y, TOL * scale)
    assert not model.machines_[0].bounded.any()


def test_squared_losses_with_even_larger_C(path: str) -> None:
    """The ridge 1/(2C) is 1e-7 of the kernel values."""
    problem = make_problem("constant_columns", 20, 3, seed=3, weights="imbalanced")
    model = mm.SVC(C=1e4, kernel="linear", loss="squared_hinge", tol=TOL)
    model.fit(problem.X, problem.y, problem.weight)
    assert_certified(model, problem.X, problem.y, TOL, problem.weight)


def test_regression_with_even_larger_C(path: str) -> None:
    """Bounds of 1e6 on a low rank: 5e7 pairwise steps."""
    problem = make_problem("constant_columns", 32, 5, seed=0, weights="imbalanced")
    model = mm.SVR(C=1e4, kernel="linear", tol=TOL).fit(problem.X, problem.target, problem.weight)
    assert_certified(model, problem.X, problem.target, TOL, problem.weight)


@pytest.mark.parametrize("shrinking", [True, False])
def test_a_stall_is_solved_whatever_the_cache(path: str, shrinking: bool) -> None:
    """Pairwise steps stall on a low rank; the cache was too small for the matrix, which has 29 rows."""
    problem = make_problem("separable", 29, 4, seed=1071, weights="equal")
    model = mm.SVR(C=1e4, epsilon=0.0, kernel="linear", tol=TOL, cache_size=1e-6, shrinking=shrinking)
    assert_certified(model.fit(problem.X, problem.target), problem.X, problem.target, TOL)


@given(data=st.data(), problem=problems(), kernel=kernels(), share=st.sampled_from([0.2, 0.7]))
def test_nu_svc(path: str, data: Any, problem: Problem, kernel: Kernel, share: float) -> None:
    model = mm.NuSVC(nu=share * problem.largest_nu, kernel=kernel, tol=TOL, **engine(path, data.draw))
    try:
        model.fit(problem.X, problem.y, problem.weight)
    except ValueError as error:
        if "leaves no margin" not in str(error):
            raise
        assume(False)
    assert_certified(model, problem.X, problem.y, TOL, problem.weight)


@given(data=st.data(), problem=problems(), kernel=kernels(), C=prices(), nu=st.sampled_from([0.1, 0.5, 1.0]))
def test_nu_svr(path: str, data: Any, problem: Problem, kernel: Kernel, C: float, nu: float) -> None:
    model = mm.NuSVR(nu=nu, C=C / problem.weight.max(), kernel=kernel, tol=TOL, **engine(path, data.draw))
    model.fit(problem.X, problem.target, problem.weight)
    assert_certified(model, problem.X, problem.target, TOL, problem.weight)


@given(data=st.data(), problem=problems(), kernel=kernels(), nu=st.sampled_from([0.01, 0.5, 1.0]))
def test_one_class(path: str, data: Any, problem: Problem, kernel: Kernel, nu: float) -> None:
    model = mm.OneClassSVM(nu=nu, kernel=kernel, tol=TOL, **engine(path, data.draw))
    model.fit(problem.X, None, problem.weight)
    assert_certified(model, problem.X, None, TOL, problem.weight)


@given(data=st.data(), problem=problems(), kernel=kernels(), factor=st.sampled_from([1.0, 3.0, 1e4]))
def test_svdd(path: str, data: Any, problem: Problem, kernel: Kernel, factor: float) -> None:
    C = factor * 1.0001 / problem.weight.sum()
    model = mm.SVDD(C=C, kernel=kernel, tol=TOL, **engine(path, data.draw))
    model.fit(problem.X, None, problem.weight)
    assert_certified(model, problem.X, None, TOL, problem.weight)


@given(
    data=st.data(),
    problem=problems(shapes=("separable",)),
    kernel=st.sampled_from([Linear(), RBF(gamma=0.5)]),
)
def test_hard_margin(path: str, data: Any, problem: Problem, kernel: Kernel) -> None:
    model = mm.HardMarginSVC(kernel=kernel, tol=TOL, **engine(path, data.draw)).fit(problem.X, problem.y)
    certificate = assert_certified(model, problem.X, problem.y, TOL)
    # the margins are 1 up to tol, so the scaled primal exceeds the dual by a few tol at most
    assert -1e-9 * certificate.dual <= certificate.gap <= 5 * TOL * certificate.dual


MACHINES: dict[str, Any] = {
    "hinge": mm.SVC(C=2.0),
    "squared_hinge": mm.SVC(C=2.0, loss="squared_hinge"),
    "hard_margin": mm.HardMarginSVC(),
    "nu_svc": mm.NuSVC(nu=0.84),  # with 0.8 the linear kernel has no margin
    "svr": mm.SVR(C=2.0, epsilon=0.05),
    "squared_svr": mm.SVR(C=2.0, epsilon=0.05, loss="squared_epsilon_insensitive"),
    "nu_svr": mm.NuSVR(nu=0.4, C=2.0),
    "one_class": mm.OneClassSVM(nu=0.2),
    "svdd": mm.SVDD(C=0.05),
}


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize(
    "kernel", [Linear(), RBF(gamma=0.5), Polynomial(gamma=0.5, coef0=1.0, degree=2)], ids=repr
)
def test_objective_is_that_of_an_interior_point_solver(path: str, name: str, kernel: Kernel) -> None:
    shape = "separable" if name == "hard_margin" else "overlapping"
    weights = "equal" if name in ("hard_margin", "nu_svc") else "spread"
    problem = make_problem(shape, 80, 3, seed=1, weights=weights)
    model = MACHINES[name].set_params(kernel=kernel, tol=1e-8)
    y: Any = {"nu_svr": problem.target, "svr": problem.target, "squared_svr": problem.target}.get(
        name, problem.y
    )
    y = None if name in ("one_class", "svdd") else y
    if name == "hard_margin":
        model.fit(problem.X, y)
        dual = rebuilt(model, problem.X, y)
    else:
        model.fit(problem.X, y, sample_weight=problem.weight)
        dual = rebuilt(model, problem.X, y, problem.weight)
    dense = DenseDual.of(dual)
    peer = dense.objective(dense.solve_with_clarabel())
    assert dense.objective(model.solution_.x) == pytest.approx(peer, rel=1e-6)
    assert model.certificate_.kkt <= 1e-8


def badly_scaled(n: int) -> tuple[Any, Any]:
    """Raw columns: a year with a far mean, an amount with a long tail, a share."""
    rng = np.random.default_rng(5)
    X = np.column_stack([2020 + rng.normal(size=n), np.exp(3 * rng.normal(size=n)), rng.random(n)])
    y = np.where(X[:, 0] - 2020 + 4 * (X[:, 2] - 0.5) + rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Polynomial(gamma=1e-6, coef0=1.0, degree=2)], ids=repr)
def test_float32_gives_way_to_float64_when_it_must(
    path: str, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """float32 rows alone cannot reach tol here: the engine has to notice and change."""
    seen: list[Any] = []
    enter = working_set.Engine._enter

    def spy(run: Any, dtype: Any) -> None:
        seen.append(np.dtype(dtype))
        enter(run, dtype)

    monkeypatch.setattr(working_set.Engine, "_enter", spy)
    X, y = badly_scaled(300)
    model = mm.SVC(C=1e4, kernel=kernel, tol=TOL, certify="full").fit(X, y)
    assert seen[0] == np.float32
    assert seen[-1] == np.float64
    assert model.certificate_.complete
    assert_certified(model, X, y, TOL)


@settings(max_examples=5)
@given(seed=st.integers(0, 1000))
def test_several_classes_certify_the_worst_machine(path: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 4, 60)
    for multiclass in ("ovo", "ovr"):
        model = mm.SVC(multiclass=multiclass).fit(X, y)
        certificate = mm.certify(model, X, y)
        assert certificate.kkt <= model.tol
        assert certificate.kkt == pytest.approx(max(m.certificate.kkt for m in model.machines_), abs=1e-12)


def test_certify_refuses_other_rows_and_other_classes() -> None:
    X, y = np.arange(8.0).reshape(-1, 1), np.repeat([0, 1], 4)
    model = mm.SVC().fit(X, y)
    with pytest.raises(ValueError, match="rows that the model was fitted on"):
        mm.certify(model, X[1:], y[1:])
    with pytest.raises(ValueError, match="fitted on the classes"):
        mm.certify(model, X, y + 1)
    other = Ridge().fit(X, y)
    with pytest.raises(TypeError, match=r"certify checks SVC, .*, not Ridge"):
        mm.certify(other, X, y)
