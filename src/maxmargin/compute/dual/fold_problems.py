"""The folds of a machine: many dual problems over one Gram matrix, in one call without the interpreter.

In signed variables t_i = y_i a_i the machine with hinge loss reads min 1/2 t'Kt - y't, sum t = 0, with
0 <= y_i t_i <= bound_i. A row outside of the training set has bound 0: it never moves, and its entry of the
maintained gradient is its decision value.

The problem of all rows is solved roughly first. A fold is this problem without some rows, and starts there.
"""

from __future__ import annotations

import numpy as np

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.dual.block_solver import (
    BIG,
    SMALLEST_CURVATURE,
    add_rows,
    move_and_scan,
    partner,
    scan,
    solve_block,
)
from maxmargin.compute.dual.bounds import moved, multiplier
from maxmargin.compute.jit import jit
from maxmargin.compute.kernel_values.powers import n_terms, power, power_sums

_ROUGH = 10.0  # tolerance of the problem of all rows, in units of the tolerance


@jit
def solve_folds(
    K: FloatArray,
    logs: FloatArray,
    stretch: FloatArray,
    signs: FloatArray,
    bounds: FloatArray,
    start: FloatArray,
    tol: float,
    max_steps: int,
    scratch: FloatArray,
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Solve the problem of every row of ``bounds`` (n_folds, n_machines, n).

    ``signs`` (n_machines, n) holds +1 and -1, and 0 for rows that have no side. Fold f has the matrix
    K ** (1 + stretch[f]), an RBF kernel whose gamma differs by a small share; ``logs`` holds log K and
    ``scratch`` takes the rows that are needed then. All folds of a machine start from its problem with all
    rows, which starts from ``start`` (n_machines, n). Returns the decision values of all rows and the signed
    variables, of the shape of ``bounds``, and the numbers of steps (``max_steps``: not converged).
    """
    n_folds, n_machines, n = bounds.shape
    decisions = np.empty(bounds.shape)
    t = np.empty(bounds.shape)
    steps = np.empty((n_folds, n_machines), dtype=np.int64)
    sums = np.empty((n_terms(np.abs(stretch).max()), n))
    for m in range(n_machines):
        y = signs[m]
        x = _solve_all(K, y, bounds[:, m], start[m], _ROUGH * tol, max_steps)
        used = np.flatnonzero(x)
        power_sums(K, logs, used, x[used], sums)
        for f in range(n_folds):
            low, high = _box(y, bounds[f, m])
            z = t[f, m]
            z[:] = x
            make_feasible(z, low, high)
            plain = stretch[f] == 0.0
            ready = np.full(n, plain)
            rows = K if plain else scratch
            changed = np.flatnonzero(z != x)
            for i in changed:
                _read(K, logs, stretch[f], i, ready, rows)
            g = _sum_of_powers(sums, stretch[f]) - y
            add_rows(g, rows, changed, z[changed] - x[changed], 0, n)
            steps[f, m] = _solve(K, logs, stretch[f], g, z, low, high, ready, rows, tol, max_steps)
            decisions[f, m] = g + y - multiplier(g, z, low, high)
    return decisions, t, steps


@jit
def _box(y, bound):
    return np.where(y < 0.0, -bound, 0.0), np.where(y > 0.0, bound, 0.0)


@jit
def _solve_all(K, y, bounds, start, tol, max_steps):
    """The problem of all rows that are in any fold."""
    n = len(y)
    widest = bounds[0].copy()
    for f in range(1, len(bounds)):
        widest = np.maximum(widest, bounds[f])
    low, high = _box(y, widest)
    x = start.copy()
    make_feasible(x, low, high)
    g = -y
    used = np.flatnonzero(x)
    add_rows(g, K, used, x[used], 0, n)
    solve_block(K, g, x, low, high, np.zeros(1, np.int64), np.full(1, n), tol, max_steps)
    return x


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
def _solve(K, logs, stretch, g, t, low, high, ready, rows, tol, max_steps):
    """`solve_block` on a matrix whose rows are made when they are first needed."""
    n = len(g)
    up, down = np.empty(n), np.empty(n)
    curvature = np.empty(n, K.dtype)
    for k in range(n):
        up[k] = 0.0 if t[k] < high[k] else BIG
        down[k] = 0.0 if t[k] > low[k] else -BIG
        curvature[k] = K[k, k]
    i, j = scan(g, up, down)
    for step in range(max_steps):
        if not g[j] + down[j] - g[i] - up[i] > tol:
            return step
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
    return max_steps


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
