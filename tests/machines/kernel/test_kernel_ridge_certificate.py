"""KernelRidge certifies its solution, for one alpha and for paths, and holds two kernel matrices."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm
from maxmargin.problems.kernel_system import KernelRidgeProblem


def rows(n: int = 40, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=n), rng.uniform(0.5, 2, size=n)


@pytest.mark.parametrize("alphas", [[0.3], [1e-8, 0.3, 1e4]])
@pytest.mark.parametrize("weighted", ["none", "positive", "some zero"])
def test_every_fit_has_a_small_residual(alphas: Any, weighted: str) -> None:
    X, y, s = rows()
    if weighted == "some zero":
        s[::5] = 0.0
    weight = None if weighted == "none" else s
    model = mm.KernelRidge(alphas=alphas, gamma=0.4).fit(X, y, weight)
    s = np.ones(len(y)) if weight is None else s
    used = s > 0
    K = mm.kernels.RBF(gamma=0.4)(X)
    for k, (alpha, found) in enumerate(zip(alphas, model.certificates_, strict=True)):
        a = model.path_.coef[k]
        r = y[used] - (K @ a)[used] - alpha / s[used] * a[used]
        assert found.kkt == pytest.approx(np.abs(r).max(), rel=0.5, abs=1e-13)
        assert found.backward_error < 1e-11
        assert 0 <= found.gap <= 1e-10 * found.primal
        assert found.primal == pytest.approx(s @ (y - K @ a) ** 2 + alpha * a @ K @ a, rel=1e-9)
        assert found.n_checked == used.sum()
    assert model.certificate_ is model.certificates_[alphas.index(model.alpha_)]


@given(st.integers(0, 1000), st.sampled_from([1e-6, 1e-2, 1.0, 1e3]), st.sampled_from([1e-6, 1e-2, 1.0]))
def test_the_gap_bounds_the_distance_from_the_optimum(seed: int, alpha: float, size: float) -> None:
    """At any coefficients, and the bound with one more product is the better one."""
    X, y, s = rows(15, seed)
    kernel = mm.kernels.RBF(gamma=0.4)
    K = kernel(X)
    best = np.linalg.solve(K + np.diag(alpha / s), y)
    a = best + size * np.random.default_rng(seed).normal(size=15)

    def value(a: Any) -> float:
        return float(s @ (y - K @ a) ** 2 + alpha * a @ K @ a)

    problem = KernelRidgeProblem(kernel=kernel, points=kernel.prepare(X), y=y, weights=s, alpha=alpha)
    plain, tight = problem.certify(a), problem.certify(a, tight=True)
    rounding = 1e-9 * value(a)
    assert value(a) - value(best) <= tight.gap + rounding
    assert tight.gap <= plain.gap + rounding
    assert tight.primal == pytest.approx(value(a), rel=1e-9)
    stored = KernelRidgeProblem(
        kernel=kernel, points=kernel.prepare(X), y=y, weights=s, alpha=alpha, matrix=K
    ).certify(a, tight=True)
    assert stored.gap == pytest.approx(tight.gap, rel=1e-6, abs=rounding)


def test_rows_that_contradict_each_other_are_solved_although_the_residual_stays() -> None:
    """With alpha below rounding the coefficients of equal rows cannot be told apart, but f can."""
    X = np.repeat([[0.0], [1.0], [2.0]], 2, axis=0)
    y = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    model = mm.KernelRidge(1e-18, gamma=1.0).fit(X, y)
    assert model.certificate_.kkt == pytest.approx(0.5)
    assert model.certificate_.relative_gap < 1e-6
    np.testing.assert_allclose(model.predict([[0.0], [1.0], [2.0]]), [0.5, 2.5, 4.5])


def test_a_matrix_that_is_not_a_kernel_is_reported() -> None:
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    K = Q @ np.diag(np.linspace(-1.0, 3.0, 12)) @ Q.T
    with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
        model = mm.KernelRidge(0.1, kernel="precomputed").fit(0.5 * (K + K.T), rng.normal(size=12))
    assert not model.certificate_.convex
    assert np.isnan(model.certificate_.gap)
    assert model.certificate_.backward_error > 1e-3


@pytest.mark.parametrize("alphas", [[1.0], [0.1, 1.0, 10.0]])
@pytest.mark.parametrize("weighted", ["none", "positive", "some zero"])
def test_a_fit_holds_two_kernel_matrices(alphas: Any, weighted: str) -> None:
    n = 1500
    X, y, s = rows(n)
    s[::5] *= weighted != "some zero"
    weight = None if weighted == "none" else s
    model = mm.KernelRidge(alphas=alphas, gamma=0.4).fit(X, y, weight)
    tracemalloc.start()
    try:
        model.fit(X, y, weight)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2.4 * 8 * n * n  # the rest are blocks of at most 96 columns


@pytest.mark.parametrize(("scale", "size", "alpha"), [(1.0, 1e170, 1.0), (1e-150, 1e150, 1e-200)])
def test_predictions_that_would_overflow_are_refused(scale: float, size: float, alpha: float) -> None:
    X, y, _ = rows()
    with pytest.raises(ValueError, match="too large for floating-point numbers"):
        mm.KernelRidge(alpha, kernel="linear").fit(scale * X, size * y)


@pytest.mark.parametrize("size", [1e-60, 1e99])
def test_float32_rows_with_targets_beyond_float32(size: float) -> None:
    """The kernel values are float32 numbers, the coefficients are not."""
    X, y, _ = rows()
    X = X.astype(np.float32)
    plain, far = mm.KernelRidge().fit(X, y), mm.KernelRidge().fit(X, size * y)
    np.testing.assert_allclose(far.predict(X), size * plain.predict(X), rtol=1e-4, atol=1e-5 * size)
