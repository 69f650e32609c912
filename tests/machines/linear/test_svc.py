"""LinearSVC: certificates for every loss and penalty, other libraries, laws that must hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

import maxmargin as mm
from maxmargin.compute.tables.design import design
from maxmargin.problems.loss_penalty import LossPenalty, solved
from maxmargin.problems.losses import Hinge, Logistic, SquaredHinge
from maxmargin.problems.penalties import Penalty
from maxmargin.problems.solution import Status
from maxmargin.solvers.primal import primal_choice, proximal_coordinate
from maxmargin.solvers.primal.augmented import AugmentedLagrangian, Envelope, envelope
from maxmargin.solvers.primal.linear_program import LinearProgram
from maxmargin.solvers.primal.newton import ChangingGram, Newton, WeightedLoss, weighted_loss
from maxmargin.solvers.primal.successive import SuccessiveLinearisation
from maxmargin.solvers.primal.warm_newton import DescentThenNewton


def _data(n=120, p=6, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, np.where(X @ np.linspace(2, -1, p) + noise * rng.normal(size=n) > 0.4, 1, -1)


SOLVERS = [
    ("hinge", "augmented"),
    ("hinge", "dual_coordinate"),
    ("squared_hinge", "newton"),
    ("squared_hinge", "dual_coordinate"),
    ("logistic", "newton"),
    ("logistic", "dual_coordinate"),
    ("squared_hinge", "proximal_coordinate"),
]


@pytest.mark.parametrize(("loss", "solver"), SOLVERS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@settings(derandomize=True, deadline=None, max_examples=6)
@given(
    seed=st.integers(0, 99),
    C=st.sampled_from([1e-3, 1.0, 30.0]),
    kind=st.sampled_from(["plain", "twice", "rank1"]),
)
def test_every_solver_reaches_the_gap(loss, solver, fit_intercept, seed, C, kind):
    X, y = _data(n=60, p=4, seed=seed)
    if kind == "twice":
        X, y = np.vstack([X, X]), np.append(y, -y)
    if kind == "rank1" and solver != "dual_coordinate":  # coordinates along one line crawl: not its job
        X = np.outer(X[:, 0], [1.0, 2.0, 0.0, -1.0])
    model = mm.LinearSVC(
        C, loss=loss, solver=solver, fit_intercept=fit_intercept, tol=1e-5, max_iter=50_000
    ).fit(X, y)
    assert solved(model.certificate_, 1e-5)
    assert fit_intercept or model.intercept_[0] == 0


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_hinge_is_the_svc_with_a_linear_kernel(C):
    X, y = _data()
    model = mm.LinearSVC(C, loss="hinge", tol=1e-9).fit(X, y)
    other = SVC(C=C, kernel="linear", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=2e-4)
    np.testing.assert_allclose(model.intercept_, other.intercept_, atol=2e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_weights_permutation_labels_and_sparse(loss):
    X, y = _data(n=80)
    base = mm.LinearSVC(loss=loss, tol=1e-9).fit(X, y, sample_weight=np.where(np.arange(80) < 20, 2.0, 1.0))
    twice = mm.LinearSVC(loss=loss, tol=1e-9).fit(np.vstack([X, X[:20]]), np.append(y, y[:20]))
    np.testing.assert_allclose(base.coef_, twice.coef_, atol=1e-4)
    flipped = mm.LinearSVC(loss=loss, tol=1e-9).fit(np.vstack([X, X[:20]]), -np.append(y, y[:20]))
    np.testing.assert_allclose(flipped.coef_, -twice.coef_, atol=1e-4)
    thin = mm.LinearSVC(loss=loss, tol=1e-9).fit(
        sparse.csr_matrix(np.vstack([X, X[:20]])), np.append(y, y[:20])
    )
    np.testing.assert_allclose(thin.coef_, twice.coef_, atol=1e-6)
    scaled = mm.LinearSVC(C=0.25, loss=loss, tol=1e-9).fit(2 * np.vstack([X, X[:20]]), np.append(y, y[:20]))
    np.testing.assert_allclose(2 * scaled.coef_, twice.coef_, atol=1e-4)


def _l1_by_highs(X, y, C, nu):
    """C sum xi + nu |w|_1 written out again: w = p - q."""
    n, p = X.shape
    cost = np.r_[np.full(2 * p, nu), 0, np.full(n, C)]
    A = -np.hstack([y[:, None] * X, -y[:, None] * X, y[:, None], np.eye(n)])
    bounds = [(0, None)] * (2 * p) + [(None, None)] + [(0, None)] * n
    return linprog(cost, A_ub=A, b_ub=-np.ones(n), bounds=bounds).fun


@pytest.mark.parametrize("nu", [0.3, 3.0])
def test_l1_svm_is_highs_optimum(nu):
    X, y = _data()
    model = mm.LinearSVC(0.5, loss="hinge", penalty="l1", sparsity=nu, tol=1e-7).fit(X, y)
    assert model.certificate_.primal == pytest.approx(_l1_by_highs(X, y, 0.5, nu), rel=1e-6)


@pytest.mark.parametrize("penalty", ["l1", "none"])
@pytest.mark.parametrize("C", [1e-9, 1e6])
def test_linear_programs_of_any_scale(C, penalty):
    """HiGHS's tolerances are absolute; the gap asked for is relative."""
    X, y = _data()
    model = mm.LinearSVC(C, loss="hinge", penalty=penalty, sparsity=C, tol=1e-8).fit(X, y)
    assert solved(model.certificate_, 1e-8)
    unit = mm.LinearSVC(1.0, loss="hinge", penalty=penalty, sparsity=1.0, tol=1e-8).fit(X, y)
    assert model.certificate_.primal == pytest.approx(C * unit.certificate_.primal, rel=1e-7)


