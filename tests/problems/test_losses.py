"""Every loss: conjugate, slope and proximal map agree with the value."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from maxmargin.problems import losses

ALL = [
    losses.Hinge(),
    losses.SquaredHinge(),
    losses.Logistic(),
    losses.Squared(),
    losses.EpsilonInsensitive(0.3),
    losses.SquaredEpsilonInsensitive(0.3),
    losses.PerceptronLoss(),
]
numbers = st.floats(-4, 4, allow_nan=False)


def _one(value: float) -> np.ndarray:
    return np.array([value])


@pytest.mark.parametrize("loss", ALL, ids=lambda loss: type(loss).__name__)
@settings(derandomize=True, deadline=None, max_examples=40)
@given(f=numbers, g=numbers, sign=st.sampled_from([-1.0, 1.0]))
def test_fenchel(loss, f, g, sign):
    """Fenchel-Young: L(g) + L*(u) >= u g for every u, with equality at g = f for the slope u at f."""
    y = _one(sign if loss.margin else 0.7 * sign)
    u = loss.slope(_one(f), y)
    conjugate = float(loss.conjugate(u, y)[0])
    assert float(loss.value(_one(f), y)[0]) + conjugate == pytest.approx(float(u[0]) * f, abs=1e-9)
    assert float(loss.value(_one(g), y)[0]) + conjugate >= float(u[0]) * g - 1e-9


@pytest.mark.parametrize("loss", ALL, ids=lambda loss: type(loss).__name__)
@settings(derandomize=True, deadline=None, max_examples=40)
@given(v=numbers, t=st.floats(0.05, 3), sign=st.sampled_from([-1.0, 1.0]))
def test_prox_minimises(loss, v, t, sign):
    y = _one(sign if loss.margin else 0.7 * sign)
    s = float(loss.prox(_one(v), y, t)[0])

    def objective(x):
        return float(loss.value(_one(x), y)[0]) + (x - v) ** 2 / (2 * t)

    best = minimize_scalar(objective, bounds=(-30, 30), method="bounded", options={"xatol": 1e-10})
    assert objective(s) <= best.fun + 1e-9


@pytest.mark.parametrize("loss", ALL, ids=lambda loss: type(loss).__name__)
def test_derivatives(loss):
    rng = np.random.default_rng(0)
    f = rng.normal(size=200) * 2
    y = np.sign(rng.normal(size=200)) if loss.margin else rng.normal(size=200)
    h = 1e-6
    slope = (loss.value(f + h, y) - loss.value(f - h, y)) / (2 * h)
    np.testing.assert_allclose(loss.slope(f, y), slope, atol=1e-5)
    prox_slope = (loss.prox(f + h, y, 0.4) - loss.prox(f - h, y, 0.4)) / (2 * h)
    np.testing.assert_allclose(loss.prox_slope(f, y, 0.4), prox_slope, atol=1e-5)
    if loss.smooth:
        curvature = (loss.slope(f + h, y) - loss.slope(f - h, y)) / (2 * h)
        np.testing.assert_allclose(loss.curvature(f, y), curvature, atol=1e-5)


@pytest.mark.parametrize("loss", ALL, ids=lambda loss: type(loss).__name__)
def test_clip_makes_the_conjugate_finite(loss):
    u = np.linspace(-5, 5, 41)
    y = np.where(np.arange(41) % 2 == 0, 1.0, -1.0)
    clipped = loss.clip(u, y)
    assert np.isfinite(loss.conjugate(clipped, y)).all()
    inside = np.isfinite(loss.conjugate(u, y))
    np.testing.assert_array_equal(clipped[inside], u[inside])


def test_zero_one_counts_zero_as_negative():
    assert losses.zero_one(np.array([0.0, 0.0, 2.0]), np.array([1.0, -1.0, 1.0])).tolist() == [1.0, 0.0, 0.0]


def test_unknown_name_lists_the_choices():
    with pytest.raises(ValueError, match="'hinge'"):
        losses.by_name("hing", ("hinge",))
