"""Loss plus penalty: every sum and the whole certificate, written a second time in plain NumPy."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import inf

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.compute.tables.design import design
from maxmargin.pieces.piece import Piece
from maxmargin.problems import loss_penalty, losses
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.loss_penalty import (
    LossPenalty,
    RowSums,
    Sides,
    Slopes,
    column_squares,
    inside_share,
    with_penalty,
)
from maxmargin.problems.penalties import Penalty
from maxmargin.problems.rows_in_pieces import BinaryTargets, LossPenaltyPieces, NumberTargets, _wider
from tests.problems.cut_problems import in_pieces

LOSSES = [
    losses.Hinge(),
    losses.SquaredHinge(),
    losses.Logistic(),
    losses.Squared(),
    losses.EpsilonInsensitive(0.1),
]
PENALTIES = {
    "l2": Penalty(l2=0.8),
    "l1": Penalty(l1=0.7),
    "l1l2": Penalty(l2=1.0, l1=0.7, constant=5.0),
    "columns": Penalty(l1=np.array([0.2, 0.5, 3.0]), constant=-2.0),
}
THETA = np.array([0.4, -0.3, 0.2, 0.15])
STEP = np.array([0.1, 0.2, -0.3, 0.4])


def a_problem(
    loss: losses.Loss, penalty: Penalty = PENALTIES["l2"], *, intercept: bool = True
) -> LossPenalty:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(12, 3)) * [1.0, 2.0, 0.5]
    y = np.where(rng.random(12) < 0.4, -1.0, 1.0) if loss.margin else rng.normal(size=12)
    c = rng.uniform(0.2, 1.5, 12)
    c[[2, 7]] = 0.0
    y[2] = 50.0 if not loss.margin else y[2]
    return LossPenalty(X=design(X, 1), y=y, c=c, loss=loss, penalty=penalty, fit_intercept=intercept)


def plain_value(problem: LossPenalty, theta: np.ndarray) -> float:
    f = problem.X.dense() @ theta[:3] + theta[3]
    return float(problem.c @ problem.loss.value(f, problem.y))


def at(theta: np.ndarray, intercept: bool) -> np.ndarray:
    return theta if intercept else np.append(theta[:-1], 0.0)


cases = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
intercepts = pytest.mark.parametrize("intercept", [True, False])


@cases
@intercepts
def test_sums_over_rows_are_the_derivatives_of_the_value(loss, intercept):
    problem, h = a_problem(loss, intercept=intercept), 1e-6
    theta = at(THETA, intercept)
    found, short = problem.sums(theta), problem.sums(theta, hessian=False)
    assert short.hessian is None
    assert found.value == short.value == pytest.approx(plain_value(problem, theta), rel=1e-14)
    assert problem.value(theta) == pytest.approx(found.value + problem.penalty.value(theta[:-1]), rel=1e-14)
    assert problem.value(theta, np.zeros(12)) == pytest.approx(
        float(problem.c @ loss.value(np.zeros(12), problem.y)) + problem.penalty.value(theta[:-1]), rel=1e-14
    )
    np.testing.assert_allclose(found.gradient, short.gradient, rtol=1e-13, atol=1e-15)
    directions = np.eye(4)[: 4 if intercept else 3]
    for k, e in enumerate(directions):
        slope = (plain_value(problem, theta + h * e) - plain_value(problem, theta - h * e)) / (2 * h)
        assert found.gradient[k] == pytest.approx(slope, abs=1e-7)
    X = np.column_stack([problem.X.dense(), np.full(12, float(intercept))])
    f = problem.scores(theta)
    H = X.T @ ((problem.c * loss.curvature(f, problem.y))[:, None] * X)
    np.testing.assert_allclose(found.hessian, H, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        problem.hessian_product(theta, at(STEP, intercept)), H @ at(STEP, intercept), rtol=1e-12
    )
    assert found.gradient[3] * (not intercept) == 0.0
    lengths = np.array([0.0, 0.5, 2.0])
    expected = [(problem.c * (X @ STEP)) @ loss.slope(f + t * (X @ STEP), problem.y) for t in lengths]
    if intercept:
        np.testing.assert_allclose(problem.slopes_along(theta, STEP, lengths), expected, rtol=1e-12)
    margins = (problem.y * f)[problem.c > 0]
    assert (found.least, found.largest) == (margins.min(), margins.max())
    assert problem.size() == (12, 3)


def test_rows_without_a_weight_have_no_margin():
    problem = replace(a_problem(losses.Hinge()), c=np.zeros(12))
    assert problem.extreme_margins(np.ones(12)) == (inf, -inf)


def test_sums_of_two_pieces_are_added():
    first = RowSums(1.0, np.ones(2), np.eye(2), -1.0, 3.0)
    second = RowSums(2.0, np.full(2, 5.0), np.full((2, 2), 2.0), -2.0, 2.0)
    both = first + second
    assert (both.value, both.least, both.largest) == (3.0, -2.0, 3.0)
    assert both.gradient.tolist() == [6.0, 6.0]
    assert both.hessian.tolist() == [[3.0, 2.0], [2.0, 3.0]]
    without = replace(first, hessian=None)
    assert (without + second).hessian is None
    assert (second + without).hessian is None


def test_penalty_on_a_hessian():
    H = np.arange(9.0).reshape(3, 3)
    assert with_penalty(H, 0.5, True).tolist() == [[0.5, 1, 2], [3, 4.5, 5], [6, 7, 8]]
    assert with_penalty(H, 0.5, False)[2, 2] == 1.0
    assert H[0, 0] == 0.0


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, lambda X: X.astype(np.float32)])
def test_squared_norms_of_columns(kind):
    X = np.array([[1.0, 0.0, 2.0], [3.0, 0.0, -1.0]])
    found = column_squares(design(kind(X), 1))
    assert found.tolist() == [10.0, 0.0, 5.0]
    assert found.dtype == np.float64


def test_share_that_scales_into_the_l1_ball():
    adjoint = np.array([2.0, -4.0, 0.5])
    assert inside_share(Penalty(l2=1.0), adjoint, np.zeros(3)) == 1.0
    assert inside_share(Penalty(l1=4.0), adjoint, np.zeros(3)) == 1.0
    assert inside_share(Penalty(l1=3.0), adjoint, np.zeros(3)) == 0.75
    assert inside_share(Penalty(l1=3.0), adjoint, np.ones(3)) == 1.0
    assert inside_share(Penalty(l1=np.array([1.0, 4.0, 0.1])), adjoint, np.zeros(3)) == 0.2
    assert inside_share(Penalty(), adjoint, np.full(3, 9.0)) == 1.0
    assert inside_share(Penalty(), adjoint, np.zeros(3)) == 0.0


# -- the certificate, a second time --------------------------------------------------------------------------


def plain_dual(problem: LossPenalty, v: np.ndarray) -> tuple[float, np.ndarray]:
    """Dual value and feasible point of shares v = u/c: clipped, balanced, and scaled into the l1 ball."""
    X, y, c, penalty = problem.X.dense(), problem.y, problem.c, problem.penalty
    used = c > 0
    u = np.where(used, c * problem.loss.clip(v, y), 0.0)
    if problem.fit_intercept:
        up, down = u[u > 0].sum(), -u[u < 0].sum()
        u = np.where(u > 0, u * min(1.0, down / up), u * min(1.0, up / down))
    l1 = np.broadcast_to(penalty.l1, 3)
    if penalty.l2 == 0:
        size = np.abs(X.T @ u)
        u = u * min([1.0, *(l1 / size)[size > l1 * (1 + 1e-9)]])
    conjugate = c[used] @ problem.loss.conjugate(u[used] / c[used], y[used])
    excess = np.maximum(np.abs(X.T @ u) - l1, 0.0)
    quadratic = excess @ excess / (2 * penalty.l2) if penalty.l2 > 0 else 0.0
    return float(penalty.constant - conjugate - quadratic), u


def plain_kkt(problem: LossPenalty, theta: np.ndarray, u: np.ndarray) -> float:
    used = problem.c > 0
    f, y, v = problem.scores(theta)[used], problem.y[used], u[used] / problem.c[used]
    residual = v - problem.loss.slope(f, y) if problem.loss.smooth else f - problem.loss.prox(f + v, y, 1.0)
    stationarity = problem.penalty.stationarity(theta[:-1], problem.X.dense().T @ u)
    return max(np.abs(residual).max(), np.abs(stationarity).max())


@cases
@intercepts
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("scale", [1.0, 0.01, -3.0])
def test_certificates_are_their_definition(loss, intercept, penalty, scale):
    problem = a_problem(loss, PENALTIES[penalty], intercept=intercept)
    theta = at(scale * THETA, intercept)
    f = problem.scores(theta)
    chosen = np.random.default_rng(1).normal(size=12)
    base = at(STEP, intercept)
    newton = Slopes(base, 0.1 * at(THETA, intercept))
    along = problem.scores(newton.step)
    shares = {
        "at theta": (None, loss.slope(f, problem.y)),
        "given": (chosen, chosen / np.where(problem.c > 0, problem.c, 1.0)),
        "base": (Slopes(base, np.zeros(4)), loss.slope(problem.scores(base), problem.y)),
        "newton": (
            newton,
            loss.slope(problem.scores(base), problem.y)
            + loss.curvature(problem.scores(base), problem.y) * along,
        ),
    }
    for slopes, v in shares.values():
        dual, u = plain_dual(problem, v)
        found = problem.certify(theta, slopes)
        assert found.primal == pytest.approx(
            plain_value(problem, theta) + problem.penalty.value(theta[:-1]), rel=1e-12
        )
        assert found.dual == pytest.approx(dual, rel=1e-9, abs=1e-12)
        assert found.gap == pytest.approx(found.primal - dual, rel=1e-9)
        assert found.kkt == pytest.approx(plain_kkt(problem, theta, u), rel=1e-9)
        assert found.n_checked == 12
        assert found.infeasibility <= 1e-9
        assert found.rounding == pytest.approx(problem.c @ loss.rounding(problem.y), rel=1e-12, abs=0)
    value, point, adjoint = problem.dual_value(chosen)
    dual, u = plain_dual(problem, shares["given"][1])
    assert value == pytest.approx(dual, rel=1e-9)
    np.testing.assert_allclose(point, u, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(adjoint, problem.X.dense().T @ u, rtol=1e-9, atol=1e-12)


def test_dual_points_are_balanced_on_either_side():
    problem = replace(a_problem(losses.Hinge()), y=np.tile([1.0, -1.0], 6), c=np.ones(12))
    few = np.where(np.arange(12) == 0, -1.0, np.where(problem.y < 0, 0.5, 0.0))  # slopes have the sign of -y
    point = problem.dual_point(few)
    np.testing.assert_allclose(point[[0, 1]], [-1.0, 0.5 / 3])
    np.testing.assert_allclose(problem.dual_point(-few), np.zeros(12))  # outside the domain
    many = np.where(problem.y > 0, -0.5, np.where(np.arange(12) == 1, 1.0, 0.0))
    np.testing.assert_allclose(problem.dual_point(many)[[0, 1]], [-0.5 / 3, 1.0])
    equal = np.where(problem.y > 0, -0.5, 0.5)
    assert problem.dual_point(equal).tolist() == equal.tolist()
    alone = replace(problem, fit_intercept=False)
    assert alone.dual_point(few).tolist() == few.tolist()


@intercepts
def test_without_a_penalty_squares_are_projected_to_the_optimum(intercept):
    problem = a_problem(losses.Squared(), Penalty(constant=2.0), intercept=intercept)
    root = np.sqrt(problem.c)[:, None]
    X = np.column_stack([problem.X.dense(), np.full(12, float(intercept))]) * root
    best = np.linalg.lstsq(X, root[:, 0] * problem.y, rcond=None)[0]
    found = problem.certify(at(THETA, intercept))
    assert found.dual == pytest.approx(problem.value(best), rel=1e-9)
    assert found.infeasibility <= 1e-9
    assert found.primal == pytest.approx(problem.value(at(THETA, intercept)))


@pytest.mark.parametrize("loss", [losses.Hinge(), losses.Logistic()], ids=["hinge", "logistic"])
def test_without_a_penalty_the_bound_is_zero_where_no_projection_is_feasible(loss):
    found = a_problem(loss, Penalty()).certify(100 * THETA)
    assert found.dual == 0.0
    assert found.gap == found.primal


def test_without_a_penalty_a_newton_step_gives_the_bound():
    """Near the optimum of random labels: the slopes after the step are balanced, and their value is close."""
    rng = np.random.default_rng(0)
    problem = LossPenalty(
        X=design(rng.normal(size=(60, 3)), 1),
        y=np.where(rng.random(60) < 0.5, -1.0, 1.0),
        c=np.ones(60),
        loss=losses.Logistic(),
        penalty=Penalty(),
    )
    theta = np.zeros(4)
    for _ in range(8):
        at_theta = problem.sums(theta)
        theta = theta - np.linalg.solve(at_theta.hessian, at_theta.gradient)
    best = problem.value(theta)
    found = problem.certify(theta + 0.01)
    assert best * (1 - 1e-3) < found.dual <= best * (1 + 1e-12) < found.primal


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("intercept", [True, False])
def test_feasible_slopes_are_seen_in_any_unit(unit, intercept):
    """At the least squares solution X'u = 0 up to rounding, so no projection is needed."""
    plain = a_problem(losses.Squared(), Penalty(), intercept=intercept)
    problem = replace(plain, X=design(unit * plain.X.dense(), 1), y=unit * plain.y)
    root = np.sqrt(problem.c)[:, None]
    X = np.column_stack([problem.X.dense(), np.full(12, unit * float(intercept))]) * root
    best = np.linalg.lstsq(X, root[:, 0] * problem.y, rcond=None)[0] * [1, 1, 1, unit]
    u = problem.c * problem.loss.slope(problem.scores(best), problem.y)
    value, point, _ = problem.dual_value(u)
    assert value == pytest.approx(problem.value(best), rel=1e-9, abs=0)
    assert problem.certify(best, u).dual == pytest.approx(value, rel=1e-9, abs=0)
    np.testing.assert_allclose(point, u, rtol=1e-6)