@pytest.mark.parametrize("penalty", ["l1", "l1l2"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_convex_sparse_penalties(loss, penalty):
    X, y = _data(p=12)
    model = mm.LinearSVC(0.2, loss=loss, penalty=penalty, sparsity=4.0, tol=1e-6).fit(X, y)
    assert solved(model.certificate_, 1e-6)
    assert 0 < np.count_nonzero(model.coef_) < 12


def test_many_columns_and_few_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 900))
    y = np.where(X[:, 0] - X[:, 1] > 0, 1, -1)
    model = mm.LinearSVC(1.0, loss="squared_hinge", penalty="l1", sparsity=5.0, tol=1e-5).fit(X, y)
    assert solved(model.certificate_, 1e-5)
    assert set(np.argsort(-np.abs(model.coef_[0]))[:2]) == {0, 1}


def test_robust_linear_program_separates():
    """Without penalty and with separable classes the optimum is 0: every margin at least 1."""
    X, y = _data(noise=0.0)
    model = mm.LinearSVC(loss="hinge", penalty="none", tol=1e-6).fit(X, y)
    assert model.certificate_.primal == pytest.approx(0.0, abs=1e-8)
    assert np.min(y * model.decision_function(X)) >= 1 - 1e-6


@pytest.mark.parametrize("penalty", ["l0", "l0l2"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_l0_is_stationary_and_falls(loss, penalty):
    X, y = _data(n=60, p=8)
    model = mm.LinearSVC(1.0, loss=loss, penalty=penalty, sparsity=8.0, tol=1e-3).fit(X, y)
    assert not model.certificate_.convex
    assert solved(model.certificate_, 1e-3)
    for objectives in model.solution_.trace:
        # each step minimises a function that lies above the objective and touches it
        assert np.all(np.diff(objectives) <= 1e-5 * abs(objectives[0]))
    assert np.count_nonzero(np.abs(model.coef_) > 1e-8) < 8


def _convex_problems(monkeypatch):
    """A list that collects the solutions of the convex problems, each with the number of steps allowed."""
    inner, convex = [], primal_choice._convex

    def spy(problem, start, tol, steps):
        inner.append((convex(problem, start, tol, steps), steps))
        return inner[-1][0]

    monkeypatch.setattr(primal_choice, "_convex", spy)
    return inner


@pytest.mark.parametrize(
    ("loss", "penalty", "tol"), [("hinge", "l0l2", 1e-6), ("logistic", "l0", 1e-4)], ids=str
)
def test_the_convex_problems_inside_l0_are_solved(loss, penalty, tol, monkeypatch):
    """None runs out of iterations after a gap that rounding hides, or after an optimum of 0 (the second).

    Those that only lower the objective are allowed ten steps at most.
    """
    inner = _convex_problems(monkeypatch)
    X, y = _data(n=60, p=5) if loss == "hinge" else _data(n=6, p=30)
    model = mm.LinearSVC(0.7, loss=loss, penalty=penalty, sparsity=0.7, tol=tol).fit(X, y)
    assert solved(model.certificate_, tol)
    assert Status.MAX_ITER not in {solution.status for solution, most in inner if most > 10}


def test_l0_stops_where_the_objective_has_stopped(monkeypatch):
    """Separable rows leave no loss: the tangents vanish, and their problems have an optimum near 0."""
    inner = _convex_problems(monkeypatch)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 60))
    y = np.where(X[:, :20].sum(axis=1) > 0, 1, -1)
    model = mm.LinearSVC(penalty="l0").fit(X, y)
    assert solved(model.certificate_, 1e-4)
    steps = [solution.n_iter for solution, _ in inner]
    assert sum(steps) <= 2500
    assert max(steps) <= 100


