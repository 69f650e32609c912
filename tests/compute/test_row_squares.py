"""Weighted squares of rows by register tiles beside NumPy's product."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.compute.jit import jit
from maxmargin.compute.tables import row_squares


@jit
def add_row_squares(X, rows, weights, gram):
    row_squares.add_row_squares(X, rows, weights, gram)


@pytest.mark.parametrize("n_columns", [1, 4, 5, 15, 16, 57, 100, 131])
@pytest.mark.parametrize("n_rows", [1, 7, 256, 600])
def test_lower_triangle_is_that_of_the_weighted_product(n_rows: int, n_columns: int) -> None:
    rng = np.random.default_rng(n_rows * n_columns)
    X = rng.normal(size=(n_rows + 5, n_columns))
    rows = rng.integers(0, len(X), size=n_rows)
    weights = rng.normal(size=n_rows)
    before = rng.normal(size=(n_columns + 1, n_columns + 1))
    gram = before.copy()
    add_row_squares(X, rows, weights, gram)
    chosen = np.hstack([X[rows], np.ones((n_rows, 1))])
    expected = before + (chosen * weights[:, None]).T @ chosen
    np.testing.assert_allclose(np.tril(gram), np.tril(expected), rtol=0, atol=1e-13 * n_rows)


def test_no_rows_change_nothing() -> None:
    gram = np.eye(4)
    add_row_squares(np.ones((3, 3)), np.empty(0, dtype=np.int64), np.empty(0), gram)
    np.testing.assert_array_equal(gram, np.eye(4))
