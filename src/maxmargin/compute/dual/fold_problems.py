"""All folds of a classifier over one kernel matrix, in one call without the interpreter.

In signed variables t_i = y_i a_i the dual problem with hinge loss reads min 1/2 t'Kt - y't, sum t = 0, with
0 <= y_i t_i <= bound_i. A row outside the training set has the bound 0: it never moves, and its entry of the
gradient is its decision value.

The problem of all rows is solved roughly first. A fold is this problem without some rows and starts from its
solution.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.dual.bounds import make_feasible, moved, multiplier
from maxmargin.compute.dual.gram_parts import add_product, add_rows
from maxmargin.compute.dual.narrow_block import BIG, SMALLEST_CURVATURE, ZERO, move_and_scan, partner
from maxmargin.compute.dual.one_group import WORK_AT_ONCE
from maxmargin.compute.jit import jit, part
from maxmargin.compute.kernel_values.powers import n_terms, power, power_sums

_ROUGH = 10.0  # tolerance of the problem of all rows, in units of the tolerance
_INNER = 0.9  # tolerance of steps in float32, in units of the tolerance
_INDEX_BITS = np.int32(4095)  # of the rows, of which a matrix in memory has at most 4096


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
    left there. Returns True when all are done. A call that takes long returns False, and the next one
    continues: ``cursor`` holds the problem (machine by machine) and the number of its steps (-1: not begun).
    """
    n_folds, n_machines, n = bounds.shape
    sums = np.empty((n_terms(stretch), n))
    work, summed = np.int64(0), np.int64(-1)
    while cursor[0] < n_folds * n_machines:
        m, f = cursor[0] // n_folds, cursor[0] % n_folds
        y, x = signs[m], common[m]
        if f == 0 and cursor[1] < 0:
            work += n * _solve_all(matrix, y, bounds, m, x, _ROUGH * tol, max_steps)
        if summed != m:
            _sum_powers(matrix, x, sums)
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


@part
def _sum_powers(matrix, x, sums):
    """The sums of all powers of the rows with the weights ``x``."""
    rows, weights = np.empty(len(x), np.int64), np.empty(len(x))
    used = np.int64(0)
    for i in range(len(x)):
        if x[i] != 0.0:
            rows[used], weights[used] = i, x[i]
            used += 1
    power_sums(matrix.K, matrix.logs, rows[:used], weights[:used], sums)


@part
def _solve_fold(matrix, stretch, sums, y, bound, x, tol, max_steps, t, decisions, goes_on):
    """One fold, from the variables ``x`` of the common problem or, where it continues, from its own ``t``."""
    n = len(y)
    numbers, places = np.empty((4, n)), np.empty((2, n), np.int64)
    low, high, g, weights = numbers[0], numbers[1], numbers[2], numbers[3]
    changed, ready = places[0], places[1]
    rows = matrix.K if stretch == 0.0 else matrix.scratch
    _set_box(y, bound, low, high)
    for i in range(n):
        ready[i] = 1 if stretch == 0.0 else 0
        g[i] = -y[i]
        t[i] = t[i] if goes_on else x[i]
    if not goes_on:
        make_feasible(t, low, high)
        _add_sum_of_powers(sums, stretch, g)
    used = np.int64(0)
    for i in range(n):
        weight = t[i] if goes_on else t[i] - x[i]
        if weight != 0.0:
            _read(matrix, stretch, i, ready, rows)
            changed[used], weights[used] = i, weight
            used += 1
    add_rows(g, rows, changed[:used], weights[:used], np.int64(0), n)
    made, violation = _solve(matrix, stretch, g, t, low, high, ready, rows, tol, max_steps)
    level = multiplier(g, t, low, high)
    for i in range(n):
        decisions[i] = g[i] + y[i] - level
    return made, violation


@part
def _set_box(y, bound, low, high):
    for i in range(len(y)):
        low[i] = -bound[i] if y[i] < 0.0 else 0.0
        high[i] = bound[i] if y[i] > 0.0 else 0.0


@part
def _solve_all(matrix, y, bounds, m, x, tol, max_steps):
    """Improve ``x`` for the problem of all rows that are in any fold of machine m, and return the steps.

    The solution is only a start for the folds, so the number of steps is limited.
    """
    n = len(y)
    numbers, places = np.empty((5, n)), np.empty((2, n), np.int64)
    low, high, g, widest, weights = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    ready = places[1]
    for i in range(n):
        g[i], ready[i], widest[i] = -y[i], 1, 0.0
        for f in range(len(bounds)):
            widest[i] = bounds[f, m, i] if bounds[f, m, i] > widest[i] else widest[i]
    _set_box(y, widest, low, high)
    make_feasible(x, low, high)
    add_product(g, matrix.K, x, places[0], weights)
    return _solve(matrix, 0.0, g, x, low, high, ready, matrix.K, tol, max_steps)[0]


