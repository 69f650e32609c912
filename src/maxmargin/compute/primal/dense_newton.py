"""Newton steps on a small dense table, compiled as a whole.

On tables that fit into the cache a step takes a tenth of a millisecond, less than the calls of NumPy for its
parts. Hessian and gradient are updated with the rows that crossed a corner of their loss.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.base.typing import FloatArray
from maxmargin.compute.jit import jit_sums
from maxmargin.compute.primal.bracket import is_flat, narrower, next_trial
from maxmargin.compute.tables.row_squares import add_row_squares
from maxmargin.compute.tables.row_terms import PSI_LOGISTIC, Psi, psi_along, psi_model

MOVED, STUCK, SINGULAR = range(3)


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
    gradient : sum over rows of slope (x, 1).
    pattern, gram : the weights of the rows and their sum of squares, which follows them (`_follow`).
    u : slopes linearised over the last step.
    progress : the value, the last decrement and the number of steps made.
    """

    theta: FloatArray
    f: FloatArray
    local: FloatArray
    gradient: FloatArray
    pattern: FloatArray
    gram: FloatArray
    u: FloatArray
    progress: FloatArray


@jit_sums
def _follow(X: FloatArray, d: FloatArray, unit: float, pattern: FloatArray, gram: FloatArray) -> None:
    """Make ``gram`` that of the weights d / unit from that of ``pattern``, by the cheaper of two ways."""
    n = len(d)
    rows, weights = np.empty(n, np.int64), np.empty(n)
    changed, live = 0, 0
    for i in range(n):
        weight = d[i] / unit
        live += weight != 0.0
        if abs(weight - pattern[i]) > 1e-12:
            rows[changed], weights[changed] = i, weight - pattern[i]
            pattern[i] = weight
            changed += 1
    if changed >= live:
        gram[:] = 0.0
        changed = 0
        for i in range(n):
            if pattern[i] != 0.0:
                rows[changed], weights[changed] = i, pattern[i]
                changed += 1
    add_row_squares(X, rows[:changed], weights[:changed], gram)


@jit_sums
def _solved(H: FloatArray, right: FloatArray) -> FloatArray:
    """H^-1 right from the lower triangle of H, by Cholesky; an empty array when H is nearly singular."""
    m = len(right)
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    L = np.linalg.cholesky(H * scale * scale.reshape(m, 1))
    x = right * scale
    for j in range(m):
        if not L[j, j] > 1e-7:
            return x[:0]
        x[j] = (x[j] - np.dot(L[j, :j], x[:j])) / L[j, j]
    for j in range(m - 1, -1, -1):
        x[j] /= L[j, j]
        for k in range(j):
            x[k] -= L[j, k] * x[j]
    return x * scale


@jit_sums
def _add_product(H: FloatArray, x: FloatArray, out: FloatArray) -> None:
    """out += H x from the lower triangle of H."""
    for i in range(len(x)):
        total = H[i, i] * x[i]
        for j in range(i):
            total += H[i, j] * x[j]
            out[j] += H[i, j] * x[i]
        out[i] += total


@jit_sums
def _flat_step(
    psi: Psi, f: FloatArray, along: FloatArray, linear: float, quadratic: float, descent: float
) -> float:
    """As `maxmargin.solvers.primal.newton.Line`: a step where the derivative is flat."""
    low, low_slope, high, high_slope, last = 0.0, descent, np.inf, np.inf, 0
    t = 1.0
    for _ in range(40):
        slope = psi_along(psi, f, along, t) + linear + t * quadratic
        if is_flat(slope, descent):
            return t
        low, low_slope, high, high_slope, last = narrower(t, slope, low, low_slope, high, high_slope, last)
        t = next_trial(low, low_slope, high, high_slope)
    return low


@jit_sums
def _newton_step(objective: DenseObjective, point: DensePoint) -> int:
    """A Newton step in place; how it ended."""
    X, psi, l2, bias_floor, fit_intercept = objective
    theta, f, local, rows_gradient, pattern, gram, u, progress = point
    n, p = X.shape
    slope, d = local[0], local[1]
    _follow(X, d, psi.sigma, pattern, gram)
    H = psi.sigma * gram
    curved = H.copy()
    gradient = rows_gradient.copy()
    for j in range(p):
        H[j, j] += l2
        gradient[j] += l2 * theta[j]
    if fit_intercept:
        if H[p, p] < bias_floor:
            H[p, p] = bias_floor
    else:
        H[p, :], H[p, p], gradient[p] = 0.0, 1.0, 0.0
    step = _solved(H, -gradient)
    if len(step) == 0:
        return SINGULAR
    along = np.dot(X, step[:p])
    for i in range(n):
        along[i] += step[p]
        u[i] = slope[i] + d[i] * along[i]
    descent = np.dot(gradient, step)
    progress[1] = -0.5 * descent
    progress[2] += 1.0
    if not descent < 0:
        return STUCK
    linear, quadratic = l2 * np.dot(theta[:p], step[:p]), l2 * np.dot(step[:p], step[:p])
    t = _flat_step(psi, f, along, linear, quadratic, descent)
    moved, there = f + t * along, np.empty((2, n))
    reached = psi_model(psi, moved, there[0], there[1])
    trial = theta + t * step
    reached += 0.5 * l2 * np.dot(trial[:p], trial[:p])
    if not reached <= progress[0] + 1e-14 * abs(progress[0]):
        return STUCK
    if psi.kind == PSI_LOGISTIC:  # every slope bends
        rows_gradient[:p] = np.dot(there[0], X)
        rows_gradient[p] = there[0].sum()
    else:
        _add_product(curved, t * step, rows_gradient)
        for i in range(n):
            bend = there[0, i] - slope[i] - t * d[i] * along[i]
            if abs(bend) > 1e-14 * psi.c[i]:
                for j in range(p):
                    rows_gradient[j] += bend * X[i, j]
                rows_gradient[p] += bend
    theta[:], f[:], local[:], progress[0] = trial, moved, there, reached
    return MOVED


@jit_sums
def newton_steps_dense(objective: DenseObjective, point: DensePoint, goal: float, most: int) -> int:
    """Newton steps in place until their decrement is at most ``goal`` times the value; how the last ended."""
    outcome, progress = MOVED, point.progress
    while outcome == MOVED and progress[2] < most:
        outcome = _newton_step(objective, point)
        if progress[1] <= goal * abs(progress[0]):
            break
    return outcome
