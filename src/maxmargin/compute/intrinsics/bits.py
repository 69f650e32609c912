"""Powers of two from exponents, and floats as integers in the same order.

A cast with ``view`` costs no instruction and vectorises. The argument is converted first because Numba wants
to see its type.
"""

from __future__ import annotations

import numpy as np

from maxmargin.compute.jit import inline


@inline
def power_of_two_f32(exponent):
    """2.0 ** exponent as float32, for an int32 exponent in [-126, 127]."""
    return np.int32((exponent + np.int32(127)) << np.int32(23)).view(np.float32)


@inline
def power_of_two_f64(exponent):
    """2.0 ** exponent as float64, for an int32 exponent in [-1022, 1023]."""
    return np.int64((np.int64(exponent) + np.int64(1023)) << np.int64(52)).view(np.float64)


@inline
def bits_f64(value):
    """The bits of a float64 as int64. For values >= 0 integers and floats have the same order."""
    return np.float64(value).view(np.int64)


@inline
def bits_f32(value):
    """The bits of a float32 as int32. For values >= 0 integers and floats have the same order."""
    return np.float32(value).view(np.int32)
