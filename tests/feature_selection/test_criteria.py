"""Criteria: worked values, identities, monotonicity."""

from __future__ import annotations

import doctest

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from maxmargin.discretize import discretize_column, symmetrical_uncertainty
from maxmargin.feature_selection import (
    Bhattacharyya,
    CFSMerit,
    CrossValidatedError,
    Custom,
    Divergence,
    LeaveOneOutError,
    Mahalanobis,
    cfs_merit,
    criteria,
    wrappers,
)

R_CF = np.array([0.95, 0.8, 0.7])
R_FF = np.array([[1, 0.5, 0.33], [0.5, 1, 0.75], [0.33, 0.75, 1]])
WORKED_MERITS = {
    "per_column": {(0, 1, 2): 1.217, (0, 1): 1.107, (0, 2): 1.081, (1, 2): 0.905},
    "hall": {(0, 1, 2): 0.987, (0, 1): 1.010, (0, 2): 1.012, (1, 2): 0.802},
}


@pytest.mark.parametrize("kind", ["per_column", "hall"])
def test_the_worked_merits(kind):
    merits = {s: cfs_merit(R_CF[list(s)], R_FF[np.ix_(s, s)], kind=kind) for s in WORKED_MERITS[kind]}
    assert merits == pytest.approx(WORKED_MERITS[kind], abs=5e-4)
    assert cfs_merit(R_CF[:1], R_FF[:1, :1], kind=kind) == 0.95
    assert max(merits, key=merits.get) == {"per_column": (0, 1, 2), "hall": (0, 2)}[kind]


def test_cfs_merit_of_data_is_the_formula_on_symmetrical_uncertainties():
    rng = np.random.default_rng(0)
    a = rng.normal(size=150)
    frame = pd.DataFrame({"a": a, "b": a + 0.5 * rng.normal(size=150), "c": rng.choice(list("xyz"), 150)})
    y = np.where(a + 0.3 * rng.normal(size=150) > 0, "p", "q")
    coded = [discretize_column(frame["a"], y), discretize_column(frame["b"], y), frame["c"]]
    r_cf = np.array([symmetrical_uncertainty(column, y) for column in coded])
    r_ff = np.array([[symmetrical_uncertainty(u, v) for u in coded] for v in coded])
    score = CFSMerit().prepare(frame, y)
    for subset in [(0,), (0, 1), (0, 2), (0, 1, 2)]:
        expected = cfs_merit(r_cf[list(subset)], r_ff[np.ix_(subset, subset)])
        assert score([subset])[0] == pytest.approx(expected, rel=1e-10)


HEIGHT = [170, 147, 150, 154, 175, 152, 173, 177]
WEIGHT = [85, 75, 77, 81, 79, 80, 82, 84]
NOISE = [0.011, 0.34, 0.034, 0.092, 0.065, 0.358, 0.36, 0.757]
TALL = np.array(list("+---+-++"))
WORKED_ERRORS = {(0,): 0, (1,): 3 / 8, (2,): 1, (0, 1): 0, (0, 2): 0, (1, 2): 4 / 8}


def worked_table():
    return pd.DataFrame({"height": HEIGHT, "weight": WEIGHT, "noise": NOISE})


def test_the_worked_leave_one_out_errors_with_any_estimator():
    machine = make_pipeline(StandardScaler(), SVC(kernel="linear"))
    errors = LeaveOneOutError(machine).prepare(worked_table(), TALL)(list(WORKED_ERRORS))
    np.testing.assert_allclose(errors, list(WORKED_ERRORS.values()))


