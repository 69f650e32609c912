"""Subgradient descent on any convex function: the theorems' bounds and where they end."""

from __future__ import annotations

import numpy as np
import pytest

import maxmargin as mm


def _longest_entry(x):
    """max |x_j|, with the subgradient of Valera's proposition 5.6: that of one of the largest entries."""
    return float(np.abs(x - 1.0).max())


def _its_subgradient(x):
    v = np.zeros_like(x)
    j = int(np.argmax(np.abs(x - 1.0)))
    v[j] = np.sign(x[j] - 1.0)
    return v


@pytest.mark.parametrize("T", [1, 10, 1000])
def test_corollary_5_2(T):
    B = np.sqrt(3.0)  # the minimum is at (1, 1, 1)
    path = mm.subgradient_descent(_longest_entry, _its_subgradient, np.zeros(3), rho=1.0, B=B, max_iter=T)
    assert path.bound == pytest.approx(B / np.sqrt(T))
    assert path.value <= path.bound
    assert path.bound_note == "Valera, corollary 5.2"
    assert path.iterates.shape == (T, 3)
    np.testing.assert_array_equal(path.iterates[0], 0.0)
    np.testing.assert_allclose(path.x, path.iterates.mean(axis=0))
    np.testing.assert_allclose(path.averages()[-1], path.x)
    np.testing.assert_allclose(np.diff(path.iterates, axis=0)[:1], path.steps[0] * np.eye(3)[:1][: T - 1])
    assert path.table()["best"].iloc[-1] == path.values.min() == _longest_entry(path.best)


def test_theorem_5_14_and_a_projection():
    """lambda/2 ||x - c||^2 + |x_1| on the ball of radius 1."""
    c, lam = np.array([2.0, 0.5]), 0.7

    def f(x):
        return 0.5 * lam * (x - c) @ (x - c) + abs(x[0])

    def v(x):
        return lam * (x - c) + np.array([np.sign(x[0]), 0.0])

    def ball(x):
        return x / max(1.0, np.linalg.norm(x))

    grid = np.linspace(-1, 1, 401)
    best = min(f(np.array([a, b])) for a in grid for b in grid if a * a + b * b <= 1)
    rho = 1.0 + lam * (1.0 + np.linalg.norm(c))
    path = mm.subgradient_descent(
        f, v, [0.0, 0.0], rho=rho, lam=lam, step="strongly_convex", max_iter=200, projection=ball
    )
    assert path.value - best <= path.bound == pytest.approx(rho**2 * (1 + np.log(200)) / (2 * lam * 200))
    assert np.linalg.norm(path.iterates, axis=1).max() <= 1 + 1e-12


def test_an_accuracy_sets_the_number_of_steps():
    for step in ("constant", "strongly_convex"):
        options = {"rho": 2.0, "B": 1.0, "lam": 2.0, "step": step}
        path = mm.subgradient_descent(lambda x: x @ x, lambda x: 2.0 * x, [1.0], epsilon=0.1, **options)
        fewer = mm.subgradient_descent(
            lambda x: x @ x, lambda x: 2.0 * x, [1.0], max_iter=len(path.steps) - 1, **options
        )
        assert path.bound <= 0.1 < fewer.bound
    with pytest.raises(ValueError, match="both set the number of steps"):
        mm.subgradient_descent(np.abs, np.sign, [1.0], rho=1.0, max_iter=3, epsilon=0.1)


def test_no_bound_without_its_conditions():
    steep = mm.subgradient_descent(lambda x: 3 * abs(x[0]), lambda x: 3 * np.sign(x), [1.0], rho=1.0)
    assert np.isnan(steep.bound)
    assert steep.bound_note == "no bound: a subgradient of length 3 is longer than rho=1"
    wrong = mm.subgradient_descent(lambda x: abs(x[0]), lambda x: -np.sign(x), [1.0], rho=1.0, max_iter=9)
    assert "not convex" in wrong.bound_note
    hills = mm.subgradient_descent(lambda x: np.cos(x[0]), lambda x: -np.sin(x), [1.0], rho=1.0, B=9.0)
    assert "not convex" in hills.bound_note
    far = mm.subgradient_descent(lambda x: abs(x[0]), np.sign, [5.0], rho=1.0, B=1.0, max_iter=100)
    assert far.value - far.values.min() > 0.1  # B rho / sqrt(T), although the minimum is 5 from the start
    assert np.isnan(far.bound)
    assert far.bound_note.endswith("more than the theorem allows: B is wrong")
    options = {"rho": 9.0, "lam": 1e3, "step": "strongly_convex", "max_iter": 99}
    flat = mm.subgradient_descent(lambda x: x @ x / 2, lambda x: x, [9.0], **options)
    assert flat.bound_note.endswith("lam is wrong")


def test_what_the_functions_return_is_checked():
    with pytest.raises(ValueError, match=r"one number, and returned an array of the shape \(2,\)"):
        mm.subgradient_descent(np.abs, np.sign, [1.0, 2.0], rho=1.0)
    with pytest.raises(ValueError, match="f is inf at"):
        mm.subgradient_descent(lambda x: np.inf, np.sign, [1.0], rho=1.0)
    with pytest.raises(ValueError, match="finite numbers of the shape"):
        mm.subgradient_descent(lambda x: 0.0, lambda x: 1.0, [1.0], rho=1.0)
    with pytest.raises(ValueError, match="start has the shape"):
        mm.subgradient_descent(np.abs, np.sign, 1.0, rho=1.0)
