"""Cells on a shared matrix: float32 values, and sums in float64 where these are too coarse."""

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.kernels import RBF
from maxmargin.problems.solution import Status
from maxmargin.solvers.dual.gram import chains
from maxmargin.solvers.dual.gram.chains import ChainCell, ProblemRows, solve_cell
from maxmargin.solvers.dual.gram.shared_gram import Layout, SharedGram
from maxmargin.solvers.dual.gram.warm_starts import PlacedProblem

N = 150


@pytest.fixture
def overlapping():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 3))
    y = np.where(X[:, 0] + rng.normal(size=N) > 0, 1.0, -1.0)
    kernel = RBF(gamma=0.1)
    gram = SharedGram(kernel, kernel.prepare(X), Layout(1), wide=False, balanced=True)
    rows = np.arange(N - 20)
    return gram, ProblemRows(rows, y[rows], np.ones(len(rows))), kernel(X, X)


def solved(gram, setting, C, along=None):
    model = mm.SVC(C=C)
    cell = ChainCell(model.formulation(), model.dual_solver())
    test = np.arange(N - 20, N)
    return solve_cell(gram, cell, setting, np.array([[0, N]]), test, None, along).state


def true_violation(K, state, setting):
    g = K[np.ix_(setting.rows, setting.rows)] @ state.t - setting.target
    return g[state.t > state.signed.lo].max() - g[state.t < state.signed.hi].min()


def check_answer(K, state, setting):
    assert state.wide
    assert state.ending.status is Status.CONVERGED
    assert true_violation(K, state, setting) <= 1e-3
    assert state.ending.violation == pytest.approx(true_violation(K, state, setting), abs=1e-7)
    f = K[:, setting.rows] @ state.t  # up to a constant, which the intercept takes up
    np.testing.assert_allclose(state.v - state.v[0], f - f[0], atol=1e-7)


def test_sums_too_coarse_in_float32_are_refined_without_a_float64_solve(overlapping, monkeypatch):
    monkeypatch.setattr(chains, "_again", None)  # not callable: the float64 matrix must only be summed
    gram, setting, K = overlapping
    check_answer(K, solved(gram, setting, 3e3), setting)


def test_refining_takes_more_steps_where_values_are_far_off(overlapping, monkeypatch):
    monkeypatch.setattr(chains, "_again", None)
    gram, setting, K = overlapping
    first = solved(gram, setting, 1.0)
    first.wide = True
    gram.narrow = gram.narrow.astype(np.float16).astype(np.float32)  # three digits
    wrong = solved(gram, setting, 10.0)
    assert true_violation(K, wrong, setting) > 1e-3  # this is what the sums in float64 are for
    check_answer(K, solved(gram, setting, 10.0, first), setting)


def test_where_refining_does_not_end_the_float64_matrix_is_used(overlapping, monkeypatch):
    monkeypatch.setattr(chains, "_REFRESHES", 0)
    gram, setting, K = overlapping
    check_answer(K, solved(gram, setting, 3e3), setting)


def placed(gram, setting, C):
    problem = mm.SVC(C=C).formulation().build(None, setting.rows, setting.target, setting.weight)
    return PlacedProblem(problem, gram.narrow, setting.rows, np.array([[0, N]]))


@pytest.mark.parametrize(("before", "C"), [(0.01, 0.1), (0.01, 5.0), (30.0, 100.0), (30.0, 1.0), (1.0, 1.1)])
def test_a_start_along_C_is_the_best_multiple_within_the_bounds(overlapping, before, C):
    gram, setting, K = overlapping
    old = solved(gram, setting, before)
    problem = placed(gram, setting, C)
    t, v = problem.start_from_scaled(old)
    s = problem.signed
    assert np.all((t >= s.lo) & (t <= s.hi))
    assert t.sum() == pytest.approx(0.0, abs=1e-9 * C)
    used = old.t != 0
    factor = np.median(t[used] / old.t[used])
    np.testing.assert_allclose(t, factor * old.t, rtol=1e-12)
    np.testing.assert_allclose(v, factor * old.v, rtol=1e-12)

    def value(m):  # of the dual at m times the old answer
        w = m * old.t
        return 0.5 * w @ K[np.ix_(setting.rows, setting.rows)] @ w - setting.target @ w

    free = np.count_nonzero((old.t > old.signed.lo) & (old.t < old.signed.hi))
    most = np.min(C / np.abs(old.t[used]))
    most = min(most, 1.0) if free > np.count_nonzero(used) - free else most
    best = min(value(m) for m in np.linspace(0.0, most, 2001))
    assert factor <= most * (1 + 1e-12)
    assert value(factor) <= best + 1e-6 * abs(best)


def test_the_multiplier_of_a_state_is_that_of_the_problem(overlapping):
    gram, setting, _ = overlapping
    for C in (0.001, 1.0, 30.0):  # none free, some, most
        state, problem = solved(gram, setting, C), placed(gram, setting, C)
        expected = problem.problem.multipliers(problem.gram.gradient(state.t, state.v), np.abs(state.t))
        np.testing.assert_allclose(state.multipliers, expected, rtol=1e-12)


def test_the_error_of_float32_values_is_below_its_bound(overlapping):
    gram, _, K = overlapping
    centred = K - K.mean()
    assert gram.too_coarse(np.arange(N), np.full(N, 1e9), 1e-3)
    assert not gram.too_coarse(np.arange(N), np.full(N, 1.0), 1e-3)
    shift = float(np.mean(K - gram.narrow))
    error = np.abs(K - shift - gram.narrow).max()
    assert 0 < error <= 2.0**-24 * np.abs(centred).max() * 1.5