@pytest.mark.parametrize("unit", [0.01, 1.0, 50.0])
def test_certificates_of_any_weights(unit):
    """All weights positive, and sums of the dual variables below and above 1."""
    for loss, penalty, way in product(LOSSES, PENALTIES.values(), (1.0, -1.0)):
        problem = replace(a_problem(loss, penalty), c=unit * np.linspace(0.2, 1.5, 12)[:: int(way)])
        chosen = problem.c * np.linspace(-2.0, 2.0, 12)
        dual, u = plain_dual(problem, chosen / problem.c)
        found = problem.certify(THETA, chosen)
        assert found.dual == pytest.approx(dual, rel=1e-9)
        assert found.kkt == pytest.approx(plain_kkt(problem, THETA, u), rel=1e-9)
        np.testing.assert_allclose(problem.dual_value(chosen)[1], u, rtol=1e-12, atol=1e-14)
    assert not a_problem(losses.Hinge(), Penalty(l2=0.8)).column_squares.any()
    assert a_problem(losses.Hinge(), Penalty(l1=0.8)).column_squares.all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_one_class_with_an_intercept_has_the_dual_point_zero(sign):
    problem = replace(a_problem(losses.Hinge()), y=np.full(12, sign))
    found = problem.certify(np.zeros(4))
    assert found.dual == 0.0
    assert found.primal == pytest.approx(problem.c.sum())


