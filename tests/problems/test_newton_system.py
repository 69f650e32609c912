"""The linear system of a Newton step against plain linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.compute.tables.design import design
from maxmargin.problems.newton_system import hessian, solve_symmetric


def _rows(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, p)), rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("intercept", [True, False])
def test_hessian_is_the_sum_over_rows(intercept):
    X, d = _rows(7, 3)
    bordered = np.column_stack([X, np.ones(7)])
    expected = bordered.T @ (d[:, None] * bordered) + np.diag([0.3, 0.3, 0.3, 0.0])
    if not intercept:
        expected[3], expected[:, 3] = 0.0, 0.0
        expected[3, 3] = 1.0
    np.testing.assert_allclose(hessian(design(X, 1), d, 0.3, intercept), expected, rtol=1e-13)


def test_known_parts_of_a_hessian_are_used():
    X, d = _rows(7, 3)
    found = hessian(design(X, 1), d, 0.0, True, border=np.array([1.0, 2.0, 3.0]), gram=np.eye(3))
    assert found[3, :3].tolist() == found[:3, 3].tolist() == [1.0, 2.0, 3.0]
    assert found[:3, :3].tolist() == np.eye(3).tolist()


@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e8])
def test_a_regular_system_is_solved(scale):
    X, _ = _rows(9, 4)
    H = (X.T @ X) * np.outer([1.0, scale, 1.0, 1.0], [1.0, scale, 1.0, 1.0])
    x = np.array([1.0, -2.0 / scale, 3.0, 4.0])
    np.testing.assert_allclose(solve_symmetric(H, H @ x), x, rtol=1e-9)
    assert H.tolist() == H.T.tolist()


def test_a_singular_system_has_the_shortest_step_in_scaled_unknowns():
    """Two equal columns share the step; a column of zeros takes none, whatever the right-hand side says."""
    a, b = np.array([1.0, 0.0, 2.0]), np.array([0.0, 3.0, 1.0])
    X = np.column_stack([a, a, np.zeros(3), b])
    H = X.T @ X
    step = solve_symmetric(H, H @ np.array([3.0, 1.0, 0.0, -2.0]))
    np.testing.assert_allclose(step, [2.0, 2.0, 0.0, -2.0], rtol=1e-9)
    assert solve_symmetric(H, np.array([0.0, 0.0, 5.0, 0.0])).tolist() == [0.0] * 4
    assert solve_symmetric(np.zeros((2, 2)), np.ones(2)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("n_columns", [2, 3])
def test_a_nearly_singular_system_is_not_amplified(seed, n_columns):
    """Columns that differ by 1e-9: a Cholesky pivot of 1e-8 would turn rounding into steps of 1e7."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=50)
    X = a[:, None] + 1e-9 * rng.normal(size=(50, n_columns))
    step = solve_symmetric(X.T @ X, X.T @ rng.normal(size=50))
    assert np.abs(step).max() < 10.0
