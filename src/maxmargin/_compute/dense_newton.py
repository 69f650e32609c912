"""Newton steps on a small dense table, compiled as a whole.

On tables that fit into the cache a step takes a tenth of a millisecond, and calling NumPy for its parts would
take longer than the parts. Hessian and gradient follow the rows that crossed a corner of their loss.
"""

from __future__ import annotations

import numpy as np

from maxmargin._compute.bracket import is_flat, narrower, next_trial
from maxmargin._compute.jit import jit_sums
from maxmargin._compute.row_squares import add_row_squares
from maxmargin._compute.row_terms import PSI_LOGISTIC, psi_along, psi_model
from maxmargin.typing import FloatArray

MOVED, STUCK, SINGULAR = range(3)


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
    kind: int,
    edge: float,
    sigma: float,
    v: FloatArray,
    y: FloatArray,
    c: FloatArray,
    f: FloatArray,
    along: FloatArray,
    linear: float,
    quadratic: float,
    descent: float,
) -> float:
    """As `maxmargin.solvers.primal_newton.Line`: a step where the derivative is flat."""
    low, low_slope, high, high_slope, last = 0.0, descent, np.inf, np.inf, 0
    t = 1.0
    for _ in range(40):
        slope = psi_along(kind, edge, sigma, v, y, c, f, along, t) + linear + t * quadratic
        if is_flat(slope, descent):
            return t
        low, low_slope, high, high_slope, last = narrower(t, slope, low, low_slope, high, high_slope, last)
        t = next_trial(low, low_slope, high, high_slope)
    return low


@jit_sums
def _newton_step(
    X: FloatArray,
    kind: int,
    edge: float,
    sigma: float,
    v: FloatArray,
    y: FloatArray,
    c: FloatArray,
    l2: float,
    bias_floor: float,
    fit_intercept: bool,
    progress: FloatArray,
    theta: FloatArray,
    f: FloatArray,
    local: FloatArray,
    u: FloatArray,
    rows_gradient: FloatArray,
    pattern: FloatArray,
    gram: FloatArray,
) -> int:
    """A Newton step in place; see `newton_steps_dense`."""
    n, p = X.shape
    slope, d = local[0], local[1]
    _follow(X, d, sigma, pattern, gram)
    H = sigma * gram
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
    t = _flat_step(kind, edge, sigma, v, y, c, f, along, linear, quadratic, descent)
    moved, there = f + t * along, np.empty((2, n))
    reached = psi_model(kind, edge, sigma, v, y, c, moved, there[0], there[1])
    trial = theta + t * step
    reached += 0.5 * l2 * np.dot(trial[:p], trial[:p])
    if not reached <= progress[0] + 1e-14 * abs(progress[0]):
        return STUCK
    if kind == PSI_LOGISTIC:  # every slope bends
        rows_gradient[:p] = np.dot(there[0], X)
        rows_gradient[p] = there[0].sum()
    else:
        _add_product(curved, t * step, rows_gradient)
        for i in range(n):
            bend = there[0, i] - slope[i] - t * d[i] * along[i]
            if abs(bend) > 1e-14 * c[i]:
                for j in range(p):
                    rows_gradient[j] += bend * X[i, j]
                rows_gradient[p] += bend
    theta[:], f[:], local[:], progress[0] = trial, moved, there, reached
    return MOVED


@jit_sums
def newton_steps_dense(
    X: FloatArray,
    kind: int,
    edge: float,
    sigma: float,
    v: FloatArray,
    y: FloatArray,
    c: FloatArray,
    l2: float,
    bias_floor: float,
    fit_intercept: bool,
    goal: float,
    most: int,
    progress: FloatArray,
    theta: FloatArray,
    f: FloatArray,
    local: FloatArray,
    u: FloatArray,
    rows_gradient: FloatArray,
    pattern: FloatArray,
    gram: FloatArray,
) -> int:
    """Newton steps in place until their decrement is at most ``goal`` times the value; how the last ended.

    ``theta``, ``f``, ``local`` (slopes and curvatures) and ``rows_gradient`` (sum over rows of slope (x, 1))
    are those of the point; ``gram`` and ``pattern`` belong to `_follow`; ``u`` gets the linearised slopes.
    ``progress`` is the value, the last decrement and the number of steps made.
    """
    outcome = MOVED
    while outcome == MOVED and progress[2] < most:
        outcome = _newton_step(
            X, kind, edge, sigma, v, y, c, l2, bias_floor, fit_intercept, progress, theta, f, local, u,
            rows_gradient, pattern, gram,
        )  # fmt: skip
        if progress[1] <= goal * abs(progress[0]):
            break
    return outcome
