"""The engine: progress, limits, starts and sizes; its answer is judged by the problem."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.base.progress import SolverProgress
from maxmargin.base.typing import FloatArray
from maxmargin.compute.dual import row_store
from maxmargin.kernels import RBF
from maxmargin.problems import Status
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.formulations import Classification
from maxmargin.solvers.certified import solve_certified
from maxmargin.solvers.dual import active_points, dual_state, working_set
from maxmargin.solvers.dual.working_set import WorkingSet
from maxmargin.solvers.stopping import Budget
from tests.strategies import make_problem


def problem_of(n: int, C: float = 10.0, seed: int = 0) -> BoxQP:
    data = make_problem("overlapping", n, 3, seed, "equal")
    kernel = RBF(gamma=0.5)
    return Classification(C=C).build(kernel, kernel.prepare(data.X), data.y, np.ones(n))


@pytest.fixture(params=[2000, 0], ids=["gram", "rows"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(working_set, "_SMALL", request.param)


@pytest.mark.usefixtures("path")
@given(
    size=st.sampled_from([16, 20, 64, None]),
    shrinking=st.booleans(),
    cache_size=st.sampled_from([None, 0.02]),
    n=st.sampled_from([2, 50, 400]),
)
def test_settings_change_the_way_not_the_answer(
    size: int | None, shrinking: bool, cache_size: float | None, n: int
) -> None:
    problem = problem_of(n)
    solver = WorkingSet(tol=1e-7, size=size, shrinking=shrinking, cache_size=cache_size, n_threads=2)
    solution = solver.solve(problem)
    certificate = problem.certify(solution.x, full=True)
    assert solution.status is Status.CONVERGED
    assert certificate.kkt <= 1e-7
    assert certificate.infeasibility <= 1e-9
    assert certificate.gap <= 1e-7 * problem.C.sum()


def test_shrinking_sets_rows_aside_and_brings_them_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(working_set, "_SMALL", 0)
    problem = problem_of(1500, C=100.0)
    active: list[int] = []
    solver = WorkingSet(tol=1e-6, size=64)
    solution = solver.solve(problem, callback=lambda progress: active.append(progress.n_active))
    assert min(active) < 1500
    assert problem.certify(solution.x, full=True).kkt <= 1e-6


def test_many_steps_for_few_points_are_made_on_their_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Newton steps end what pairwise steps take long for; limits and reports hold there too."""
    monkeypatch.setattr(working_set, "_SMALL", 0)
    problem = problem_of(600, C=1e4)
    solution = WorkingSet(tol=1e-4, size=64).solve(problem)
    assert solution.status is Status.CONVERGED
    assert problem.certify(solution.x, full=True).kkt <= 1e-4
    with monkeypatch.context() as patched:
        patched.setattr(active_points, "_MOST_TOGETHER", 0)
        assert solution.n_iter < 0.5 * WorkingSet(tol=1e-4, size=64).solve(problem).n_iter
    stopped = WorkingSet(tol=1e-4, size=64, max_iter=solution.n_iter // 2).solve(problem)
    assert stopped.status is Status.MAX_ITER
    assert stopped.n_iter <= solution.n_iter // 2
    true = problem.signed_gradient(stopped.x, problem.Q.times(stopped.x))
    np.testing.assert_allclose(stopped.gradient, true, atol=1e-3 * np.abs(true).max())
    seen: list[SolverProgress] = []
    WorkingSet(tol=1e-4, size=64).solve(problem, callback=seen.append)
    assert [step.n_iter for step in seen] == sorted(step.n_iter for step in seen)


def test_blocks_from_stored_rows_change_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(working_set, "_SMALL", 0)
    problem = problem_of(700)
    monkeypatch.setattr(working_set, "_WIDE", 1)
    from_rows = WorkingSet(tol=1e-7, size=64).solve(problem)
    monkeypatch.setattr(working_set, "_WIDE", 1000)
    computed = WorkingSet(tol=1e-7, size=64).solve(problem)
    assert from_rows.kernel_values < computed.kernel_values
    dual = [problem.certify(one.x, full=True).dual for one in (from_rows, computed)]
    np.testing.assert_allclose(*dual, rtol=1e-9)


def test_equal_rows_share_their_kernel_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row three times, with labels that differ: each value is computed once, and all rows are right."""
    monkeypatch.setattr(working_set, "_SMALL", 0)
    data = make_problem("overlapping", 300, 3, 0, "equal")
    X, y = np.tile(data.X, (3, 1)), np.concatenate([data.y, data.y, -data.y])
    kernel = RBF(gamma=0.5)

    def build(X: FloatArray, y: FloatArray) -> BoxQP:
        return Classification(C=10.0).build(kernel, kernel.prepare(X), y, np.ones(len(y)))

    problem = build(X, y)
    solution = WorkingSet(tol=1e-4).solve(problem)
    apart = X + 1e-5 * np.random.default_rng(0).normal(size=X.shape)
    assert solution.kernel_values < 0.5 * WorkingSet(tol=1e-4).solve(build(apart, y)).kernel_values
    assert problem.certify(solution.x, full=True).kkt <= 1e-4
    assert len(solution.x) == len(y)


@pytest.mark.usefixtures("path")
def test_the_believed_gradient_is_the_true_one() -> None:
    problem = problem_of(300)
    solution = WorkingSet(tol=1e-6).solve(problem)
    true = problem.signed_gradient(solution.x, problem.Q.times(solution.x))
    assert solution.gradient is not None
    np.testing.assert_allclose(solution.gradient, true, atol=1e-9)


def test_the_first_sums_need_no_second_copy_of_the_matrix() -> None:
    n = 1500
    problem, solver = problem_of(n), WorkingSet(max_iter=1)
    solver.solve(problem)
    tracemalloc.start()
    try:
        solver.solve(problem)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * 4 * n * n  # the matrix is float32; in float64 it would take twice that beside it


@pytest.mark.parametrize(("columns", "are_spared"), [(60, True), (150, False)])
def test_rows_beyond_the_kept_memory_are_stored_when_needed_again(
    monkeypatch: pytest.MonkeyPatch, columns: int, are_spared: bool
) -> None:
    monkeypatch.setattr(working_set, "_SMALL", 0)
    data = make_problem("overlapping", 700, columns, 0, "equal")
    kernel = RBF(gamma=1 / columns)
    problem = Classification(C=10.0).build(kernel, kernel.prepare(data.X), data.y, np.ones(700))
    solver = WorkingSet(size=32, shrinking=False)
    kept = solver.solve(problem)
    monkeypatch.setattr(row_store, "_KEPT_BYTES", 0)
    spared = solver.solve(problem)
    assert (spared.cache_hits < kept.cache_hits) == are_spared
    assert problem.certify(spared.x, full=True).kkt <= 1e-3


@pytest.mark.usefixtures("path")
def test_a_solution_is_its_own_start() -> None:
    problem = problem_of(200)
    solution = WorkingSet(tol=1e-6).solve(problem)
    again = WorkingSet(tol=1e-6).solve(problem, start=solution.x)
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.x, solution.x)


@pytest.mark.usefixtures("path")
def test_progress_is_told_and_interruption_gets_through() -> None:
    problem = problem_of(200)
    seen: list[SolverProgress] = []
    WorkingSet(tol=1e-6).solve(problem, callback=seen.append)
    assert seen[-1].violation <= 1e-6
    assert "violation" in str(seen[0])
    assert [step.n_iter for step in seen] == sorted(step.n_iter for step in seen)

    def interrupt(progress: SolverProgress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        WorkingSet().solve(problem, callback=interrupt)


@pytest.mark.usefixtures("path")
def test_a_solver_that_is_too_sure_is_sent_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate decides: an engine that aims too high is asked again with a smaller tolerance."""
    monkeypatch.setattr(dual_state, "SAFETY", 5.0)
    problem = problem_of(200)
    solution, certificate = solve_certified(problem, WorkingSet(tol=1e-4))
    assert solution.status is Status.CONVERGED
    assert certificate.kkt <= 1e-4
    alone = WorkingSet(tol=1e-4).solve(problem)
    assert problem.certify(alone.x).kkt > 1e-4


def test_budget() -> None:
    free = Budget(-1, None)
    assert free.steps_left(10**9, 50) == 50
    assert free.exhausted(10**9) is None
    tight = Budget(100, None)
    assert tight.steps_left(80, 50) == 20
    assert tight.steps_left(120, 50) == 0
    assert tight.exhausted(99) is None
    assert tight.exhausted(100) is Status.MAX_ITER
    assert Budget(-1, 1e-9).exhausted(0) is Status.TIME_LIMIT
