"""One loop behind every online learner: theta <- (1 - eta lambda) theta + eta g x."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.intrinsics.prefetch import prefetch
from maxmargin.compute.jit import jit_sums
from maxmargin.compute.tables.inner_products import squared_norms
from maxmargin.compute.tables.shuffle import random_order
from maxmargin.compute.tables.table_rows import ask_for_row, row_add, row_dot, row_norm, rows_of

_RULES = {"perceptron": 0, "pa1": 1, "pa2": 2, "hinge": 3, "squares": 4}
_SCHEDULES = {"constant": 0, "inverse_root": 1, "strongly_convex": 2, "inverse_decay": 3}
_AHEAD = 3  # rows that are asked for before they are needed
_SMALLEST_SCALE = 1e-4  # w = s v and the sum tau v + z lose as many digits as v is longer than w
# places in the state vector
_S, _TAU, _B, _SUM_B, _T, _NORM, _MISTAKES, _LOSS, _ETA, _LONGEST = range(10)
# columns of the log of a pass: what each row did to w <- shrink (keep w + change x) and to b
LOG = ("row", "score", "loss", "keep", "change", "shrink", "intercept")
_NO_LOG = np.empty((0, len(LOG)))


@jit_sums
def _rescale(v: FloatArray, z: FloatArray, s: float, tau: float) -> None:
    """Put the scale s back into v without moving w = s v or the sum of iterates tau v + z (tau is 0 then)."""
    for j in range(len(v)):
        z[j] += tau * v[j]  # rather than tau / s, which would grow without end
        v[j] *= s


@jit_sums
def _one_pass(
    rule: int,
    schedule: int,
    data: FloatArray,
    indices: Any,
    indptr: Any,
    p: int,
    y: FloatArray,
    weights: FloatArray,
    order: IntArray,
    eta0: float,
    decay: float,
    C: float,
    fit_intercept: bool,
    decay_bias: bool,
    average: bool,
    radius: float,
    bias_step: float,
    log: FloatArray,
    v: FloatArray,
    z: FloatArray,
    state: FloatArray,
) -> None:
    """One pass over the rows in ``order``. w = s v, so that decay costs O(1); see `OnlineState`.

    ``log`` has a row for each of ``order`` to write in, or no row at all.
    """
    written = 0
    one = 1.0 if fit_intercept else 0.0
    s, tau, b, sum_b = state[_S], state[_TAU], state[_B], state[_SUM_B]
    t, length2, mistakes, loss = state[_T], state[_NORM], state[_MISTAKES], state[_LOSS]
    longest = state[_LONGEST]
    measures = (rule == 0 or rule == 3) and t == 0.0
    n = len(order)
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
        if measures:
            longest = max(longest, row_norm(data, indices, indptr, p, i))
        t += 1.0
        loss_before = loss
        keep = shrink = 1.0
        dot = row_dot(data, indices, indptr, p, i, v)
        f = s * dot + b
        m = y[i] * f
        if schedule == 0:
            eta = eta0
        elif schedule == 1:
            eta = eta0 / np.sqrt(t)
        elif schedule == 2:
            eta = 1.0 / (decay * t)
        else:
            eta = eta0 / (1.0 + eta0 * decay * t)
        g = 0.0
        if rule == 4:
            g = weight * (y[i] - f)
            loss += 0.5 * weight * (y[i] - f) ** 2
        else:
            edge = 0.0 if rule == 0 else 1.0
            if m <= 0.0:
                mistakes += 1.0
            loss += weight * max(0.0, edge - m)
            if rule == 0 and m <= 0.0:
                g = weight * y[i]
            elif rule != 0 and m < 1.0:
                g = y[i] if rule <= 2 else weight * y[i]
        norm = 0.0
        if (rule == 1 or rule == 2 or radius > 0.0) and g != 0.0:
            norm = row_norm(data, indices, indptr, p, i)
        if rule == 1 and g != 0.0:
            eta = min((1.0 - m) / max(norm + one, 1e-300), C * weight)
        elif rule == 2 and g != 0.0:
            eta = (1.0 - m) / (norm + one + 0.5 / (C * weight))
        if decay > 0.0:
            keep = max(0.0, 1.0 - eta * decay)
            s *= keep
            if decay_bias:
                b *= keep
            if s < _SMALLEST_SCALE:
                dot *= s  # v takes the scale in, and with it <v, x>
                _rescale(v, z, s, tau)
                length2 *= s * s
                s, tau = 1.0, 0.0
        if g != 0.0:
            step = eta * g / s
            row_add(data, indices, indptr, p, i, step, v)
            if average:
                row_add(data, indices, indptr, p, i, -tau * step, z)
            b += one * g * min(eta, bias_step)
            if radius > 0.0:
                length2 += 2.0 * step * dot + step * step * norm
        if radius > 0.0:
            length = np.sqrt(max(0.0, length2 * s**2 + (b**2 if decay_bias else 0.0)))
            if length > radius:
                shrink = radius / length
                s *= shrink
                if decay_bias:
                    b *= shrink
        if average:
            tau += s
            sum_b += b
        if len(log) > 0:
            log[written, 0], log[written, 1], log[written, 2] = i, f, loss - loss_before
            log[written, 3], log[written, 4], log[written, 5] = keep, eta * g, shrink
            log[written, 6] = b
            written += 1
    state[_S], state[_TAU], state[_B], state[_SUM_B] = s, tau, b, sum_b
    state[_T], state[_NORM], state[_MISTAKES], state[_LOSS] = t, length2, mistakes, loss
    state[_LONGEST] = longest


@dataclass
class OnlineState:
    """w = s v and b now; the sum of all iterates is tau v + z (and sum_b): an average costs O(1) a step.

    ``state`` is (s, tau, b, sum of b, steps, ||v||^2, mistakes, loss, first step, and the largest ||x||^2 in
    the first pass of the rules "perceptron" and "hinge").
    """

    v: FloatArray
    z: FloatArray
    state: FloatArray
    rng: Any
    passes: int = 0

    @property
    def steps(self) -> float:
        """Steps made in all passes."""
        return float(self.state[_T])

    @property
    def eta(self) -> float:
        """The first step; 0 until the first pass settles it by the schedule."""
        return float(self.state[_ETA])

    @eta.setter
    def eta(self, eta: float) -> None:
        self.state[_ETA] = eta

    def longest_row(self) -> float:
        """max ||x|| over the rows of the first pass, for the rules "perceptron" and "hinge"."""
        return float(np.sqrt(self.state[_LONGEST]))

    def theta(self, average: bool) -> FloatArray:
        """(w, b), or their average over all steps."""
        s, tau, b, sum_b, t = self.state[:5]
        if average and t > 0:
            return np.append((tau * self.v + self.z) / t, sum_b / t)
        return np.append(s * self.v, b)


@dataclass(frozen=True)
class Schedule:
    """eta_t: "constant" eta0, "inverse_root" eta0/sqrt t, "strongly_convex" 1/(lambda t), or
    "inverse_decay" eta0/(1 + eta0 lambda t)."""

    kind: str
    eta0: float = 1.0


@dataclass(frozen=True, kw_only=True)
class OnlineLoop:
    """A rule, its steps, and what goes with them.

    ``rule``: "perceptron" (y f <= 0), "pa1" and "pa2" (hinge > 0, step min(hinge/||x||^2, C) or
    hinge/(||x||^2 + 1/(2C))), "hinge" (subgradient of the hinge), "squares" (gradient of (f - y)^2/2).
    ``decay`` is lambda; ``decay_bias`` says whether the intercept decays with w; ``radius`` > 0 projects on
    a ball; ``bias_step`` is the longest step of the intercept. Weights scale the step, the cap C for the
    passive-aggressive rules.
    """

    rule: str
    schedule: Schedule = field(default_factory=lambda: Schedule("constant"))
    decay: float = 0.0
    C: float = np.inf
    fit_intercept: bool = True
    decay_bias: bool = False
    average: bool = False
    radius: float = 0.0
    relative_step: bool = False
    bias_step: float = np.inf

    def start(self, n_features: int, random_state: Any) -> OnlineState:
        v = np.zeros(n_features)
        state = np.zeros(10)
        state[_S] = 1.0
        return OnlineState(v, np.zeros_like(v), state, check_random_state(random_state))

    def run(
        self,
        current: OnlineState,
        X: Any,
        y: FloatArray,
        weights: FloatArray,
        *,
        shuffle: bool = True,
        log: FloatArray | None = None,
    ) -> tuple[int, float]:
        """One pass; returns its mistakes (sign of f before the step) and its weighted mean loss.

        ``log`` of shape (rows with a weight, 7), where given, takes down what every row did, by `LOG`.
        """
        n = X.shape[0]
        order = random_order(n, current.rng) if shuffle else np.arange(n, dtype=np.uint32)
        rows = rows_of(X)
        state = current.state
        if current.eta == 0.0:
            current.eta = self.schedule.eta0 / (
                float(np.max(squared_norms(X))) + 1.0 if self.relative_step else 1.0
            )
        state[_MISTAKES] = state[_LOSS] = 0.0
        _one_pass(
            _RULES[self.rule],
            _SCHEDULES[self.schedule.kind],
            *rows,
            np.ascontiguousarray(y, dtype=np.float64),
            np.ascontiguousarray(weights, dtype=np.float64),
            order,
            current.eta,
            float(self.decay),
            float(self.C),
            self.fit_intercept,
            self.decay_bias,
            self.average,
            float(self.radius),
            float(self.bias_step),
            _NO_LOG if log is None else log,
            current.v,
            current.z,
            state,
        )
        current.passes += 1
        return int(state[_MISTAKES]), float(state[_LOSS] / max(float(np.sum(weights)), 1e-300))
