"""Passes of dual coordinate descent over the rows of a loss-plus-penalty problem."""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

import numpy as np

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.intrinsics.prefetch import prefetch
from maxmargin.compute.jit import jit_row, jit_sums
from maxmargin.compute.tables.shuffle import shuffle
from maxmargin.compute.tables.table_rows import ask_for_row, row_add, row_dot

_AHEAD = 3  # rows requested before they are needed


class RowLoss(NamedTuple):
    """A loss with a closed form or a safe Newton iteration for one dual variable.

    margin : the hinge max(0, 1 - y f); otherwise the tube max(0, |f - y| - epsilon).
    squared : its square.
    logistic : log(1 + exp(-y f)) instead.
    """

    margin: bool
    squared: bool
    logistic: bool
    epsilon: float


class DescentPoint(NamedTuple):
    """The current point of the descent; all arrays change in place.

    facts : y_i, c_i, ||x_i||^2 / l2 (plus the bias step) and the dual variable a_i side by side, of shape
        (4 n_samples,): rows come in random order, and one cache line holds what a row needs.
    w : weights, sum_i a_i x_i / l2.
    state : intercept, largest violation of the last pass, shrinking threshold.
    active : rows that take part, the first ``n_active`` of them.
    """

    facts: FloatArray
    w: FloatArray
    state: FloatArray
    active: IntArray


@jit_row
def _minimise_one(loss: RowLoss, f: float, y: float, a: float, q: float, c: float) -> float:
    """The best value of one dual variable a (w = sum a_i x_i), the others fixed; f is the current score."""
    if loss.logistic:
        return y * _minimise_logistic(y * f, y * a, q, c)
    extra = 0.5 / c if loss.squared else 0.0
    bound = np.inf if loss.squared else c
    moved = a - (f - y + a * extra) / (q + extra)
    if loss.margin:
        return y * min(max(y * moved, 0.0), bound)
    width = loss.epsilon / (q + extra)
    moved = moved - width if moved > width else (moved + width if moved < -width else 0.0)
    return min(max(moved, -bound), bound)


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


@jit_row
def _settled(loss: RowLoss, m: float, a: float, c: float, threshold: float) -> bool:
    """Whether a hinge's variable sits at a bound and its condition holds with room to spare."""
    if not loss.margin:
        return False
    free = a == 0.0 and m - 1.0 > threshold
    return free or (not loss.squared and a == c and m - 1.0 < -threshold)


@jit_sums
def descent_pass(
    loss: RowLoss,
    rows: Any,
    point: DescentPoint,
    n_active: int,
    inverse_l2: float,
    bias_step: float,
    seed: int,
) -> int:
    """One pass over the active rows in random order; returns how many rows are still active.

    Settled rows leave (Hsieh et al. 2008, section 3.2).
    """
    data, indices, indptr, p = rows
    facts, w, state, active = point
    b, largest, threshold = state[0], 0.0, state[2]
    shuffle(active[:n_active], seed)
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
        if _settled(loss, y * f, y * before, c, threshold):
            n_active -= 1
            active[k], active[n_active] = active[n_active], active[k]
            continue
        after = _minimise_one(loss, f, y, before, q, c)
        k += 1
        change = after - before
        if change != 0.0:
            facts[start + 3] = after
            row_add(data, indices, indptr, p, i, change * inverse_l2, w)
            b += bias_step * change
            largest = max(largest, abs(change) * q)
    state[0], state[1] = b, largest
    state[2] = largest if largest > 0.0 else np.inf
    return n_active
