"""The problems of two classes out of many: all their cells and folds in one call, on one kernel matrix.

In signed variables t_i = y_i a_i the problem reads min 1/2 t'(K + D)t - y't with sum t = 0 and
0 <= y_i t_i <= bound_i. A row outside of the training set has bound 0. The problems of a pair differ little,
so nearly all of their support vectors come from a few candidates whose kernel values stay in the cache. Every
answer is checked on all rows, and rows that violate their condition join the candidates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.dual.block_solver import (
    BIG,
    Signed,
    choose,
    extremes,
    gradient,
    smallest,
)
from maxmargin.compute.dual.bounds import multiplier
from maxmargin.compute.dual.fold_problems import make_feasible
from maxmargin.compute.dual.gram_parts import add_rows
from maxmargin.compute.dual.narrow_block import solve_narrow_block
from maxmargin.compute.dual.one_group import WORK_AT_ONCE, solve_on_gram
from maxmargin.compute.jit import jit

_MOST_CANDIDATES = 768  # more do not stay in the cache
_STRIDE = _MOST_CANDIDATES + 16  # no power of two: columns would fall on the same cache lines
_JOIN = 24  # rows that join after a check
_SPARE = 0.3  # candidates beside the support vectors of the first problem, as a share of these
_AIM = 0.9  # of the tolerance, for the candidates
_TEST_ROWS = 256  # rows that are asked together: their kernel values stay in the cache
_FIRST_BLOCK = 160
_STEPS_AT_ONCE = 200_000


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
def solve_pair(K, y, bounds, ridges, origin, tol, max_steps, answers, first):
    """Solve the problem of every row of ``bounds`` and ``ridges`` (n_problems, n) on the first n rows of K.

    Problem p starts from the answer to problem ``origin[p]`` < p, or from zero where that is -1. Begins with
    the problem ``first`` and returns the one to go on with: a call that takes long ends before the last.
    """
    n_problems, n = bounds.shape
    ones = np.ones(n)
    every = np.arange(n)
    everything = np.array([[0, n]])
    group = np.zeros(n, np.int64)
    g = np.empty(n)
    B = np.empty((_MOST_CANDIDATES, _STRIDE), K.dtype)
    members = np.empty(_MOST_CANDIDATES, np.int64)
    size = 0
    work = 0
    for p in range(first, n_problems):
        t, v = answers.t[p], answers.sums[p]
        lo = np.where(y < 0.0, -bounds[p], 0.0)
        hi = np.where(y > 0.0, bounds[p], 0.0)
        signed = Signed(every, ones, ridges[p], -y, lo, hi, group)
        if origin[p] >= 0 and answers.steps[p] == 0:
            t[:] = answers.t[origin[p]]
            _balance(t, lo, hi)
        while size > 0 and answers.steps[p] < max_steps:
            candidates = members[:size]
            _set_diagonal(B, K, candidates, ridges[p])
            left = min(max_steps - answers.steps[p], _STEPS_AT_ONCE)
            made = _solve_candidates(B, candidates, y, lo, hi, t, tol, left)
            answers.steps[p] += made
            _sums(K, t, v)
            gradient(v, every, ones, ridges[p], t, -y, g)
            up, down = extremes(g, t, lo, hi, group, 1)
            answers.violations[p] = down[0] - up[0]
            if down[0] - up[0] <= tol:
                break
            if work > WORK_AT_ONCE:
                return p
            more = choose(g, t, lo, hi, group, up, down, candidates, _JOIN)[size:]
            stuck = made == 0 and len(more) == 0  # only rounding is left between the two gradients
            work += made * size + n * size
            size = 0 if stuck else _join(K, more, members, size, B)
        if size == 0:
            _sums(K, t, v)
            left = max_steps - answers.steps[p]
            made, violation = solve_on_gram(K, signed, everything, t, v, min(_FIRST_BLOCK, n), tol, left)
            answers.steps[p] += made
            answers.violations[p] = violation
            if violation > tol and 0 < made < left:
                return p
            gradient(v, every, ones, ridges[p], t, -y, g)
            chosen = _near_the_margin(g, y, t, multiplier(g, t, lo, hi))
            size = _join(K, chosen, members, 0, B)
        answers.biases[p] = -multiplier(g, t, lo, hi)
    return n_problems


@jit
def _balance(t, lo, hi):
    """Clip into the bounds and reduce the heavier side in proportion, so that the sum is 0."""
    up = 0.0
    down = 0.0
    for i in range(len(t)):
        t[i] = min(max(t[i], lo[i]), hi[i])
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


@jit
def _sums(K, t, v):
    """v = K t."""
    used = np.flatnonzero(t)
    v[:] = 0.0
    add_rows(v, K, used, t[used], 0, len(v))


@jit
def _solve_candidates(B, candidates, y, lo, hi, t, tol, max_steps):
    """Solve for the candidates alone; all others stay."""
    size = len(candidates)
    t_block = t[candidates]
    g = -y[candidates]
    used = np.flatnonzero(t_block)
    add_rows(g, B, used, t_block[used], 0, size)
    made = solve_narrow_block(B, g, t_block, lo[candidates], hi[candidates], _AIM * tol, max_steps)
    t[candidates] = t_block
    return made


@jit
def _set_diagonal(B, K, candidates, ridge):
    for k in range(len(candidates)):
        i = candidates[k]
        B[k, k] = K[i, i] + ridge[i]


@jit
def _near_the_margin(g, y, t, level):
    """Support vectors, and the rows next to the margin beside them."""
    outside = t == 0.0
    n_support = len(t) - int(outside.sum())
    distances = np.where(outside, y * (g - level), BIG)
    spare = smallest(distances, int(_SPARE * n_support) + 32)
    return np.sort(np.concatenate((np.flatnonzero(t), spare)))


@jit
def _join(K, more, members, size, B):
    """Add candidates with their kernel values. Returns how many there are, 0 where they are too many."""
    old = size
    if size + len(more) > len(members):
        return 0
    for i in more:
        members[size] = i
        for j in range(size + 1):
            B[size, j] = K[i, members[j]]
        size += 1
    for i in range(size):
        for j in range(max(i + 1, old), size):
            B[i, j] = B[j, i]
    return size


@jit
def add_class(values, weights, machines, decisions):
    """Add what the rows of one class contribute to all machines that know it.

    ``values`` (n_rows, n_test) are kernel values, and ``weights`` (n_columns, n_rows) the coefficients of the
    rows in the machines that the rows ``machines`` of ``decisions`` (n_machines, n_test) stand for. Only the
    few rows that a machine uses are added.
    """
    n_test = values.shape[1]
    for begin in range(0, n_test, _TEST_ROWS):
        end = min(begin + _TEST_ROWS, n_test)
        for m in range(len(machines)):
            used = np.flatnonzero(weights[m])
            add_rows(decisions[machines[m]], values, used, weights[m][used], begin, end)
