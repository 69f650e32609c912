"""The float32 block solver stands where the float64 one does, also where float32 alone could not tell."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.compute.dual.block_solver import solve_block
from maxmargin.compute.dual.narrow_block import MOST
from maxmargin.compute.dual.one_group import solve_block as solve_narrow_block
from maxmargin.kernels import RBF

TOL = 1e-3


def block(n: int, C: float):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 5))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    return RBF(0.2)(X).astype(np.float32), y, np.where(y < 0, -C, 0.0), np.where(y > 0, C, 0.0)


def violation(B, linear, t, lo, hi):
    g = B.astype(np.float64) @ t + linear
    return g[t > lo].max() - g[t < hi].min()


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("n", [2, 3, 50, 333, MOST])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_a_block_is_solved(n, C, offset):
    """A large common offset of all gradients changes nothing: only differences count."""
    B, y, lo, hi = block(n, C)
    y[:2] = 1.0, -1.0
    lo, hi = np.where(y < 0, -C, 0.0), np.where(y > 0, C, 0.0)
    t = np.zeros(n)
    steps = solve_narrow_block(B, offset - y, t, lo, hi, TOL, 10**9)
    assert ((lo <= t) & (t <= hi)).all()
    assert abs(t.sum()) <= 1e-9 * np.abs(t).sum()
    # float32 gradients drift by some 2^-24 of their size, a few units, in every step
    assert violation(B, -y, t, lo, hi) <= TOL + 1e-6 * np.sqrt(steps)
    exact = np.zeros(n)
    solve_block(B, -y, exact, lo, hi, np.zeros(1, np.int64), np.full(1, n), TOL, 10**9)
    objective = [0.5 * x @ (B @ x) - y @ x for x in (t, exact)]
    assert objective[0] == pytest.approx(objective[1], rel=1e-4)


def test_nothing_moves_where_nothing_can():
    B, y, lo, hi = block(20, 1.0)
    t = np.where(y > 0, hi, 0.0)  # nobody can go up: those above zero are full, the rest has no room
    lo[y < 0] = 0.0
    before = t.copy()
    assert solve_narrow_block(B, B @ t - y, t, lo, hi, TOL, 10**9) == 0
    np.testing.assert_array_equal(t, before)


def test_steps_are_counted_and_bounded():
    B, y, lo, hi = block(100, 10.0)
    t = np.zeros(100)
    assert solve_narrow_block(B, -y, t, lo, hi, TOL, 5) == 5
    assert 2 <= np.count_nonzero(t) <= 10
