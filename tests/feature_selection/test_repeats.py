"""Rows that a subset cannot tell apart: the groups are right, and merging changes no error."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC
from maxmargin.feature_selection import CrossValidatedError
from maxmargin.feature_selection.wrappers import EstimatorErrors, FoldErrors
from maxmargin.solvers.dual.gram.repeated_rows import RepeatedRows

SUBSETS = [(0,), (2,), (0, 1), (1, 3), (0, 1, 2), (0, 1, 2, 3)]


def levels(n_classes, n=150):
    """Few values in every column, at no even distances: on a lattice decision values would be exactly 0."""
    rng = np.random.default_rng(n_classes)
    X = rng.poisson(1.2, size=(n, 4)).astype(float)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n) > 2).astype(int) + (n_classes - 2) * (X[:, 3] > 1)
    return np.sort(rng.normal(size=20))[X.astype(int)] + X, y


@pytest.mark.parametrize("subset", SUBSETS)
def test_groups_are_the_distinct_rows(subset):
    X, y = levels(2)
    merged = RepeatedRows(X, y).groups(subset)
    table = np.c_[X[:, subset], y]
    distinct, sizes = np.unique(table, axis=0, return_counts=True)
    assert (np.diff(merged.rows) > 0).all()
    places = np.lexsort(table[merged.rows].T[::-1])
    np.testing.assert_array_equal(table[merged.rows][places], distinct)
    np.testing.assert_array_equal(merged.sums(np.ones(len(y)))[places], sizes)
    first_column = merged.sums(X[:, 0] if 0 in subset else X[:, subset[0]])[places]
    np.testing.assert_allclose(first_column, distinct[:, 0] * sizes)


def test_different_rows_stay_as_they_are():
    X, y = np.random.default_rng(0).normal(size=(50, 2)), np.arange(50) % 2
    merged = RepeatedRows(X, y).groups((0, 1))
    np.testing.assert_array_equal(merged.rows, np.arange(50))
    assert np.shares_memory(merged.sums(X.T), X)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("settings", [{}, {"gamma": 0.2}, {"kernel": "linear"}, {"class_weight": "balanced"}])
def test_merged_rows_give_the_errors_of_plain_fits(settings, n_classes):
    X, y = levels(n_classes)
    splits = list(StratifiedKFold(5).split(X, y))
    _same(SVC(tol=1e-6, **settings), X, y, splits)


def test_merged_rows_with_scaling_inside_the_folds():
    X, y = levels(2)
    _same(make_pipeline(StandardScaler(), SVC(tol=1e-6)), X, y, list(StratifiedKFold(5).split(X, y)))


def _same(estimator, X, y, splits):
    fast = CrossValidatedError(estimator, cv=splits).prepare(X, y)
    assert isinstance(fast, FoldErrors)
    assert all(len(fast._folds.merged(subset).rows) < len(y) for subset in SUBSETS)
    np.testing.assert_allclose(
        fast(SUBSETS), EstimatorErrors(estimator, X, y, splits, {})(SUBSETS), atol=1e-12
    )
