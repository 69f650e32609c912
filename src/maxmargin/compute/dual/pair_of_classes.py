"""The problems of two classes out of many: all their cells and folds in one call, on one kernel matrix.

In signed variables t_i = y_i a_i the problem reads min 1/2 t'(K + D)t - y't with sum t = 0 and 0 <= y_i t_i
<= bound_i. A row outside of the training set has bound 0. The problems of a pair differ little, so nearly all
of their support vectors come from a few candidates whose kernel values stay in the cache. Every solution is
checked on all rows, and rows that violate their condition are added to the candidates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.dual.block_solver import BIG, Signed, smallest
from maxmargin.compute.dual.bounds import clipped, make_feasible, multiplier
from maxmargin.compute.dual.gram_parts import add_product, add_rows
from maxmargin.compute.dual.narrow_block import solve_narrow_block
from maxmargin.compute.dual.one_group import (
    BINS,
    FRESH,
    KEPT,
    OUT,
    WORK_AT_ONCE,
    mark_violators,
    signed_gradient,
    solve_on_gram,
)
from maxmargin.compute.jit import jit, part

_MOST_CANDIDATES = 768  # candidates: the values of more do not stay in the cache
_STRIDE = _MOST_CANDIDATES + 16  # no power of two: columns would fall on the same cache lines
_JOIN = np.int64(24)  # rows that join after a check
_SPARE = 0.3  # candidates beside the support vectors of the first problem, as a share of these
_AIM = 0.9  # of the tolerance, for the candidates
_TEST_ROWS = 256  # rows evaluated together: their kernel values stay in the cache
_FIRST_BLOCK = np.int64(160)
_STEPS_AT_ONCE = np.int64(200_000)


class PairAnswers(NamedTuple):
    """For every problem of a pair its signed variables, kernel sums, bias, steps and violation."""

    t: FloatArray
    sums: FloatArray
    biases: FloatArray
    steps: IntArray
    violations: FloatArray

    @classmethod
    def empty(cls, n_problems: int, n: int) -> PairAnswers:
        shape = (n_problems, n)
        steps = np.zeros(n_problems, np.int64)
        return cls(np.zeros(shape), np.zeros(shape), np.zeros(n_problems), steps, np.full(n_problems, np.inf))


@jit
def solve_pair(K, y, bounds, ridges, n_folds, tol, max_steps, answers, first):
    """Solve the problem of every row of ``bounds`` and ``ridges`` (n_problems, n) on the first n rows of K.

    The problems are ordered by cell, then by fold, and each starts from earlier ones (see `_start`). Begins
    with the problem ``first`` and returns the one to continue with: a call that takes long ends before the
    last.
    """
    n_problems, n = bounds.shape
    numbers, places = np.empty((6, n)), np.empty((6, n + BINS), np.int64)
    ones, c, lo, hi, g, weights = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]
    every, group, used, mark, bins = places[0, :n], places[1, :n], places[2], places[3, :n], places[4, :n]
    for i in range(n):
        ones[i], c[i], every[i], group[i] = 1.0, -y[i], i, 0
    everything = np.empty((1, 2), np.int64)
    everything[0, 0], everything[0, 1] = 0, n
    B = np.empty((_MOST_CANDIDATES, _STRIDE), K.dtype)
    members = np.empty(_MOST_CANDIDATES, np.int64)
    size, work = np.int64(0), np.int64(0)
    for p in range(first, n_problems):
        t, v, ridge = answers.t[p], answers.sums[p], ridges[p]
        for i in range(n):
            lo[i] = -bounds[p, i] if y[i] < 0.0 else 0.0
            hi[i] = bounds[p, i] if y[i] > 0.0 else 0.0
        signed = Signed(every, ones, ridge, c, lo, hi, group)
        if p > 0 and answers.steps[p] == 0:
            _start(answers.t, bounds, p, n_folds, lo, hi)
        while size > 0 and answers.steps[p] < max_steps:
            left = max_steps - answers.steps[p]
            left = left if left < _STEPS_AT_ONCE else _STEPS_AT_ONCE
            made = _solve_candidates(K, B, members, size, ridge, signed, t, _AIM * tol, left)
            answers.steps[p] += made
            _set_sums(v, K, t, used, weights)
            smallest_up, largest_down = signed_gradient(v, signed, t, g)
            answers.violations[p] = largest_down - smallest_up
            if largest_down - smallest_up <= tol:
                break
            if work > WORK_AT_ONCE:
                return p
            mark_violators(g, t, lo, hi, smallest_up, largest_down, mark, bins, places[5], _JOIN)
            work += made * size + n * size
            before, size = size, _join(K, mark, members, size, B)
            if made == 0 and size == before:  # only rounding is left between the two gradients
                size = np.int64(0)
        if size == 0:
            _set_sums(v, K, t, used, weights)
            left = max_steps - answers.steps[p]
            made, violation, _ = solve_on_gram(K, signed, everything, t, v, _FIRST_BLOCK, tol, left)
            answers.steps[p] += made
            answers.violations[p] = violation
            if violation > tol and 0 < made < left:
                return p
            signed_gradient(v, signed, t, g)
            _mark_near_the_margin(g, y, t, multiplier(g, t, lo, hi), mark, weights)
            size = _join(K, mark, members, size, B)
        answers.biases[p] = -multiplier(g, t, lo, hi)
    return n_problems


@part
def _start(T, bounds, p, n_folds, lo, hi):
    """Fill row p of ``T`` with a start from the rows before it, within the bounds and with the sum 0.

    In the first cell it is the solution on the fold before, and on the first fold that of the cell before.
    Elsewhere it is the solution on the fold before, and unless most support vectors of the cell before are
    at their bounds, what the change of fold changed in that cell is added.
    """
    t, beside = T[p], T[p - 1 if p % n_folds > 0 else p - n_folds]
    share, n_bounded = 0.0, np.int64(0)
    before, corner = beside, beside
    if p % n_folds > 0 and p > n_folds:
        before, corner = T[p - n_folds], T[p - n_folds - 1]
        for i in range(len(t)):
            if before[i] != 0.0:
                n_bounded += 1 if before[i] in (bounds[p - n_folds, i], -bounds[p - n_folds, i]) else -1
        share = 0.0 if n_bounded > 0 else 1.0
    up, down = 0.0, 0.0
    for i in range(len(t)):
        t[i] = clipped(beside[i] + share * (before[i] - corner[i]), lo[i], hi[i])
        if t[i] > 0.0:
            up += t[i]
        else:
            down -= t[i]
    for i in range(len(t)):
        if t[i] > 0.0 and up > down:
            t[i] *= down / up
        elif t[i] < 0.0 and down > up:
            t[i] *= up / down
    make_feasible(t, lo, hi)


@part
def _set_sums(v, K, t, places, weights):
    """v = K t."""
    for i in range(len(v)):
        v[i] = 0.0
    add_product(v, K, t, places, weights)


@part
def _solve_candidates(K, B, members, size, ridge, signed, t, tol, max_steps):
    """Solve for the candidates alone; all others stay."""
    numbers, places = np.empty((5, size)), np.empty(size, np.int64)
    g, t_block, lo, hi, weights = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    for k in range(size):
        i = members[k]
        B[k, k] = K[i, i] + ridge[i]
        g[k], t_block[k], lo[k], hi[k] = signed.c[i], t[i], signed.lo[i], signed.hi[i]
    add_product(g, B, t_block, places, weights)
    made = solve_narrow_block(B, g, t_block, lo, hi, tol, max_steps)
    for k in range(size):
        t[members[k]] = t_block[k]
    return made


@part
def _mark_near_the_margin(g, y, t, level, mark, distances):
    """Mark support vectors and the rows next to the margin as fresh, and all others as outside."""
    n_support = np.int64(0)
    for i in range(len(t)):
        is_support = t[i] != 0.0
        mark[i] = FRESH if is_support else OUT
        distances[i] = BIG if is_support else y[i] * (g[i] - level)
        n_support += is_support
    for i in smallest(distances, int(_SPARE * n_support) + 32):
        mark[i] = FRESH


@part
def _join(K, mark, members, size, B):
    """Add what is marked as fresh to the candidates. Returns how many there are, 0 if they are too many."""
    old = size
    for i in range(len(mark)):
        if mark[i] != FRESH:
            continue
        if size == len(members):
            return np.int64(0)
        mark[i], members[size] = KEPT, i
        for j in range(size + 1):
            B[size, j] = K[i, members[j]]
        size += 1
    for i in range(size):
        for j in range(i + 1 if i >= old else old, size):
            B[i, j] = B[j, i]
    return size


@jit
def add_class(values, weights, machines, decisions):
    """Add what the rows of one class contribute to all machines that involve it.

    ``values`` (n_rows, n_test) are kernel values, and ``weights`` (n_columns, n_rows) the coefficients of the
    rows in the machines that the rows ``machines`` of ``decisions`` (n_machines, n_test) stand for. Only the
    few rows that a machine uses are added.
    """
    n_columns, n_rows = weights.shape
    n_test = values.shape[1]
    places, used = np.empty((n_columns, n_rows), np.int64), np.zeros(n_columns, np.int64)
    shares = np.empty((n_columns, n_rows))
    for m in range(n_columns):
        for i in range(n_rows):
            if weights[m, i] != 0.0:
                places[m, used[m]], shares[m, used[m]] = i, weights[m, i]
                used[m] += 1
    for begin in range(0, n_test, _TEST_ROWS):
        end = begin + _TEST_ROWS if begin + _TEST_ROWS < n_test else n_test
        for m in range(n_columns):
            k = used[m]
            add_rows(decisions[machines[m]], values, places[m, :k], shares[m, :k], begin, end)
