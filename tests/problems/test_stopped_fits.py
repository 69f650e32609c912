"""A certificate of a fit that stopped early bounds the distance to the optimum, or says that it cannot."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin.compute.tables.design import design
from maxmargin.problems import losses
from maxmargin.problems.loss_penalty import LossPenalty, Slopes, solved
from maxmargin.problems.multinomial import Multinomial
from maxmargin.problems.penalties import Penalty
from maxmargin.solvers.primal.augmented import AugmentedLagrangian
from maxmargin.solvers.primal.dual_coordinate import DualCoordinateDescent
from maxmargin.solvers.primal.linear_program import LinearProgram
from maxmargin.solvers.primal.multinomial_newton import MultinomialNewton
from maxmargin.solvers.primal.newton import Newton
from maxmargin.solvers.primal.newton_pieces import PiecesNewton
from maxmargin.solvers.primal.proximal_coordinate import ProximalCoordinateDescent
from tests.problems.cut_problems import in_pieces
from tests.strategies import SHAPES, make_problem

LOSSES = [
    losses.Hinge(),
    losses.SquaredHinge(),
    losses.Logistic(),
    losses.Squared(),
    losses.EpsilonInsensitive(0.1),
    losses.SquaredEpsilonInsensitive(0.1),
]
PENALTIES = {
    "none": Penalty(),
    "l2": Penalty(l2=1.0),
    "l1": Penalty(l1=0.7),
    "l1l2": Penalty(l2=1.0, l1=0.7),
    "free column": Penalty(l1=np.array([0.0, 0.5, 1.0])),
}
SOLVERS = [Newton, ProximalCoordinateDescent, AugmentedLagrangian, DualCoordinateDescent, LinearProgram]
STOPS = [1, 2, 5, 20]
TOL = 1e-4


def a_problem(loss: losses.Loss, penalty: Penalty, shape: str, seed: int, intercept: bool) -> LossPenalty:
    data = make_problem(shape, 25, 3, seed, "spread")
    y = data.y if loss.margin else data.target
    return LossPenalty(
        X=design(data.X, 1), y=y, c=data.weight, loss=loss, penalty=penalty, fit_intercept=intercept
    )


def optimum(problem: LossPenalty) -> float:
    """The optimal value by clarabel, for every loss but the logistic one."""
    X, y, c = problem.X.dense(), problem.y, problem.c
    n, p = X.shape
    l1 = np.broadcast_to(problem.penalty.l1, p)
    quadratic = isinstance(
        problem.loss, (losses.SquaredHinge, losses.Squared, losses.SquaredEpsilonInsensitive)
    )
    # variables w, b, xi (the residual of the loss) and s >= |w|
    f = sp.hstack([sp.csc_matrix(X), np.full((n, 1), float(problem.fit_intercept))])
    eye, none = sp.eye(n), sp.csc_matrix((n, p))
    rows: list[Any] = []
    right: list[Any] = []
    cones: list[Any] = []

    def at_least(A: Any, b: Any) -> None:  # A x >= b
        rows.append(-sp.csc_matrix(A))
        right.append(-np.asarray(b))
        cones.append(clarabel.NonnegativeConeT(len(b)))

    if isinstance(problem.loss, losses.ShiftedHinge | losses.SquaredHinge):
        edge = getattr(problem.loss, "edge", 1.0)
        at_least(sp.hstack([sp.diags(y) @ f, eye, none]), np.full(n, edge))
    else:
        epsilon = getattr(problem.loss, "epsilon", 0.0)
        at_least(sp.hstack([f, eye, none]), y - epsilon)
        at_least(sp.hstack([-f, eye, none]), -y - epsilon)
    at_least(sp.hstack([sp.csc_matrix((n, p + 1)), eye, none]), np.zeros(n))
    pad = sp.csc_matrix((p, 1 + n))
    at_least(sp.hstack([sp.eye(p), pad, sp.eye(p)]), np.zeros(p))
    at_least(sp.hstack([-sp.eye(p), pad, sp.eye(p)]), np.zeros(p))
    size = p + 1 + n + p
    curved = np.concatenate(
        [np.full(p, problem.penalty.l2), [0.0], 2.0 * c if quadratic else np.zeros(n), np.zeros(p)]
    )
    q = np.concatenate([np.zeros(p + 1), np.zeros(n) if quadratic else c, l1])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    P = sp.csc_matrix(sp.diags(curved))
    answer = clarabel.DefaultSolver(P, q, sp.vstack(rows).tocsc(), np.concatenate(right), cones, settings)
    x = np.asarray(answer.solve().x)
    assert len(x) == size
    return problem.value(np.append(x[:p], x[p] * problem.fit_intercept))


def smooth_optimum(problem: LossPenalty) -> float:
    """As `optimum` for the logistic loss: BFGS on w = w+ - w-."""
    X, p = problem.X.dense(), problem.X.shape[1]
    l1 = np.broadcast_to(problem.penalty.l1, p)

    def objective(x: Any) -> Any:
        w = x[:p] - x[p : 2 * p]
        f = X @ w + x[-1] * problem.fit_intercept
        u = problem.c * problem.loss.slope(f, problem.y)
        g = X.T @ u + problem.penalty.l2 * w
        value = problem.c @ problem.loss.value(f, problem.y) + 0.5 * problem.penalty.l2 * w @ w
        gradient = np.concatenate([g + l1, -g + l1, [u.sum() * problem.fit_intercept]])
        return value + l1 @ (x[:p] + x[p : 2 * p]), gradient

    bounds = [(0, None)] * (2 * p) + [(None, None)]
    found = minimize(objective, np.zeros(2 * p + 1), jac=True, bounds=bounds, method="L-BFGS-B",
                     options={"maxiter": 5000, "ftol": 1e-16, "gtol": 1e-12})  # fmt: skip
    w = found.x[:p] - found.x[p : 2 * p]
    return problem.value(np.append(w, found.x[-1] * problem.fit_intercept))


def best_value(problem: LossPenalty) -> float:
    """The smallest value that an independent solver and our own, run to the end, find."""
    logistic = isinstance(problem.loss, losses.Logistic)
    values = [smooth_optimum(problem) if logistic else optimum(problem)]
    able = [make(tol=1e-10) for make in SOLVERS if make().can_solve(problem)]
    return min(values + [problem.value(solver.solve(problem).x) for solver in able])


def assert_honest(certificate: Any, best: float, scale: float, *, tol: float = TOL) -> None:
    """The dual value is a bound; whoever reads the relative gap is not misled."""
    rounding = 1e-9 * scale
    assert certificate.gap >= -rounding, certificate
    assert certificate.dual <= best + rounding, certificate
    if certificate.relative_gap <= tol:
        assert certificate.primal <= best + tol * abs(best) + rounding, certificate
    if solved(certificate, tol):
        assert certificate.primal <= best + tol * abs(best) + rounding + certificate.rounding, certificate


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@settings(max_examples=10)
@given(shape=st.sampled_from(SHAPES), seed=st.integers(0, 2**20), intercept=st.booleans())
def test_every_stop_of_every_solver_is_certified_honestly(loss, penalty, shape, seed, intercept):
    problem = a_problem(loss, PENALTIES[penalty], shape, seed, intercept)
    best = best_value(problem)
    scale = problem.value(np.zeros(4))
    for make, stop in product(SOLVERS, STOPS):
        solver = make(tol=TOL, max_iter=stop)
        if solver.can_solve(problem):
            found = solver.solve(problem)
            assert_honest(problem.certify(found.x, found.multipliers), best, scale)
            assert_honest(problem.certify(found.x), best, scale)


@pytest.mark.parametrize("penalty", ["none", "l2"])
@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss.smooth], ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("shape", ["overlapping", "separable", "constant_columns"])
def test_pieces_stop_as_honestly(loss, penalty, shape):
    problem = a_problem(loss, PENALTIES[penalty], shape, 3, True)
    best, scale = best_value(problem), problem.value(np.zeros(4))
    cut = in_pieces(problem, rows=7)
    for stop in STOPS:
        found, certificate, _ = PiecesNewton(tol=TOL, max_iter=stop).solve(cut)
        assert_honest(certificate, best, scale)
        whole = problem.certify(found.x)
        again = cut.certify(found.x)
        assert again.dual == pytest.approx(whole.dual, rel=1e-6, abs=1e-9 * scale)


@pytest.mark.parametrize("l2", [0.0, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_multinomial_stops_are_certified_honestly(l2, intercept, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)) * [1.0, 5.0, 0.1]
    codes = np.argmax(X @ rng.normal(size=(3, 3)) + 2.0 * rng.normal(size=(60, 3)), axis=1)
    problem = Multinomial(
        X=design(X, 1), codes=codes, c=rng.uniform(0.1, 3, 60), n_classes=3, l2=l2, fit_intercept=intercept
    )
    _, end, _ = MultinomialNewton(tol=1e-12, max_iter=100).solve(problem)
    assert end.relative_gap <= 1e-9
    scale = problem.at(np.zeros((3, 4))).value
    for stop in (1, 2, 3, 5):
        found, certificate, _ = MultinomialNewton(tol=1e-10, max_iter=stop).solve(problem)
        assert_honest(certificate, end.primal, scale)
        assert_honest(problem.certify(found.x + 0.1), end.primal, scale)
        wrong = Slopes(found.x, rng.normal(size=(3, 4)))
        assert_honest(problem.certify(found.x, wrong), end.primal, scale)


def test_fits_stopped_early_have_true_gaps():
    X, y = load_breast_cancer(return_X_y=True)
    five = StandardScaler().fit_transform(X)[:, :5]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        logistic = mm.LogisticRegression(max_iter=1).fit(five, y)
        svc = mm.LinearSVC(penalty="none", max_iter=1).fit(five, y)
        ridge = mm.Ridge(alpha=0, solver="sgd", max_iter=500, random_state=0).fit(five, y)
    exact = mm.LeastSquares().fit(five, y).certificate_.primal
    best = {
        logistic: mm.LogisticRegression().fit(five, y).certificate_.primal,
        svc: mm.LinearSVC(penalty="none", tol=1e-10).fit(five, y).certificate_.primal,
        ridge: exact,
    }
    for model, value in best.items():
        certificate = model.certificate_
        assert certificate.infeasibility <= 1e-9
        assert_honest(certificate, value, value)
        assert certificate.gap >= certificate.primal - value - 1e-9 * value
    assert logistic.certificate_.relative_gap > 1e-3
    assert svc.certificate_.relative_gap > 1e-4
    assert ridge.certificate_.dual == pytest.approx(exact, rel=1e-9)  # a projection of squares is exact


def test_a_tiny_target_is_not_solved_by_an_absolute_tolerance():
    X, y = np.arange(5.0)[:, None], 1e-9 * np.array([0.0, 1.0, 2.0, 3.0, 5.0])
    problem = LossPenalty(X=design(X, 1), y=y, c=np.ones(5), loss=losses.Squared(), penalty=Penalty(l2=1.0))
    assert not solved(problem.certify(np.zeros(2)), 1e-4)
