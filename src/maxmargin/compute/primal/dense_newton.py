"""Newton steps on a small dense table, compiled as a whole.

On tables that fit into the cache a step takes a tenth of a millisecond, less than the calls of NumPy for its
parts. Hessian and gradient are updated with the rows that crossed a corner of their loss.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.base.typing import FloatArray
from maxmargin.compute.jit import jit_sums, part_sums
from maxmargin.compute.primal.bracket import is_flat, narrower, next_trial
from maxmargin.compute.tables.row_squares import add_row_squares, room_for_squares
from maxmargin.compute.tables.row_terms import PSI_LOGISTIC, Psi, psi_at

MOVED, STUCK, SINGULAR = range(3)
_LEAST_PIVOT = 1e-14  # smallest pivot of a Cholesky factor, relative to the diagonal


class DenseObjective(NamedTuple):
    """sum_i psi_i(<w, x_i> + b) + l2/2 ||w||^2; ``bias_floor`` is the least curvature given to b."""

    X: FloatArray
    psi: Psi
    l2: float
    bias_floor: float
    fit_intercept: bool


class DensePoint(NamedTuple):
    """The current point; every array is changed in place.

    theta : (w, b).
    f : scores of the rows.
    local : slopes and curvatures of the psi_i there, of shape (2, n_samples).
    u : slopes linearised over the last step.
    gradient : sum over rows of slope (x, 1).
    gram : sum over rows of weight (x, 1)(x, 1)'; the weights follow the curvatures (`_follow`).
    by_row : the weights, their last changes, the scores of the step, and slopes, curvatures and scores behind
        it, of shape (6, n_samples).
    H : Newton's matrix, or its Cholesky factor; the last row is the step.
    room : for `add_row_squares`.
    """

    theta: FloatArray
    f: FloatArray
    local: FloatArray
    u: FloatArray
    gradient: FloatArray
    gram: FloatArray
    by_row: FloatArray
    H: FloatArray
    room: FloatArray


def dense_point(theta: FloatArray, f: FloatArray) -> DensePoint:
    """A point with weights of zero, and without slopes yet."""
    n, m = len(f), len(theta)
    return DensePoint(
        theta, f, local=np.empty((2, n)), u=np.empty(n), gradient=np.empty(m), gram=np.zeros((m, m)),
        by_row=np.zeros((6, n)), H=np.empty((m + 1, m)), room=room_for_squares(m - 1),
    )  # fmt: skip


@part_sums
def _follow(X, d, unit, point):
    """Update ``gram`` from the weights to the weights d / unit, by the cheaper of two ways."""
    weights, changes, gram = point.by_row[0], point.by_row[1], point.gram
    for attempt in range(2):
        changed, live = np.int64(0), np.int64(0)
        for i in range(len(d)):
            change = d[i] / unit - weights[i]
            small = -1e-12 <= change <= 1e-12
            changes[i] = 0.0 if small else change
            changed += not small
            live += d[i] != 0.0
        if changed < live or attempt == 1:
            break
        for i in range(len(gram)):
            for j in range(i + 1):
                gram[i, j] = 0.0
        for i in range(len(d)):
            weights[i] = 0.0
    for i in range(len(d)):
        weights[i] += changes[i]
    add_row_squares(X, changes, gram, point.room)


@part_sums
def _direction(objective, point):
    """Newton's direction in the last row of H by Cholesky's factor: the derivative there, inf if singular.

    As a last row of H, minus the gradient becomes minus the inverse factor times it.
    """
    gram, H, gradient, theta = point.gram, point.H, point.gradient, point.theta
    l2, sigma, m = objective.l2, objective.psi.sigma, len(theta)
    p = m - 1
    step = H[m]
    for i in range(m):
        row = H[i]
        for j in range(i + 1):
            row[j] = sigma * gram[i, j]
        step[i] = -gradient[i]
        if i < p:
            row[i] += l2
            step[i] -= l2 * theta[i]
        elif not objective.fit_intercept:
            for j in range(p):
                row[j] = 0.0
            row[p], step[p] = 1.0, 0.0
        elif row[p] < objective.bias_floor:
            row[p] = objective.bias_floor
    for i in range(m + 1):
        row = H[i]
        size = row[i] if i < m else 0.0
        for j in range(i + 1 if i < m else m):
            other = H[j]
            total = row[j]
            for k in range(j):
                total -= row[k] * other[k]
            if j < i:
                row[j] = total / other[j]
            elif total > _LEAST_PIVOT * size and size > 0.0:
                row[i] = np.sqrt(total)
            else:
                return np.inf
    descent = 0.0
    for back in range(m):
        descent -= step[back] * step[back]
    for back in range(m):
        i = p - back
        row = H[i]
        last = step[i] / row[i]
        for k in range(i):
            step[k] -= row[k] * last
        step[i] = last
    return descent


@part_sums
def _flat_step(psi, f, by_row, linear, quadratic, descent):
    """As `maxmargin.solvers.primal.newton.Line`: a step where the derivative is flat, and the sum there."""
    along, there, moved = by_row[2], by_row[3:5], by_row[5]
    low, low_slope, high, high_slope, last = 0.0, descent, np.inf, np.inf, 0
    t = 1.0
    for trial in range(41):
        for i in range(len(f)):
            moved[i] = f[i] + t * along[i]
        value, slope = psi_at(psi, moved, there), linear + t * quadratic
        for i in range(len(f)):
            slope += along[i] * there[0, i]
        if trial == 40 or is_flat(slope, descent):
            break
        low, low_slope, high, high_slope, last = narrower(t, slope, low, low_slope, high, high_slope, last)
        t = next_trial(low, low_slope, high, high_slope) if trial < 39 else low
    return t, value


@part_sums
def _move(objective, point, t):
    """Take a step: the gradient follows the quadratic model, corrected by the rows that deviate from it.

    With the logistic loss every row does.
    """
    X, kind, c, sigma = objective.X, objective.psi.kind, objective.psi.c, objective.psi.sigma
    gradient, gram, p = point.gradient, point.gram, X.shape[1]
    step, along, slopes, curvatures = point.H[p + 1], point.by_row[2], point.by_row[3], point.by_row[4]
    moved = point.by_row[5]
    before, bends = point.local[0], point.local[1]
    keep = 0.0 if kind == PSI_LOGISTIC else 1.0
    for i in range(p + 1):
        gradient[i] *= keep
        total, part = 0.0, keep * t * sigma * step[i]
        for j in range(i + 1):
            total += gram[i, j] * step[j]
            if j < i:
                gradient[j] += gram[i, j] * part
        gradient[i] += keep * t * sigma * total
        point.theta[i] += t * step[i]
    for i in range(len(along)):
        bend = slopes[i] - keep * (before[i] + t * bends[i] * along[i])
        if bend > 1e-14 * c[i] or bend < -1e-14 * c[i]:
            row = X[i]
            for j in range(p):
                gradient[j] += bend * row[j]
            gradient[p] += bend
        before[i], bends[i] = slopes[i], curvatures[i]
        point.f[i] = moved[i]


@jit_sums
def newton_steps_dense(
    objective: DenseObjective, point: DensePoint, value: float, goal: float, most: int
) -> tuple[int, int, float, float]:
    """Newton steps in place until their decrement is at most ``goal`` times the value.

    Returns how the last one ended, the number of steps, the value and the decrement.
    """
    X, psi, l2, _, _ = objective
    theta, f, local, u = point.theta, point.f, point.local, point.u
    step, along = point.H[len(theta)], point.by_row[2]
    n, p = X.shape
    outcome, done, decrement = MOVED, 0, np.inf
    while done < most:
        _follow(X, local[1], psi.sigma, point)
        descent = _direction(objective, point)
        if descent == np.inf:
            outcome = SINGULAR
            break
        linear, quadratic = 0.0, 0.0
        for j in range(p):
            linear += l2 * theta[j] * step[j]
            quadratic += l2 * step[j] * step[j]
        for i in range(n):
            total = step[p]
            row = X[i]
            for j in range(p):
                total += row[j] * step[j]
            along[i] = total
            u[i] = local[0, i] + local[1, i] * total
        decrement = -0.5 * descent
        done += 1
        outcome = STUCK
        if not descent < 0.0:
            break
        t, reached = _flat_step(psi, f, point.by_row, linear, quadratic, descent)
        for j in range(p):
            w = theta[j] + t * step[j]
            reached += 0.5 * l2 * w * w
        if not reached <= value + 1e-14 * (value if value > 0.0 else -value):
            break
        _move(objective, point, t)
        outcome, value = MOVED, reached
        if decrement <= goal * (value if value > 0.0 else -value):
            break
    return outcome, done, value, decrement