def test_an_l0_path_is_not_much_worse_than_single_fits():
    """From few columns with large losses no small step leads to the columns that separate the classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 25))
    y = np.where(X[:, :3].sum(axis=1) + rng.normal(size=60) > 0, 1, -1)
    before = None
    for C in np.geomspace(0.05, 5.0, 10):
        path = mm.LinearSVC(C, penalty="l0").fit(X, y, coef_init=before)
        single = mm.LinearSVC(C, penalty="l0").fit(X, y)
        assert path.solution_.trace[-1][-1] <= 1.15 * single.solution_.trace[-1][-1]
        before = path.coef_


def test_the_programs_of_an_l0_descent_skip_presolve(monkeypatch):
    """Presolve removes nothing from them and took a third of 1.1 s on sonar (208 x 60)."""
    presolves = []

    def noted(*args, **options):
        presolves.append(options["options"]["presolve"])
        return linprog(*args, **options)

    monkeypatch.setattr("maxmargin.solvers.primal.linear_program.linprog", noted)
    X, y = _data(n=60, p=8, seed=3)
    mm.LinearSVC(loss="hinge", penalty="l0", sparsity=2.0).fit(X, y)
    assert len(presolves) > 5
    assert not any(presolves)
    mm.LinearSVC(loss="hinge", penalty="l1").fit(X, y)
    assert presolves[-1]


def test_l0_is_not_worse_than_twenty_plain_restarts():
    X, y = _data(n=60, p=8, seed=3)
    model = mm.LinearSVC(1.0, loss="hinge", penalty="l0", sparsity=2.0).fit(X, y)
    problem = LossPenalty(
        X=design(X), y=y.astype(float), c=np.ones(60), loss=Hinge(), penalty=Penalty(l0=2.0)
    )
    plain = SuccessiveLinearisation(solve_convex=lambda problem, *_: LinearProgram().solve(problem))
    rng = np.random.default_rng(5)
    restarts = [plain.descend(problem, rng.normal(size=8), plain.longest).objectives[-1] for _ in range(20)]
    assert model.certificate_.primal <= min(restarts) * (1 + 1e-9)


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_several_classes_follow_scikit_learn(multiclass):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3)) + np.repeat(np.eye(3) * 2.5, 50, axis=0)
    y = np.repeat(["b", "a", "c"], 50)
    model = mm.LinearSVC(loss="hinge", multiclass=multiclass, tol=1e-8).fit(X, y)
    other = SVC(C=1.0, kernel="linear", tol=1e-8)
    if multiclass == "ovr":
        other = OneVsRestClassifier(other)
    other.fit(X, y)
    theirs = other.coef_ if multiclass == "ovo" else np.vstack([one.coef_ for one in other.estimators_])
    np.testing.assert_allclose(model.coef_, theirs, atol=1e-3)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))


def test_class_weight_is_sample_weight():
    X, y = _data()
    by_class = mm.LinearSVC(class_weight={1: 3.0, -1: 0.5}, tol=1e-8).fit(X, y)
    by_row = mm.LinearSVC(tol=1e-8).fit(X, y, sample_weight=np.where(y == 1, 3.0, 0.5))
    np.testing.assert_allclose(by_class.coef_, by_row.coef_, atol=1e-8)


def test_too_few_iterations_say_what_was_reached():
    X, y = _data()
    with pytest.warns(ConvergenceWarning, match="relative duality gap of"):
        mm.LinearSVC(100.0, loss="hinge", solver="dual_coordinate", max_iter=2, tol=1e-8).fit(X, y)


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({"solver": "newton"}, 2),
        ({"solver": "descent_newton"}, 2),
        ({"solver": "augmented", "loss": "hinge"}, 2),
        ({"solver": "dual_coordinate", "loss": "hinge"}, 2),
        ({"solver": "proximal_coordinate", "penalty": "l1"}, 2),
        ({"solver": "successive", "penalty": "l0", "loss": "hinge", "sparsity": 5.0}, 1),
    ],
    ids=lambda value: value["solver"] if isinstance(value, dict) else None,
)
def test_every_solver_keeps_to_max_iter(options, most):
    X, y = _data(n=200, p=8)
    with pytest.warns(ConvergenceWarning, match=f"raise max_iter={most}"):
        model = mm.LinearSVC(100.0, max_iter=most, tol=1e-10, **options).fit(X, y)
    assert 1 <= model.n_iter_[0] <= most


def test_a_linear_program_keeps_to_its_steps():
    X, y = _data(n=200, p=8)
    problem = LossPenalty(
        X=design(X), y=y.astype(float), c=np.ones(200), loss=Hinge(), penalty=Penalty(l1=1.0)
    )
    stopped = LinearProgram()._program(problem, 5)
    assert stopped.status is Status.MAX_ITER
    assert stopped.n_iter <= 5
    whole = LinearProgram().solve(problem)
    assert whole.status is Status.CONVERGED
    assert whole.n_iter == 1  # fewer steps than rows and columns


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "newton", "loss": "hinge"}, "cannot solve"),
        ({"solver": "magic"}, "unknown"),
        ({"penalty": "l3"}, "unknown"),
        ({"loss": "square"}, "unknown"),
        ({"C": -1.0}, "must be a number > 0"),
        ({"multiclass": "all"}, "unknown"),
    ],
)
def test_errors_name_the_remedy(options, message):
    X, y = _data()
    with pytest.raises(ValueError, match=message):
        mm.LinearSVC(**options).fit(X, y)


@pytest.mark.parametrize("passes", [2, 40])
def test_wide_tables_by_descent_then_newton(passes):
    """1600 columns: beyond the explicit Hessian. 40 passes suffice here; after 2 Newton goes on."""
    rng = np.random.default_rng(0)
    X = sparse.random(300, 1600, density=0.02, random_state=0, format="csr")
    y = np.where(X @ rng.normal(size=1600) + 0.3 * rng.normal(size=300) > 0, 1.0, -1.0)
    problem = LossPenalty(
        X=design(X), y=y, c=np.full(300, 10.0), loss=SquaredHinge(), penalty=Penalty(l2=1.0)
    )
    solution = DescentThenNewton(tol=1e-6, passes=passes).solve(problem)
    assert problem.certify(solution.x, solution.multipliers).relative_gap <= 1e-6
    newton = mm.LinearSVC(10.0, loss="squared_hinge", solver="newton", tol=1e-8).fit(X, y)
    chosen = mm.LinearSVC(10.0, loss="squared_hinge", tol=1e-6).fit(X, y)
    for value in (problem.value(solution.x), chosen.certificate_.primal):
        assert value == pytest.approx(newton.certificate_.primal, rel=2e-6)


def test_gram_of_changing_weights_is_the_gram():
    """Rows switched on and off, other scales, and weights that all change: always X' diag(d) X."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    for table in (X, sparse.csr_matrix(X)):
        gram, d = ChangingGram(), np.where(rng.random(200) < 0.6, 2.0, 0.0)
        for scale in (1.0, 1.0, 3.0):
            d = scale * np.where(rng.random(200) < 0.05, 2.0 - np.minimum(d, 2.0), np.minimum(d, 2.0))
            np.testing.assert_allclose(gram.of(design(table), d), (X.T * d) @ X, atol=1e-10)
        d = rng.random(200)
        np.testing.assert_allclose(gram.of(design(table), d), (X.T * d) @ X, atol=1e-10)
        np.testing.assert_allclose(gram.of(design(table), 0 * d), np.zeros((5, 5)))


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), Logistic()])
def test_jitted_rows_are_the_plain_ones(loss):
    """Value, slopes, curvatures and the derivative along a line, against NumPy; corners included."""
    rng = np.random.default_rng(0)
    f, along, c = rng.normal(size=50), rng.normal(size=50), rng.uniform(0.1, 2, 50)
    y = np.where(rng.random(50) < 0.5, 1.0, -1.0)
    problem = LossPenalty(X=design(np.zeros((50, 1))), y=y, c=c, loss=loss, penalty=Penalty(l2=1.0))
    if loss.smooth:
        jitted, plain = weighted_loss(problem), WeightedLoss(loss, y, c)
    else:
        v = -y * rng.choice([0.0, 0.3, 1.0], size=50)
        jitted, plain = envelope(problem, v, 0.7), Envelope(loss, y, c, v, 0.7)
    assert type(jitted) is not type(plain)
    found, expected = np.empty((2, 50)), np.empty((2, 50))
    assert jitted.model(f, found) == pytest.approx(plain.model(f, expected), rel=1e-12)
    np.testing.assert_allclose(found, expected, atol=1e-13)
    assert jitted.derivative(f, along, 0.4) == pytest.approx(plain.derivative(f, along, 0.4), rel=1e-12)


