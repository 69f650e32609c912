"""All folds of a classifier over one kernel matrix, in one call without the interpreter.

In signed variables t_i = y_i a_i the dual problem with hinge loss reads min 1/2 t'Kt - y't, sum t = 0, with
0 <= y_i t_i <= bound_i. A row outside of the training set has bound 0: it never moves, and its entry of the
maintained gradient is its decision value.

The problem of all rows is solved roughly first. A fold is this problem without some rows, and starts there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.dual.block_solver import (
    BIG,
    SMALLEST_CURVATURE,
    move_and_scan,
    partner,
    scan,
    solve_block,
)
from maxmargin.compute.dual.bounds import moved, multiplier
from maxmargin.compute.dual.gram_parts import add_rows
from maxmargin.compute.dual.one_group import WORK_AT_ONCE
from maxmargin.compute.jit import jit
from maxmargin.compute.kernel_values.powers import n_terms, power, power_sums

_ROUGH = 10.0  # tolerance of the problem of all rows, in units of the tolerance


class FoldMatrix(NamedTuple):
    """A kernel matrix, its logarithms, and memory for rows of its powers; all the same without powers."""

    K: FloatArray
    logs: FloatArray
    scratch: FloatArray


class FoldAnswers(NamedTuple):
    """Of shape (n_folds, n_machines, n) decisions and variables; steps and violations of each problem."""

    decisions: FloatArray
    t: FloatArray
    steps: IntArray
    violations: FloatArray

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> FoldAnswers:
        return cls(
            np.empty(shape), np.empty(shape), np.zeros(shape[:2], np.int64), np.full(shape[:2], np.inf)
        )


@jit
def solve_folds(matrix, stretch, signs, bounds, common, tol, max_steps, answers, cursor):
    """Solve the problem of every row of ``bounds`` (n_folds, n_machines, n).

    ``signs`` (n_machines, n) holds +1 and -1, and 0 for rows that have no side. Fold f has the matrix
    K ** (1 + stretch[f]), an RBF kernel whose gamma differs by a small share. All folds of a machine start
    from its problem with all rows, solved roughly; that one starts from ``common`` (n_machines, n) and is
    left there. Returns True when all are done. A call that takes long returns False, and the next one goes
    on: ``cursor`` holds the problem (machine by machine) and the steps made in it (-1: not begun).
    """
    n_folds, n_machines, n = bounds.shape
    sums = np.empty((n_terms(np.abs(stretch).max()), n))
    work = 0
    summed = -1
    while cursor[0] < n_folds * n_machines:
        m, f = cursor[0] // n_folds, cursor[0] % n_folds
        y, x = signs[m], common[m]
        if f == 0 and cursor[1] < 0:
            work += n * _solve_all(matrix.K, y, bounds[:, m], x, _ROUGH * tol, max_steps)
        if summed != m:
            used = np.flatnonzero(x)
            power_sums(matrix.K, matrix.logs, used, x[used], sums)
            summed = m
        left = max_steps - answers.steps[f, m]
        made, violation = _solve_fold(
            matrix, stretch[f], sums, y, bounds[f, m], x, tol, left, answers.t[f, m],
            answers.decisions[f, m], cursor[1] > 0,
        )  # fmt: skip
        answers.steps[f, m] += made
        answers.violations[f, m] = violation
        work += n * made
        if violation > tol and 0 < made < left:
            cursor[1] = made
            return False
        cursor[0] += 1
        cursor[1] = -1
        if work > WORK_AT_ONCE:
            break
    return cursor[0] == n_folds * n_machines


@jit
def _solve_fold(matrix, stretch, sums, y, bound, x, tol, max_steps, t, decisions, goes_on):
    """One fold, from the variables ``x`` of the common problem or, where it goes on, from its own ``t``."""
    n = len(y)
    low, high = _box(y, bound)
    plain = stretch == 0.0
    ready = np.full(n, plain)
    rows = matrix.K if plain else matrix.scratch
    if goes_on:
        changed = np.flatnonzero(t)
        difference = t[changed]
        g = -y
    else:
        t[:] = x
        make_feasible(t, low, high)
        changed = np.flatnonzero(t != x)
        difference = t[changed] - x[changed]
        g = _sum_of_powers(sums, stretch) - y
    for i in changed:
        _read(matrix.K, matrix.logs, stretch, i, ready, rows)
    add_rows(g, rows, changed, difference, 0, n)
    steps = min(max_steps, WORK_AT_ONCE // n + 1)
    made, violation = _solve(matrix, stretch, g, t, low, high, ready, rows, tol, steps)
    decisions[:] = g + y - multiplier(g, t, low, high)
    return made, violation


@jit
def _box(y, bound):
    return np.where(y < 0.0, -bound, 0.0), np.where(y > 0.0, bound, 0.0)


@jit
def _solve_all(K, y, bounds, x, tol, max_steps):
    """Improve ``x`` for the problem of all rows that are in any fold, and return the steps.

    It is only a start: after a great many steps it is good enough.
    """
    n = len(y)
    widest = bounds[0].copy()
    for f in range(1, len(bounds)):
        widest = np.maximum(widest, bounds[f])
    low, high = _box(y, widest)
    make_feasible(x, low, high)
    g = -y
    used = np.flatnonzero(x)
    add_rows(g, K, used, x[used], 0, n)
    steps = min(max_steps, WORK_AT_ONCE // n + 1)
    return solve_block(K, g, x, low, high, np.zeros(1, np.int64), np.full(1, n), tol, steps)


@jit
def _sum_of_powers(sums, stretch):
    """sum_k stretch^k / k! sums_k."""
    total = sums[-1].copy()
    for k in range(len(sums) - 1, 0, -1):
        total = sums[k - 1] + (stretch / k) * total
    return total


@jit
def _read(K, logs, stretch, i, ready, rows):
    """Row i of the fold's matrix, the first time that it is needed."""
    if not ready[i]:
        power(K[i], logs[i], stretch, rows[i])
        ready[i] = True


