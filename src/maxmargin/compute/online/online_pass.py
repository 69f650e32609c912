"""One pass of an online learner over the rows: theta <- (1 - eta lambda) theta + eta g x."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.intrinsics.prefetch import prefetch
from maxmargin.compute.jit import jit_row, jit_sums
from maxmargin.compute.tables.table_rows import ask_for_row, row_add, row_dot, row_norm

_AHEAD = 3  # rows requested before they are needed
_SMALLEST_SCALE = 1e-4  # w = s v and the sum tau v + z lose as many digits as v is longer than w


class Learner(NamedTuple):
    """What a row does to the model.

    edge : the loss is max(0, edge - m) at the margin m.
    below : rows with a smaller margin change the model.
    regression : follow the gradient of (f - y)^2 / 2 instead.
    passive_aggressive : steps min((edge - m) / (||x||^2 + bias + damping / weight), cap weight).
    first, constant, rate, root : the other steps are eta_t = first / (constant + rate t), or first / (rate
        sqrt(t)) where ``root`` is True.
    decay : lambda; ``decay_bias`` says whether the intercept decays too.
    bias : 1, or 0 without an intercept; ``bias_step`` is the longest step of the intercept.
    radius : project (w, b) on a ball of this radius; 0 for no projection.
    average : maintain the sum of all iterates.
    measures : find the longest row.
    """

    edge: float
    below: float
    regression: bool
    passive_aggressive: bool
    damping: float
    cap: float
    first: float
    constant: float
    rate: float
    root: bool
    decay: float
    decay_bias: bool
    bias: float
    bias_step: float
    radius: float
    average: bool
    measures: bool


class Examples(NamedTuple):
    """A table as `rows_of` gives it, its targets and weights, and the order of the visit."""

    rows: Any
    y: FloatArray
    weights: FloatArray
    order: IntArray


class Totals(NamedTuple):
    """The scalars of a model w = scale v: the sum of all iterates is mass v + z, and sum_b.

    ``length2`` is ||v||^2 (maintained for projections only), ``longest`` the largest ||x||^2 of the first
    pass; ``mistakes`` and ``loss`` belong to the pass.
    """

    scale: float
    mass: float
    b: float
    sum_b: float
    steps: float
    length2: float
    longest: float
    mistakes: float
    loss: float


@jit_sums
def _rescale(v: FloatArray, z: FloatArray, scale: float, mass: float) -> None:
    """Put the scale into v; neither w = scale v nor the sum mass v + z changes (mass is 0 afterwards)."""
    for j in range(len(v)):
        z[j] += mass * v[j]  # not mass / scale, which would grow without bound
        v[j] *= scale


@jit_row
def _slope(learner: Learner, y: float, f: float, weight: float) -> tuple[float, float, float]:
    """The factor g of x in the step, the loss of the row, and 1 where the sign of f is wrong."""
    if learner.regression:
        return weight * (y - f), 0.5 * weight * (y - f) ** 2, 0.0
    m = y * f
    wrong = 1.0 if m <= 0.0 else 0.0
    loss = weight * max(0.0, learner.edge - m)
    if m < learner.below:
        return (y if learner.passive_aggressive else weight * y), loss, wrong
    return 0.0, loss, wrong


@jit_row
def _scheduled(learner: Learner, t: float) -> float:
    """The step of the schedule."""
    if learner.root:
        return learner.first / (learner.rate * np.sqrt(t))
    return learner.first / (learner.constant + learner.rate * t) if learner.rate > 0.0 else learner.first


@jit_row
def _closing(learner: Learner, room: float, norm: float, weight: float) -> float:
    """The passive-aggressive step of a row with ||x||^2 = norm whose margin is ``room`` below the edge."""
    width = norm + learner.bias + learner.damping / weight
    return min(room / max(width, 1e-300), learner.cap * weight)


@jit_row
def _projection(learner: Learner, length2: float, scale: float, b: float) -> float:
    """The factor that brings (w, b) into the ball; the intercept counts where it decays."""
    length = np.sqrt(max(0.0, length2 * scale**2 + (b**2 if learner.decay_bias else 0.0)))
    return learner.radius / length if length > learner.radius else 1.0


@jit_row
def _decayed(learner: Learner, eta: float, scale: float, b: float) -> tuple[float, float, float]:
    """1 - eta lambda (at least 0), the scale and the intercept after the decay."""
    keep = max(0.0, 1.0 - eta * learner.decay)
    return keep, scale * keep, b * keep if learner.decay_bias else b


@jit_row
def _write(log: FloatArray, at: int, entries: Any) -> None:
    for k in range(log.shape[1]):
        log[at, k] = entries[k]


@jit_sums
def online_pass(
    learner: Learner, examples: Examples, v: FloatArray, z: FloatArray, totals: Totals, log: FloatArray | None
) -> tuple[float, float, float, float, float, float, float, float, float]:
    """Visit the rows in ``order``; v and z change in place, the new totals are returned.

    They are a plain tuple: making a named one runs Python, which crashes the process if Ctrl-C was pressed
    during the pass. ``log`` has a row for each row with a weight; without one the loop is tighter.
    """
    (data, indices, indptr, p), y, weights, order = examples
    scale, mass, b, sum_b, t, length2, longest, mistakes, total = totals
    n, written = len(order), 0
    needs_norm = learner.passive_aggressive or learner.radius > 0.0
    for r in range(n):
        i = order[r]
        if r + 2 * _AHEAD < n:
            soon = order[r + _AHEAD]
            prefetch(y, np.intp(soon))
            prefetch(weights, np.intp(soon))
            ask_for_row(data, indices, indptr, p, soon, order[r + 2 * _AHEAD])
        weight = weights[i]
        if weight == 0.0:
            continue
        if learner.measures:
            longest = max(longest, row_norm(data, indices, indptr, p, i))
        t += 1.0
        dot = row_dot(data, indices, indptr, p, i, v)
        f = scale * dot + b
        eta, keep, shrink = _scheduled(learner, t), 1.0, 1.0
        g, loss, wrong = _slope(learner, y[i], f, weight)
        total, mistakes = total + loss, mistakes + wrong
        norm = row_norm(data, indices, indptr, p, i) if needs_norm and g != 0.0 else 0.0
        if learner.passive_aggressive and g != 0.0:
            eta = _closing(learner, learner.edge - y[i] * f, norm, weight)
        if learner.decay > 0.0:
            keep, scale, b = _decayed(learner, eta, scale, b)
            if scale < _SMALLEST_SCALE:
                dot *= scale  # v absorbs the scale, and so does <v, x>
                _rescale(v, z, scale, mass)
                length2 *= scale * scale
                scale, mass = 1.0, 0.0
        if g != 0.0:
            step = eta * g / scale
            row_add(data, indices, indptr, p, i, step, v)
            if learner.average:
                row_add(data, indices, indptr, p, i, -mass * step, z)
            b += learner.bias * g * min(eta, learner.bias_step)
            if learner.radius > 0.0:
                length2 += 2.0 * step * dot + step * step * norm
        if learner.radius > 0.0:
            shrink = _projection(learner, length2, scale, b)
            scale *= shrink
            b *= shrink if learner.decay_bias else 1.0
        if learner.average:
            mass, sum_b = mass + scale, sum_b + b
        if log is not None:
            _write(log, written, (float(i), f, loss, keep, eta * g, shrink, b))
            written += 1
    return scale, mass, b, sum_b, t, length2, longest, mistakes, total
