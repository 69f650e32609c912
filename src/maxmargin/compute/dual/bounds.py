"""When a variable counts as being at its bound."""

from __future__ import annotations

import numpy as np

from maxmargin.base.typing import FloatArray
from maxmargin.compute.jit import part

ROUNDING = 1e-13
NO_FREEDOM = 1e-12  # of the largest variable: rounding alone can move a variable so close to a bound


@part
def moved(t, delta, lo, hi):
    """t + delta, moved to a bound within rounding of it, so that the variable does not count as free.

    Rounding is that of the two numbers. With a share of hi - lo, small values inside wide bounds would be
    lost.
    """
    value = t + delta
    slack = ROUNDING * ((t if t > 0.0 else -t) + (delta if delta > 0.0 else -delta))
    if value >= hi - slack:
        return hi
    if value <= lo + slack:
        return lo
    return value


def multiplier_of(g: FloatArray, t: FloatArray, lo: FloatArray, hi: FloatArray) -> float:
    """Mean of g over the free variables, or the middle of the interval that satisfies all conditions."""
    margin = NO_FREEDOM * np.minimum(hi - lo, np.abs(t).max(initial=0.0))
    can_rise, can_fall = t < hi - margin, t > lo + margin
    if (free := can_rise & can_fall).any():
        return float(g[free].mean())
    ends = [*g[can_rise].min(keepdims=True)] if can_rise.any() else []
    ends += [*g[can_fall].max(keepdims=True)] if can_fall.any() else []
    return float(np.mean(ends)) if ends else 0.0


@part
def multiplier(g, t, lo, hi):
    """As `multiplier_of`, in compiled code."""
    largest = 0.0
    for k in range(len(t)):
        size = t[k] if t[k] > 0.0 else -t[k]
        largest = size if size > largest else largest
    total, n_free = 0.0, 0
    lowest, highest = np.inf, -np.inf
    for k in range(len(t)):
        width = hi[k] - lo[k]
        margin = NO_FREEDOM * (width if width < largest else largest)
        can_rise = t[k] < hi[k] - margin
        can_fall = t[k] > lo[k] + margin
        if can_rise and can_fall:
            total += g[k]
            n_free += 1
        if can_rise and g[k] < lowest:
            lowest = g[k]
        if can_fall and g[k] > highest:
            highest = g[k]
    if n_free > 0:
        return total / n_free
    if lowest < np.inf and highest > -np.inf:
        return 0.5 * (lowest + highest)
    if lowest < np.inf:
        return lowest
    return highest if highest > -np.inf else 0.0


@part
def make_feasible(t, low, high):
    """Clip into the bounds, then move variables until they sum to 0."""
    excess = 0.0
    for i in range(len(t)):
        t[i] = clipped(t[i], low[i], high[i])
        excess += t[i]
    for i in range(len(t)):
        if excess == 0.0:
            return
        left = clipped(t[i] - excess, low[i], high[i])
        excess += left - t[i]
        t[i] = left


@part
def clipped(value, low, high):
    """The value, or the bound that it passes."""
    value = value if value > low else low
    return value if value < high else high
