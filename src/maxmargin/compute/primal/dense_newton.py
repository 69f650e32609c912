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
from maxmargin.compute.tables.row_squares import add_row_squares
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


@part_sums
def _follow(X, d, unit, pattern, gram):
    """Update ``gram`` from the weights ``pattern`` to the weights d / unit, by the cheaper of two ways."""
    n = len(d)
    rows, weights = np.empty(n, np.int64), np.empty(n)
    changed, live = np.int64(0), np.int64(0)
    for i in range(n):
        live += d[i] != 0.0
        change = d[i] / unit - pattern[i]
        changed += change > 1e-12 or change < -1e-12
    anew = changed >= live
    if anew:
        for i in range(len(gram)):
            for j in range(i + 1):
                gram[i, j] = 0.0
    changed = np.int64(0)
    for i in range(n):
        weight = d[i] / unit
        change = weight if anew else weight - pattern[i]
        if change > 1e-12 or change < -1e-12:
            rows[changed], weights[changed] = i, change
            pattern[i] = weight
            changed += 1
        elif anew:
            pattern[i] = 0.0
    add_row_squares(X, rows[:changed], weights[:changed], gram)


@part_sums
def _solve(H, x):
    """x becomes H^-1 x from the lower triangle of H, which becomes its Cholesky factor; False if singular."""
    for i in range(len(x)):
        row = H[i]
        size = row[i]
        for j in range(i + 1):
            other = H[j]
            total = row[j]
            for k in range(j):
                total -= row[k] * other[k]
            if j < i:
                row[j] = total / other[j]
            elif total > _LEAST_PIVOT * size and size > 0.0:
                row[i] = np.sqrt(total)
            else:
                return False
        total = x[i]
        for k in range(i):
            total -= row[k] * x[k]
        x[i] = total / row[i]
    for i in range(len(x) - 1, -1, -1):
        row = H[i]
        x[i] /= row[i]
        for k in range(i):
            x[k] -= row[k] * x[i]
    return True


@part_sums
def _direction(objective, theta, rows_gradient, gram, H, gradient, step):
    """Newton's direction from the sums over rows; False if the Hessian is nearly singular."""
    p = len(theta) - 1
    l2, sigma, floor = objective.l2, objective.psi.sigma, objective.bias_floor
    for i in range(p + 1):
        for j in range(i + 1):
            H[i, j] = sigma * gram[i, j]
        gradient[i] = rows_gradient[i]
        if i < p:
            H[i, i] += l2
            gradient[i] += l2 * theta[i]
        elif objective.fit_intercept:
            H[p, p] = H[p, p] if H[p, p] > floor else floor
        else:
            for j in range(p):
                H[p, j] = 0.0
            H[p, p], gradient[p] = 1.0, 0.0
        step[i] = -gradient[i]
    return _solve(H, step)


@part_sums
def _flat_step(psi, f, along, linear, quadratic, descent, moved, there):
    """As `maxmargin.solvers.primal.newton.Line`: a step where the derivative is flat, and the sum there.

    ``moved`` becomes the scores there, ``there`` the slopes and curvatures.
    """
    low, low_slope, high, high_slope, last = 0.0, descent, np.inf, np.inf, 0
    t, trials = 1.0, 0
    while True:
        for i in range(len(f)):
            moved[i] = f[i] + t * along[i]
        value, slope = psi_at(psi, moved, there), linear + t * quadratic
        for i in range(len(f)):
            slope += along[i] * there[0, i]
        if trials == 40 or is_flat(slope, descent):
            return t, value
        low, low_slope, high, high_slope, last = narrower(t, slope, low, low_slope, high, high_slope, last)
        trials += 1
        t = next_trial(low, low_slope, high, high_slope) if trials < 40 else low


@part_sums
def _move(objective, point, step, along, t, moved, there):
    """Take a step: the gradient follows the quadratic model, corrected by the rows that deviate from it.

    With the logistic loss every row does.
    """
    X, kind, c = objective.X, objective.psi.kind, objective.psi.c
    gradient, p = point.gradient, X.shape[1]
    scale = 0.0 if kind == PSI_LOGISTIC else t
    for i in range(p + 1):
        gradient[i] *= kind != PSI_LOGISTIC
        total = 0.0
        for j in range(i + 1):
            total += point.gram[i, j] * step[j]
            if j < i:
                gradient[j] += scale * objective.psi.sigma * point.gram[i, j] * step[i]
        gradient[i] += scale * objective.psi.sigma * total
        point.theta[i] += t * step[i]
    for i in range(len(along)):
        bend = there[0, i]
        if kind != PSI_LOGISTIC:
            bend -= point.local[0, i] + t * point.local[1, i] * along[i]
        if bend > 1e-14 * c[i] or bend < -1e-14 * c[i]:
            row = X[i]
            for j in range(p):
                gradient[j] += bend * row[j]
            gradient[p] += bend
        point.local[0, i], point.local[1, i] = there[0, i], there[1, i]
        point.f[i] = moved[i]


@jit_sums
def newton_steps_dense(objective: DenseObjective, point: DensePoint, goal: float, most: int) -> int:
    """Newton steps in place until their decrement is at most ``goal`` times the value; how the last ended."""
    X, psi, l2, _, _ = objective
    theta, f, local, rows_gradient, pattern, gram, u, progress = point
    n, p = X.shape
    H, there = np.empty((p + 1, p + 1)), np.empty((2, n))
    gradient, step, along, moved = np.empty(p + 1), np.empty(p + 1), np.empty(n), np.empty(n)
    while progress[2] < most:
        _follow(X, local[1], psi.sigma, pattern, gram)
        if not _direction(objective, theta, rows_gradient, gram, H, gradient, step):
            return SINGULAR
        descent, linear, quadratic = gradient[p] * step[p], 0.0, 0.0
        for j in range(p):
            descent += gradient[j] * step[j]
            linear += l2 * theta[j] * step[j]
            quadratic += l2 * step[j] * step[j]
        for i in range(n):
            total = step[p]
            row = X[i]
            for j in range(p):
                total += row[j] * step[j]
            along[i] = total
            u[i] = local[0, i] + local[1, i] * total
        progress[1] = -0.5 * descent
        progress[2] += 1.0
        if not descent < 0:
            return STUCK
        t, reached = _flat_step(psi, f, along, linear, quadratic, descent, moved, there)
        for j in range(p):
            reached += 0.5 * l2 * (theta[j] + t * step[j]) ** 2
        if not reached <= progress[0] + 1e-14 * abs(progress[0]):
            return STUCK
        _move(objective, point, step, along, t, moved, there)
        progress[0] = reached
        if progress[1] <= goal * abs(progress[0]):
            break
    return MOVED
