"""Several classes at once: derivatives by differences, and the certificate a second time in plain NumPy."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.compute.tables.design import design
from maxmargin.problems import multinomial
from maxmargin.problems.loss_penalty import Slopes
from maxmargin.problems.multinomial import Multinomial, RowChecks, free_unknowns
from maxmargin.problems.rows_in_pieces import MultinomialPieces, MultinomialRows

THETA = np.array([[0.3, -0.2, 0.1], [0.5, 0.4, -0.6], [-0.1, 0.2, 0.25]])
STEP = np.array([[0.2, 0.1, -0.3], [0.0, -0.4, 0.5], [0.1, 0.3, 0.2]])


def a_problem(l2: float = 0.7, *, intercept: bool = True, n: int = 14) -> Multinomial:
    rng = np.random.default_rng(2)
    c = rng.uniform(0.2, 2.0, n)
    c[3] = 0.0
    return Multinomial(
        X=design(rng.normal(size=(n, 2)), 1),
        codes=rng.integers(0, 3, n),
        c=c,
        n_classes=3,
        l2=l2,
        fit_intercept=intercept,
    )


def at(theta: np.ndarray, intercept: bool) -> np.ndarray:
    return theta if intercept else np.column_stack([theta[:, :-1], np.zeros(3)])


def plain_probabilities(problem: Multinomial, theta: np.ndarray) -> np.ndarray:
    f = problem.X.dense() @ theta[:, :2].T + theta[:, 2]
    return np.exp(f) / np.exp(f).sum(axis=1, keepdims=True)


def plain_value(problem: Multinomial, theta: np.ndarray) -> float:
    own = plain_probabilities(problem, theta)[np.arange(len(problem.codes)), problem.codes]
    return float(-problem.c @ np.log(own) + 0.5 * problem.l2 * np.sum(theta[:, :2] ** 2))


def differences(function, theta: np.ndarray) -> np.ndarray:
    h = 1e-6
    steps = [h * e.reshape(theta.shape) for e in np.eye(theta.size)]
    return np.array([(function(theta + e) - function(theta - e)) / (2 * h) for e in steps])


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("l2", [0.0, 0.7])
def test_derivatives(l2, intercept):
    problem = a_problem(l2, intercept=intercept)
    theta = at(THETA, intercept)
    point = problem.at(theta)
    free = np.tile([True, True, intercept], 3)
    assert point.value == pytest.approx(plain_value(problem, theta), rel=1e-13)
    gradient = differences(lambda x: plain_value(problem, x), theta)
    np.testing.assert_allclose(point.gradient.ravel()[free], gradient[free], atol=1e-7)
    assert np.all(point.gradient.ravel()[~free] == 0.0)
    with_intercept = replace(problem, fit_intercept=True)
    H = differences(lambda x: with_intercept.at(x).gradient.ravel(), theta)
    np.testing.assert_allclose(point.hessian, H, atol=1e-7)
    v = at(STEP, intercept)
    np.testing.assert_allclose(point.product(v).ravel()[free], (H @ v.ravel())[free], atol=1e-7)
    for weights in ([], [(2, 0)], [(1, 1)]):
        unknowns = np.zeros((3, 3), dtype=bool)
        unknowns[1:, -1] = True
        for place in weights:
            unknowns[place] = True
        chosen = unknowns.ravel()
        np.testing.assert_allclose(point.hessian_of(unknowns), H[np.ix_(chosen, chosen)], atol=1e-7)


def test_least_lead_of_a_rows_own_class():
    """Scores (1, 0, 3) and (0, 5, 2): own classes 2 and 1 lead by 2 and 3; weight 0 does not count."""
    problem = Multinomial(
        X=design(np.array([[1.0], [0.0], [9.0]]), 1), codes=np.array([2, 1, 0]), c=np.array([1.0, 1.0, 0.0]),
        n_classes=3, l2=0.0,
    )  # fmt: skip
    theta = np.array([[1.0, 0.0], [-5.0, 5.0], [1.0, 2.0]])
    assert problem.at(theta).least == 2.0
    assert replace(problem, c=np.array([0.0, 1.0, 0.0])).at(theta).least == 3.0
    assert replace(problem, c=np.zeros(3)).at(theta).least == inf


@pytest.mark.parametrize(
    ("l2", "intercept", "free"),
    [
        (0.0, True, [[0, 0, 0], [1, 1, 1]]),
        (0.0, False, [[0, 0, 0], [1, 1, 0]]),
        (0.5, True, [[1, 1, 0], [1, 1, 1]]),
        (0.5, False, [[1, 1, 0], [1, 1, 0]]),
    ],
)
def test_free_unknowns(l2, intercept, free):
    assert free_unknowns(2, 2, l2, intercept).astype(int).tolist() == free
    problem = replace(a_problem(l2, intercept=intercept), n_classes=2)
    assert problem.free().astype(int).tolist() == free
    assert problem.shape() == (2, 2)
    assert Multinomial.fit_intercept


# -- the certificate -----------------------------------------------------------------------------------------


def plain_dual(problem: Multinomial, v: np.ndarray) -> tuple[float, np.ndarray]:
    """Dual value of points v in the simplex, and the sums of u = c (v - e_y) with the columns and with 1."""
    v = np.clip(v, 0.0, None)
    v = v / v.sum(axis=1, keepdims=True)
    u = problem.c[:, None] * (v - np.eye(3)[problem.codes])
    sums = u.T @ np.column_stack([problem.X.dense(), np.ones(len(v))])
    entropy = -problem.c @ np.where(v > 0, v * np.log(np.where(v > 0, v, 1.0)), 0.0).sum(axis=1)
    return float(entropy - np.sum(sums[:, :2] ** 2) / (2 * problem.l2)), sums


def test_certificate_with_a_penalty_and_no_intercept_is_its_definition():
    """Any point of the simplex is feasible then."""
    problem = a_problem(intercept=False)
    theta, base = at(THETA, False), at(STEP, False)
    v = plain_probabilities(problem, base)
    cases = [(None, plain_probabilities(problem, theta))]
    for step in (0.3 * theta, 9.0 * theta):  # the second leaves the simplex
        along = problem.X.dense() @ step[:, :2].T
        cases.append((Slopes(base, step), v + v * (along - np.sum(v * along, axis=1, keepdims=True))))
    assert cases[1][1].min() > 0 > cases[2][1].min()
    for slopes, shares in cases:
        found = problem.certify(theta, slopes)
        assert found.primal == pytest.approx(plain_value(problem, theta), rel=1e-13)
        assert found.dual == pytest.approx(plain_dual(problem, shares)[0], rel=1e-9)
        gradient = problem.at(theta).gradient
        assert found.kkt == pytest.approx(np.abs(gradient).max() / problem.c.sum(), rel=1e-12)
        assert (found.infeasibility, found.n_checked) == (0.0, 14)
        assert found.rounding == pytest.approx(1e-12 * problem.c.sum(), rel=1e-12, abs=0)


@pytest.mark.parametrize("l2", [0.0, 0.7])
def test_sums_that_must_vanish_are_balanced_by_a_newton_step(l2):
    """After Newton's method from 0 the bound near the optimum is close to it, and never above it."""
    problem = a_problem(l2, n=90)
    theta, free = np.zeros((3, 3)), problem.free()
    for _ in range(12):
        point = problem.at(theta)
        theta[free] -= np.linalg.solve(point.hessian_of(free), point.gradient[free])
    best = plain_value(problem, theta)
    near = problem.certify(theta + 0.003 * STEP)
    assert 0.999 * best < near.dual <= best < near.primal
    assert near.infeasibility <= 1e-9
    assert problem.certify(theta).dual == pytest.approx(best, rel=1e-9)


