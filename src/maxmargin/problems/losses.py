"""Losses L(y, f) of a target y and a score f: value, derivatives, conjugate and proximal map in f.

Margin losses (y is -1 or +1) are functions of the margin m = y f, regression losses of the
residual r = f - y. For every loss

- ``value(f, y)`` is L;
- ``slope(f, y)`` is a subgradient in f, ``curvature(f, y)`` the (generalised) second derivative;
- ``conjugate(u, y)`` is L*(u) = sup over f of u f - L(y, f), infinite outside its domain;
- ``clip(u, y)`` moves u to the nearest point of that domain;
- ``prox(v, y, t)`` is the minimiser over s of L(y, s) + (s - v)^2 / (2 t), ``prox_slope`` its derivative.

Every function works element by element on arrays of shape (n_samples,).

>>> import numpy as np
>>> hinge = Hinge()
>>> float(hinge.value(np.array([0.25]), np.array([1.0]))[0])
0.75
>>> float(hinge.prox(np.array([0.25]), np.array([1.0]), 0.5)[0])
0.75
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from maxmargin.base.parameters import check_choice
from maxmargin.base.typing import FloatArray

Step = float | FloatArray


class Loss:
    """The interface that solvers use."""

    smooth = True  # slope is continuous
    margin = True  # a function of y f with y in {-1, +1}; otherwise of f - y

    def rounding(self, y: FloatArray) -> FloatArray:
        """The largest loss that rounding scores to 12 digits can cause where the loss is 0."""
        if self.margin:
            return np.full_like(y, 1e-12)
        size = 1e-12 * np.abs(y)
        return np.square(size) if self.smooth else size

    def value(self, f: FloatArray, y: FloatArray) -> FloatArray:
        raise NotImplementedError  # implemented by every loss

    def slope(self, f: FloatArray, y: FloatArray) -> FloatArray:
        raise NotImplementedError  # implemented by every loss

    def curvature(self, f: FloatArray, y: FloatArray) -> FloatArray:
        raise NotImplementedError  # implemented by every loss

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        raise NotImplementedError  # implemented by every loss

    def clip(self, u: FloatArray, y: FloatArray) -> FloatArray:
        raise NotImplementedError  # implemented by every loss

    def prox(self, v: FloatArray, y: FloatArray, t: Step) -> FloatArray:
        raise NotImplementedError  # implemented by every loss

    def prox_slope(self, v: FloatArray, y: FloatArray, t: Step) -> FloatArray:
        raise NotImplementedError  # implemented by every loss


@dataclass(frozen=True)
class ShiftedHinge(Loss):
    """max(0, edge - y f): the hinge for edge 1, the perceptron's loss for edge 0."""

    edge: float = 1.0
    smooth = False

    def value(self, f: FloatArray, y: FloatArray) -> FloatArray:
        return np.maximum(0.0, self.edge - y * f)

    def slope(self, f: FloatArray, y: FloatArray) -> FloatArray:
        return np.where(y * f < self.edge, -y, 0.0)

    def curvature(self, f: FloatArray, y: FloatArray) -> FloatArray:
        return np.zeros_like(f)

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        v = y * u
        return np.where((v >= -1 - 1e-12) & (v <= 1e-12), self.edge * v, np.inf)

    def clip(self, u: FloatArray, y: FloatArray) -> FloatArray:
        return y * np.clip(y * u, -1.0, 0.0)

    def prox(self, v: FloatArray, y: FloatArray, t: Step) -> FloatArray:
        m = y * v
        return y * np.where(m < self.edge, np.minimum(m + t, self.edge), m)

    def prox_slope(self, v: FloatArray, y: FloatArray, t: Step) -> FloatArray:
        m = y * v
        return np.where((m > self.edge - t) & (m < self.edge), 0.0, 1.0)


@dataclass(frozen=True)
class Hinge(ShiftedHinge):
    """max(0, 1 - y f)."""

    edge: float = field(default=1.0, init=False)


