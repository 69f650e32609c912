"""Every kernel on vectors against its formula, in every layout and precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise

from maxmargin.base.typing import AnyArray
from maxmargin.kernels import (
    RBF,
    Constant,
    Exponential,
    Kernel,
    Laplacian,
    Linear,
    Periodic,
    Polynomial,
    QuadraticForm,
    Rank1,
    Sigmoid,
)

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(40, 4)), RNG.normal(size=(300, 4))
HALF = RNG.normal(size=(4, 2))
B = HALF @ HALF.T


def first_column(rows: Any) -> Any:
    return np.asarray(rows[:, [0]].todense()).ravel() if sp.issparse(rows) else rows[:, 0]


def sigmoid(**params: Any) -> Kernel:
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        return Sigmoid(**params)


def periodic_product(A: AnyArray, C: AnyArray) -> AnyArray:
    angles = np.pi * (A[:, None, :] - C[None]) / 2.0
    return 3.0 * np.exp(-2 * np.sin(angles) ** 2 / 0.7**2).prod(axis=2)


FORMULAS: list[tuple[Kernel, Callable[[AnyArray, AnyArray], AnyArray]]] = [
    (Constant(2.5), lambda A, C: np.full((len(A), len(C)), 2.5)),
    (Linear(), lambda A, C: A @ C.T),
    (Polynomial(gamma=0.3, coef0=0.7, degree=5), lambda A, C: (0.7 + 0.3 * A @ C.T) ** 5),
    (Polynomial(gamma=0.3, degree=1), lambda A, C: 0.3 * A @ C.T),
    (RBF(gamma=0.4, variance=2.0), lambda A, C: 2 * np.exp(-0.4 * cdist(A, C, "sqeuclidean"))),
    (RBF(length_scale=0.8), lambda A, C: np.exp(-cdist(A, C, "sqeuclidean") / (2 * 0.8**2))),
    (RBF(gamma=1e4), lambda A, C: np.exp(-1e4 * cdist(A, C, "sqeuclidean"))),
    (Laplacian(gamma=0.4), lambda A, C: np.exp(-0.4 * cdist(A, C, "cityblock"))),
    (Exponential(gamma=0.4), lambda A, C: np.exp(-0.4 * cdist(A, C))),
    (Periodic(period=2.0, length_scale=0.7, variance=3.0), periodic_product),
    (QuadraticForm(B), lambda A, C: A @ B @ C.T),
    (Rank1(first_column), lambda A, C: np.outer(A[:, 0], C[:, 0])),
    (sigmoid(gamma=0.2, coef0=-1.0), lambda A, C: np.tanh(0.2 * A @ C.T - 1.0)),
]
IDS = [type(kernel).__name__ for kernel, _ in FORMULAS]


@pytest.mark.parametrize(("kernel", "formula"), FORMULAS, ids=IDS)
def test_values(kernel: Kernel, formula: Callable[[AnyArray, AnyArray], AnyArray]) -> None:
    np.testing.assert_allclose(kernel(X, Z), formula(X, Z), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(kernel(X), formula(X, X), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(kernel.diag(Z), np.diag(formula(Z, Z)), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("kernel", "formula"), FORMULAS, ids=IDS)
def test_sparse_rows_give_the_values_of_dense_rows(
    kernel: Kernel, formula: Callable[[AnyArray, AnyArray], AnyArray]
) -> None:
    holes = np.where(np.abs(X) < 0.5, 0.0, X)
    expected = formula(holes, Z)
    for left in (sp.csr_array(holes), sp.csr_matrix(holes), sp.csc_array(holes), sp.coo_array(holes)):
        for right in (Z, sp.csr_array(Z)):
            np.testing.assert_allclose(kernel(left, right), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("kernel", "formula"), FORMULAS, ids=IDS)
def test_float32_is_kept(kernel: Kernel, formula: Callable[[AnyArray, AnyArray], AnyArray]) -> None:
    values = kernel(X.astype(np.float32), Z.astype(np.float32))
    assert values.dtype == np.float32
    exact = formula(X.astype(np.float32).astype(float), Z.astype(np.float32).astype(float))
    np.testing.assert_allclose(values, exact, rtol=2e-4, atol=2e-5 * np.abs(exact).max() + 1e-30)
    assert kernel.diag(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("kernel", [kernel for kernel, _ in FORMULAS], ids=IDS)
def test_threads_and_tiles_change_nothing(kernel: Kernel) -> None:
    many = np.random.default_rng(1).normal(size=(700, 4))
    np.testing.assert_array_equal(kernel(many, n_jobs=1), kernel(many, n_jobs=2))
    np.testing.assert_allclose(kernel(many)[:5], kernel(many[:5], many), rtol=1e-9, atol=1e-10)


def test_far_columns_keep_their_digits_in_float32() -> None:
    """A column with mean 2020 and deviation 1: without centring, float32 kernel values are off by 0.09."""
    years = (2020 + np.random.default_rng(1).normal(size=(200, 1))).astype(np.float32)
    exact = np.exp(-cdist(years.astype(float), years.astype(float), "sqeuclidean"))
    assert np.abs(RBF(gamma=1.0)(years) - exact).max() < 1e-4


@pytest.mark.parametrize("kernel", [RBF(), Polynomial(), Laplacian(), Exponential()], ids=repr)
@pytest.mark.parametrize("gamma", ["scale", "auto"])
def test_gamma_by_word(kernel: Any, gamma: str) -> None:
    number = 1 / (4 * X.var()) if gamma == "scale" else 1 / 4
    np.testing.assert_allclose(
        kernel.with_params(gamma=gamma)(X, Z), kernel.with_params(gamma=number)(X, Z), rtol=1e-12
    )
    np.testing.assert_allclose(
        kernel.with_params(gamma=gamma)(sp.csr_array(X), Z), kernel.with_params(gamma=number)(X, Z), rtol=1e-9
    )


def test_scikit_learn_agrees() -> None:
    np.testing.assert_allclose(Laplacian(gamma=0.3)(X, Z), pairwise.laplacian_kernel(X, Z, 0.3), rtol=1e-12)
    np.testing.assert_allclose(RBF(gamma=0.3)(X, Z), pairwise.rbf_kernel(X, Z, 0.3), rtol=1e-11)


def test_periodic_by_distance_warns_on_several_columns() -> None:
    kernel = Periodic(period=2.0, length_scale=0.7, form="distance")
    one = X[:, :1]
    np.testing.assert_allclose(kernel(one), Periodic(period=2.0, length_scale=0.7)(one), rtol=1e-9)
    with pytest.warns(UserWarning, match="form='product'"):
        values = kernel(X, Z)
    expected = np.exp(-2 * np.sin(np.pi * cdist(X, Z) / 2) ** 2 / 0.7**2)
    np.testing.assert_allclose(values, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Constant(-1.0), "must be > 0"),
        (lambda: RBF(gamma=0.0), "gamma=0.0"),
        (lambda: RBF(gamma=-2.0), "gamma=-2.0"),
        (lambda: RBF(gamma=float("nan")), "finite"),
        (lambda: RBF(gamma="big"), "'scale' or 'auto'"),  # type: ignore[arg-type]  # a wrong value is what is tested
        (lambda: RBF(gamma=1.0, length_scale=1.0), "not both"),
        (lambda: RBF(variance=-1.0), "variance"),
        (lambda: Polynomial(degree=0), "degree=0"),
        (lambda: Polynomial(degree=2.5), "whole number"),  # type: ignore[arg-type]  # a wrong value is what is tested
        (lambda: Polynomial(coef0=float("inf")), "coef0"),
        (lambda: Periodic(period=0.0), "period"),
        (lambda: Periodic(form="round"), "form"),  # type: ignore[arg-type]  # a wrong value is what is tested
        (lambda: QuadraticForm(np.diag([1.0, -1.0])), "smallest eigenvalue is -1"),
        (lambda: QuadraticForm(np.array([[1.0, 2.0], [0.0, 1.0]])), "symmetric"),
        (lambda: QuadraticForm(np.ones((2, 3))), "square"),
        (lambda: QuadraticForm(B)(X[:, :2]), "B has 4 rows, but X has 2 columns"),
        (lambda: Rank1(lambda rows: rows)(X), "one number per row"),
        (lambda: Rank1(lambda rows: rows[:, 0] / 0)(X * 0), "NaN or infinity"),
        (lambda: RBF()(np.array([[1.0, np.nan]])), "NaN"),
        (lambda: RBF()(np.array([[1.0, np.inf]])), "infinity"),
        (lambda: RBF()(np.empty((0, 2))), "0 sample"),
        (lambda: RBF()(np.array([[1e-158], [2e-158]])), "variance of X, 2.5e-317, is too small for gamma"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_cannot_be_a_kernel_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_negative_coef0_warns() -> None:
    with pytest.warns(UserWarning, match="coef0=-1.0 < 0"):
        kernel = Polynomial(gamma=1.0, coef0=-1.0)
    assert kernel.psd is False


def test_rows_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match="rows of 4 and of 2 columns"):
        RBF(gamma=1.0)(X, Z[:, :2])


def test_equal_rows_are_found_and_near_ones_are_not() -> None:
    rows = np.concatenate([X, X[[7, 3]], -X[[3]], X[[7]], np.nextafter(X[[5]], 9.0)])
    points = RBF(gamma=1.0).prepare(rows)
    expected = np.arange(len(rows))
    expected[[40, 41, 43]] = [7, 3, 7]
    np.testing.assert_array_equal(points.first_equals(), expected)
    sparse = RBF(gamma=1.0).prepare(sp.csr_array(rows))
    np.testing.assert_array_equal(sparse.first_equals(), np.arange(len(rows)))


def test_float64_values_have_the_rounding_of_their_exponent() -> None:
    """Relative error: 4e-16 of the power of two, and |x| times 2^-53 for each of four operations."""
    distances = np.linspace(0.0, 26.0, 4001)[:, None]
    K = RBF(gamma=1.0)(np.zeros((1, 1)), distances)[0]
    x = distances[:, 0] ** 2
    assert K[0] == 1.0
    assert (np.abs(K / np.exp(-x) - 1.0) <= 4e-16 + 4.0 * x * 2.0**-53).all()


@pytest.mark.parametrize("far", [1e2, 1e6, 1e9])
def test_neighbours_far_from_the_centre_keep_their_digits(far: float) -> None:
    """||x||^2 - 2 x'z + ||z||^2 has no digit left where ||x - z|| is 1e-8 of the norms."""
    from maxmargin.kernels import RBF

    steps = np.arange(8.0)[:, None] / 8  # differences of them are exact
    X = np.concatenate([steps + far, steps - far])
    expected = np.exp(-0.5 * (X - X.T) ** 2)
    np.testing.assert_allclose(RBF(gamma=0.5)(X, X), expected, rtol=1e-14, atol=1e-30)


@pytest.mark.parametrize("n", [1, 40])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_gamma_beyond_float32_keeps_equal_rows_alike(n: int, make: Callable[[AnyArray], Any]) -> None:
    """float32 made it infinite, and infinity times a distance of 0 is no number."""
    rows = np.arange(float(n)).reshape(-1, 1)
    A = make(np.repeat(rows, 2, axis=0).astype(np.float32))
    values = RBF(gamma=1e60)(A)
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, np.kron(np.eye(n), np.ones((2, 2))), atol=1e-37)