def test_where_balance_would_cost_too_much_the_bound_is_zero(monkeypatch):
    problem = a_problem(0.0, n=90)
    assert problem.certify(0.01 * THETA).dual > 0
    monkeypatch.setattr(multinomial, "EXPLICIT", 6)
    assert problem.certify(0.01 * THETA).dual > 0  # six unknowns are free
    monkeypatch.setattr(multinomial, "EXPLICIT", 5)
    found = problem.certify(0.01 * THETA)
    assert (found.dual, found.infeasibility) == (0.0, 0.0)
    monkeypatch.setattr(multinomial, "EXPLICIT", 2)
    assert replace(problem, l2=0.7).certify(0.01 * THETA).dual > 0  # here the two intercepts


def checks(**changes) -> RowChecks:
    figures = {
        "loss": 3.0, "gradient": np.array([[1.0, -8.0]]), "entropy": 2.0, "balance": np.array([[0.5, 0.0]]),
        "squares": np.array([4.0]), "norms": np.array([9.0, 16.0]), "weight": 2.0, "n_rows": 5,
    }  # fmt: skip
    return RowChecks(**{**figures, **changes})


def test_worked_certificates_of_sums():
    theta = np.array([[3.0, 5.0]])
    ridge = checks().certificate(theta, 0.5)
    assert (ridge.primal, ridge.dual, ridge.infeasibility) == (3.0 + 0.25 * 9, 2.0 - 0.25, 0.0)
    assert (ridge.kkt, ridge.rounding, ridge.n_checked) == (4.0, 2e-12, 5)
    assert not checks().balanced(0.0)
    assert checks().certificate(theta, 0.0).dual == 0.0
    # up to rounding: a sum of 6e-9 is at most 1e-9 of the norms 2 * 3
    close = checks(balance=np.array([[6e-9, 0.0]]))
    assert close.balanced(0.0)
    assert not checks(balance=np.array([[6.1e-9, 0.0]])).balanced(0.0)
    assert not checks(balance=np.array([[0.0, 8.1e-9]])).balanced(0.5)
    assert not checks(balance=np.array([[-6.1e-9, 0.0]])).balanced(0.0)
    tiny = checks(
        squares=np.full(1, 4e-20), norms=np.array([9e-20, 16e-20]), balance=np.array([[1e-15, 0.0]])
    )
    assert not tiny.balanced(0.0)
    assert close.certificate(-theta, 0.0).dual == close.certificate(theta, 0.0).dual
    found = close.certificate(theta, 0.0)
    assert found.dual == pytest.approx(2.0 - 3 * 6e-9, abs=1e-15)
    assert found.infeasibility == pytest.approx(1e-9, abs=0)
    # with a penalty only the intercept's sum has to vanish
    intercept = checks(balance=np.array([[0.5, 8e-9]])).certificate(theta, 0.5)
    assert intercept.dual == pytest.approx(1.75 - 5 * 8e-9, abs=1e-15)
    assert intercept.infeasibility == pytest.approx(1e-9, abs=0)
    assert checks(squares=np.zeros(1), balance=np.zeros((1, 2))).balanced(0.0)


