"""Every problem inside a search: what it says of itself, beside plain formulas in extended precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import maxmargin as mm
from maxmargin.base.typing import AnyArray
from maxmargin.problems.solution import Ending, Status
from maxmargin.solvers.dual.gram.chains import ChainCell, ProblemRows, solve_chain
from maxmargin.solvers.dual.gram.class_pairs import solve_pairs
from maxmargin.solvers.dual.gram.shared_gram import Layout, SharedGram

TOL, COSTS = 1e-3, [1e5, 1e7, 1e8, 1e10, 1e12]
N = 90


def _rows(kernel: str, seed: int) -> AnyArray:
    rng = np.random.default_rng(seed)
    if kernel == "linear":
        return np.sort(rng.normal(size=(N, 1)), axis=0)  # classes side by side, hardly apart
    X = rng.standard_t(1.5, size=(N, 4))[rng.integers(0, N // 3, N)] + 10.0 ** rng.uniform(0, 4)
    return X * 10.0 ** rng.uniform(-1, 1, 4)


def _shared(model: Any, X: AnyArray) -> tuple[SharedGram, list[ChainCell]]:
    kernel = model.make_kernel().bind(X)
    gram = SharedGram(kernel, kernel.prepare(X), Layout(1), wide=False, balanced=True)
    models = [clone(model).set_params(C=C) for C in COSTS]
    return gram, [ChainCell(one.formulation(), one.dual_solver()) for one in models]


def _check(K: AnyArray, unit: float, y: AnyArray, C: float, t: AnyArray, b: float, ending: Ending) -> None:
    """``t``: the signed variables of the rows of K; ``b``: the intercept; ``unit``: rounding of a value."""
    if ending.status is not Status.CONVERGED:
        return
    v = K.astype(np.longdouble) @ t.astype(np.longdouble)
    g, a = v - y, y * t
    assert a.min() >= 0
    assert a.max() <= C
    rises, falls = np.where(y > 0, a < C, a > 0), np.where(y > 0, a > 0, a < C)
    rounding = unit * a.sum()
    violation = g[falls].max() - g[rises].min()
    assert violation <= TOL + rounding
    primal = 0.5 * t @ v + C * np.maximum(0, 1 - y * (v + b)).sum()
    dual = a.sum() - 0.5 * t @ v
    if C * np.abs(K).max() > 1e6:
        assert primal - dual <= max(0.11 * abs(dual), 10 * violation * len(y), rounding * C * len(y))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("pairs", [False, True])
def test_a_cell_that_converged_has_done_so(kernel: str, pairs: bool, seed: int) -> None:
    """Sums of float32 values hid gaps of twice the dual value where C was 1e8."""
    X, n_classes = _rows(kernel, seed), 3 if pairs else 2
    codes = np.sort(np.random.default_rng(seed).integers(0, n_classes, N))
    gram, cells = _shared(mm.SVC(kernel=kernel, gamma=0.1), X)
    tests = [np.arange(f, N, 3) for f in range(3)]
    inside = np.array([~np.isin(np.arange(N), test) for test in tests])
    points = gram.points
    K = gram.kernel.gram(points)
    longest = 0.1 * points.norms.max() if kernel == "rbf" else 1.0  # the rounding of an exponent
    unit = 4 * np.finfo(float).eps * np.abs(K).max() * max(1.0, longest)
    if pairs:
        solved = solve_pairs(gram, cells, codes, tests, inside.astype(float), 1)
        for f in range(3):
            first = codes == 0, codes == 1  # the first pair
            rows = np.flatnonzero((first[0] | first[1]) & inside[f])
            for j, C in enumerate(COSTS):
                t = solved.expansions[f].betas[0][j][inside[f][(first[0] | first[1])]]
                y = np.where(codes[rows] == 0, 1.0, -1.0)
                b = float(solved.expansions[f].biases[0, j])
                _check(K[np.ix_(rows, rows)], unit, y, C, t, b, solved.endings[f][j])
        return
    y = np.where(codes == 1, 1.0, -1.0)
    trains = [np.flatnonzero(one) for one in inside]
    settings = [ProblemRows(rows, y[rows], np.ones(len(rows))) for rows in trains]
    links = solve_chain(gram, cells, [settings], [np.array([[0, N]])], tests, 1)[0]
    for rows, mine in zip(trains, links, strict=True):
        for C, link in zip(COSTS, mine, strict=True):
            assert link.expansion is not None
            assert link.ending is not None
            found = link.expansion
            _check(K[np.ix_(rows, rows)], unit, y[rows], C, found.beta, found.intercept, link.ending)
