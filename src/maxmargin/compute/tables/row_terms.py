"""Sums over rows of a smooth function of the score, in one pass and without temporaries.

PSI_HINGE     c min over s of max(0, edge - y s) + v (f - s) + sigma/2 (f - s)^2      (the hinge's envelope)
PSI_SQUARED   c max(0, 1 - y f)^2
PSI_LOGISTIC  c log(1 + exp(-y f))
"""

from __future__ import annotations

from math import exp, log1p
from typing import NamedTuple

from maxmargin.base.typing import FloatArray
from maxmargin.compute.jit import jit_sums, part_row, part_sums

PSI_HINGE, PSI_SQUARED, PSI_LOGISTIC = range(3)


class Psi(NamedTuple):
    """Which function, and its numbers; ``edge``, ``sigma`` and ``v`` are the hinge's."""

    kind: int
    y: FloatArray
    c: FloatArray
    edge: float
    sigma: float
    v: FloatArray


@part_row
def _hinge(m: float, v: float, edge: float, sigma: float) -> tuple[float, float, float]:
    """Value, slope and curvature at the margin m; v is the multiplier times y, between -1 and 0."""
    slope = v + sigma * (m - edge)  # the multiplier that a corner at the edge would have
    if slope >= 0.0:  # beyond the edge
        return -0.5 * v * v / sigma, 0.0, 0.0
    if slope <= -1.0:  # before it
        return edge - m - 0.5 * (v + 1.0) ** 2 / sigma, -1.0, 0.0
    r = m - edge
    return v * r + 0.5 * sigma * r * r, slope, sigma


@part_row
def _logistic(m: float) -> tuple[float, float, float]:
    size = m if m > 0.0 else -m
    small = exp(-size)
    share = 1.0 / (1.0 + small)
    wrong = small * share if m > 0.0 else share  # sigma(-m)
    return (0.0 if m > 0.0 else -m) + log1p(small), -wrong, small * share * share


@part_row
def _psi(kind: int, m: float, v: float, edge: float, sigma: float) -> tuple[float, float, float]:
    if kind == PSI_HINGE:
        return _hinge(m, v, edge, sigma)
    if kind == PSI_SQUARED:
        xi = 1.0 - m if m < 1.0 else 0.0
        return xi * xi, -2.0 * xi, 2.0 if m < 1.0 else 0.0
    return _logistic(m)


@jit_sums
def psi_at(psi: Psi, f: FloatArray, out: FloatArray) -> float:
    """The sum at f; ``out`` of shape (2, n_samples) receives slopes and curvatures of its terms.

    With the scores, which are not given along a line, the loop has few enough arrays to be vectorised.
    """
    kind, y, c, edge, sigma, v = psi
    slope, curvature = out[0], out[1]
    total = 0.0
    for i in range(len(f)):
        value, first, second = _psi(kind, y[i] * f[i], y[i] * v[i], edge, sigma)
        slope[i] = c[i] * y[i] * first
        curvature[i] = c[i] * second
        total += c[i] * value
    return total


@part_sums
def slope_along(psi, f, along, t):
    """The derivative of the sum at f + t along in t, for the hinge and its square."""
    kind, y, c, edge, sigma, v = psi
    derivative = 0.0
    for i in range(len(f)):
        m = y[i] * (f[i] + t * along[i])
        slope = -2.0 * (1.0 - m) if m < 1.0 else 0.0
        if kind == PSI_HINGE:
            slope = _hinge(m, y[i] * v[i], edge, sigma)[1]
        derivative += along[i] * c[i] * y[i] * slope
    return derivative


@part_sums
def logistic_along(psi, f, along, t, out):
    """The sum at f + t along, its derivative in t, and ``out`` as in `psi_at`: exponentials are expensive."""
    y, c, slope, curvature = psi.y, psi.c, out[0], out[1]
    total, derivative = 0.0, 0.0
    for i in range(len(f)):
        value, first, second = _logistic(y[i] * (f[i] + t * along[i]))
        slope[i] = c[i] * y[i] * first
        curvature[i] = c[i] * second
        total += c[i] * value
        derivative += along[i] * slope[i]
    return total, derivative
