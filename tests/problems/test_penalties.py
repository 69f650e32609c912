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


def test_worked_values():
    """w = (1, -3, 0): l2/2 * 10, l1 * 4 (or by column), l0 times the number of non-zeros, the constant."""
    w = np.array([1.0, -3.0, 0.0])
    assert Penalty(l2=0.5, constant=7.0).value(w) == 9.5
    assert Penalty(l1=0.5).value(w) == 2.0
    assert Penalty(l1=np.array([2.0, 3.0, 100.0])).value(w) == 11.0
    assert Penalty(l0=0.5, alpha=np.inf).value(w) == 1.0
    expected = 0.5 * (2 - np.exp(-2.0) - np.exp(-6.0))
    assert Penalty(l0=0.5, alpha=2.0).value(w) == pytest.approx(expected, rel=1e-14)
    assert Penalty(l0=1.0).alpha == 5.0
    both = Penalty(l2=2.0, l1=0.5, l0=3.0, alpha=np.inf, constant=1.0)
    assert both.value(w) == 10.0 + 2.0 + 6.0 + 1.0
    assert Penalty().value(w) == 0.0


def test_worked_conjugates():
    """sup <v, w> - P(w): the excess over l1, squared, by 2 l2; without l2 the l1 ball and its rounding."""
    v = np.array([2.0, -4.0, 0.5])
    assert Penalty(l2=2.0, constant=3.0).conjugate(v) == 20.25 / 4 - 3.0
    assert Penalty(l2=2.0, l1=1.0).conjugate(v) == 10.0 / 4
    assert Penalty(l1=4.0, constant=3.0).conjugate(v) == -3.0
    assert Penalty(l1=3.0).conjugate(v) == np.inf
    assert Penalty(l1=np.array([2.0, 4.0, 0.5])).conjugate(v) == 0.0
    assert Penalty(l1=np.array([2.0, 4.0, 0.0])).conjugate(v) == np.inf
    assert Penalty().conjugate(np.array([1e-12])) == 0.0
    assert Penalty().conjugate(np.array([1.5e-12])) == np.inf
    assert Penalty(l1=np.array([100.0, 1.0])).conjugate(np.array([100 + 9e-11, 0.0])) == 0.0
    assert Penalty(l1=100.0).conjugate(np.array([100 + 9e-11])) == 0.0
    assert Penalty(l1=100.0).conjugate(np.array([100 + 2e-10])) == np.inf
    assert Penalty().conjugate(np.zeros(0)) == 0.0


def test_kinds_of_penalties():
    assert [penalty.convex for penalty in CONVEX + OTHER] == [True] * 4 + [False] * 4
    assert [penalty.smooth for penalty in CONVEX + OTHER] == [True, True, False, False] + [False] * 4
    assert not Penalty(l1=np.array([0.0, 1.0])).smooth


@pytest.mark.parametrize(
    "wrong",
    [{"l2": -0.1}, {"l1": np.array([1.0, -0.1])}, {"l0": -0.1}, {"alpha": 0.0}, {"alpha": -1.0}],
    ids=str,
)
def test_wrong_weights_are_refused(wrong):
    with pytest.raises(ValueError, match=r"must be >= 0 and alpha > 0"):
        Penalty(**wrong)
    assert Penalty(alpha=0.5).alpha == 0.5


def test_a_tangent_is_convex_touches_and_bounds():
    penalty, w = Penalty(l2=0.5, l1=0.1, l0=0.8, alpha=3.0, constant=2.0), np.array([0.3, -0.2, 0.0])
    tangent = penalty.tangent(w)
    assert tangent.convex
    assert tangent.l2 == 0.5
    np.testing.assert_allclose(tangent.l1, 0.1 + 2.4 * np.exp([-0.9, -0.6, 0.0]))
    assert tangent.value(w) == pytest.approx(penalty.value(w), rel=1e-14)
    for other in np.random.default_rng(3).normal(size=(50, 3)):
        assert penalty.value(other) <= tangent.value(other) + 1e-12


@pytest.mark.parametrize("penalty", [*CONVEX, *OTHER[:3]], ids=str)
def test_stationarity_is_zero_at_a_minimum_and_the_step_elsewhere(penalty):
    """w = prox(v, t) minimises P(w) + ||w - v||^2/(2 t), so the adjoint there is (w - v)/t."""
    v, t = np.array([-2.5, -0.05, 0.0, 0.9, 3.0]), 0.6
    w = penalty.prox(v, t)
    np.testing.assert_allclose(penalty.stationarity(w, (w - v) / t), 0.0, atol=1e-12)
    moved = np.abs(penalty.stationarity(w, (w - v) / t + 10.0))
    assert np.all(moved > 1.0)


def test_worked_stationarity():
    """w - soft(w - g - l2 w, l1) for w = 2, g = 3, l2 = 0.5: g + l2 w = 4, less l1."""
    w, g = np.array([2.0]), np.array([3.0])
    assert Penalty(l2=0.5).stationarity(w, g).tolist() == [4.0]
    assert Penalty(l2=0.5, l1=1.0).stationarity(w, g).tolist() == [3.0]
    weight = 0.5 + 2 * 3 * np.exp(-6.0)
    found = Penalty(l1=0.5, l0=2.0, alpha=3.0).stationarity(w, g)
    np.testing.assert_allclose(found, [2.0 - (-1.0 + weight)])


def test_worked_proximal_maps():
    v = np.array([1.0, -3.0, 0.25])
    np.testing.assert_allclose(Penalty(l2=2.0).prox(v, 0.5), v / 2)
    np.testing.assert_allclose(Penalty(l1=2.0, l2=2.0).prox(v, 0.5), [0.0, -1.0, 0.0])
    # counted exactly: kept if |v|^2 / (2 t) is more than l0; a tie goes to zero
    counted = Penalty(l0=1.0, alpha=np.inf)
    assert counted.prox(np.array([0.99, 1.0, 1.01, -1.01]), 0.5).tolist() == [0.0, 0.0, 1.01, -1.01]
    both = Penalty(l0=1.0, l2=2.0, alpha=np.inf)  # w = v/2 costs v^2/4 + 1 + v^2/4 against v^2
    assert both.prox(np.array([1.41, 1.42]), 0.5).tolist() == [0.0, 0.71]
    slow = Penalty(l0=1.0, l2=0.5, alpha=np.inf)  # with t = 2: v^2/16 + 1 + v^2/16 against v^2/4
    assert slow.prox(np.array([2.82, 2.84]), 2.0).tolist() == [0.0, 1.42]
    lasso = Penalty(l0=1.0, l1=1.0, alpha=np.inf)  # w = v - 1/2 costs 1/4 + v - 1/2 + 1 against v^2: 3/2
    assert lasso.prox(np.array([1.49, 1.51]), 0.5).tolist() == [0.0, 1.01]


@pytest.mark.parametrize("penalty", OTHER[:3], ids=str)
def test_a_concave_prox_is_stationary_to_rounding(penalty):
    v = np.array([-3.0, 0.9, 2.0, 50.0])
    w = penalty.prox(v, 0.6)
    slope = penalty.l2 * w + np.sign(w) * penalty.linearised(w) + (w - v) / 0.6
    np.testing.assert_allclose(slope[w != 0], 0.0, atol=1e-12)
    assert (w != 0).any()
