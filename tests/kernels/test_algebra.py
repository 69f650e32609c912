"""Kernels made of kernels: values, printing, parameters, immutability."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge

import maxmargin as mm
from maxmargin.kernels import (
    RBF,
    Constant,
    Function,
    Kernel,
    Laplacian,
    Linear,
    Mapped,
    Modulated,
    Periodic,
    Polynomial,
    Precomputed,
    QuadraticForm,
    as_kernel,
    mercer_check,
)

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(20, 3)), RNG.normal(size=(15, 3))
K, L = RBF(gamma=0.5), Linear()


def row_sum(rows: Any) -> Any:
    return rows.sum(axis=1)


def squares(rows: Any) -> Any:
    return rows**2


@pytest.mark.parametrize(
    ("kernel", "value"),
    [
        (K + L, lambda: K(X, Z) + L(X, Z)),
        (K + 2, lambda: K(X, Z) + 2),
        (2 + K, lambda: K(X, Z) + 2),
        (K * L, lambda: K(X, Z) * L(X, Z)),
        (3 * K, lambda: 3 * K(X, Z)),
        (K * 3, lambda: 3 * K(X, Z)),
        (L**4, lambda: L(X, Z) ** 4),
        (L.exp(), lambda: np.exp(L(X, Z))),
        (L.normalized(), lambda: L(X, Z) / np.sqrt(np.outer(L.diag(X), L.diag(Z)))),
        (Modulated(row_sum, K), lambda: K(X, Z) * np.outer(X.sum(1), Z.sum(1))),
        (Mapped(squares, K), lambda: K(X**2, Z**2)),
        ((K + L * L) * 2 + 1, lambda: 2 * (K(X, Z) + L(X, Z) ** 2) + 1),
    ],
    ids=lambda value: repr(value)[:30] if isinstance(value, Kernel) else "",
)
def test_values(kernel: Kernel, value: Any) -> None:
    np.testing.assert_allclose(kernel(X, Z), value(), rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X)), rtol=1e-12)
    assert kernel(X.astype(np.float32), Z.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(kernel(X), kernel(X).T, rtol=1e-12)


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> Kernel:
    """Random compositions of random leaves."""
    leaves: list[Kernel] = [
        Linear(),
        RBF(gamma=draw(st.sampled_from([0.1, 2.0]))),
        Polynomial(gamma=0.5, coef0=1.0, degree=2),
        Laplacian(gamma=0.5, features=[0]),
        Periodic(period=2.0),
        Constant(0.5),
    ]
    kernel = draw(st.sampled_from(leaves))
    for _ in range(draw(st.integers(0, depth))):
        other = draw(st.sampled_from(leaves))
        step = draw(st.sampled_from(["+", "*", "scale", "power", "normalized"]))
        kernel = {
            "+": kernel + other,
            "*": kernel * other,
            "scale": 0.5 * kernel,
            "power": kernel**2,
            "normalized": kernel.normalized(),
        }[step]
    return kernel


@given(kernel=expressions())
def test_a_composition_prints_as_it_is_written_and_is_a_kernel(kernel: Kernel) -> None:
    again: Kernel = eval(repr(kernel))
    assert again == kernel
    assert repr(again) == repr(kernel)
    np.testing.assert_array_equal(again(X), kernel(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(kernel))(X), kernel(X))
    assert clone(kernel) is kernel
    assert kernel.psd
    assert mercer_check(kernel, X, tolerance=1e-9 * max(1.0, float(np.abs(kernel(X)).max()))).holds
    np.testing.assert_allclose(kernel(sp.csr_array(X), Z), kernel(X, Z), rtol=1e-8, atol=1e-10)


def test_normalized_row_of_zero_norm() -> None:
    values = L.normalized()(np.array([[0.0, 0.0], [3.0, 4.0]]))
    np.testing.assert_allclose(values, [[0, 0], [0, 1]])


@pytest.mark.parametrize(
    "make",
    [lambda: -1 * K, lambda: 0 * K, lambda: K + (-1), lambda: K**0, lambda: K**1.5, lambda: K * "a"],
)
def test_wrong_coefficients_are_refused(make: Any) -> None:
    with pytest.raises(ValueError, match=r"must be|got"):
        make()


def test_kernels_are_immutable() -> None:
    with pytest.raises(FrozenInstanceError):
        K.gamma = 2.0  # type: ignore[misc]  # that is what is tested


def test_nested_parameters() -> None:
    kernel = 2.0 * (K + L) + Polynomial(gamma=1.0)
    changed = kernel.with_params(k1__kernel__k1__gamma=0.25, k2__degree=2, k1__scale=3.0)
    assert repr(changed) == "3.0 * (RBF(gamma=0.25) + Linear()) + Polynomial(gamma=1.0, degree=2)"
    assert repr(kernel) == "2.0 * (RBF(gamma=0.5) + Linear()) + Polynomial(gamma=1.0)"
    assert changed.get_params()["k1__kernel__k1__gamma"] == 0.25
    with pytest.raises(ValueError, match="'width' is not a parameter of RBF"):
        K.with_params(width=1)
    with pytest.raises(ValueError, match="not a kernel"):
        K.with_params(gamma__x=1)
    with pytest.raises(ValueError, match="must be > 0"):
        K.with_params(gamma=-1.0)


def test_features_by_position_and_name() -> None:
    frame = pd.DataFrame(X, columns=["age", "dose", "width"])
    by_name = RBF(gamma=0.5, features=["age", "width"]) + Linear(features="dose")
    expected = RBF(gamma=0.5)(X[:, [0, 2]]) + np.outer(X[:, 1], X[:, 1])
    np.testing.assert_allclose(by_name(frame), expected, rtol=1e-12)
    np.testing.assert_allclose(by_name(frame[["width", "dose", "age"]]), expected, rtol=1e-12)
    np.testing.assert_allclose(by_name(pl.from_pandas(frame)), expected, rtol=1e-12)
    by_position = RBF(gamma=0.5, features=[0, 2]) + Linear(features=1)
    np.testing.assert_allclose(by_position(X), expected, rtol=1e-12)
    np.testing.assert_allclose(by_position(sp.csr_array(X)), expected, rtol=1e-9)
    with pytest.raises(ValueError, match="no column 'height'"):
        Linear(features=["height"])(frame)
    with pytest.raises(ValueError, match="without column names"):
        Linear(features=["age"])(X)
    with pytest.raises(ValueError, match=r"features=\[7\] are out of range: X has 3 columns"):
        Linear(features=[7])(X)
    with pytest.raises(ValueError, match=r"features=2\.5 must be names or positions of columns"):
        Linear(features=2.5)(X)  # type: ignore[arg-type]  # that is the point


def test_different_views_are_not_shared() -> None:
    kernel = Linear(features=[0]) + Linear(features=[1]) + RBF(gamma=1.0)
    expected = X[:, :2] @ X[:, :2].T + RBF(gamma=1.0)(X)
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-12)
    forms = QuadraticForm(np.diag([1.0, 0, 0])) + QuadraticForm(np.diag([0, 1.0, 0]))
    np.testing.assert_allclose(forms(X), X[:, :2] @ X[:, :2].T, rtol=1e-12)


def test_names() -> None:
    assert as_kernel("rbf", gamma=0.5) == K
    assert as_kernel("linear", gamma=0.5) == L
    assert isinstance(as_kernel("precomputed"), Precomputed)
    assert isinstance(as_kernel(lambda A, B: A @ B.T), Function)
    assert as_kernel(K) is K
    with pytest.raises(ValueError, match="kernel='gauss' is unknown"):
        as_kernel("gauss")
    with pytest.raises(ValueError, match="only apply to kernels given by name"):
        as_kernel(K, gamma=1.0)


def test_function_of_the_wrong_shape() -> None:
    with pytest.raises(ValueError, match="gave shape"):
        Function(lambda A, B: np.ones(3))(X)


def test_function_of_two_rows() -> None:
    """Called with pairs, as scikit-learn's KernelRidge does; dense, sparse and texts."""

    def near(a, b):
        apart = a - b
        return float(np.exp(-0.1 * (apart.multiply(apart) if sp.issparse(apart) else apart**2).sum()))

    expected = RBF(gamma=0.1)(X)
    np.testing.assert_allclose(Function(near)(X), expected, rtol=1e-12)
    np.testing.assert_allclose(Function(near)(sp.csr_array(X)), expected, rtol=1e-12)
    texts = ["cat", "car", "dog"]
    shared = Function(lambda a, b: len(set(a) & set(b)))(texts)
    np.testing.assert_array_equal(shared, [[3, 2, 0], [2, 3, 0], [0, 0, 3]])
    model = mm.KernelRidge(kernel=near).fit(X, X[:, 0])
    theirs = KernelRidge(kernel=near).fit(X, X[:, 0])
    np.testing.assert_allclose(model.predict(X), theirs.predict(X), rtol=1e-8)
