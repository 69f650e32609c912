"""Cells: sizes, exactness inside, continuity between, agreement with one machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin as mm


def waves(n: int = 2000, seed: int = 0) -> tuple[Any, Any]:
    X = np.random.default_rng(seed).uniform(-3, 3, size=(n, 2))
    return X, np.where(np.sin(2 * X[:, 0]) > X[:, 1], "below", "above")


def test_one_cell_is_the_exact_machine() -> None:
    X, y = waves(300)
    one = mm.CellSVC(C=5.0, gamma=0.7, cell_size=300, tol=1e-6).fit(X, y)
    exact = mm.SVC(C=5.0, gamma=0.7, tol=1e-6).fit(X, y)
    assert one.sizes_.tolist() == [300]
    np.testing.assert_allclose(one.decision_function(X), exact.decision_function(X), atol=1e-5)


def test_cells_keep_their_size_and_their_certificate() -> None:
    X, y = waves()
    model = mm.CellSVC(C=10.0, gamma=1.0, cell_size=200, random_state=0).fit(X, y)
    assert model.sizes_.max() <= 200
    assert model.sizes_.sum() == 2000
    assert model.certificate_ is not None
    assert model.certificate_.kkt <= 1e-3
    Z, z = waves(2000, seed=1)
    exact = mm.SVC(C=10.0, gamma=1.0).fit(X, y)
    assert model.score(Z, z) > exact.score(Z, z) - 0.01


def test_soft_boundaries_are_continuous_and_hard_ones_jump() -> None:
    X, y = waves()
    line = np.column_stack([np.linspace(-3, 3, 6001), np.full(6001, 0.3)])  # steps of a thousandth

    def jump(softness: float) -> float:
        model = mm.CellSVC(C=10.0, gamma=1.0, cell_size=200, softness=softness, random_state=0).fit(X, y)
        return float(np.abs(np.diff(model.decision_function(line))).max())

    assert jump(0.3) < 0.1 * jump(0.0)


def test_three_classes_one_of_them_absent_from_most_cells() -> None:
    X, y = waves()
    y = np.where((X**2).sum(axis=1) < 0.5, "centre", y)
    model = mm.CellSVC(C=10.0, gamma=1.0, cell_size=150, random_state=0).fit(X, y)
    assert model.decision_function(X).shape == (2000, 3)
    assert model.score(X, y) > 0.97


def test_equal_rows_are_not_divided_and_strings_are_refused() -> None:
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 50, axis=0)
    model = mm.CellSVC(cell_size=10).fit(X, np.repeat([0, 1], 50))
    assert sorted(model.sizes_.tolist()) == [50, 50]
    assert model.predict([[0.1, 0.0], [0.9, 1.0]]).tolist() == [0, 1]
    assert model.certificate_ is None  # every cell holds one class
    with pytest.raises(ValueError, match="rows of numbers"):
        mm.CellSVC(kernel=mm.kernels.Subsequence()).fit(["a", "b"], [0, 1])
    with pytest.raises(ValueError, match="cell_size=0 must be"):
        mm.CellSVC(cell_size=0).fit(X, np.repeat([0, 1], 50))


@pytest.mark.parametrize("cell_size", [20, 300])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_rows_in_many_cells_give_the_dense_model(cell_size: int, dtype: Any) -> None:
    """With many cells scikit-learn would search them with a tree, which does not take sparse rows."""
    X, y = waves(400)
    X = X.astype(dtype)
    options: dict[str, Any] = {"C": 5.0, "gamma": 0.7, "cell_size": cell_size, "random_state": 0, "tol": 1e-5}
    dense = mm.CellSVC(**options).fit(X, y)
    thin = mm.CellSVC(**options).fit(sp.csr_array(X), y)
    assert len(dense.sizes_) == len(thin.sizes_)
    assert (len(thin.sizes_) >= 20) == (cell_size == 20)
    close = 1e-3 if dtype is np.float32 else 1e-4
    np.testing.assert_allclose(
        thin.decision_function(sp.csr_array(X)), dense.decision_function(X), atol=close
    )
