"""When a variable counts as standing on its bound."""

from __future__ import annotations

import numpy as np

from maxmargin._compute.jit import jit

ROUNDING = 1e-13


@jit
def snapped(value, lo, hi):
    """A value within rounding of a bound is on it: what rounding leaves must not count as free."""
    slack = ROUNDING * (hi - lo) if hi - lo < np.inf else 0.0
    if value >= hi - slack:
        return hi
    if value <= lo + slack:
        return lo
    return value
