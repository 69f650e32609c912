"""The penalty: proximal maps and conjugates agree with the value."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from maxmargin.problems.penalties import Penalty

CONVEX = [Penalty(), Penalty(l2=1.5), Penalty(l1=0.7), Penalty(l1=0.7, l2=0.5)]
OTHER = [Penalty(l0=0.8), Penalty(l0=0.8, l2=0.5), Penalty(l0=0.3, l1=0.2), Penalty(l0=0.3, alpha=np.inf)]


@pytest.mark.parametrize("penalty", CONVEX + OTHER, ids=str)
@pytest.mark.parametrize("v", [-2.5, -0.4, 0.0, 0.05, 0.9, 3.0])
def test_prox_is_the_global_minimum(penalty, v):
    w = penalty.prox(np.array([v]), 0.6)

    def objective(x):
        return penalty.value(np.array([x])) + (x - v) ** 2 / 1.2

    grid = np.linspace(-4, 4, 4001)
    start = grid[np.argmin([objective(x) for x in grid])]
    best = minimize_scalar(objective, bounds=(start - 2e-3, start + 2e-3), method="bounded").fun
    assert objective(float(w[0])) <= min(best, objective(0.0)) + 1e-9


@pytest.mark.parametrize("penalty", CONVEX[1:], ids=str)
def test_fenchel_young(penalty):
    rng = np.random.default_rng(1)
    for _ in range(20):
        w, v = rng.normal(size=4), rng.normal(size=4)
        assert penalty.value(w) + penalty.conjugate(v) >= v @ w - 1e-12


def test_linearised_touches_from_above():
    penalty, w = Penalty(l0=0.8, l1=0.1, alpha=5.0), np.array([0.3, -0.2, 0.0])
    for other in np.random.default_rng(2).normal(size=(50, 3)):
        bound = penalty.value(w) + penalty.linearised(w) @ (np.abs(other) - np.abs(w))
        assert penalty.value(other) <= bound + 1e-12


def test_l0_has_no_conjugate():
    with pytest.raises(ValueError, match="not convex"):
        Penalty(l0=1.0).conjugate(np.zeros(2))


def test_negative_weight_is_an_error():
    with pytest.raises(ValueError, match="must be >= 0"):
        Penalty(l1=-1.0)
