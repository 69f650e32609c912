"""Which variables may be set aside."""

from __future__ import annotations

from maxmargin.base.typing import BoolArray, FloatArray


def settled(
    g: FloatArray, t: FloatArray, lo: FloatArray, hi: FloatArray, low: FloatArray, high: FloatArray
) -> BoolArray:
    """Variables at a bound that form no violating pair with any other.

    ``low`` and ``high`` are, for each variable, the smallest g of its group that can rise and the
    largest that can fall.
    """
    at_bound: BoolArray = ((t <= lo) & (g > high)) | ((t >= hi) & (g < low))
    return at_bound