def test_a_projection_is_made_up_to_a_number_of_columns(monkeypatch):
    problem = a_problem(losses.Squared(), Penalty())
    assert problem.certify(THETA).dual > 0
    monkeypatch.setattr(loss_penalty, "EXPLICIT", 3)
    assert problem.certify(THETA).dual > 0
    monkeypatch.setattr(loss_penalty, "EXPLICIT", 2)
    assert problem.certify(THETA).dual == 0.0


def test_a_certificate_in_memory_multiplies_the_rows_by_one_dual_point(monkeypatch):
    """Both sides apart, as rows in pieces need them, take three times as long."""
    problem, seen = a_problem(losses.Logistic()), []
    apart, _ = problem.dual_sums(THETA, None, apart=True)
    adjoint = type(problem.X).adjoint
    monkeypatch.setattr(type(problem.X), "adjoint", lambda X, u: seen.append(u) or adjoint(X, u))
    both, _ = problem.dual_sums(THETA, None)
    assert [u.shape for u in seen] == [(12,)]
    up, down = problem.balance(both.up, both.down)
    assert 1.0 in (up, down)
    np.testing.assert_allclose(
        up * both.adjoint_up + down * both.adjoint_down,
        up * apart.adjoint_up + down * apart.adjoint_down,
        rtol=1e-12,
        atol=1e-14,
    )