@dataclass(frozen=True)
class PerceptronLoss(ShiftedHinge):
    """max(0, -y f)."""

    edge: float = field(default=0.0, init=False)


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """max(0, 1 - y f)^2."""

    def rounding(self, y: FloatArray) -> FloatArray:
        return np.square(super().rounding(y))

    def value(self, f: FloatArray, y: FloatArray) -> FloatArray:
        xi = np.maximum(0.0, 1.0 - y * f)
        return xi * xi

    def slope(self, f: FloatArray, y: FloatArray) -> FloatArray:
        return -2.0 * y * np.maximum(0.0, 1.0 - y * f)

    def curvature(self, f: FloatArray, y: FloatArray) -> FloatArray:
        return np.where(y * f < 1.0, 2.0, 0.0)

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        v = y * u
        return np.where(v <= 1e-12, v + 0.25 * v * v, np.inf)

    def clip(self, u: FloatArray, y: FloatArray) -> FloatArray:
        return y * np.minimum(y * u, 0.0)

    def prox(self, v: FloatArray, y: FloatArray, t: Step) -> FloatArray:
        m = y * v
        return y * np.where(m < 1.0, (m + 2.0 * t) / (1.0 + 2.0 * t), m)

    def prox_slope(self, v: FloatArray, y: FloatArray, t: Step) -> FloatArray:
        return np.where(y * v < 1.0, 1.0 / (1.0 + 2.0 * np.asarray(t)), 1.0)


