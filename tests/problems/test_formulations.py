"""Every machine as a quadratic problem: its arrays, and the model read from a solution."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from maxmargin.kernels import RBF, Linear
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.formulations import (
    Classification,
    Expansion,
    NearestHulls,
    NuClassification,
    NuRegression,
    OneClass,
    Regression,
    Sphere,
    _fill,
    squared_extent,
    start_sums,
)
from maxmargin.problems.solution import Solution, Status

ROWS = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0], [-1.0, 4.0]])
SIGNS = np.array([1.0, -1.0, 1.0, -1.0])
WEIGHTS = np.array([1.0, 2.0, 3.0, 4.0])
INF = np.inf


def built(machine, target=SIGNS, weight=WEIGHTS) -> BoxQP:
    kernel = Linear()
    return machine.build(kernel, kernel.prepare(ROWS), np.asarray(target), np.asarray(weight))


def a_solution(x, multipliers) -> Solution:
    return Solution(
        x=np.asarray(x, dtype=float),
        multipliers=np.asarray(multipliers, dtype=float),
        status=Status.CONVERGED,
        n_iter=1,
        seconds=0.0,
    )


FIELDS = ("d", "p", "s", "group", "delta", "C", "start")
ONES, ZEROS = [1.0] * 4, [0.0] * 4
TABLE = [  # machine, target, then the fields in this order
    (Classification(C=0.5), SIGNS, ZEROS, [-1.0] * 4, SIGNS, [0] * 4, [0.0], [0.5, 1, 1.5, 2], ZEROS),
    (Classification(C=0.5, loss="squared_hinge"), SIGNS,
     [1, 1 / 2, 1 / 3, 1 / 4], [-1.0] * 4, SIGNS, [0] * 4, [0.0], [INF] * 4, ZEROS),
    (NearestHulls(), SIGNS, ZEROS, ZEROS, ONES, [0, 1, 0, 1], [1, 1], [INF] * 4, [0.5] * 4),
    (NearestHulls(), [1, 1, 1, -1],
     ZEROS, ZEROS, ONES, [0, 0, 0, 1], [1, 1], [INF] * 4, [1 / 3, 1 / 3, 1 / 3, 1]),
    # half of nu * 10 = 3 on each side, in the order of the rows
    (NuClassification(nu=0.6), SIGNS, ZEROS, ZEROS, ONES, [0, 1, 0, 1], [3, 3], WEIGHTS, [1, 2, 2, 1]),
    (Regression(C=0.5, epsilon=0.25), [5.0, 6, 7, 8], [0.0] * 8,
     [-4.75, -5.75, -6.75, -7.75, 5.25, 6.25, 7.25, 8.25], ONES + [-1.0] * 4, [0] * 8, [0.0],
     [0.5, 1, 1.5, 2] * 2, [0.0] * 8),
    (Regression(C=0.5, epsilon=0.25, loss="squared_epsilon_insensitive"), [5.0, 6, 7, 8],
     [1, 1 / 2, 1 / 3, 1 / 4] * 2, [-4.75, -5.75, -6.75, -7.75, 5.25, 6.25, 7.25, 8.25], ONES + [-1.0] * 4,
     [0] * 8, [0.0], [INF] * 8, [0.0] * 8),
    # half of nu C 10 = 1.5 on each side
    (NuRegression(C=0.5, nu=0.6), [5.0, 6, 7, 8], [0.0] * 8, [-5.0, -6, -7, -8, 5, 6, 7, 8], [1.0] * 8,
     [0, 0, 0, 0, 1, 1, 1, 1], [1.5, 1.5], [0.5, 1, 1.5, 2] * 2, [0.5, 1, 0, 0] * 2),
    (OneClass(nu=0.4), SIGNS, ZEROS, ZEROS, ONES, [0] * 4, [4.0], WEIGHTS, [1, 2, 1, 0]),
    (Sphere(C=0.2), SIGNS,
     ZEROS, [-1.0, -4, -10, -17], ONES, [0] * 4, [1.0], [0.2, 0.4, 0.6, 0.8], [0.2, 0.4, 0.4, 0]),
]  # fmt: skip


@pytest.mark.parametrize("case", TABLE, ids=lambda case: str(case[0]))
def test_worked_problems(case):
    machine, target, *expected = case
    problem = built(machine, target)
    for name, values in zip(FIELDS, expected, strict=True):
        np.testing.assert_allclose(getattr(problem, name), values, rtol=1e-12, err_msg=name)
    assert problem.fixed_sums
    assert problem._infeasibility(problem.start) == pytest.approx(0.0, abs=1e-15)
    twice = isinstance(machine, (Regression, NuRegression))
    assert problem.Q.row.tolist() == ([0, 1, 2, 3] * 2 if twice else [0, 1, 2, 3])
    signs = (
        [1.0] * 4 + [-1.0] * 4
        if twice
        else np.sqrt(2.0) * np.ones(4)
        if isinstance(machine, Sphere)
        else None
    )
    if signs is None:
        signs = ONES if isinstance(machine, OneClass) else target
    np.testing.assert_allclose(problem.Q.sign, signs)


def test_defaults():
    assert Classification(C=1.0) == Classification(C=1.0, loss="hinge", fit_intercept=True)
    assert Regression(C=1.0, epsilon=0.0).loss == "epsilon_insensitive"
    assert not built(Classification(C=1.0, fit_intercept=False)).fixed_sums
    assert Expansion(np.zeros(1), 0.0, np.zeros(1)) == Expansion(np.zeros(1), 0.0, np.zeros(1), None, 1.0)


@pytest.mark.parametrize(
    ("machine", "x", "multipliers", "expected"),
    [
        (Classification(C=1.0), [1, 2, 3, 4], [0.5], ([1, -2, 3, -4], -0.5, [1, 2, 3, 4], None, 1.0)),
        # (rho_+ + rho_-) / 2 = 2 divides the model; the intercept is (rho_- - rho_+) / (rho_- + rho_+)
        (NuClassification(nu=0.5), [1, 2, 3, 4], [1, 3],
         ([0.5, -1, 1.5, -2], 0.5, [0.5, 1, 1.5, 2], None, 2.0)),
        (Regression(C=1.0, epsilon=0.25), [1, 2, 3, 4, 0, 5, 0, 1], [0.5],
         ([1, -3, 3, 3], -0.5, [1, 2, 3, 4, 0, 5, 0, 1], 0.25, 1.0)),
        (NuRegression(C=1.0, nu=0.5), [1, 2, 3, 4, 0, 5, 0, 1], [-3, 1],
         ([1, -3, 3, 3], 2.0, [1, 2, 3, 4, 0, 5, 0, 1], 1.0, 1.0)),
        (OneClass(nu=0.5), [1, 2, 3, 4], [0.5], ([1, 2, 3, 4], -0.5, [1, 2, 3, 4], None, 1.0)),
        (Sphere(C=1.0), [1, 2, 3, 4], [0.5], ([2, 4, 6, 8], -0.5, [1, 2, 3, 4], None, 1.0)),
    ],
    ids=lambda value: str(value) if hasattr(value, "build") else "",
)  # fmt: skip
def test_models_of_a_solution(machine, x, multipliers, expected):
    model = machine.recover(built(machine), a_solution(x, multipliers))
    beta, intercept, alpha, epsilon, scale = expected
    np.testing.assert_allclose(model.beta, beta)
    np.testing.assert_allclose(model.alpha, alpha)
    assert (model.intercept, model.epsilon, model.scale) == (intercept, epsilon, scale)
    assert machine.intercept(np.asarray(multipliers, dtype=float)) == intercept


def test_a_solution_counts_nothing_that_was_not_counted():
    solution = a_solution(ONES, [0.0])
    assert (solution.kernel_values, solution.cache_hits) == (0, 0)
    assert pickle.loads(pickle.dumps(solution)).status is Status.CONVERGED


def test_an_intercept_of_zero_has_no_minus():
    assert str(Classification(C=1.0).intercept(np.zeros(1))) == "0.0"


@pytest.mark.parametrize("multipliers", [[1.0, -1.0], [-2.0, 1.0]])
def test_nu_machines_without_a_margin(multipliers):
    with pytest.raises(ValueError, match=r"nu=0\.5 leaves no margin"):
        NuClassification(nu=0.5).recover(built(NuClassification(nu=0.5)), a_solution(ONES, multipliers))
    assert np.isnan(NuClassification(nu=0.5).intercept(np.asarray(multipliers)))


def test_small_margins_are_margins():
    machine = NuClassification(nu=0.5)
    model = machine.recover(built(machine), a_solution(ONES, [0.25, 0.75]))
    assert (model.scale, model.intercept) == (0.5, 0.5)
    assert machine.intercept(np.array([0.125, 0.375])) == 0.5


def test_nu_and_c_at_the_edge_of_what_is_possible():
    """The classes have weights 4 and 6, so nu <= 0.8; C times 10 must be 1."""
    edge = built(NuClassification(nu=0.8))
    assert edge.start.tolist() == [1.0, 2.0, 3.0, 2.0]
    with pytest.raises(ValueError, match=r"nu=0.81 is infeasible: the classes have 4 and 6 rows .* <= 0\.8"):
        built(NuClassification(nu=0.81))
    with pytest.raises(ValueError, match="infeasible"):
        built(NuClassification(nu=0.800001))
    assert built(Sphere(C=0.125), weight=[2.0, 2, 2, 2]).start.tolist() == [0.25] * 4
    with pytest.raises(ValueError, match=r"C=0\.09 is infeasible.*\(10\).*C must be >= 0\.1"):
        built(Sphere(C=0.09))
    kernel = RBF(gamma=1.0)
    ball = Sphere(C=1.0).build(kernel, kernel.prepare(ROWS), SIGNS, np.ones(4))
    assert ball.p.tolist() == [-1.0] * 4
    assert ball.p.dtype == np.float64


def test_a_start_fills_the_first_variables():
    assert _fill(4.0, np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [1.0, 2.0, 1.0, 0.0]
    assert _fill(3.0, np.array([1.0, 2.0, 3.0])).tolist() == [1.0, 2.0, 0.0]
    assert _fill(0.5, np.array([1.0])).tolist() == [0.5]
    assert start_sums(np.array([1.0, 2.0, 4.0]), np.array([0, 1, 0])).tolist() == [5.0, 2.0]
    assert start_sums(np.array([1.0]), np.array([0])).tolist() == [1.0, 0.0]


def test_extent_of_the_rows():
    """Squared distances from the first row, never below rounding of the largest kernel value."""
    diagonal, first = np.array([1.0, 4.0, 10.0]), np.array([1.0, 0.0, 3.0])
    assert squared_extent(diagonal, first) == 5.0  # 0, 1 + 4 and 1 + 10 - 6
    assert squared_extent(np.full(3, 7.0), np.full(3, 7.0)) == pytest.approx(7e-5)
    assert squared_extent(np.array([1.0, 9.0]), np.array([1.0, 5.0])) == pytest.approx(9e-5)
    assert squared_extent(np.zeros(3), np.zeros(3)) == 1e-300
    assert squared_extent(np.array([-9.0, -9.0]), np.array([-9.0, -9.0])) == pytest.approx(9e-5)


# -- the margin of a nu machine ---------------------------------------------------------------------------

FAR = {"square": 1.0, "extent": 1.0}  # hulls at a squared distance of 1/9 of the extent: there is a margin
NEAR = {"square": 8.9e-6, "extent": 1.0}  # total = 3: closer than 1e-6 * 9


def finer(rho: float, kkt: float, **hulls: float) -> float | None:
    problem = built(NuClassification(nu=0.6))
    return NuClassification(nu=0.6).finer(problem, np.array([rho - 0.25, rho + 0.25]), kkt, **hulls)


def test_a_margin_ten_times_its_uncertainty_is_trusted():
    assert finer(1.0, 0.1, **FAR) is None
    assert finer(0.5, 0.0625, **FAR) == pytest.approx(0.000625)  # a hundredth of the violation ...
    assert finer(0.25, 0.0625, **FAR) == pytest.approx(0.0005)  # ... or rho / 500 ...
    assert finer(0.0, 0.0625, **FAR) == pytest.approx(0.0000625)  # ... but not below a thousandth
    assert finer(0.0, 0.0, **FAR) is None
    assert finer(-1.0, 0.0, **FAR) == 1e-300


def test_margins_at_the_bounds():
    """A margin of 0.01 is enough, and hulls exactly at the bound are too close."""
    machine, problem = NuClassification(nu=0.6), built(NuClassification(nu=0.6))
    total = float(problem.delta.max())
    at = {"square": 1e-6 * 1.0 * total * total, "extent": 1.0}
    assert machine.finer(problem, np.array([0.01, 0.01]), 0.0001, **at) is None
    with pytest.raises(ValueError, match="no margin"):
        machine.finer(problem, np.array([0.009, 0.009]), 0.0001, **at)


@pytest.mark.parametrize(
    ("rho", "kkt", "hulls", "refused"),
    [
        (0.009, 0.0001, NEAR, True),
        (0.01, 0.0001, NEAR, False),
        (0.004, 0.005, NEAR, True),  # not resolved: the margin may be 0.009
        (0.006, 0.005, NEAR, False),
        (0.009, 0.0001, {"square": 9.1e-6, "extent": 1.0}, False),
        (0.009, 0.0001, {"square": 9e-6, "extent": 2.0}, True),
        (0.009, 0.0001, {"square": 9e-6, "extent": 0.9}, False),
        (0.009, 0.0001, FAR, False),
    ],
)
def test_without_a_margin_a_nu_machine_refuses(rho, kkt, hulls, refused):
    if not refused:
        finer(rho, kkt, **hulls)
        return
    with pytest.raises(ValueError, match=r"nu=0\.6 leaves no margin"):
        finer(rho, kkt, **hulls)


@pytest.mark.parametrize(
    ("nu", "kkt", "expected"),
    [
        (0.05, 0.0005, None),  # the multipliers sum to 0.5: a thousandth of it is small enough
        (0.05, 0.000501, 0.0005),
        (0.1, 1e3, None),  # where they sum to 1 or more, tol decides
        (0.09, 1.0, 0.0009),
        (1e-302, 1.0, 1e-300),
    ],
)
def test_a_tiny_nu_asks_for_a_smaller_tolerance(nu: float, kkt: float, expected: float | None) -> None:
    machine = OneClass(nu=nu)
    found = machine.finer(built(machine), np.zeros(1), kkt, square=1.0, extent=1.0)
    assert found == (None if expected is None else pytest.approx(expected, rel=1e-12))