def test_what_rounding_can_hide_is_subtracted_from_the_bound():
    """|X'u| <= limit = 1e-9 sqrt(4 * (9, 16)) counts as zero, and costs |X'u| |w|; so does sum u times b."""
    problem = a_problem(losses.Squared(), Penalty(constant=7.0), intercept=False)
    up, down = np.array([3e-9, 2e-9, 0.0]), np.array([0.0, -8e-9, 0.0])
    sides = Sides(2.0, 1.0, up, down, 4.0, np.array([9.0, 16.0, 1.0]), 5.0, 1e-5)
    theta = np.array([-2.0, 3.0, 1.0, -4e-9])
    found, feasible = problem._certificate(theta, sides, lambda factors: (0.25, 0.5))
    assert feasible
    assert 6.75 - found.dual == pytest.approx(2 * 3e-9 + 3 * 6e-9 + 4e-9, rel=1e-6, abs=0)
    assert found.infeasibility == pytest.approx(0.75e-9, rel=1e-12, abs=0)
    assert (found.primal, found.kkt, found.rounding) == (12.0, 0.5, 1e-5)


def test_a_concave_penalty_has_a_stationarity_and_no_gap():
    penalty = Penalty(l2=0.5, l0=0.3, alpha=4.0)
    for loss, slopes in product(LOSSES, [None, np.linspace(-1, 1, 12)]):
        problem = a_problem(loss, penalty)
        found = problem.certify(THETA, slopes)
        v = (
            loss.slope(problem.scores(THETA), problem.y)
            if slopes is None
            else slopes / np.maximum(problem.c, 1e-9)
        )
        _, u = plain_dual(replace(problem, penalty=Penalty(l2=1.0)), v)
        assert found.kkt == pytest.approx(plain_kkt(problem, THETA, u), rel=1e-9)
        assert found == Certificate(primal=problem.value(THETA), kkt=found.kkt, n_checked=12, convex=False)
    flat = replace(a_problem(losses.Squared(), penalty), y=np.zeros(12))
    assert flat.certify(np.zeros(4)).kkt == 0.0
    small = replace(flat, X=design(1e-3 * flat.X.dense(), 1), fit_intercept=False)
    assert small.certify(np.zeros(4), flat.c * 0.5).kkt == 0.5


