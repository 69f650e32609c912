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


# -- boundaries: the point itself, and both sides of it ------------------------------------------------------

HINGE, SQUARED_HINGE, LOGISTIC, SQUARED = (
    losses.Hinge(),
    losses.SquaredHinge(),
    losses.Logistic(),
    losses.Squared(),
)
PERCEPTRON, TUBE, SQUARED_TUBE = (
    losses.PerceptronLoss(),
    losses.EpsilonInsensitive(0.5),
    losses.SquaredEpsilonInsensitive(0.5),
)
INF = np.inf

WORKED = [  # loss, function, arguments of f or u (and t), the values for y = 1
    (HINGE, "value", [-1.0, 0.5, 1.0, 3.0], [2.0, 0.5, 0.0, 0.0]),
    (PERCEPTRON, "value", [-2.0, 0.0, 3.0], [2.0, 0.0, 0.0]),
    (SQUARED_HINGE, "value", [-2.0, 0.5, 1.0, 3.0], [9.0, 0.25, 0.0, 0.0]),
    (SQUARED, "value", [-2.0, 1.0, 4.0], [9.0, 0.0, 9.0]),
    (TUBE, "value", [-2.0, 0.5, 1.0, 1.5, 4.0], [2.5, 0.0, 0.0, 0.0, 2.5]),
    (SQUARED_TUBE, "value", [-2.0, 0.5, 1.0, 1.5, 4.0], [6.25, 0.0, 0.0, 0.0, 6.25]),
    (HINGE, "slope", [0.999, 1.0, 1.001], [-1.0, 0.0, 0.0]),
    (PERCEPTRON, "slope", [-0.001, 0.0, 0.001], [-1.0, 0.0, 0.0]),
    (SQUARED_HINGE, "slope", [-2.0, 1.0, 2.0], [-6.0, 0.0, 0.0]),
    (SQUARED, "slope", [-2.0, 1.0, 4.0], [-6.0, 0.0, 6.0]),
    (TUBE, "slope", [0.499, 0.5, 1.0, 1.5, 1.501], [-1.0, 0.0, 0.0, 0.0, 1.0]),
    (SQUARED_TUBE, "slope", [-2.0, 0.5, 1.0, 1.5, 4.0], [-5.0, 0.0, 0.0, 0.0, 5.0]),
    (HINGE, "curvature", [0.0, 1.0, 2.0], [0.0, 0.0, 0.0]),
    (SQUARED_HINGE, "curvature", [0.999, 1.0, 1.001], [2.0, 0.0, 0.0]),
    (SQUARED, "curvature", [0.0, 1.0], [2.0, 2.0]),
    (TUBE, "curvature", [0.0, 1.5], [0.0, 0.0]),
    (SQUARED_TUBE, "curvature", [0.499, 0.5, 0.501, 1.499, 1.5, 1.501], [2.0, 2.0, 0.0, 0.0, 2.0, 2.0]),
    (HINGE, "conjugate", [-1 - 1e-11, -1.0, -0.25, 0.0, 1e-11, 0.5], [INF, -1.0, -0.25, 0.0, INF, INF]),
    (PERCEPTRON, "conjugate", [-1.1, -1.0, -0.25, 0.0, 0.5], [INF, 0.0, 0.0, 0.0, INF]),
    (SQUARED_HINGE, "conjugate", [-4.0, -2.0, 0.0, 1e-11, 0.5], [0.0, -1.0, 0.0, INF, INF]),
    (LOGISTIC, "conjugate", [-1.1, -1 - 1e-11, -1.0, 0.0, 1e-11, 0.5], [INF, INF, 0.0, 0.0, INF, INF]),
    (SQUARED, "conjugate", [-4.0, 0.0, 6.0], [0.0, 0.0, 15.0]),
    (TUBE, "conjugate", [-1.1, -1.0, 0.5, 1.0, 1 + 1e-11, 1.1], [INF, -0.5, 0.75, 1.5, INF, INF]),
    (SQUARED_TUBE, "conjugate", [-4.0, 0.0, 6.0], [2.0, 0.0, 18.0]),
    (HINGE, "clip", [-1.5, -0.5, 0.5], [-1.0, -0.5, 0.0]),
    (SQUARED_HINGE, "clip", [-1.5, 0.5], [-1.5, 0.0]),
    (LOGISTIC, "clip", [-1.5, -0.25, 0.5], [-1.0, -0.25, 0.0]),
    (SQUARED, "clip", [-9.0, 9.0], [-9.0, 9.0]),
    (TUBE, "clip", [-1.5, -0.25, 0.5, 2.0], [-1.0, -0.25, 0.5, 1.0]),
    (SQUARED_TUBE, "clip", [-9.0, 9.0], [-9.0, 9.0]),
]  # fmt: skip
TIMED = [  # with t = 0.25 (the squares: t = 1)
    (HINGE, "prox", 0.25, [-2.0, 0.75, 0.9, 1.0, 1.5], [-1.75, 1.0, 1.0, 1.0, 1.5]),
    (PERCEPTRON, "prox", 0.25, [-2.0, -0.25, -0.1, 0.0, 1.5], [-1.75, 0.0, 0.0, 0.0, 1.5]),
    (SQUARED_HINGE, "prox", 1.0, [-2.0, 0.25, 1.0, 1.5], [0.0, 0.75, 1.0, 1.5]),
    (SQUARED, "prox", 1.0, [-2.0, 1.0, 4.0], [0.0, 1.0, 2.0]),
    (TUBE, "prox", 0.25, [0.0, 0.25, 0.4, 1.2, 1.6, 3.0], [0.25, 0.5, 0.5, 1.2, 1.5, 2.75]),
    (SQUARED_TUBE, "prox", 1.0, [-1.0, 0.5, 1.2, 3.0], [0.0, 0.5, 1.2, 2.0]),
    (HINGE, "prox_slope", 0.25, [0.75, 0.8, 1.0, 1.1], [1.0, 0.0, 1.0, 1.0]),
    (PERCEPTRON, "prox_slope", 0.25, [-0.25, -0.1, 0.0], [1.0, 0.0, 1.0]),
    (SQUARED_HINGE, "prox_slope", 1.0, [0.0, 1.0, 2.0], [1 / 3, 1.0, 1.0]),
    (SQUARED, "prox_slope", 1.0, [0.0, 1.0], [1 / 3, 1 / 3]),
    (TUBE, "prox_slope", 0.25, [0.25, 0.4, 0.5, 1.5, 1.6, 1.75], [1.0, 0.0, 1.0, 1.0, 0.0, 1.0]),
    (SQUARED_TUBE, "prox_slope", 1.0, [0.0, 0.5, 1.5, 2.0], [1 / 3, 1.0, 1.0, 1 / 3]),
]  # fmt: skip


