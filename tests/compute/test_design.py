"""Products with a table, beside their formulas."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.compute.tables.design import design


@pytest.mark.parametrize("share", [0.0, 1e-4, 0.02, 0.14, 0.16, 0.7, 1.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("threads", [1, 2])
def test_weighted_products_of_few_and_of_many_rows(share: float, dtype: type, threads: int) -> None:
    """Below a share of rows with a weight they are gathered first."""
    rng = np.random.default_rng(3)
    n, p = 30_011, 23
    X = rng.normal(size=(n, p)).astype(dtype)
    d = np.zeros(n)
    kept = rng.permutation(n)[: round(share * n)]
    d[kept] = rng.uniform(-1.0, 2.0, size=len(kept))
    wide = X.astype(np.float64)
    plain = wide.T @ (d[:, None] * wide)
    size = np.abs(wide).T @ (np.abs(d)[:, None] * np.abs(wide))  # of the terms: rounding is a share of it
    found = design(X, threads).gram(d)
    assert found.shape == (p, p)
    assert (np.abs(found - plain) <= 1e-13 * size).all()
    assert (found[size == 0.0] == 0.0).all()