def test_rows_left_out_of_the_hinge_are_looked_at_again():
    """Far rows are put aside when the gap is rough; some come near the margin later: the answer is right."""
    rng = np.random.default_rng(2)
    X = np.vstack([rng.normal(size=(60, 2)), rng.normal((0.0, 6.0), size=(300, 2))])
    y = np.where(np.arange(360) < 60, np.where(X[:, 0] > 0, 1.0, -1.0), 1.0)
    y[rng.random(360) < 0.05] *= -1.0
    for C in (0.01, 1.0, 100.0):
        model = mm.LinearSVC(C, loss="hinge", tol=1e-7).fit(X, y)
        assert model.certificate_.relative_gap <= 1e-7
        other = SVC(C=C, kernel="linear", tol=1e-9).fit(X, y)
        np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-2, atol=2e-3)


@pytest.mark.parametrize("penalty", ["l1", "none"])
def test_linear_program_on_the_rows_near_a_corner_is_that_of_all_rows(penalty):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1500, 6))
    y = np.where(X[:, 0] - X[:, 1] + 0.7 * rng.normal(size=1500) > 0.4, 1.0, -1.0)
    weights = rng.uniform(0.0, 2.0, size=1500) * (rng.random(1500) < 0.9)
    model = mm.LinearSVC(0.1, loss="hinge", penalty=penalty, sparsity=2.0).fit(X, y, weights)
    assert solved(model.certificate_, 1e-8)  # a gap over all rows
    sparse_model = mm.LinearSVC(0.1, loss="hinge", penalty=penalty, sparsity=2.0).fit(
        sparse.csr_matrix(X), y, weights
    )
    assert sparse_model.certificate_.primal == pytest.approx(model.certificate_.primal, rel=1e-9)


