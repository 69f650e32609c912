"""Resolvents by tridiagonal reduction and by eigenvectors beside dense inverses."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.solvers.least_squares.resolvents import resolvents, solutions_and_diagonals

ALPHAS = np.array([1e-3, 0.1, 7.0])
both_ways = pytest.mark.parametrize("n_forms", [1, 10**6], ids=["tridiagonal", "diagonal"])


@both_ways
@pytest.mark.parametrize("m", [1, 2, 3, 9, 150])
def test_resolvents_are_the_dense_inverses(m, n_forms):
    rng = np.random.default_rng(m)
    A = rng.normal(size=(m, m))
    A, t = A @ A.T, rng.normal(size=m)
    solved, found_diagonals = solutions_and_diagonals(resolvents(A.copy(), ALPHAS, n_forms), t)
    for k, alpha in enumerate(ALPHAS):
        inverse = np.linalg.inv(A + alpha * np.eye(m))
        bound = 1e-14 * m * np.linalg.cond(A + alpha * np.eye(m))  # what rounding may do to an inverse
        np.testing.assert_allclose(found_diagonals[k], np.diag(inverse), rtol=bound)
        size = np.abs(inverse).sum() * np.abs(t).max()
        np.testing.assert_allclose(solved[k], inverse @ t, atol=bound * size)


@both_ways
def test_eigenvalues_below_zero_are_cut(n_forms):
    rng = np.random.default_rng(0)
    U, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    values = np.array([-2.0, -1e-3, 0.0, 1.0, 2.0, 3.0])
    found = resolvents((U * values) @ U.T, np.array([0.5]), n_forms)
    expected = (U**2) @ (1.0 / (np.maximum(values, 0.0) + 0.5))
    np.testing.assert_allclose(solutions_and_diagonals(found, np.ones(6))[1][0], expected, rtol=1e-10)


@both_ways
def test_where_value_and_alpha_vanish_the_pseudo_inverse(n_forms):
    x = np.array([3.0, 4.0])
    found = resolvents(np.outer(x, x), np.array([0.0]), n_forms)
    np.testing.assert_allclose(solutions_and_diagonals(found, x)[1][0], x**2 / 625.0, rtol=1e-10)


def test_numbers_whose_squares_overflow() -> None:
    """LAPACK's eigenvalues of a tridiagonal matrix did not converge where its entries were 1e298."""
    X = np.random.default_rng(0).normal(size=(3, 5))
    A, t = X.T @ X, X.T @ np.ones(3)
    solved, _ = solutions_and_diagonals(resolvents(1e298 * A, ALPHAS, 1), t)
    expected = np.linalg.pinv(A, hermitian=True) @ t
    for row in solved:  # every alpha vanishes beside the entries
        np.testing.assert_allclose(1e298 * row, expected, atol=1e-10 * np.abs(expected).max())
