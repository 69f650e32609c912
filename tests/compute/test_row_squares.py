"""Weighted squares of rows by register tiles beside NumPy's product."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.compute.jit import jit
from maxmargin.compute.tables import row_squares


@jit
def add_row_squares(X, weights, gram, room):
    row_squares.add_row_squares(X, weights, gram, room)


@pytest.mark.parametrize("n_columns", [1, 4, 5, 15, 16, 57, 100, 131])
@pytest.mark.parametrize("n_rows", [1, 7, 256, 257, 600])
@pytest.mark.parametrize("share", [0.3, 1.0])
def test_lower_triangle_is_that_of_the_weighted_product(n_rows: int, n_columns: int, share: float) -> None:
    rng = np.random.default_rng(n_rows * n_columns)
    X = rng.normal(size=(n_rows, n_columns))
    weights = rng.normal(size=n_rows) * (rng.random(n_rows) < share)
    before = rng.normal(size=(n_columns + 1, n_columns + 1))
    gram, room = before.copy(), row_squares.room_for_squares(n_columns)
    room[:] = np.nan  # what is left in it does not matter
    add_row_squares(X, weights, gram, room)
    rows = np.hstack([X, np.ones((n_rows, 1))])
    expected = before + (rows * weights[:, None]).T @ rows
    np.testing.assert_allclose(np.tril(gram), np.tril(expected), rtol=0, atol=1e-13 * n_rows)


@pytest.mark.parametrize("n_rows", [0, 3])
def test_no_rows_change_nothing(n_rows: int) -> None:
    gram = np.eye(4)
    add_row_squares(np.ones((n_rows, 3)), np.zeros(n_rows), gram, row_squares.room_for_squares(3))
    np.testing.assert_array_equal(gram, np.eye(4))