def test_cross_validated_error_is_scikit_learns():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(90, 4)), rng.integers(0, 3, 90)
    tree, folds = DecisionTreeClassifier(random_state=0), StratifiedKFold(5)
    error = CrossValidatedError(tree, cv=5).prepare(X, y)([(0, 2)])[0]
    assert error == pytest.approx(1 - cross_val_score(tree, X[:, [0, 2]], y, cv=folds).mean())
    scored = CrossValidatedError(tree, cv=folds, scoring="balanced_accuracy")
    assert scored.maximize
    expected = cross_val_score(tree, X[:, [1]], y, cv=folds, scoring="balanced_accuracy").mean()
    assert scored.prepare(X, y)([(1,)])[0] == pytest.approx(expected)
    line = cross_val_score(
        LinearRegression(), X[:, :2], X[:, 3], cv=KFold(4), scoring="neg_mean_squared_error"
    )
    mean_square = CrossValidatedError(LinearRegression(), cv=4).prepare(X, X[:, 3])([(0, 1)])[0]
    assert mean_square == pytest.approx(-line.mean())


def gaussian_classes(seed, n_features=4, n_classes=2):
    rng = np.random.default_rng(seed)
    X = [
        rng.normal(size=(30, n_features)) @ rng.normal(size=(n_features, n_features))
        for _ in range(n_classes)
    ]
    return np.vstack(X) + rng.normal(size=n_features), np.repeat(np.arange(n_classes), 30)


@settings(derandomize=True, deadline=None, max_examples=20)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3]), st.sampled_from([2, 3]))
def test_class_distances_are_monotone(seed, shrinkage, n_classes):
    X, y = gaussian_classes(seed, n_classes=n_classes)
    for kind in (Bhattacharyya, Divergence, Mahalanobis):
        score = kind(shrinkage=shrinkage).prepare(X, y)
        values = score([(2,), (1, 2), (0, 1, 2), (0, 1, 2, 3)])
        assert (np.diff(values) >= -1e-9 * values[-1]).all()


def test_class_distances_against_their_integrals():
    """One column: -log of the overlap integral, and the two Kullback-Leibler integrals."""
    X, y = gaussian_classes(3, n_features=1)
    first, second = X[y == 0, 0], X[y == 1, 0]
    grid = np.linspace(-60, 60, 400_001)
    log_p, log_q = (norm.logpdf(grid, g.mean(), g.std(ddof=1)) for g in (first, second))
    width = grid[1] - grid[0]
    overlap = np.exp((log_p + log_q) / 2).sum() * width
    assert Bhattacharyya().prepare(X, y)([(0,)])[0] == pytest.approx(-np.log(overlap), rel=1e-6)
    divergence = ((np.exp(log_p) - np.exp(log_q)) * (log_p - log_q)).sum() * width
    assert Divergence().prepare(X, y)([(0,)])[0] == pytest.approx(divergence, rel=1e-6)
    pooled = (first.var(ddof=1) + second.var(ddof=1)) / 2
    expected = (first.mean() - second.mean()) ** 2 / pooled
    assert Mahalanobis().prepare(X, y)([(0,)])[0] == pytest.approx(expected)


def test_class_distances_do_not_depend_on_units():
    X, y = gaussian_classes(0)
    for kind in (Bhattacharyya, Divergence, Mahalanobis):
        expected = kind().prepare(X, y)([(0, 1), (2, 3)])
        found = kind().prepare(X * [1e200, 1e-200, 1.0, 1e-9], y)([(0, 1), (2, 3)])
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_singular_covariances_are_refused_with_a_remedy():
    X, y = gaussian_classes(0)
    X = np.c_[X, X[:, 0]]
    with pytest.raises(ValueError, match="shrinkage"):
        Mahalanobis().prepare(X, y)
    assert np.isfinite(Mahalanobis(shrinkage=0.1).prepare(X, y)([(0, 4)])).all()


def test_your_own_function_sees_the_subset():
    frame = worked_table()
    seen = []
    own = Custom(lambda X, y: seen.append(list(X.columns)) or 1.0, maximize=True)
    own.prepare(frame, TALL)([(0, 2)])
    assert seen == [["height", "noise"]]


@pytest.mark.parametrize("module", [criteria, wrappers])
def test_docstrings_run(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
