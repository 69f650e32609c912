"""Reductions to tridiagonal form beside the matrices they come from, and products in the place of a part."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.compute.lapack.fortran import add_product
from maxmargin.compute.lapack.tridiagonal_form import tridiagonal_form


def symmetric(m):
    A = np.random.default_rng(m).normal(size=(m, m))
    return A + A.T


@pytest.mark.parametrize("m", [1, 2, 3, 50, 98, 701, 770])  # LAPACK's panels below 700, ours from there on
def test_the_three_factors_give_the_matrix(m):
    A = symmetric(m)
    Q, diagonal, off = tridiagonal_form(A.copy())
    T = np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1)
    np.testing.assert_allclose(Q.T @ Q, np.eye(m), atol=1e-14 * m)
    np.testing.assert_allclose(Q @ T @ Q.T, A, atol=1e-14 * m * np.abs(A).max())


@pytest.mark.parametrize("m", [60, 720])
def test_a_diagonal_matrix_needs_no_reflection(m):
    values = np.random.default_rng(0).normal(size=m)
    Q, diagonal, off = tridiagonal_form(np.diag(values))
    np.testing.assert_array_equal(np.abs(Q), np.eye(m))
    np.testing.assert_array_equal(diagonal, values)
    assert not off.any()


@pytest.mark.parametrize("m", [60, 720])
def test_a_matrix_of_rank_one_keeps_its_trace(m):
    x = np.random.default_rng(0).normal(size=m)
    Q, diagonal, off = tridiagonal_form(np.outer(x, x))
    np.testing.assert_allclose(Q.T @ Q, np.eye(m), atol=1e-13)
    np.testing.assert_allclose(diagonal.sum(), x @ x, rtol=1e-12)
    assert np.abs(off[1:]).max() < 1e-10


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("columns", [1, 4])
def test_products_are_added_to_parts(rows, columns):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(3, 5)), rng.normal(size=(4, 3))
    whole = np.asfortranarray(rng.normal(size=(9, 8)))
    before = whole.copy()
    add_product(-2.0, A.T[:rows], B.T[:, :columns], whole[2 : 2 + rows, 1 : 1 + columns], keep=0.5)
    expected = before.copy()
    part = expected[2 : 2 + rows, 1 : 1 + columns]
    part *= 0.5
    part -= 2.0 * (A.T[:rows] @ B.T[:, :columns])
    np.testing.assert_allclose(whole, expected, rtol=1e-14)


def test_an_empty_product_changes_nothing():
    add_product(1.0, np.ones((3, 2)), np.ones((2, 0)), np.ones((3, 0), order="F"))