def test_hinge_with_long_tails_and_large_C():
    """Most entries zero, the others of very different size: the search along a step meets far corners."""
    rng = np.random.default_rng(2)
    X = rng.exponential(size=(2000, 50)) ** 4 * (rng.random((2000, 50)) < 0.2)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.where(X @ rng.normal(size=50) + rng.normal(size=2000) > 0, 1, -1)
    for C in (1.0, 1e4):
        model = mm.LinearSVC(C=C, loss="hinge", max_iter=500).fit(X, y)
        assert model.certificate_.relative_gap <= model.tol


@pytest.mark.parametrize("labels", [(0, 1), (False, True), (-1.0, 1.0), (3, 7, 9), (2.0, 2.0)])
def test_plain_arrays_are_validated_as_any_table(labels):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.array(labels)[np.arange(60) % len(labels)]
    if len(set(labels)) < 2:
        with pytest.raises(ValueError, match="one class"):
            mm.LinearSVC().fit(X, y)
        return
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = mm.LinearSVC(tol=1e-8).fit(frame, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    named, classes = model.coef_, model.classes_
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 3
    assert model.classes_.dtype == classes.dtype == y.dtype
    np.testing.assert_array_equal(model.classes_, classes)
    np.testing.assert_allclose(model.coef_, named, rtol=1e-12)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_plain_arrays_with_a_missing_value_are_refused(value):
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = np.arange(20) % 2
    X[3, 1] = value
    with pytest.raises(ValueError, match="Input X contains"):
        mm.LinearSVC().fit(X, y)
    with pytest.raises(ValueError, match="Input y contains"):
        mm.LinearSVC().fit(np.nan_to_num(X, posinf=0.0), np.where(y == 0, value, 1.0))


def test_huge_numbers_are_no_missing_values():
    X = np.random.default_rng(0).normal(size=(40, 2))
    X[:, 1] = 1e152  # the sum of their squares is finite
    table, codes, _ = mm.LinearSVC()._validate(X, np.arange(40) % 2, None)
    np.testing.assert_array_equal(table, X)
    np.testing.assert_array_equal(codes, np.arange(40) % 2)
    X[:, 1] = 1e308  # the sum of the numbers themselves is infinite
    with pytest.raises(ValueError, match=r"the squares of X are too large .*: scale its columns"):
        mm.LinearSVC().fit(X, np.arange(40) % 2)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("C", [1.0, 100.0, 1e4])
def test_l1l2_reaches_its_gap_on_columns_of_any_scale(loss, C):
    """Coordinate descent alone creeps on such models: their signs are found by it, the rest by a system."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 20)) * np.exp(2.0 * rng.normal(size=20))
    y = (X[:, 0] + 0.5 * rng.normal(size=300) > 0).astype(int)
    model = mm.LinearSVC(loss=loss, penalty="l1l2", sparsity=0.7, C=C, tol=1e-6).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-6


def test_a_gap_below_rounding_does_not_take_all_steps():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 6))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0, 1.0, -1.0)
    problem = LossPenalty(
        X=design(X), y=y, c=np.full(80, 10.0), loss=Hinge(), penalty=Penalty(l2=1.0, l1=0.7)
    )
    solution = AugmentedLagrangian(tol=1e-18, max_iter=2000).solve(problem)
    assert solution.status is not Status.MAX_ITER  # some end within rounding of the optimum, some stall
    assert solution.n_iter < 500
    assert problem.certify(solution.x, solution.multipliers).relative_gap < 1e-10


@pytest.mark.parametrize("penalty", ["l0", "l0l2"])
@pytest.mark.parametrize("seed", [3, 5])
def test_l0_reaches_its_stationarity_with_curved_losses(penalty, seed):
    """A small step of w turns the tangents by up to sparsity l0_alpha^2 = 50 times as much."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 6)) * rng.uniform(0.5, 2, 6) + rng.integers(0, 3, 6)
    y = X @ (rng.normal(size=6) * rng.integers(0, 2, 6)) + 1.5 * rng.normal(size=120) > 0.5
    model = mm.LinearSVC(C=0.7, penalty=penalty, sparsity=2.0).fit(X, y)  # or it warns, an error here
    assert model.certificate_.kkt <= model.tol


@pytest.mark.parametrize(
    ("loss", "penalty"),
    [
        ("squared_hinge", "l1"),
        ("logistic", "l1"),
        ("hinge", "l1l2"),
        ("logistic", "l1l2"),
        ("logistic", "l0"),
    ],
)
def test_the_free_intercept_takes_up_the_means_of_the_columns(loss, penalty):
    """As with a column of years: the same weights and objective, in as many steps."""
    X, y = _data(noise=2.0)
    shift = np.array([0.0, 2000.0, -1e4, 1e4, 0.0, 300.0])
    options = {"C": 0.5, "loss": loss, "penalty": penalty, "tol": 1e-6}
    plain, moved = (mm.LinearSVC(**options).fit(table, y) for table in (X, X + shift))
    np.testing.assert_allclose(moved.certificate_.primal, plain.certificate_.primal, rtol=2e-6)
    np.testing.assert_allclose(moved.coef_, plain.coef_, atol=2e-3)
    assert moved.n_iter_[0] <= plain.n_iter_[0] + 5


def test_newton_gives_up_where_the_objective_has_stopped():
    """Three rows, columns of scales 1e-12 to 1e12: it made 2000 steps, and RFE took more than a minute."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, 20)) * 10.0 ** np.linspace(-12, 12, 20)
    problem = LossPenalty(
        X=design(X, 1),
        y=np.array([1.0, -1.0, -1.0]),
        c=np.ones(3),
        loss=SquaredHinge(),
        penalty=Penalty(l2=1.0),
    )
    solution = Newton(tol=1e-16, max_iter=2000).solve(problem)
    assert solution.status is Status.STALLED
    assert solution.n_iter <= 200


def test_l1_reaches_its_gap_on_columns_of_any_scale():
    """The optimum is almost that without a penalty: slopes as exact as rounding allows are needed."""
    X, y = _data(n=300)
    units = np.logspace(-4, 4, X.shape[1])
    target = X @ np.arange(6.0) + np.random.default_rng(0).normal(size=300)
    regressor = mm.LinearSVR(loss="squared_epsilon_insensitive", penalty="l1").fit(X * units, target)
    assert regressor.certificate_.relative_gap <= regressor.tol
    classifier = mm.LinearSVC(loss="logistic", penalty="l1").fit(1e6 * X, y)
    assert classifier.certificate_.relative_gap <= classifier.tol


@pytest.mark.parametrize("penalty", ["l2", "l1l2"])
@pytest.mark.parametrize("C", [1e9, 1e12])
def test_a_penalty_lost_beside_a_huge_C_leaves_a_linear_program(penalty, C):
    """Warnings are errors: the augmented Lagrangian alone stalled at a gap of the whole value."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 40))
    y = np.where(X[:, 0] + rng.normal(size=1500) > 0, 1, -1)
    model = mm.LinearSVC(C, loss="hinge", penalty=penalty).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-4
    assert model.solution_.status is Status.CONVERGED
    target = X @ np.arange(40.0) + rng.normal(size=1500)
    assert mm.LinearSVR(C, penalty=penalty).fit(X, target).certificate_.relative_gap <= 1e-4


def test_a_solver_asked_for_by_name_is_not_replaced():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 40))
    y = np.where(X[:, 0] + rng.normal(size=1500) > 0, 1, -1)
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        model = mm.LinearSVC(1e12, loss="hinge", solver="augmented").fit(X, y)
    assert model.solution_.status is Status.STALLED