def _names(case: object) -> str | None:
    return type(case).__name__ if isinstance(case, losses.Loss) else case if isinstance(case, str) else ""


@pytest.mark.parametrize(("loss", "function", "at", "expected"), WORKED, ids=_names)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_worked_values_at_the_edges(loss, function, at, expected, sign):
    """A loss of (y, f) is that of (-y, -f), so slopes and arguments of the conjugate change their signs."""
    y = np.full(len(at), sign)
    found = getattr(loss, function)(sign * np.array(at), y)
    flips = function in ("slope", "clip")
    np.testing.assert_allclose(found, sign * np.array(expected) if flips else expected, atol=1e-12)


@pytest.mark.parametrize(("loss", "function", "t", "at", "expected"), TIMED, ids=_names)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_worked_proximal_maps_at_the_edges(loss, function, t, at, expected, sign):
    y = np.full(len(at), sign)
    for step in (t, np.full(len(at), t)):
        found = getattr(loss, function)(sign * np.array(at), y, step)
        np.testing.assert_allclose(
            found, sign * np.array(expected) if function == "prox" else expected, atol=1e-12
        )


@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE, LOGISTIC, TUBE], ids=_names)
def test_domains_of_conjugates_have_a_tolerance_of_rounding(loss):
    """A slope that is outside by 1e-12 or less came from rounding; the bound itself is inside."""
    one = np.ones(1)
    edges = {
        HINGE: [-1 - 1e-12, 1e-12],
        SQUARED_HINGE: [1e-12],
        LOGISTIC: [-1 - 1e-12, 1e-12],
        TUBE: [1 + 1e-12],
    }
    for edge in edges[loss]:
        at_edge, inside = loss.conjugate(_one(edge), one), loss.conjugate(loss.clip(_one(edge), one), one)
        np.testing.assert_allclose(at_edge, inside, atol=1e-11)


