"""Cells along C in one compiled call: the same answers as cell by cell, and no cell is passed over."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin.solvers.dual.gram import chains, cost_path
from maxmargin.solvers.dual.gram.chains import ChainCell, ProblemRows
from maxmargin.solvers.dual.gram.shared_gram import Layout, SharedGram

COSTS = [0.01, 1.0, 1.0, 100.0, 1e4]


@pytest.fixture(scope="module")
def data():
    return make_classification(150, 6, n_informative=4, flip_y=0.1, random_state=3)


@pytest.fixture
def lengths(monkeypatch):
    """How many cells each compiled call solved."""
    found, original = [], chains.solve_cost_path

    def counted(*args):
        states = original(*args)
        found.append(len(states))
        return states

    monkeypatch.setattr(chains, "solve_cost_path", counted)
    return found


def links_of(X, y, cells, weight=None):
    """Links on the first 120 rows, tested on the others; and the kernel matrix."""
    kernel = mm.kernels.RBF(gamma=0.2)
    gram = SharedGram(kernel, kernel.prepare(X), Layout(1), wide=False, balanced=True)
    rows, test = np.arange(120), np.arange(120, len(X))
    target = np.where(y[rows] == 1, 1.0, -1.0)
    setting = ProblemRows(rows, target, np.ones(120) if weight is None else weight)
    everything = np.array([[0, len(X)]])
    return chains.solve_chain(gram, cells, [[setting]], [everything], [test], 1)[0][0], setting, kernel


def cells_of(costs, **limits):
    return [ChainCell(m.formulation(), m.dual_solver()) for m in (mm.SVC(C=C, **limits) for C in costs)]


def test_every_cell_is_certified_by_its_own_problem(data, lengths):
    X, y = data
    weight = np.random.default_rng(0).uniform(0.1, 3.0, size=120)
    links, setting, kernel = links_of(X, y, cells_of(COSTS), weight)
    assert sum(lengths) == len(COSTS)
    for C, link in zip(COSTS, links, strict=True):
        form = mm.SVC(C=C).formulation()
        problem = form.build(kernel, kernel.prepare(X[:120]), setting.target, weight)
        certificate = problem.certify(np.abs(link.state.t), full=True)
        assert certificate.kkt <= 1.3e-3  # a quarter of tol is left to float32
        np.testing.assert_allclose(certificate.kkt, link.ending.violation, atol=3e-4)
        f = kernel(X[120:], X[:120]) @ link.expansion.beta + link.expansion.intercept
        np.testing.assert_allclose(link.sums + link.expansion.intercept, f, atol=1e-3)
        assert link.ending.n_iter > 0 or C == 1.0  # the second C = 1 is solved before it begins


@pytest.mark.parametrize("front", [False, True], ids=["plain", "scaled"])
@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}, {"max_iter": 150}, {"tol": 1e-2}])
def test_the_table_is_that_of_single_cells(data, options, front, monkeypatch, lengths):
    X, y = data
    model = make_pipeline(StandardScaler(), mm.SVC(**options)) if front else mm.SVC(**options)
    grid = {f"{'svc__' if front else ''}{name}": v for name, v in (("C", COSTS), ("gamma", [0.05, 0.5]))}
    stopped = "max_iter" in options

    def run():
        if not stopped:
            return mm.tune(model, X, y, grid, cv=4, refit=False)
        with pytest.warns(ConvergenceWarning, match="cells did not converge"):
            return mm.tune(model, X, y, grid, cv=4, refit=False)

    together = run()
    assert any(lengths)
    monkeypatch.setattr(chains.CostPath, "links", lambda *_: [])
    single = run()
    if stopped:  # which cells converge within so few steps depends on the way
        assert set(together.table["status"]) == set(single.table["status"]) == {"converged", "max_iter"}
    else:
        assert set(together.table["status"]) == set(single.table["status"]) == {"converged"}
        np.testing.assert_allclose(together.folds, single.folds, atol=1 / 37 + 1e-12)  # a row on the edge


def test_a_hard_cell_is_solved_alone_and_the_path_goes_on(data, monkeypatch, lengths):
    monkeypatch.setattr(cost_path, "STEPS_AT_ONCE", 300)
    links, *_ = links_of(*data, cells_of(COSTS))
    assert len(links) == len(COSTS)
    assert sum(lengths) < len(COSTS)  # C = 1e4 takes more than 300 steps
    assert all(link.ending.violation <= 1e-3 for link in links)


def test_coarse_values_and_hidden_gaps_end_the_path(data, monkeypatch, lengths):
    costs = [1.0, 1e7]  # from 1e6 on the gap is computed
    links, *_ = links_of(*data, cells_of(costs))
    assert sum(lengths) == 1
    assert len(links) == 2
    monkeypatch.setattr(SharedGram, "too_coarse", lambda *_: True)
    monkeypatch.setattr(SharedGram, "n_fine", lambda *_: 0)
    links, *_ = links_of(*data, cells_of([1.0, 10.0]))
    assert all(link.state.wide for link in links)


@pytest.mark.parametrize("limits", [{"time_limit": 60.0}, {"tol": 1e-6}])
def test_limits_that_need_a_look_at_each_cell(data, lengths, limits):
    mm.tune(mm.SVC(gamma=0.2, **limits), *data, {"C": COSTS}, cv=3, refit=False)
    assert not lengths


def test_ctrl_c_is_seen_between_calls(data, monkeypatch):
    def stopped():
        raise KeyboardInterrupt

    monkeypatch.setattr(cost_path, "check_stop", stopped)
    with pytest.raises(KeyboardInterrupt):
        links_of(*data, cells_of(COSTS))
