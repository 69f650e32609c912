"""The quadratic problem: bounds, sides, violations and values of worked points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from maxmargin.kernels import Linear
from maxmargin.problems import box_qp
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.formulations import Classification, NearestHulls, NuClassification, Regression
from tests.certificates import DenseDual

ROWS = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0], [-1.0, 4.0]])
SIGNS = np.array([1.0, -1.0, 1.0, -1.0])
K = ROWS @ ROWS.T


def a_problem(**changes) -> BoxQP:
    """The hinge with C = (1, 2, 3, 4) and a ridge."""
    kernel = Linear()
    plain = Classification(C=1.0).build(kernel, kernel.prepare(ROWS), SIGNS, np.array([1.0, 2.0, 3.0, 4.0]))
    return replace(plain, **changes)


def test_bounds_and_sides():
    problem = a_problem()
    low, high = problem.signed_bounds
    assert (low.tolist(), high.tolist()) == ([0.0, -2.0, 0.0, -4.0], [1.0, 0.0, 3.0, 0.0])
    assert len(problem) == 4
    up, down = problem.sides(np.array([0.0, 0.0, 3.0, 4.0]))
    assert (up.tolist(), down.tolist()) == ([True, False, False, True], [False, True, True, False])
    up, down = problem.sides(np.array([1.0, 2.0, 1.5, 2.0]))
    assert (up.tolist(), down.tolist()) == ([False, True, True, True], [True, False, True, True])


def test_signed_gradient_of_all_variables_or_of_some():
    problem = a_problem(d=np.array([0.5, 0.25, 1.0, 2.0]))
    a = np.array([1.0, 2.0, 3.0, 4.0])
    expected = SIGNS * (SIGNS * (K @ (SIGNS * a)) + problem.d * a - 1.0)
    v = problem.Q.times(a)
    np.testing.assert_allclose(problem.signed_gradient(a, v), expected)
    np.testing.assert_allclose(problem.signed_gradient(a, v[[2, 1]], np.array([2, 1])), expected[[2, 1]])


def test_violations_with_and_without_an_equality():
    """a = (0, 0, 3, 1): 0 can rise, 1 can fall, 2 is at its bound and can fall, 3 is free."""
    problem, a = a_problem(), np.array([0.0, 0.0, 3.0, 1.0])
    g = np.array([-5.0, 2.0, 1.0, 7.0])
    assert problem.violation(g, a) == 7.0 - -5.0
    assert problem.violation(g[[1, 2]], a, np.array([1, 2])) == 0.0
    assert problem.violation(g[[3, 1]], a, np.array([3, 1])) == 0.0
    assert problem.violation(np.array([-5.0, 2.0]), a, np.array([0, 1])) == 7.0
    alone = a_problem(fixed_sums=False)
    assert alone.violation(g, a) == 7.0
    assert alone.violation(-g, a) == 7.0
    assert alone.violation(np.array([5.0, -2.0, -1.0, 0.0]), a) == 0.0
    by_variable = problem.violations(g, a, np.array([3.0]))
    assert by_variable.tolist() == [8.0, 0.0, 0.0, 4.0]
    assert problem.violations(np.array([4.0, 4.0, 4.0, -1.0]), a, np.array([3.0])).tolist() == [
        0.0,
        1.0,
        1.0,
        4.0,
    ]


def test_violations_of_two_groups():
    kernel = Linear()
    dual = NuClassification(nu=0.5).build(kernel, kernel.prepare(ROWS), SIGNS, np.ones(4))
    a = np.array([0.5, 0.5, 0.0, 0.0])
    assert dual.violation(np.array([1.0, 9.0, -2.0, 8.0]), a) == 3.0
    assert dual.violation(np.array([1.0, 9.0, -2.0, 3.0]), a) == 6.0
    assert dual.violations(np.array([1.0, 9.0, -2.0, 8.0]), a, np.array([0.0, 10.0])).tolist() == [1, 1, 2, 2]
    assert dual.multipliers(np.array([1.0, 9.0, -2.0, 8.0]), a).tolist() == [1.0, 9.0]
    assert replace(dual, fixed_sums=False).multipliers(np.ones(4), a).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("a", "fixed", "expected"),
    [
        ([0.5, 0.5, 0.25, 0.25], True, 0.0),
        ([0.5, 0.0, 0.25, 0.0], True, 0.75),
        ([0.0, 0.5, 0.0, 0.0], True, 0.5),
        ([-0.5, -0.5, 0.0, 0.0], True, 0.5),
        ([1.5, 1.5, 0.0, 0.0], True, 0.5),
        ([0.5, 0.0, 0.25, 0.0], False, 0.0),
        ([-0.25, 0.0, 0.0, 0.0], False, 0.25),
        ([1.75, 0.0, 0.0, 0.0], False, 0.75),
    ],
)
def test_infeasibility(a, fixed, expected):
    assert a_problem(fixed_sums=fixed)._infeasibility(np.array(a)) == expected


def test_infeasibility_of_the_worse_group():
    kernel = Linear()
    dual = NuClassification(nu=0.5).build(kernel, kernel.prepare(ROWS), SIGNS, np.ones(4))
    assert dual._infeasibility(np.array([1.0, 1.0, 0.5, 0.0])) == 0.5  # sums 1.5 and 1 in place of 1


def test_a_problem_without_an_equality_gets_two_variables():
    problem = a_problem(fixed_sums=False)
    wider = problem.with_sums(np.array([1.0, 0.5, 0.0, 0.0]))
    assert wider.start.tolist() == [1.0, 0.5, 0.0, 0.0, 0.0, 0.5]
    assert wider.s.tolist() == [1.0, -1.0, 1.0, -1.0, 1.0, -1.0]
    assert wider.Q.row.tolist() == [0, 1, 2, 3, 0, 0]
    assert wider.Q.sign.tolist() == [1.0, -1.0, 1.0, -1.0, 0.0, 0.0]
    assert wider.group.tolist() == [0] * 6
    assert wider.C.tolist() == [1.0, 2.0, 3.0, 4.0, np.inf, np.inf]
    assert (wider.d[4:].tolist(), wider.p[4:].tolist(), wider.delta.tolist()) == ([0, 0], [0, 0], [0.0])
    assert float(wider.s @ wider.start) == 0.0
    assert problem.with_sums(np.array([0.0, 0.5, 0.0, 0.0])).start[4:].tolist() == [0.5, 0.0]
    assert problem.with_sums().start.tolist() == [0.0] * 6
    a = np.append(np.array([0.5, 1.0, 1.5, 2.0]), [3.0, 4.0])
    np.testing.assert_allclose(wider.Q.weights(a), problem.Q.weights(a[:4]))


# -- values --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ridge", [[0.0] * 4, [0.5, 0.25, 1.0, 2.0]], ids=["hinge", "ridge"])
@pytest.mark.parametrize("multiplier", [None, 0.0, -0.75])
@pytest.mark.parametrize("size", [1.0, 0.05])
def test_values_are_those_of_both_problems(ridge, multiplier, size):
    """Each variable adds the largest z t - d t^2/2 for 0 <= t <= C, here from a fine grid."""
    problem = a_problem(d=np.array(ridge))
    a = size * np.array([0.5, 1.0, 0.25, 0.5])
    v = K @ (SIGNS * a)
    given = None if multiplier is None else np.array([multiplier])
    primal, dual = problem.values(a, v, given)
    assert dual == pytest.approx(-DenseDual.of(problem).objective(a))
    found = problem.multipliers(problem.signed_gradient(a, v), a)[0] if multiplier is None else multiplier
    z = 1.0 - SIGNS * (v - found)
    t = np.linspace(0.0, 1.0, 100001)[:, None] * problem.C
    expected = 0.5 * (SIGNS * a) @ v + np.max(z * t - 0.5 * problem.d * t**2, axis=0).sum()
    assert primal == pytest.approx(expected, rel=1e-8)
    found = problem.certify(a, multipliers=given)
    assert (found.primal, found.dual) == pytest.approx((primal, dual))
    assert found.n_checked == 4


def test_right_hand_sides_count():
    """The primal has -<multipliers, delta>."""
    problem, a = a_problem(delta=np.array([0.5])), np.array([0.5, 0.0, 0.0, 0.0])
    without, _ = a_problem().values(a, K @ (SIGNS * a), np.array([2.0]))
    assert problem.values(a, K @ (SIGNS * a), np.array([2.0]))[0] == pytest.approx(without - 1.0)


def test_a_hard_margin_is_scaled_to_its_smallest_margin():
    """Points 1 and -1: a = (1/2, 1/2) is optimal with value 1/2; half of it, scaled, has that primal."""
    kernel = Linear()
    X = np.array([[1.0], [-1.0]])
    hard = Classification(C=np.inf).build(kernel, kernel.prepare(X), np.array([1.0, -1.0]), np.ones(2))
    best = hard.certify(np.array([0.5, 0.5]))
    assert (best.primal, best.dual) == (0.5, 0.5)
    half = hard.certify(np.array([0.25, 0.25]))
    assert (half.primal, half.dual) == (0.5, 0.5 - 0.125)
    # with multiplier 1/4 the margins are 1/4 and 3/4 (of the point 1/2): divided by the smaller one
    v = np.array([0.5, -0.5])
    assert hard.values(np.array([0.25, 0.25]), v, np.array([0.25]))[0] == pytest.approx(0.125 / 0.25**2)
    assert hard.certify(np.zeros(2)).primal == np.inf
    assert hard.values(np.array([0.25, 0.25]), v, np.array([0.5]))[0] == np.inf  # a margin of 0
    shifted = replace(hard, delta=np.array([0.5]))
    expected = 0.125 / 0.25**2 - 0.25 * 0.5 / 0.25
    assert shifted.values(np.array([0.25, 0.25]), v, np.array([0.25]))[0] == pytest.approx(expected)


def test_only_rows_without_slack_set_the_scale():
    """Rows 0 and 1 are hard, the others have C = 2: all of (w, b) is divided by the smaller hard margin."""
    mixed = a_problem(C=np.array([np.inf, np.inf, 2.0, 2.0]))
    a = np.array([0.5, 1.0, 0.25, 0.5])
    f, b = K @ (SIGNS * a), 0.125
    scale = min((SIGNS * (f + b))[:2])
    assert scale > 0
    hinges = np.maximum(0.0, 1.0 - SIGNS * (f + b) / scale)[2:]
    expected = 0.5 * (SIGNS * a) @ f / scale**2 + 2.0 * hinges.sum()
    assert mixed.values(a, f, np.array([-b]))[0] == pytest.approx(expected)


def test_nearest_hulls_have_no_margin_to_scale_to():
    """1/2 ||w||^2 less the multipliers of both sums; conditions that are broken add nothing."""
    kernel = Linear()
    hulls = NearestHulls().build(kernel, kernel.prepare(ROWS), SIGNS, np.ones(4))
    a = hulls.start
    f = K @ (SIGNS * a)
    primal, dual = hulls.values(a, f, np.array([200.0, 300.0]))
    assert primal == pytest.approx(0.5 * (SIGNS * a) @ f - 500.0)
    assert dual == pytest.approx(-0.5 * (SIGNS * a) @ f)


def test_a_squared_loss_is_not_scaled():
    kernel = Linear()
    squared = Classification(C=0.5, loss="squared_hinge").build(
        kernel, kernel.prepare(ROWS), SIGNS, np.ones(4)
    )
    a = np.array([0.5, 1.0, 0.25, 0.5])
    f = K @ (SIGNS * a)
    expected = 0.5 * (SIGNS * a) @ f + 0.5 * np.sum(np.maximum(0.0, 1 - SIGNS * (f - 0.25)) ** 2)
    assert squared.values(a, f, np.array([0.25]))[0] == pytest.approx(expected)


# -- which rows are checked ----------------------------------------------------------------------------------


def test_all_rows_are_checked_up_to_a_number_of_kernel_values(monkeypatch):
    problem, a = a_problem(), np.array([0.5, 0.5, 0.0, 0.0])
    suspects = np.zeros(4)
    monkeypatch.setattr(box_qp, "FULL_CHECK", 8)  # 4 rows times 2 support vectors
    assert problem.certify(a, suspects=suspects).complete
    monkeypatch.setattr(box_qp, "FULL_CHECK", 7)
    assert not problem.certify(a, suspects=suspects).complete
    assert problem.certify(a).complete
    assert problem.certify(a, suspects=suspects, full=True).complete
    sample = problem.certify(np.array([-0.5, 0.5, 0.0, 0.0]), suspects=suspects)
    assert (sample.infeasibility, sample.convex, sample.n_checked) == (1.0, True, 4)


def test_a_sample_holds_the_worst_of_every_side_and_group(monkeypatch):
    monkeypatch.setattr(box_qp, "_RANDOM_ROWS", 1)
    monkeypatch.setattr(box_qp, "_WORST_ROWS", 1)
    kernel = Linear()
    X = np.arange(24.0).reshape(12, 2)
    dual = NuClassification(nu=0.5).build(kernel, kernel.prepare(X), np.repeat([1.0, -1.0], 6), np.ones(12))
    a = np.full(12, 0.5)
    a[[0, 6]], a[[1, 7]] = 0.0, 1.0
    suspects = np.zeros(12)
    suspects[[0, 2, 4, 6, 8, 10]] = [9.0, -3.0, 3.0, 9.0, -4.0, 4.0]  # 0 and 6 cannot fall
    suspects[[1, 7]] = -9.0  # and these cannot rise
    chosen = dual._sample(a, suspects)
    assert {2, 4, 8, 10} <= set(chosen)
    assert len(chosen) <= 5
    random = np.random.default_rng(0).choice(12, 1, replace=False)
    assert set(chosen) == {2, 4, 8, 10, *random}
    monkeypatch.setattr(box_qp, "_RANDOM_ROWS", 99)
    assert dual._sample(a, suspects).tolist() == list(range(12))
    monkeypatch.setattr(box_qp, "_WORST_ROWS", 99)
    assert dual._sample(a, suspects).tolist() == list(range(12))


def test_rounding_of_sums():
    """eps max sqrt(K_ii) sum |beta_i| sqrt(K_ii), with K_ii = 1, 4, 10, 17."""
    problem, a = a_problem(), np.array([1.0, 2.0, 0.0, 0.5])
    expected = np.finfo(float).eps * np.sqrt(17.0) * (1.0 + 2 * 2.0 + 0.5 * np.sqrt(17.0))
    assert problem.rounding(a) == pytest.approx(expected, rel=1e-12, abs=0)
    small = replace(problem, Q=replace(problem.Q, points=Linear().prepare(0.01 * ROWS)))
    assert small.rounding(a) == pytest.approx(1e-4 * expected, rel=1e-12, abs=0)
    found = problem.with_rounding(Certificate(kkt=1.0), a)
    assert found.rounding == pytest.approx(expected * 10.0, abs=0)  # the sum of all bounds
    free = replace(problem, C=np.full(4, np.inf)).with_rounding(Certificate(kkt=1.0), a)
    assert free.rounding == pytest.approx(expected * 3.5, abs=0)  # else the sum of the variables
    assert replace(problem, C=np.full(4, 1e308)).with_rounding(Certificate(), a).rounding == 0.0


def test_only_a_wide_gap_is_compared_with_rounding():
    wide, a = a_problem(C=np.full(4, 1e6)), np.array([0.001, 0.001, 0.0, 0.0])
    assert wide.certify(a).is_wide
    assert wide.certify(a).rounding == pytest.approx(wide.rounding(a) * 4e6, abs=0)
    kernel = Linear()
    X = np.array([[1.0], [-1.0]])
    solved = Classification(C=9.0).build(kernel, kernel.prepare(X), np.array([1.0, -1.0]), np.ones(2))
    assert solved.certify(np.array([0.5, 0.5])).rounding == 0.0


def test_a_kernel_that_may_be_indefinite_has_no_gap():
    problem = a_problem()
    unknown = replace(problem, Q=replace(problem.Q, kernel=_Kernel(None)))
    indefinite = replace(problem, Q=replace(problem.Q, kernel=_Kernel(False)))
    a = np.array([0.5, 0.5, 0.0, 0.0])
    assert unknown.certify(a).convex
    assert not indefinite.certify(a).convex
    assert np.isnan(indefinite.certify(a).gap)
    assert indefinite.certify(a).kkt == unknown.certify(a).kkt
    assert indefinite.rounding(a) == problem.rounding(a)


class _Kernel(Linear):
    def __init__(self, psd):
        super().__init__()
        self._psd = psd

    @property
    def psd(self):
        return self._psd

    def diagonal(self, points):
        return super().diagonal(points) * (1 if self._psd is None else -1)


def test_two_variables_of_a_point_share_its_coefficient():
    kernel = Linear()
    dual = Regression(C=1.0, epsilon=0.1).build(kernel, kernel.prepare(ROWS), np.arange(4.0), np.ones(4))
    a = np.array([1.0, 0.0, 0.5, 0.0, 0.25, 1.0, 0.0, 0.0])
    beta = np.array([0.75, -1.0, 0.5, 0.0])
    assert dual.Q.weights(a).tolist() == beta.tolist()
    np.testing.assert_allclose(dual.Q.times(a), K @ beta)
    np.testing.assert_allclose(dual.Q.times(a, np.array([2]), n_threads=2), (K @ beta)[[2]])
    dense = DenseDual.of(dual)
    assert dual.certify(a).kkt == pytest.approx(dense.violation(a))
    assert dual.certify(a).dual == pytest.approx(-dense.objective(a))