def test_sums_of_two_pieces_are_added():
    both = checks() + checks(loss=1.0, n_rows=2)
    assert (both.loss, both.n_rows, both.weight, both.entropy) == (4.0, 7, 4.0, 4.0)
    assert both.norms.tolist() == [18.0, 32.0]


@pytest.mark.parametrize("l2", [0.0, 0.7])
@pytest.mark.parametrize("intercept", [True, False])
def test_rows_in_pieces_have_the_sums_of_all_rows(l2, intercept):
    whole = a_problem(l2, intercept=intercept)
    classes = np.array(["a", "b", "c"])
    cut = MultinomialPieces(
        pieces=mm.pieces.from_array(whole.X.dense(), classes[whole.codes], whole.c / 2, rows=5),
        rows=MultinomialRows(classes, np.full(3, 2.0), intercept),
        n_features=2,
        l2=l2,
    )
    theta = at(THETA, intercept)
    found, expected = cut.at(theta), whole.at(theta)
    assert (cut.shape(), cut.has_intercept()) == ((3, 2), intercept)
    for name in ("value", "gradient", "hessian", "least"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-11, atol=1e-13)
    unknowns = cut.free()
    np.testing.assert_allclose(found.hessian_of(unknowns), expected.hessian_of(unknowns), rtol=1e-11)
    for slopes in (None, Slopes(at(STEP, intercept), 0.1 * theta)):
        first, second = cut.certify(theta, slopes), whole.certify(theta, slopes)
        for name in ("primal", "dual", "kkt", "rounding", "n_checked"):
            assert getattr(first, name) == pytest.approx(getattr(second, name), rel=1e-9, abs=0)


@pytest.mark.parametrize("margin", [5.0, 20.0, 33.0])
def test_the_entropy_keeps_its_digits_far_from_the_margin(margin: float) -> None:
    """A large weight multiplies what is lost here: dual values lay above the objective."""
    problem = Multinomial(
        X=design(np.array([[margin]]), 1), codes=np.array([1]), c=np.array([1e9]), n_classes=2, l2=1.0
    )
    found = problem.checks(np.array([[0.0, 0.0], [1.0, 0.0]]), None)
    other = np.exp(-margin) / (1.0 + np.exp(-margin))
    entropy = np.log1p(np.exp(-margin)) + margin * other
    assert found.entropy == pytest.approx(1e9 * entropy, rel=1e-13, abs=0.0)
    assert found.balance[:, 0] == pytest.approx([1e9 * margin * other, -1e9 * margin * other], rel=1e-13)


def test_a_dual_point_without_the_own_class_has_a_value() -> None:
    """Its other shares may add up to a little more than 1."""
    problem = a_problem(n=300)
    for step in np.random.default_rng(1).normal(size=(20, 3, 3)):
        assert np.isfinite(problem.checks(THETA, Slopes(THETA, 10.0 * step)).entropy)


def test_probabilities_of_a_separated_class_are_rounding() -> None:
    """The third class is at 10, the others cannot be told apart at -1 and 1: the optimum is 4 log 2."""
    rows = design(np.array([[-1.0], [-1.0], [1.0], [1.0], [10.0]]), 1)
    codes = np.array([0, 1, 0, 1, 2])
    problem = Multinomial(X=rows, codes=codes, c=np.ones(5), n_classes=3, l2=0.0)
    found = problem.certify(np.array([[0.0, 0.0], [0.0, 0.0], [8.0, -40.0]]))
    assert found.dual == pytest.approx(4 * np.log(2), rel=1e-12)
    assert 0 <= found.gap < 1e-12
