"""Gaussian kernel rows by panels: the values of the formula at every edge of a tile, whatever the threads."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from maxmargin.base.typing import AnyArray
from maxmargin.compute.intrinsics.panel_tile import ROWS, WIDTH
from maxmargin.kernels import RBF
from maxmargin.kernels.kernel_products import kernel_times


def _rows(n: int, p: int, seed: int) -> AnyArray:
    return np.random.default_rng(seed).normal(size=(n, p)).astype(np.float32)


@pytest.mark.parametrize("n_rows", [1, ROWS - 1, ROWS, ROWS + 1, 3 * ROWS + 2])
@pytest.mark.parametrize("n_columns", [1, WIDTH - 1, WIDTH, WIDTH + 1, 512 + WIDTH + 3])
def test_values_are_those_of_the_formula_at_every_edge(n_rows: int, n_columns: int) -> None:
    X, Z = _rows(n_rows, 7, 0), _rows(n_columns, 7, 1)
    squares = ((X[:, None].astype(float) - Z.astype(float)) ** 2).sum(axis=2)
    K = RBF(gamma=0.1, variance=2.0)(X, Z)
    assert K.dtype == np.float32
    # rounding of the squared distance (at most some 60) in float32, times gamma, and of the exponential
    np.testing.assert_allclose(K, 2.0 * np.exp(-0.1 * squares), atol=2.0 * (0.1 * 60 + 2) * 2.0**-23)


def test_a_value_depends_neither_on_threads_nor_on_its_place() -> None:
    X = _rows(300, 33, 2)
    kernel = RBF(gamma=0.02)
    points = kernel.prepare(X)
    K = kernel.gram(points, points)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(K, kernel.gram(points, points, n_threads=3))
    some = np.array([250, 3, 77])
    np.testing.assert_array_equal(K[some], kernel.gram(points.take(some), points))
    np.testing.assert_array_equal(K[:, some], kernel.gram(points, points.take(some)))


def test_nothing_outside_the_given_part_is_written() -> None:
    X = _rows(20, 5, 3)
    kernel = RBF(gamma=0.1)
    points = kernel.prepare(X)
    frame = np.full((12, 2 * WIDTH), -1.0, dtype=np.float32)
    kernel.gram(points.take(slice(0, 8)), points, out=frame[2:10, 5:25])
    outside = np.ones(frame.shape, dtype=bool)
    outside[2:10, 5:25] = False
    assert (frame[outside] == -1.0).all()
    assert (frame[2:10, 5:25] > 0).all()


def test_panels_are_not_kept_in_a_file() -> None:
    """Their width is that of the processor: another one has to pack the points anew."""
    kernel = RBF(gamma=0.1)
    points = kernel.prepare(_rows(20, 5, 4))
    K = kernel.gram(points)
    again = pickle.loads(pickle.dumps(points))
    assert "panels" in vars(points)
    assert "panels" not in vars(again)
    np.testing.assert_array_equal(kernel.gram(again), K)


def test_values_of_float32_rows_may_be_asked_for_in_float64() -> None:
    kernel = RBF(gamma=0.1)
    points = kernel.prepare(_rows(20, 5, 5))
    wide = kernel.gram(points, points, out=np.empty((20, 20)))
    np.testing.assert_allclose(wide, kernel.gram(points, points), atol=1e-6)


@pytest.mark.parametrize("n_rows", [1, ROWS, 2 * ROWS + 1])
@pytest.mark.parametrize("n_columns", [1, WIDTH + 1, 2 * 512 + 3])
@pytest.mark.parametrize("p", [3, 900])  # the panels of wide rows are taken in smaller groups
def test_added_rows_are_the_sum_of_the_rows(n_rows: int, n_columns: int, p: int) -> None:
    kernel = RBF(gamma=0.5 / p, variance=3.0)
    columns = kernel.prepare(_rows(n_columns, p, 5))
    rows = kernel.prepare(_rows(n_rows, p, 6), like=columns)
    weights = np.random.default_rng(7).normal(size=n_rows)
    v = np.arange(float(n_columns))
    assert kernel.adds(columns, rows)
    kernel.add_products(v, columns, rows, weights, 2)
    expected = np.arange(float(n_columns)) + weights @ kernel.gram(rows, columns).astype(np.float64)
    np.testing.assert_allclose(v, expected, rtol=0, atol=1e-12 * n_columns)


@pytest.mark.parametrize("p", [1, 16, 57, 300, 1000])
def test_sums_of_float64_rows_have_the_digits_of_float64(p: int) -> None:
    """Narrow rows go through tiles of float64 where that pays, and through BLAS otherwise."""
    rng = np.random.default_rng(p)
    kernel = RBF(gamma=0.5 / p, variance=3.0)
    A = kernel.prepare(rng.normal(size=(1501, p)))
    B = kernel.prepare(rng.normal(size=(1403, p)), like=A)
    weights = rng.normal(size=len(B))
    assert kernel.adds(A, B)
    assert not kernel.adds(A.take(slice(0, 9)), B)
    found = kernel_times(kernel, A, B, weights, n_threads=2)
    expected = kernel.gram(A, B) @ weights
    np.testing.assert_allclose(found, expected, rtol=0, atol=3.0 * 1e-15 * np.abs(weights).sum() * 8)


def test_rows_far_from_the_centre_keep_their_digits() -> None:
    """Differences of squares would lose them, so such rows do not go through tiles."""
    X = 1e6 + np.random.default_rng(0).normal(size=(1500, 2))
    X[::2] *= -1.0
    kernel = RBF(gamma=1.0)
    points = kernel.prepare(X)
    assert not kernel.adds(points, points)
    found = kernel_times(kernel, points, points, np.ones(len(X)))
    some = np.arange(0, 1500, 100)
    squares = ((X[some, None] - X) ** 2).sum(axis=2)
    np.testing.assert_allclose(found[some], np.exp(-squares).sum(axis=1), rtol=1e-9)


def test_the_power_of_two_is_exact_at_zero_and_close_elsewhere() -> None:
    """Equal rows have the value 1 to the last bit; others the relative error of float32 arithmetic."""
    distances = np.linspace(0.0, 9.0, 5001, dtype=np.float32)[:, None]
    kernel = RBF(gamma=1.0)
    points = kernel.prepare(np.zeros((ROWS, 1), dtype=np.float32))
    others = kernel.prepare(distances, like=points)
    K = kernel.gram(points, others)[0].astype(np.float64)
    exact = np.exp(-(distances[:, 0].astype(np.float64) ** 2))
    assert K[0] == 1.0
    # a relative 2^-24 for each of three roundings of the exponent (at most 81), and the polynomial
    np.testing.assert_allclose(K, exact, rtol=(3 * 81 + 4) * 2.0**-24)
