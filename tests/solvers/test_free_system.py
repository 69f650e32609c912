"""Newton steps on the free variables: the linear algebra, one step, and whole solves that use them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_info, threadpool_limits

import maxmargin as mm
from maxmargin.compute.dual.block_solver import Signed
from maxmargin.compute.lapack.cholesky import Cholesky
from maxmargin.problems.solution import Ending, Status
from maxmargin.solvers.dual.gram import free_system, gram_problem
from maxmargin.solvers.dual.gram.free_system import FreeSystem, free_variables
from maxmargin.solvers.dual.gram.gram_problem import GramProblem, Pace, Watch
from maxmargin.solvers.dual.gram.warm_starts import GramState, PlacedProblem


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-3), (np.float64, 1e-10)])
def test_cholesky_solves(dtype, rtol) -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(60, 60))
    B = A @ A.T + 10 * np.eye(60)
    R = rng.normal(size=(60, 3))
    factor = Cholesky(B.astype(dtype))
    assert factor.definite
    assert factor.solve(R).dtype == dtype
    assert_allclose(factor.solve(R), np.linalg.solve(B, R), rtol=rtol, atol=rtol * 0.1)


def test_an_indefinite_matrix_is_not_definite() -> None:
    assert not Cholesky(np.diag([1.0, -1.0, 2.0])).definite


def _regression(
    C: float, epsilon: float, machine: type = mm.SVR
) -> tuple[np.ndarray, np.ndarray, PlacedProblem]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.2 * rng.normal(size=300)
    K = np.exp(-3.0 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    rows = np.arange(300)
    model = machine(C=C, epsilon=epsilon) if machine is mm.SVR else machine(C=C, nu=epsilon)
    problem = model.formulation().build(None, rows, y, np.ones(300))
    return K, y, PlacedProblem(problem, K, rows, np.array([[0, 300]]))


def _solved(placed: PlacedProblem, watch: Watch) -> GramState:
    t, v = placed.first_start()
    return placed.state(t, v, placed.gram.solve(t, v, watch))


def _watch(tol: float, part_tol: float | None = None) -> Watch:
    watch = Watch.of(tol, -1, None, 600, shrinking=True)
    return watch if part_tol is None else replace(watch, part_tol=part_tol)


def _objective(signed: Signed, t: np.ndarray, v: np.ndarray) -> float:
    return float(0.5 * (signed.tau * t) @ v[signed.point] + 0.5 * signed.d @ (t * t) + signed.c @ t)


def _box(m: int) -> tuple[GramProblem, np.ndarray, np.ndarray]:
    """A problem with one variable per row, a feasible point and its sums."""
    rng = np.random.default_rng(2)
    A = rng.normal(size=(m, m))
    signed = Signed(
        point=np.arange(m),
        tau=np.ones(m),
        d=np.zeros(m),
        c=rng.normal(size=m),
        lo=np.full(m, -1.0),
        hi=np.full(m, 1.0),
        group=np.zeros(m, dtype=np.int64),
    )
    everything = GramProblem(A @ A.T / m + 0.5 * np.eye(m), np.array([[0, m]]), signed, 1)
    t = rng.uniform(-0.3, 0.3, size=m)
    return everything, t, everything.K @ t


def _assert_minimiser(problem: GramProblem, t: np.ndarray) -> None:
    g = problem.signed.c + problem.K @ t
    at_lower, at_upper = t == problem.signed.lo, t == problem.signed.hi
    inside = ~at_lower & ~at_upper
    for side in (at_lower, at_upper, inside):
        assert side.any()
    level = g[inside].mean()
    assert_allclose(g[inside], level, atol=1e-8)
    assert (g[at_lower] >= level - 1e-8).all()
    assert (g[at_upper] <= level + 1e-8).all()


def test_destination_is_the_minimiser_within_the_box() -> None:
    problem, t, v = _box(120)
    which = np.arange(120)
    found = FreeSystem(problem.K, problem.signed, 1, which).destination(t, problem.gradient(t, v), which, 0.0)
    assert found is not None
    assert_allclose(found[0], which)
    _assert_minimiser(problem, found[1])
    assert found[1].sum() == pytest.approx(t.sum(), abs=1e-12)


def test_variables_that_left_or_joined_the_base_need_no_new_factorisation(monkeypatch) -> None:
    """From a base without a fifth of the variables and with others fixed, the answer is that of them all."""
    problem, t, v = _box(120)
    system = FreeSystem(problem.K, problem.signed, 1, np.arange(100))
    t[:10] = problem.signed.hi[:10]  # these wait at a bound, and some of them have to leave it
    v = problem.K @ t
    monkeypatch.setattr(free_system, "factorise", None)  # a second factorisation would fail
    found = system.destination(t, problem.gradient(t, v), np.arange(10, 120), 0.0)
    assert found is not None
    new = t.copy()
    new[found[0]] = found[1]
    _assert_minimiser(problem, new)
    assert (new[:10] < problem.signed.hi[:10]).any()
    assert (new[100:] == problem.signed.lo[100:]).any()
    assert new.sum() == pytest.approx(t.sum(), abs=1e-12)


def test_a_step_keeps_the_constraints_and_lowers_the_objective() -> None:
    _, _, placed = _regression(C=20.0, epsilon=0.05)
    t, v = placed.first_start()
    problem, signed = placed.gram, placed.signed
    problem.solve(t, v, _watch(0.03, 0.03))
    before = _objective(signed, t, v)
    system, moved = problem._newton_step(t, v, 1e-3, None)
    assert system is not None
    assert moved
    assert _objective(signed, t, v) < before
    assert ((t >= signed.lo) & (t <= signed.hi)).all()
    assert t.sum() == pytest.approx(0.0, abs=1e-9)
    assert_allclose(v, problem.sums_of(t), atol=1e-9)


def test_a_step_on_a_small_matrix_uses_one_blas_thread(monkeypatch) -> None:
    problem, t, v = _box(120)
    threads = []

    def watched(*given):
        threads.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return FreeSystem(*given)

    monkeypatch.setattr(gram_problem, "FreeSystem", watched)
    with threadpool_limits(2, user_api="blas"):  # workers of this suite start with one
        assert problem._newton_step(t, v, 1e-3, None)[1]
    assert threads
    assert set(threads) == {1}


def test_long_solves_of_few_variables_take_all_of_them_at_once(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(300, 4)), np.arange(300)
    y = np.where(X[:, 0] + rng.normal(size=300) > 0, 1.0, -1.0)
    problem = mm.SVC(C=1e4).formulation().build(None, rows, y, np.ones(300))
    placed = PlacedProblem(problem, (X @ X.T).astype(np.float32), rows, np.array([[0, 300]]))
    blocks, solve = [], gram_problem.one_group.solve_on_gram

    def watched(K, signed, segments, t, v, block, *limits):
        blocks.append(block)
        return solve(K, signed, segments, t, v, block, *limits)

    monkeypatch.setattr(gram_problem.one_group, "solve_on_gram", watched)
    _solved(placed, replace(_watch(1e-3), shrinking=False))
    assert blocks[0] == 64
    assert max(blocks) == 300


def test_the_variables_that_move_are_solved_on_a_matrix_of_their_own(monkeypatch) -> None:
    _, _, placed = _regression(C=1.0, epsilon=0.3)
    placed.gram.K = placed.gram.K.astype(np.float32)
    sizes = []
    original = GramProblem.solve

    def spy(self: GramProblem, *args: object) -> Ending:
        sizes.append(len(self.K))
        return original(self, *args)

    monkeypatch.setattr(GramProblem, "solve", spy)
    monkeypatch.setattr(gram_problem, "STEPS_AT_ONCE", 100)
    in_parts = _solved(placed, _watch(1e-4))
    assert sizes[0] == 300
    assert min(sizes) <= 0.6 * 300
    sizes.clear()
    monkeypatch.setattr(gram_problem, "_SHARE", 0.0)
    whole = _solved(placed, _watch(1e-4))
    assert sizes == [300]
    assert_allclose(in_parts.v, whole.v, atol=1e-3)


def test_at_most_one_variable_of_a_row_is_taken() -> None:
    t = np.array([0.5, 0.0, -0.1, 0.0])
    signed = Signed(
        point=np.array([0, 1, 0, 1]),
        tau=np.ones(4),
        d=np.zeros(4),
        c=np.zeros(4),
        lo=np.array([0.0, 0.0, -1.0, -1.0]),
        hi=np.array([1.0, 1.0, 0.0, 0.0]),
        group=np.zeros(4, dtype=int),
    )
    chosen = free_variables(t, np.array([0.0, -1.0, 0.0, 1.0]), signed, 1e-3)
    assert chosen.tolist() == [0, 1]


@pytest.mark.parametrize(("machine", "C", "width"), [(mm.SVR, 50.0, 0.02), (mm.NuSVR, 5.0, 0.5)])
def test_solves_with_and_without_newton_steps_agree(machine, C, width, monkeypatch) -> None:
    _, _, placed = _regression(C, width, machine)
    monkeypatch.setattr(Pace, "is_slow", lambda *_: False)
    plain = _solved(placed, _watch(1e-7))
    monkeypatch.setattr(Pace, "is_slow", lambda *_: True)
    monkeypatch.setattr(gram_problem, "STEPS_AT_ONCE", 300)
    helped = _solved(placed, _watch(1e-7))
    assert helped.ending.n_iter < plain.ending.n_iter
    assert helped.ending.status is plain.ending.status is Status.CONVERGED
    assert_allclose(helped.v, plain.v, atol=2e-6)
    a = np.abs(helped.t)
    gradient = placed.problem.signed_gradient(a, helped.v[placed.signed.point])
    assert placed.problem.violation(gradient, a) <= 1e-7


def test_tuning_with_newton_steps_gives_the_errors_of_separate_fits(monkeypatch) -> None:
    monkeypatch.setattr(Pace, "is_slow", lambda *_: True)
    monkeypatch.setattr(gram_problem, "STEPS_AT_ONCE", 200)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(250, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=250)
    grid = {"C": [1.0, 100.0], "epsilon": [0.01, 0.1]}
    result = mm.tune(mm.SVR(gamma=0.5, tol=1e-6), X, y, grid, cv=KFold(3), refit=False)
    folds = list(KFold(3).split(X))
    for row, params in zip(result.folds, result.table[["C", "epsilon"]].to_dict("records"), strict=True):
        for error, (train, test) in zip(row, folds, strict=True):
            model = mm.SVR(gamma=0.5, tol=1e-6, **params).fit(X[train], y[train])
            assert error == pytest.approx(np.mean((model.predict(X[test]) - y[test]) ** 2), abs=1e-5)


def _pace(violations: list[float], n_changed: int, tol: float = 1e-3) -> Pace:
    pace = Pace(tol)
    for violation in violations:
        pace.note(violation, n_changed)
    return pace


def test_newton_steps_wait_until_pairwise_steps_are_slow_and_bounds_are_settled() -> None:
    falling_slowly = [1.0, 0.99, 0.98, 0.97, 0.96]
    assert _pace(falling_slowly, n_changed=0).is_slow(1000)
    assert not _pace(falling_slowly[:4], n_changed=0).is_slow(1000)  # too early to tell
    assert not _pace(falling_slowly, n_changed=100).is_slow(1000)  # bounds are still being found
    assert not _pace(falling_slowly, n_changed=0).is_slow(10)  # few variables
    assert not _pace([1.0, 0.1, 0.01, 0.005, 0.002], n_changed=0).is_slow(1000)
    assert _pace([1.0, 1.0, 1.0, 1.0, 1.1], n_changed=0).is_slow(1000)  # no progress at all


def test_a_newton_step_that_moved_is_soon_followed_by_another() -> None:
    pace = Pace(1e-3)
    pace.restart(moved=True)
    assert not pace.is_slow(1000)
    pace.note(0.5, 500)
    assert pace.is_slow(1000)
    pace.restart(moved=False)
    pace.note(0.5, 0)
    assert not pace.is_slow(1000)


def test_fixed_variables_of_a_part_count_in_all_its_steps() -> None:
    """An interior point sums its own variables afresh: what the fixed ones add must be part of c."""
    whole, t, v = _box(40)
    others = np.random.default_rng(3).normal(size=len(v))
    part = replace(whole)
    own = part.own_sums(t, v + others)
    assert_allclose(own, v, atol=1e-12)
    assert_allclose(part.gradient(t, own), whole.gradient(t, v + others), atol=1e-12)
    part._interior_step(t, own, 1e-6)
    assert part.violation(t, part.sums_of(t)) <= 1e-6
    assert whole.violation(t, part.sums_of(t) + others) <= 1e-6