@part
def _add_sum_of_powers(sums, stretch, g):
    """g += sum_k stretch^k / k! sums_k."""
    for j in range(len(g)):
        total = sums[-1, j]
        for k in range(len(sums) - 1, 0, -1):
            total = sums[k - 1, j] + (stretch / k) * total
        g[j] += total


@part
def _read(matrix, stretch, i, ready, rows):
    """Row i of the fold's matrix, the first time that it is needed."""
    if ready[i] == 0:
        power(matrix.K[i], matrix.logs[i], stretch, rows[i])
        ready[i] = 1


@part
def _solve(matrix, stretch, g, t, low, high, ready, rows, tol, max_steps):
    """Pairwise steps in float32, and sums in float64 after them, until the violation is within ``tol``.

    The rows of the matrix are made when they are first needed. Returns the number of steps, which is limited,
    and the violation.
    """
    n = len(g)
    most = WORK_AT_ONCE // n + 1
    most = most if most < max_steps else max_steps
    new, weights, changed = np.empty(n), np.empty(n), np.empty(n, np.int64)
    made = np.int64(0)
    while True:
        smallest_up, largest_down = np.inf, -np.inf
        for k in range(n):
            new[k] = t[k]
            smallest_up = g[k] if t[k] < high[k] and g[k] < smallest_up else smallest_up
            largest_down = g[k] if t[k] > low[k] and g[k] > largest_down else largest_down
        violation = largest_down - smallest_up
        if not violation > tol or made >= most:
            return made, violation
        middle = 0.5 * (smallest_up + largest_down)
        taken = _steps(matrix, stretch, g, middle, new, low, high, ready, rows, _INNER * tol, most - made)
        if taken == 0:
            return made, violation
        made += taken
        used = np.int64(0)
        for k in range(n):
            if new[k] != t[k]:
                changed[used], weights[used] = k, new[k] - t[k]
                t[k] = new[k]
                used += 1
        add_rows(g, rows, changed[:used], weights[:used], np.int64(0), n)


@part
def _steps(matrix, stretch, exact_g, middle, t, low, high, ready, rows, tol, max_steps):
    """As `solve_narrow_block`, on rows that are made when they are first needed; changes ``t`` only."""
    n = len(t)
    memory = np.empty((4, n), np.float32)
    g, up, down, curvature = memory[0], memory[1], memory[2], memory[3]
    for k in range(n):
        g[k] = exact_g[k] - middle
        up[k] = ZERO if t[k] < high[k] else BIG
        down[k] = ZERO if t[k] > low[k] else -BIG
        curvature[k] = matrix.K[k, k]
    i, j = move_and_scan(g, ZERO, rows[0], rows[0], up, down, _INDEX_BITS)
    for step in range(max_steps):
        if not g[j] + down[j] - g[i] - up[i] > tol:
            return step
        _read(matrix, stretch, i, ready, rows)
        j = partner(g, g[i], down, rows[i], curvature, curvature[i], _INDEX_BITS)
        _read(matrix, stretch, j, ready, rows)
        eta = np.float64(curvature[i]) + np.float64(curvature[j]) - 2.0 * np.float64(rows[i, j])
        eta = eta if eta > SMALLEST_CURVATURE else np.float64(SMALLEST_CURVATURE)
        delta = (np.float64(g[j]) - np.float64(g[i])) / eta
        room = high[i] - t[i]
        delta = room if room < delta else delta
        room = t[j] - low[j]
        delta = room if room < delta else delta
        t[i] = moved(t[i], delta, low[i], high[i])
        t[j] = moved(t[j], -delta, low[j], high[j])
        up[i] = ZERO if t[i] < high[i] else BIG
        down[i] = ZERO if t[i] > low[i] else -BIG
        up[j] = ZERO if t[j] < high[j] else BIG
        down[j] = ZERO if t[j] > low[j] else -BIG
        i, j = move_and_scan(g, np.float32(delta), rows[i], rows[j], up, down, _INDEX_BITS)
    return np.int64(max_steps)
