"""The certificate finds what is wrong with an answer, whoever made it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.kernels import RBF, Linear, Sigmoid
from maxmargin.problems import Certificate, box_qp
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.certificate import worst
from maxmargin.problems.formulations import Classification, NuClassification, Regression
from tests.certificates import DenseDual
from tests.strategies import Problem, make_problem, problems


def hinge(problem: Problem, C: float = 1.0) -> BoxQP:
    kernel = RBF(gamma=0.5)
    return Classification(C=C).build(kernel, kernel.prepare(problem.X), problem.y, np.ones(len(problem.y)))


@given(problem=problems(), seed=st.integers(0, 99))
def test_any_feasible_point_has_a_gap_that_is_not_negative(problem: Problem, seed: int) -> None:
    """Weak duality: the certificate of a random feasible point, far from optimal, is still a bound."""
    dual = hinge(problem)
    a = np.random.default_rng(seed).random(len(dual))
    positive = problem.y > 0
    a[positive] *= min(1.0, a[~positive].sum() / a[positive].sum())
    a[~positive] *= min(1.0, a[positive].sum() / a[~positive].sum())
    certificate = dual.certify(a)
    dense = DenseDual.of(dual)
    assert certificate.infeasibility <= 1e-12 * len(a)
    assert certificate.dual == pytest.approx(-dense.objective(a), rel=1e-9, abs=1e-12)
    assert certificate.kkt == pytest.approx(dense.violation(a), rel=1e-9, abs=1e-12)
    assert certificate.gap >= -1e-9


@given(problem=problems(), seed=st.integers(0, 99))
def test_primal_is_the_value_of_the_textbook(problem: Problem, seed: int) -> None:
    """1/2 ||w||^2 + C sum of hinges at the bias that the multipliers give."""
    dual = hinge(problem, C=2.0)
    a = np.random.default_rng(seed).random(len(dual))
    K = RBF(gamma=0.5)(problem.X)
    f = K @ (a * problem.y)
    g = problem.y * (problem.y * f - 1)
    b = -dual.multipliers(g, a)[0]
    expected = 0.5 * (a * problem.y) @ f + 2.0 * np.maximum(0, 1 - problem.y * (f + b)).sum()
    # off the constraint sum y a = 0 the two sides still differ by nothing: delta is 0
    assert dual.certify(a).primal == pytest.approx(expected, rel=1e-9)


def test_infeasible_points_are_seen() -> None:
    dual = hinge(make_problem("overlapping", 10, 2, 0, "equal"))
    assert dual.certify(np.full(10, 1.5)).infeasibility >= 0.5
    assert dual.certify(np.eye(10)[0]).infeasibility == 1.0
    assert not dual.certify(np.eye(10)[0]).holds(1e-3)


def test_a_sample_is_checked_when_all_would_cost_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box_qp, "FULL_CHECK", 100)
    monkeypatch.setattr(box_qp, "_RANDOM_ROWS", 20)
    monkeypatch.setattr(box_qp, "_WORST_ROWS", 5)
    dual = hinge(make_problem("overlapping", 300, 2, 0, "equal"))
    a = np.full(300, 0.5)
    dense = DenseDual.of(dual)
    suspects = dual.s * (dense.Q @ a + dense.p)
    sample = dual.certify(a, suspects=suspects)
    assert not sample.complete
    assert 20 <= sample.n_checked <= 30
    assert np.isnan(sample.gap)
    assert "a sample of" in str(sample)
    # honest suspects lead to the worst pair, so the sample finds the whole violation
    assert sample.kkt == pytest.approx(dense.violation(a), rel=1e-9)
    full = dual.certify(a, suspects=suspects, full=True)
    assert full.complete
    assert full.n_checked == 300
    assert full.kkt == pytest.approx(sample.kkt, rel=1e-12)


def test_free_variables_give_the_multiplier_and_else_the_middle() -> None:
    dual = hinge(make_problem("overlapping", 4, 1, 0, "equal"))
    signed = np.array([1.0, 2.0, 4.0, 8.0])
    assert dual.multipliers(signed, np.array([0.5, 0.5, 0.0, 1.0]))[0] == 1.5
    bounded = np.zeros(4)
    rises, falls = dual.s > 0, dual.s < 0
    expected = (signed[falls].max() + signed[rises].min()) / 2
    assert dual.multipliers(signed, bounded)[0] == expected


def test_groups_are_judged_apart() -> None:
    problem = make_problem("overlapping", 20, 2, 3, "equal")
    dual = NuClassification(nu=0.5).build(Linear(), Linear().prepare(problem.X), problem.y, np.ones(20))
    dense = DenseDual.of(dual)
    assert dual.certify(dual.start).kkt == pytest.approx(dense.violation(dual.start), rel=1e-9)
    assert dual.certify(dual.start).infeasibility == 0.0


def test_both_variables_of_a_sample_share_its_row() -> None:
    problem = make_problem("overlapping", 12, 2, 3, "equal")
    kernel = RBF(gamma=0.5)
    dual = Regression(C=1.0, epsilon=0.1).build(
        kernel, kernel.prepare(problem.X), problem.target, np.ones(12)
    )
    a = np.random.default_rng(0).random(24)
    np.testing.assert_allclose(dual.Q.weights(a), a[:12] - a[12:])
    np.testing.assert_allclose(dual.Q.times(a), kernel(problem.X) @ (a[:12] - a[12:]), rtol=1e-12)
    np.testing.assert_allclose(dual.Q.times(a, np.array([3, 1])), dual.Q.times(a)[[3, 1]], rtol=1e-12)


def test_the_worst_of_several() -> None:
    good, bad = Certificate(kkt=1e-5), Certificate(kkt=1e-2, complete=False)
    assert worst([good, bad]).kkt == 1e-2
    assert not worst(
        [dataclasses.replace(good, complete=False), dataclasses.replace(bad, complete=True)]
    ).complete


def test_a_gap_below_zero_is_rounding_or_shown() -> None:
    """One unit in the last place is rounding; a real negative gap is a defect and must be seen."""
    assert Certificate.between(500.0, np.nextafter(500.0, 501.0)).gap == 0.0
    assert Certificate.between(500.0, 500.0001).gap < 0.0
    assert Certificate.between(500.0001, 500.0).gap > 0.0
    assert Certificate.between(np.inf, 1.0).gap == np.inf


def test_the_grain_is_the_last_digit_of_the_largest_change() -> None:
    """The gradient of a row changes by a_i K(x_i, x_i) with its own variable; both variables count."""
    rows, a = np.array([[1.0], [2.0], [-3.0]]), np.array([0.5, 1.0, 0.25, 0.0, 0.0, 0.5])
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        sigmoid = Sigmoid(gamma=1.0, coef0=-20.0)  # K(x, x) = tanh(x^2 - 20), about -1
    for kernel, largest in ((Linear(), 0.5 * 9.0), (sigmoid, np.tanh(16.0))):
        dual = Regression(C=1.0, epsilon=0.1).build(kernel, kernel.prepare(rows), np.zeros(3), np.ones(3))
        assert dual.grain(a) == pytest.approx(np.finfo(float).eps * largest, rel=1e-12, abs=0.0)
        assert dual.grain(np.zeros(6)) == 0.0