@jit
def _solve(matrix, stretch, g, t, low, high, ready, rows, tol, max_steps):
    """`solve_block` on a matrix whose rows are made when they are first needed; steps and violation."""
    K, logs = matrix.K, matrix.logs
    n = len(g)
    up, down = np.empty(n), np.empty(n)
    curvature = np.empty(n, K.dtype)
    for k in range(n):
        up[k] = 0.0 if t[k] < high[k] else BIG
        down[k] = 0.0 if t[k] > low[k] else -BIG
        curvature[k] = K[k, k]
    i, j = scan(g, up, down)
    for step in range(max_steps):
        violation = g[j] + down[j] - g[i] - up[i]
        if not violation > tol:
            return step, violation
        _read(K, logs, stretch, i, ready, rows)
        j = partner(g, g[i], down, rows[i], curvature, curvature[i])
        _read(K, logs, stretch, j, ready, rows)
        eta = np.float64(curvature[i]) + np.float64(curvature[j]) - 2.0 * np.float64(rows[i, j])
        delta = (g[j] - g[i]) / max(eta, SMALLEST_CURVATURE)
        delta = min(delta, min(high[i] - t[i], t[j] - low[j]))
        t[i] = moved(t[i], delta, low[i], high[i])
        t[j] = moved(t[j], -delta, low[j], high[j])
        for k in (i, j):
            up[k] = 0.0 if t[k] < high[k] else BIG
            down[k] = 0.0 if t[k] > low[k] else -BIG
        i, j = move_and_scan(g, delta, rows[i], rows[j], up, down)
    return max_steps, g[j] + down[j] - g[i] - up[i]


@jit
def make_feasible(t: FloatArray, low: FloatArray, high: FloatArray) -> None:
    """Clip into the bounds, then move variables until they sum to 0."""
    excess = 0.0
    for i in range(len(t)):
        t[i] = min(max(t[i], low[i]), high[i])
        excess += t[i]
    for i in range(len(t)):
        if excess == 0.0:
            return
        left = min(max(t[i] - excess, low[i]), high[i])
        excess += left - t[i]
        t[i] = left