# -- rows in pieces ------------------------------------------------------------------------------------------


@cases
@intercepts
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_rows_in_pieces_have_the_sums_of_all_rows(loss, intercept, penalty):
    whole = a_problem(loss, PENALTIES[penalty], intercept=intercept)
    cut = in_pieces(whole, rows=5)
    theta, step = at(THETA, intercept), at(STEP, intercept)
    assert cut.size() == (12, 3)
    for hessian in (True, False):
        found, expected = cut.sums(theta, hessian=hessian), whole.sums(theta, hessian=hessian)
        for name in ("value", "gradient", "least", "largest"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12)
        assert (found.hessian is None) is (not hessian)
        if hessian:
            np.testing.assert_allclose(found.hessian, expected.hessian, rtol=1e-12, atol=1e-13)
    lengths = np.array([0.0, 1.0])
    np.testing.assert_allclose(
        cut.slopes_along(theta, step, lengths), whole.slopes_along(theta, step, lengths)
    )
    np.testing.assert_allclose(
        cut.hessian_product(theta, step), whole.hessian_product(theta, step), rtol=1e-12
    )
    assert cut.extreme_margins(theta) == pytest.approx(whole.extreme_margins(whole.scores(theta)))
    for slopes in (None, Slopes(step, 0.1 * theta)):
        found, expected = cut.certify(theta, slopes), whole.certify(theta, slopes)
        for name in ("primal", "dual", "kkt", "rounding", "n_checked"):
            assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9, abs=0)
    assert cut.sums(theta).hessian is not None
    assert whole.sums(theta).hessian is not None
    assert LossPenaltyPieces.fit_intercept is LossPenalty.fit_intercept is True


def test_extremes_of_two_pieces():
    assert _wider((1.0, 4.0), (0.0, 3.0)) == _wider((0.0, 3.0), (1.0, 4.0)) == (0.0, 4.0)
    assert _wider((0.0, 4.0), (1.0, 3.0)) == _wider((1.0, 3.0), (0.0, 4.0)) == (0.0, 4.0)


def test_targets_of_a_piece():
    labels, weights = np.array(["a", "b", "c", "a"]), np.array([1.0, 2.0, 3.0, 4.0])
    piece = Piece(np.zeros((4, 1)), labels, weights)
    classes, even = np.array(["a", "b", "c"]), np.ones(3)
    y, c = BinaryTargets("b", None, classes, 10.0, even)(piece)
    assert (y.tolist(), c.tolist()) == ([-1, 1, -1, -1], [10, 20, 30, 40])
    y, c = BinaryTargets("a", "c", classes, 10.0, np.array([1.0, 5.0, 0.5]))(piece)
    assert (y.tolist(), c.tolist()) == ([1, -1, -1, 1], [10, 0, 15, 40])
    for weights in ([2.0, 5.0, 0.5], [2.0, 2.0, 2.0]):
        _, c = BinaryTargets("b", None, classes, 10.0, np.array(weights))(piece)
        assert c.tolist() == [10 * weights[0], 20 * weights[1], 30 * weights[2], 40 * weights[0]]
    y, c = NumberTargets(2.0)(Piece(np.zeros((2, 1)), np.array([3, 4]), np.array([1.0, 2.0])))
    assert (y.tolist(), c.tolist(), y.dtype) == ([3.0, 4.0], [2.0, 4.0], np.float64)
    assert NumberTargets().C == 1.0