@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + exp(-y f))."""

    def value(self, f: FloatArray, y: FloatArray) -> FloatArray:
        m = y * f
        return np.maximum(-m, 0.0) + np.log1p(np.exp(-np.abs(m)))

    def slope(self, f: FloatArray, y: FloatArray) -> FloatArray:
        return -y * expit(-y * f)

    def curvature(self, f: FloatArray, y: FloatArray) -> FloatArray:
        probability = expit(y * f)
        return probability * (1.0 - probability)

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        a = -y * u
        inside = (a >= -1e-12) & (a <= 1 + 1e-12)
        a = np.clip(a, 0.0, 1.0)
        return np.where(inside, xlogy(a, a) + xlog1py(1.0 - a, -a), np.inf)

    def clip(self, u: FloatArray, y: FloatArray) -> FloatArray:
        return -y * np.clip(-y * u, 0.0, 1.0)

    def prox(self, v: FloatArray, y: FloatArray, t: Step) -> FloatArray:
        # s - v + t L'(s) = 0 is increasing in s with its root between v and v + t y: safeguarded Newton
        m, step = y * v, np.broadcast_to(np.asarray(t, dtype=np.float64), np.shape(v))
        low, high = m.astype(np.float64), m + step
        s = 0.5 * (low + high)
        for _ in range(60):
            residual = s - m - step * expit(-s)
            low, high = np.where(residual < 0, s, low), np.where(residual < 0, high, s)
            weight = expit(s)
            newton = s - residual / (1.0 + step * weight * (1.0 - weight))
            s = np.where((newton >= low) & (newton <= high), newton, 0.5 * (low + high))
            if np.all(np.abs(residual) <= 1e-15 * (1.0 + np.abs(s))):
                break
        return y * s

    def prox_slope(self, v: FloatArray, y: FloatArray, t: Step) -> FloatArray:
        return 1.0 / (1.0 + np.asarray(t) * self.curvature(self.prox(v, y, t), y))


@dataclass(frozen=True)
class Squared(Loss):
    """(f - y)^2."""

    margin = False

    def value(self, f: FloatArray, y: FloatArray) -> FloatArray:
        return (f - y) ** 2

    def slope(self, f: FloatArray, y: FloatArray) -> FloatArray:
        return 2.0 * (f - y)

    def curvature(self, f: FloatArray, y: FloatArray) -> FloatArray:
        return np.full_like(f, 2.0)

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        return u * y + 0.25 * u * u

    def clip(self, u: FloatArray, y: FloatArray) -> FloatArray:
        return u

    def prox(self, v: FloatArray, y: FloatArray, t: Step) -> FloatArray:
        return (v + 2.0 * t * y) / (1.0 + 2.0 * t)

    def prox_slope(self, v: FloatArray, y: FloatArray, t: Step) -> FloatArray:
        return np.full_like(v, 1.0) / (1.0 + 2.0 * np.asarray(t))


@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """max(0, |f - y| - epsilon)."""

    epsilon: float = 0.0
    smooth = False
    margin = False

    def value(self, f: FloatArray, y: FloatArray) -> FloatArray:
        return np.maximum(0.0, np.abs(f - y) - self.epsilon)

    def slope(self, f: FloatArray, y: FloatArray) -> FloatArray:
        r = f - y
        return np.where(np.abs(r) > self.epsilon, np.sign(r), 0.0)

    def curvature(self, f: FloatArray, y: FloatArray) -> FloatArray:
        return np.zeros_like(f)

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        return np.where(np.abs(u) <= 1 + 1e-12, u * y + self.epsilon * np.abs(u), np.inf)

    def clip(self, u: FloatArray, y: FloatArray) -> FloatArray:
        return np.clip(u, -1.0, 1.0)

    def prox(self, v: FloatArray, y: FloatArray, t: Step) -> FloatArray:
        r = v - y
        size = np.abs(r)
        moved = np.where(size > self.epsilon, np.maximum(size - t, self.epsilon), size)
        return np.asarray(y + np.sign(r) * moved)

    def prox_slope(self, v: FloatArray, y: FloatArray, t: Step) -> FloatArray:
        size = np.abs(v - y)
        return np.where((size > self.epsilon) & (size < self.epsilon + t), 0.0, 1.0)


@dataclass(frozen=True)
class SquaredEpsilonInsensitive(Loss):
    """max(0, |f - y| - epsilon)^2."""

    epsilon: float = 0.0
    margin = False

    def _excess(self, f: FloatArray, y: FloatArray) -> FloatArray:
        return np.maximum(0.0, np.abs(f - y) - self.epsilon)

    def value(self, f: FloatArray, y: FloatArray) -> FloatArray:
        return self._excess(f, y) ** 2

    def slope(self, f: FloatArray, y: FloatArray) -> FloatArray:
        return 2.0 * np.sign(f - y) * self._excess(f, y)

    def curvature(self, f: FloatArray, y: FloatArray) -> FloatArray:
        return np.where(np.abs(f - y) >= self.epsilon, 2.0, 0.0)

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        return u * y + self.epsilon * np.abs(u) + 0.25 * u * u

    def clip(self, u: FloatArray, y: FloatArray) -> FloatArray:
        return u

    def prox(self, v: FloatArray, y: FloatArray, t: Step) -> FloatArray:
        return v - np.sign(v - y) * self._excess(v, y) * (2.0 * t / (1.0 + 2.0 * t))

    def prox_slope(self, v: FloatArray, y: FloatArray, t: Step) -> FloatArray:
        return np.where(np.abs(v - y) > self.epsilon, 1.0 / (1.0 + 2.0 * np.asarray(t)), 1.0)


def zero_one(f: FloatArray, y: FloatArray) -> FloatArray:
    """1 if sign(f) is not y, else 0 (f = 0 counts as -1, as in `predict`). For reports only."""
    return np.where((f > 0) == (y > 0), 0.0, 1.0)


def squared_less_epsilon(f: FloatArray, y: FloatArray, epsilon: float) -> FloatArray:
    """max(0, (f - y)^2 - epsilon): the quadratic loss that Valera prints as (7.5).

    Zero for residuals up to sqrt(epsilon), not epsilon, with a jump in its slope there. For reports and plots
    only: machines minimise "squared_epsilon_insensitive", max(0, abs(f - y) - epsilon)^2.
    """
    return np.maximum(0.0, np.square(f - y) - epsilon)


_BY_NAME: dict[str, Any] = {
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "logistic": Logistic,
    "squared": Squared,
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
    "perceptron": PerceptronLoss,
}


def by_name(name: str, allowed: tuple[str, ...], *, epsilon: float | None = None) -> Loss:
    """The loss called ``name``; an error if it is not one of ``allowed``."""
    check_choice("loss", name, allowed)
    return _BY_NAME[name]() if epsilon is None else _BY_NAME[name](epsilon)
