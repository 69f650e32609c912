"""The bracket of the line search, used by the compiled and the plain Newton step."""

from __future__ import annotations

from math import isinf

from maxmargin.compute.jit import also_plain


@also_plain
def is_flat(slope: float, descent: float) -> bool:
    """Whether a derivative is small compared with that at 0: a tenth of it downhill, a twentieth uphill.

    Uphill means behind the minimum: with corners the value there can be above that at 0.
    """
    return 0.1 * descent <= slope <= -0.05 * descent


@also_plain
def narrower(
    t: float, slope: float, low: float, low_slope: float, high: float, high_slope: float, last: int
) -> tuple[float, float, float, float, int]:
    """The bracket (ends, derivatives, last end moved) around a root, once the derivative at t is known.

    The derivative at an end that stays a second time is halved (Illinois rule): otherwise the secant creeps
    beside a corner. At the start the ends are 0 and infinity, and no end (0) has moved.
    """
    if slope < 0.0:
        return t, slope, high, high_slope * (0.5 if last == -1 else 1.0), -1
    return low, low_slope * (0.5 if last == 1 else 1.0), t, slope, 1


@also_plain
def next_trial(low: float, low_slope: float, high: float, high_slope: float) -> float:
    """Twice as far while no end is known, then the secant's root, kept off the ends of the bracket."""
    if isinf(high):
        return 2.0 * low
    share = low_slope / (low_slope - high_slope)
    share = share if share > 0.1 else 0.1
    return low + (high - low) * (share if share < 0.9 else 0.9)