def test_logistic_loss_far_from_the_margin():
    """log(1 + exp(-m)) is -m for m << 0 and exp(-m) for m >> 0; its conjugate is minus the entropy."""
    f, y = np.array([-800.0, 800.0, 30.0, 0.0]), np.ones(4)
    np.testing.assert_allclose(LOGISTIC.value(f, y), [800.0, 0.0, np.exp(-30.0), np.log(2.0)], rtol=1e-12)
    np.testing.assert_allclose(LOGISTIC.slope(f, y), [-1.0, 0.0, -np.exp(-30.0), -0.5], rtol=1e-12)
    np.testing.assert_allclose(LOGISTIC.slope(-f, -y), [1.0, 0.0, np.exp(-30.0), 0.5], rtol=1e-12)
    np.testing.assert_allclose(LOGISTIC.curvature(_one(np.log(3.0)), _one(-1.0)), [3 / 16], rtol=1e-12)
    np.testing.assert_allclose(
        LOGISTIC.conjugate(_one(-0.25), _one(1.0)), [0.25 * np.log(0.25) + 0.75 * np.log(0.75)]
    )


@pytest.mark.parametrize("t", [1e-8, 0.3, 50.0, 1e6])
def test_logistic_prox_solves_its_equation_for_any_step(t):
    """s - v + t L'(s) = 0, to rounding of its largest term; the map is a contraction."""
    v = np.array([-2e6, -1e3, -40.0, -1.0, 0.0, 1.0, 40.0, 1e3, 2e6])
    for y in (np.ones(9), -np.ones(9)):
        s = LOGISTIC.prox(v, y, t)
        scale = 1e-14 * (np.abs(v) + np.abs(s) + t)
        assert np.all(np.abs(s - v + t * LOGISTIC.slope(s, y)) <= scale)
        slope = LOGISTIC.prox_slope(v, y, t)
        np.testing.assert_allclose(slope, 1.0 / (1.0 + t * LOGISTIC.curvature(s, y)))
        assert np.all((slope > 0) & (slope <= 1))


def test_rounding_of_losses():
    """Scores have 12 digits: of 1 for a margin, of the target for a residual, squared for squares."""
    y = np.array([-2.0, 0.0, 3.0])
    for loss in (HINGE, LOGISTIC):
        assert loss.rounding(y).tolist() == [1e-12] * 3
    np.testing.assert_allclose(SQUARED_HINGE.rounding(y), [1e-24] * 3)
    np.testing.assert_allclose(TUBE.rounding(y), [2e-12, 0.0, 3e-12])
    np.testing.assert_allclose(SQUARED.rounding(y), [4e-24, 0.0, 9e-24])
    np.testing.assert_allclose(SQUARED_TUBE.rounding(y), [4e-24, 0.0, 9e-24])


def test_reported_losses_at_their_edges():
    f, y = np.array([1.5, 2.0, 3.0, 0.0, -1.0]), np.ones(5)
    assert losses.squared_less_epsilon(f, y, 1.0).tolist() == [0.0, 0.0, 3.0, 0.0, 3.0]
    at = np.array([-1.0, 0.0, 0.5, 1.5, -1.0, 1.5])
    assert losses.zero_one(at, np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0])).tolist() == [1, 1, 0, 0, 0, 1]
    assert losses.zero_one(_one(1.0), _one(0.5)).tolist() == [0.0]


def test_losses_by_name():
    for name, loss in {
        "hinge": HINGE,
        "perceptron": PERCEPTRON,
        "squared": SQUARED,
        "logistic": LOGISTIC,
    }.items():
        assert losses.by_name(name, (name,)) == loss
    assert losses.by_name("epsilon_insensitive", ("epsilon_insensitive",), epsilon=0.5) == TUBE
    assert losses.by_name("epsilon_insensitive", ("epsilon_insensitive",)).epsilon == 0.0
    assert losses.by_name("squared_epsilon_insensitive", ("squared_epsilon_insensitive",)).epsilon == 0.0
    assert losses.ShiftedHinge() == losses.ShiftedHinge(1.0)
    assert [loss.smooth for loss in ALL] == [False, True, True, True, False, True, False]
    assert [loss.margin for loss in ALL] == [True, True, True, False, False, False, True]


@pytest.mark.parametrize("f", [5.0, 12.0, 20.0, 33.0])
def test_the_logistic_conjugate_keeps_its_digits_far_from_the_margin(f: float) -> None:
    """A large weight multiplies what is lost here: dual values lay above the objective."""
    at, y = np.array([f]), np.ones(1)
    u = LOGISTIC.slope(at, y)
    conjugate, product = float(LOGISTIC.conjugate(u, y)[0]), float(u[0]) * f
    assert float(LOGISTIC.value(at, y)[0]) + conjugate == pytest.approx(product, rel=1e-14, abs=0.0)
