"""Dual coordinate descent with shrinking and a free intercept."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log
from time import perf_counter
from typing import Any

import numpy as np

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.intrinsics.prefetch import prefetch
from maxmargin.compute.jit import jit_sums
from maxmargin.compute.tables.shuffle import shuffle
from maxmargin.compute.tables.table_rows import ask_for_row, row_add, row_dot, rows_of
from maxmargin.problems.loss_penalty import LossPenalty
from maxmargin.problems.losses import (
    EpsilonInsensitive,
    Hinge,
    Logistic,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from maxmargin.problems.solution import Solution, Status

_HINGE, _SQUARED_HINGE, _EPSILON, _SQUARED_EPSILON, _LOGISTIC = range(5)
_AHEAD = 3  # rows that are asked for before they are needed
_KINDS: list[tuple[type, int]] = [
    (Hinge, _HINGE),
    (SquaredHinge, _SQUARED_HINGE),
    (EpsilonInsensitive, _EPSILON),
    (SquaredEpsilonInsensitive, _SQUARED_EPSILON),
    (Logistic, _LOGISTIC),
]


@jit_sums
def _minimise_one(kind: int, f: float, y: float, a: float, q: float, c: float, epsilon: float) -> float:
    """The best value of one dual variable a (w = sum a_i x_i), the others fixed; f is the score now."""
    if kind == _HINGE:
        return y * min(max(y * a - (y * f - 1.0) / q, 0.0), c)
    if kind == _SQUARED_HINGE:
        extra = 0.5 / c
        return y * max(y * a - (y * f - 1.0 + y * a * extra) / (q + extra), 0.0)
    if kind == _LOGISTIC:
        return y * _minimise_logistic(y * f, y * a, q, c)
    extra = 0.0 if kind == _EPSILON else 0.5 / c
    centre = (q * a - (f - y)) / (q + extra)
    width = epsilon / (q + extra)
    moved = centre - width if centre > width else (centre + width if centre < -width else 0.0)
    return moved if kind == _SQUARED_EPSILON else min(max(moved, -c), c)


@jit_sums
def _minimise_logistic(m: float, a: float, q: float, c: float) -> float:
    """Root in z of q (z - a) + m + log(z / (c - z)), increasing in z, by bracketed Newton steps."""
    low, high = 0.0, c
    z = min(max(a, 1e-12 * c), (1.0 - 1e-12) * c)
    for _ in range(60):
        residual = q * (z - a) + m + log(z / (c - z))
        if abs(residual) <= 1e-8:
            break
        if residual > 0:
            high = z
        else:
            low = z
        step = z - residual / (q + c / (z * (c - z)))
        z = step if low < step < high else 0.5 * (low + high)
        if z <= 1e-15 * c or c - z <= 1e-15 * c:
            break
    return z


@jit_sums
def _passes(
    kind: int,
    data: FloatArray,
    indices: Any,
    indptr: Any,
    p: int,
    facts: FloatArray,
    epsilon: float,
    inverse_l2: float,
    bias_step: float,
    w: FloatArray,
    state: FloatArray,
    active: IntArray,
    n_active: int,
    seed: int,
    n_passes: int,
) -> int:
    """``n_passes`` passes over the active rows; returns how many rows are still active.

    ``facts`` holds y_i, c_i, ||x_i||^2 and the dual variable a_i side by side, since rows come in random
    order; state is (b, largest violation of the last pass, shrinking threshold). A row whose variable is at a
    bound and whose condition holds with room to spare is put to sleep (Hsieh et al. 2008, section 3.2).
    """
    for number in range(n_passes):
        largest = 0.0
        threshold = state[2]
        b = state[0]
        shuffle(active[:n_active], seed * n_passes + number)
        k = 0
        while k < n_active:
            i = active[k]
            if k + 2 * _AHEAD < n_active:
                soon = active[k + _AHEAD]
                prefetch(facts, 4 * np.intp(soon))
                ask_for_row(data, indices, indptr, p, soon, active[k + 2 * _AHEAD])
            f = row_dot(data, indices, indptr, p, i, w) + b
            start = 4 * np.intp(i)
            y, c, q, before = facts[start], facts[start + 1], facts[start + 2], facts[start + 3]
            if kind <= _SQUARED_HINGE:
                g = y * f - 1.0
                asleep = before == 0.0 and g > threshold
                asleep = asleep or (kind == _HINGE and y * before == c and g < -threshold)
                if asleep:
                    n_active -= 1
                    active[k], active[n_active] = active[n_active], active[k]
                    continue
            after = _minimise_one(kind, f, y, before, q, c, epsilon)
            k += 1
            change = after - before
            if change != 0.0:
                facts[start + 3] = after
                row_add(data, indices, indptr, p, i, change * inverse_l2, w)
                b += bias_step * change
                largest = max(largest, abs(change) * q)
        state[0] = b
        state[1] = largest
        state[2] = largest if largest > 0.0 else np.inf
    return n_active


@dataclass(frozen=True, kw_only=True)
class DualCoordinateDescent:
    """min over w, b   sum_i c_i L(y_i, <w, x_i> + b) + l2/2 ||w||^2   one dual variable at a time.

    For hinge, squared hinge, eps-insensitive, squared eps-insensitive and logistic losses; rows dense or CSR.
    Cost of a pass: one product with X.

    The dual of the free intercept is the constraint sum a_i = 0, which single coordinates cannot keep. It is
    reached by proximal steps on b: between the passes b <- b + step * sum a_i, and inside a pass b follows
    the variables with the same step. At a fixed point sum a_i = 0, so that the intercept is not penalised.

    A ``start`` is a point of the primal and says nothing about the dual variables: they begin at 0.

    References: Hsieh et al. 2008 (algorithm 1 and shrinking), Ho & Lin 2012 (regression), Yu et al. 2011
    (logistic), Rockafellar 1976 (proximal steps).
    """

    tol: float = 1e-4
    max_iter: int = 2000
    random_state: int = 0

    def can_solve(self, problem: LossPenalty) -> bool:
        known = any(type(problem.loss) is cls for cls, _ in _KINDS)
        return known and problem.penalty.smooth and problem.penalty.l2 > 0

    def solve(
        self, problem: LossPenalty, *, start: FloatArray | None = None, callback: Any = None
    ) -> Solution:
        began = perf_counter()
        sweep = _Sweep(problem, self.random_state)
        status, best, dual = Status.MAX_ITER, inf, -inf
        theta: FloatArray = sweep.theta()
        u: FloatArray = -sweep.a
        passes, batch = 0, 6  # a check costs as much as two or three passes
        while passes < self.max_iter:
            batch = min(batch, self.max_iter - passes)
            sweep.run(batch)
            passes += batch
            primal = problem.value(sweep.theta())
            value, slopes, _ = problem.dual_value(-sweep.a)
            if primal < best:
                best, theta = primal, sweep.theta()
            if value > dual:
                dual, u = value, slopes
            if callback is not None:
                callback(passes, best)
            if best - dual <= self.tol * abs(dual):
                status = Status.CONVERGED
                break
            sweep.wake()
            batch = 4 if passes < 40 else 10
        return Solution(x=theta, multipliers=u, status=status, n_iter=passes, seconds=perf_counter() - began)


class _Sweep:
    """The state of the descent: dual variables a, w, b, and the active rows."""

    def __init__(self, problem: LossPenalty, seed: int) -> None:
        self.kind = next(kind for cls, kind in _KINDS if type(problem.loss) is cls)
        self.problem, self.seed = problem, seed
        self.rows = rows_of(problem.X.X)
        n, p = problem.X.shape
        l2 = problem.penalty.l2
        norms = problem.X.squared_norms() / l2
        # a tenth of a typical row's step: larger ones make the intercept swing, smaller ones make it slow
        self.bias_step = 0.1 * float(norms.mean()) if problem.fit_intercept else 0.0
        facts = np.column_stack(
            [problem.y, problem.c, np.maximum(norms + self.bias_step, 1e-12), np.zeros(n)]
        )
        self.facts, self.a = facts.reshape(-1), facts[:, 3]
        self.w = np.zeros(p)
        self.state = np.array([0.0, 0.0, np.inf])
        self.used = np.flatnonzero(problem.c > 0).astype(np.uint32)
        self.wake()

    def wake(self) -> None:
        """All rows take part again."""
        self.active, self.n_active = self.used.copy(), len(self.used)

    def run(self, n_passes: int) -> None:
        problem = self.problem
        self.seed += 1
        self.n_active = _passes(
            self.kind,
            *self.rows,
            self.facts,
            float(getattr(problem.loss, "epsilon", 0.0)),
            1.0 / problem.penalty.l2,
            self.bias_step,
            self.w,
            self.state,
            self.active,
            self.n_active,
            self.seed,
            n_passes,
        )
        self.state[0] += self.bias_step * float(self.a.sum())

    def theta(self) -> FloatArray:
        return np.append(self.w, self.state[0])
