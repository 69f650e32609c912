"""Sums over rows of a smooth function of the score, in one pass and without temporaries.

PSI_HINGE     c min over s of max(0, edge - y s) + v (f - s) + sigma/2 (f - s)^2      (the hinge's envelope)
PSI_SQUARED   c max(0, 1 - y f)^2
PSI_LOGISTIC  c log(1 + exp(-y f))
"""

from __future__ import annotations

from math import exp, log1p
from typing import NamedTuple

from maxmargin.base.typing import FloatArray
from maxmargin.compute.jit import jit_sums, part_row

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
        rest = v + 1.0
        return edge - m - 0.5 * rest * rest / sigma, -1.0, 0.0
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
def psi_of_margin(kind: int, m: float, v: float, edge: float, sigma: float) -> tuple[float, float, float]:
    """Value, slope and curvature of one term at the margin m = y f, without its weight; v times y."""
    if kind == PSI_HINGE:
        return _hinge(m, v, edge, sigma)
    if kind == PSI_SQUARED:
        xi = 1.0 - m if m < 1.0 else 0.0
        return xi * xi, -2.0 * xi, 2.0 if m < 1.0 else 0.0
    return _logistic(m)


@jit_sums
def psi_at(psi: Psi, f: FloatArray, out: FloatArray) -> float:
    """The sum at f; ``out`` of shape (2, n_samples) receives slopes and curvatures of the terms in f."""
    kind, y, c, edge, sigma, v = psi
    slope, curvature = out[0], out[1]
    total = 0.0
    for i in range(len(f)):
        value, first, second = psi_of_margin(kind, y[i] * f[i], y[i] * v[i], edge, sigma)
        slope[i] = c[i] * y[i] * first
        curvature[i] = c[i] * second
        total += c[i] * value
    return total