def test_descent_goes_on_from_its_own_gradient_where_no_guess_of_signs_is_right(monkeypatch):
    """The second descent started with the gradient of the first one's start, and solved another model."""
    monkeypatch.setattr(proximal_coordinate, "_ROUNDS", 0)
    rng = np.random.default_rng(0)
    A = rng.normal(size=(20, 8))
    H, g, l1, l2 = A.T @ A, 10.0 * rng.normal(size=8), np.full(8, 4.0), 0.5
    w = rng.normal(size=8)
    z = proximal_coordinate._minimiser(H, g, w, l1, l2, 1.0)
    pull = g + H @ (z - w) + l2 * z
    assert 0 < np.count_nonzero(z) < 8
    np.testing.assert_allclose(pull[z != 0], -(l1 * np.sign(z))[z != 0], atol=1e-6)
    assert (np.abs(pull) <= l1 + 1e-6).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_long_rows_do_not_make_a_wide_gap_a_converged_one(penalty):
    """The optimum is about 1e-10; an allowance of 1e-12 for the rounding of each loss hid the gap."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 60)) * 10.0 ** rng.uniform(6, 10)
    model = mm.LinearSVC(loss="squared_hinge", penalty=penalty, max_iter=300)
    model.fit(X, np.where(X[:, 0] > 0, 1, -1))
    converged = model.solution_.status is Status.CONVERGED
    assert converged == (model.certificate_.relative_gap <= model.tol)
