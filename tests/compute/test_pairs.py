"""All problems of a pair in one call: each answer satisfies its own conditions."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.compute.dual.pair_of_classes import PairAnswers, solve_pair
from maxmargin.kernels import RBF

TOL = 1e-3


def problems(n: int, *, overlap: float, squared: bool):
    """Two clouds, two values of C on three folds each; the matrix has room for more rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X[:, 0] += y / overlap
    held_out = np.arange(n) % 3
    C = np.repeat([0.5, 5.0], 3)[:, None]
    inside = np.array([held_out != f for f in (0, 1, 2, 0, 1, 2)])
    bounds = np.where(inside, np.inf if squared else C, 0.0)
    ridges = np.where(inside & squared, 0.5 / C, 0.0)
    K = np.full((n + 40, n + 40), np.nan)
    K[:n, :n] = RBF(0.5)(X)
    return K, y, bounds, ridges


def violation(K, y, bound, ridge, t):
    """Largest violation over the pairs of variables that can move, from t alone."""
    g = K @ t + ridge * t - y
    lo, hi = np.where(y < 0, -bound, 0.0), np.where(y > 0, bound, 0.0)
    assert ((lo <= t) & (t <= hi)).all()
    assert abs(t.sum()) <= 1e-9 * np.abs(t).sum()
    return g[t > lo].max() - g[t < hi].min()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize(
    ("n", "overlap"),
    [
        pytest.param(200, 0.5, id="few candidates"),
        pytest.param(1500, 5.0, id="more support vectors than candidates"),
    ],
)
def test_every_problem_is_solved(n, overlap, squared, dtype):
    K, y, bounds, ridges = problems(n, overlap=overlap, squared=squared)
    K = K.astype(dtype)
    answers, first = PairAnswers.empty(*bounds.shape), 0
    while first < len(bounds):
        first = solve_pair(K, y, bounds, ridges, 3, TOL, 10**9, answers, first)
    t, sums, biases, steps, violations = answers
    assert (violations <= TOL).all()
    K = K[:n, :n].astype(np.float64)
    np.testing.assert_allclose(sums, t @ K, atol=1e-9)
    for p in range(len(bounds)):
        assert violation(K, y, bounds[p], ridges[p], t[p]) <= TOL
        free = (t[p] != 0) & (np.abs(t[p]) < bounds[p])
        margins = y * (K @ t[p] + ridges[p] * t[p] + biases[p])
        np.testing.assert_allclose(margins[free], 1.0, atol=TOL)
    assert (steps > 0).all()
    n_support = (t != 0).any(axis=0).sum()
    assert (n_support > 768) == (n == 1500)


def test_steps_are_bounded():
    K, y, bounds, ridges = problems(200, overlap=0.5, squared=False)
    answers, first = PairAnswers.empty(*bounds.shape), 0
    while first < len(bounds):
        first = solve_pair(K, y, bounds, ridges, 3, TOL, 7, answers, first)
    assert answers.steps.max() == 7
    assert (answers.violations > TOL).all()
