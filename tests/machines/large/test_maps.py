"""Low-rank and random feature maps: what they reproduce, and the error they report."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import maxmargin as mm
from maxmargin.kernels import RBF, Exponential, Laplacian, Linear, Polynomial, Subsequence

METHODS = ("pivoted_cholesky", "leverage", "kmeans", "uniform")


def rows(n: int = 300, p: int = 4, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(n, p))


@pytest.mark.parametrize("method", METHODS)
def test_the_reported_trace_is_that_of_the_residual(method: str) -> None:
    X, kernel = rows(), RBF(gamma=0.3)
    low = mm.LowRank(kernel, 25, method=method, random_state=0).fit(X)
    phi = low.transform(X)
    residual = kernel(X) - phi @ phi.T
    assert low.error_.complete
    assert low.error_.trace == pytest.approx(np.trace(residual), rel=1e-9)
    assert low.error_.relative_trace == pytest.approx(np.trace(residual) / 300, rel=1e-9)
    assert low.error_.rms == pytest.approx(np.sqrt(np.mean(residual**2)), rel=1e-9)
    assert np.linalg.eigvalsh(residual)[0] > -1e-10  # a projection: what is missing is a kernel


@pytest.mark.parametrize("method", METHODS)
def test_no_approximation_beats_the_eigenvectors_and_choosing_well_comes_near(method: str) -> None:
    X, kernel = rows(), RBF(gamma=0.05)
    spectrum = np.linalg.eigvalsh(kernel(X))[::-1]
    best = spectrum[40:].sum()
    trace = mm.LowRank(kernel, 40, method=method, random_state=0).fit(X).error_.trace
    assert best <= trace <= 10 * best


@pytest.mark.parametrize("method", ["pivoted_cholesky", "leverage"])
def test_landmarks_find_a_small_cluster_that_uniform_rows_miss(method: str) -> None:
    """Five far rows among 2000: their leverage is one, their share of uniform landmarks 1 in 400."""
    X = np.vstack([0.05 * rows(1995, 3), 100.0 + 20.0 * np.arange(5.0)[:, None] * np.ones(3)])
    kernel = RBF(gamma=0.5)

    def worst(how: str, seed: int) -> float:
        low = mm.LowRank(kernel, 20, method=how, random_state=seed).fit(X)
        phi = low.transform(X[-5:])
        return float(np.abs(1.0 - (phi**2).sum(axis=1)).max())

    assert max(worst(method, seed) for seed in range(3)) < 1e-8
    assert min(worst("uniform", seed) for seed in range(3)) > 0.99


@given(st.integers(0, 10**6), st.sampled_from(METHODS), st.integers(1, 30))
@settings(max_examples=15)
def test_all_landmarks_reproduce_the_kernel_and_few_stay_below_it(seed: int, method: str, m: int) -> None:
    X = np.random.default_rng(seed).integers(-2, 3, size=(30, 2)).astype(float)  # many rows repeat
    kernel = 1.0 * RBF(gamma=0.4) + Linear()
    low = mm.LowRank(kernel, m, method=method, random_state=seed).fit(X)
    phi = low.transform(X)
    assert phi.shape == (30, low.n_components_)
    assert low.n_components_ <= m
    assert np.all((phi**2).sum(axis=1) <= kernel.diag(X) + 1e-8)
    if m == 30 and method != "kmeans":
        np.testing.assert_allclose(phi @ phi.T, kernel(X), atol=1e-8)


def test_a_kernel_of_finite_rank_is_exact_with_as_many_landmarks() -> None:
    X = rows(100, 3)
    kernel = Polynomial(gamma=1.0, coef0=1.0, degree=2)  # 10 monomials
    low = mm.LowRank(kernel, 30, random_state=0).fit(X)
    assert low.n_components_ == 10
    assert low.error_.relative_trace < 1e-10
    np.testing.assert_allclose(low.transform(X) @ low.transform(X).T, kernel(X), rtol=1e-7, atol=1e-7)


def test_strings_have_low_rank_maps_too() -> None:
    texts = ["free prize now", "win a prize", "see you at home", "home by six", "a prize to win"] * 4
    kernel = Subsequence(length=3)
    for method in ("pivoted_cholesky", "leverage", "uniform"):
        low = mm.LowRank(kernel, 20, method=method, random_state=0).fit(texts)
        phi = low.transform(texts[:5])
        np.testing.assert_allclose(phi @ phi.T, kernel(texts[:5]), atol=1e-8)
    with pytest.raises(ValueError, match="method='kmeans' needs rows of numbers"):
        mm.LowRank(kernel, 3, method="kmeans").fit(texts)


def test_dataframes_names_sparse_rows_and_float32() -> None:
    X = rows(200, 3)
    frame = pd.DataFrame(X, columns=["age", "dose", "weight"])
    kernel = RBF(gamma=0.2, features=["age", "dose"])
    for method in METHODS:
        low = mm.LowRank(kernel, 8, method=method, random_state=0).fit(frame)
        assert low.get_feature_names_out()[0] == "lowrank0"
        out = low.set_output(transform="pandas").transform(frame)
        assert list(out.columns) == list(low.get_feature_names_out())
    dense = mm.LowRank("rbf", 20, gamma=0.2, random_state=0).fit(X)
    sparse = mm.LowRank("rbf", 20, gamma=0.2, random_state=0).fit(sp.csr_array(X))
    np.testing.assert_allclose(dense.transform(X), sparse.transform(sp.csr_array(X)), atol=1e-8)
    narrow = mm.LowRank("rbf", 20, gamma=0.2, random_state=0).fit(X.astype(np.float32))
    phi = narrow.transform(X.astype(np.float32))
    assert phi.dtype == np.float32
    np.testing.assert_allclose(phi @ phi.T, dense.transform(X) @ dense.transform(X).T, atol=2e-3)


def test_landmarks_are_rows_and_a_sample_is_said_to_be_one() -> None:
    X = rows(500, 2)
    low = mm.LowRank(RBF(gamma=1.0), 10, sample=100, random_state=0).fit(X)
    assert not low.error_.complete
    assert low.error_.n_rows == 100
    phi = low.transform(X[low.landmark_indices_])  # a landmark lies in its own span
    np.testing.assert_allclose((phi**2).sum(axis=1), 1.0, atol=1e-9)
    low.fit_transform(X)
    assert low.error_.complete
    assert low.error_.trace == pytest.approx(np.sum(1 - (low.transform(X) ** 2).sum(axis=1)), rel=1e-9)
    assert mm.LowRank(RBF(gamma=1.0), 10, method="kmeans").fit(X).landmark_indices_ is None


def test_threads_and_pickles_change_nothing() -> None:
    X = rows(3000, 3)
    low = mm.LowRank("rbf", 60, random_state=0).fit(X)
    again = pickle.loads(pickle.dumps(low.map_))
    np.testing.assert_array_equal(again.of_points(again.points(X)), low.map_.of_points(low.map_.points(X)))
    low.n_jobs = 1
    one = low.transform(X)
    low.n_jobs = 2
    np.testing.assert_allclose(one, low.transform(X), atol=1e-9)


KERNELS = [
    RBF(gamma=0.3, variance=2.0),
    Laplacian(gamma=0.2),
    Exponential(gamma=0.3),
    RBF(gamma=0.1) * Laplacian(gamma=0.1, features=[0, 1]),
    2.0 * RBF(gamma=0.3) + Laplacian(gamma=0.2) + 0.5,
    (RBF(gamma=0.1) + 1.0) ** 2,
    (3.0 * RBF(gamma=0.1) + Exponential(gamma=0.1)).normalized(),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_random_features_have_the_kernel_as_their_mean(kernel: Any) -> None:
    """With m pairs a value has a standard deviation below K(x, x) / sqrt(m): six of them are never left."""
    X = rows(40, 3)
    fourier = mm.RandomFourier(kernel, 40_000, random_state=0).fit(X)
    phi = fourier.transform(X)
    top = kernel.diag(X)[0]
    assert np.abs(phi @ phi.T - kernel(X)).max() < 6 * top / np.sqrt(40_000 / 2 / 4)
    np.testing.assert_allclose((phi**2).sum(axis=1), kernel.diag(X), rtol=1e-9)
    residual = phi @ phi.T - kernel(X)
    assert fourier.error_.rms == pytest.approx(np.sqrt(np.mean(residual**2)), rel=1e-6)


def test_the_error_of_random_features_falls_like_the_root() -> None:
    X, kernel = rows(200, 3), RBF(gamma=0.3)
    errors = [
        np.mean([mm.RandomFourier(kernel, m, random_state=s).fit(X).error_.rms for s in range(5)])
        for m in (200, 3200)
    ]
    assert 3.0 < errors[0] / errors[1] < 5.3  # sqrt(16) = 4


def test_errors_whose_squares_overflow() -> None:
    X = rows(30, 4)
    few = mm.LowRank("linear", 2, random_state=0)
    assert few.fit(X * 1e100).error_.rms == pytest.approx(1e200 * few.fit(X).error_.rms)


def test_refusals_say_what_and_why() -> None:
    X = rows(20, 2)
    with pytest.raises(ValueError, match=r"features of Linear.* are too large for float32"):
        mm.LowRank("linear", 3).fit_transform(np.full((5, 2), 3e38, np.float32))
    with pytest.raises(ValueError, match="has no random Fourier features"):
        mm.RandomFourier(Linear()).fit(X)
    with pytest.raises(ValueError, match="needs 4 at least"):
        mm.RandomFourier(RBF(gamma=1.0) + Laplacian(gamma=1.0), 2).fit(X)
    with pytest.raises(ValueError, match="method='greedy' is unknown"):
        mm.LowRank("rbf", 3, method="greedy").fit(X)
    with pytest.raises(ValueError, match="n_components=0 must be a whole number"):
        mm.LowRank("rbf", 0).fit(X)
    with pytest.raises(ValueError, match="is zero on all landmarks"):
        mm.LowRank("linear", 3).fit(np.zeros((5, 2)))
    with pytest.raises(ValueError, match="already needs the whole matrix"):
        mm.LowRank("precomputed", 3).fit(X @ X.T)
