"""Cells on a shared matrix: float32 values, and sums in float64 where these are too coarse."""

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.kernels import RBF
from maxmargin.problems.solution import Status
from maxmargin.solvers.dual.gram import chains
from maxmargin.solvers.dual.gram.chains import ChainCell, ProblemRows, solve_cell
from maxmargin.solvers.dual.gram.shared_gram import Layout, SharedGram

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


def test_where_refining_does_not_end_the_float64_matrix_serves(overlapping, monkeypatch):
    monkeypatch.setattr(chains, "_REFRESHES", 0)
    gram, setting, K = overlapping
    check_answer(K, solved(gram, setting, 3e3), setting)
