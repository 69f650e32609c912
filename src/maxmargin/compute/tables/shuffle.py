"""Random orders of rows, at a nanosecond a row."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.base.typing import IntArray
from maxmargin.compute.jit import jit

_MASK = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
# Marsaglia's xorshift64* generator (Vigna 2016, section 3): three shifts and a factor
_A, _B, _C = np.uint64(12), np.uint64(25), np.uint64(27)
_FACTOR = np.uint64(0x2545F4914F6CDD1D)


@jit
def shuffle(order: IntArray, seed: int) -> None:
    """Fisher and Yates' shuffle of an array of uint32, in place. ``seed`` is below 2^63."""
    x = np.uint64(seed) * np.uint64(2) + np.uint64(1)  # never zero
    for _ in range(4):  # seeds that differ by one must not give orders that look alike
        x = x ^ (x >> _A)
        x = x ^ (x << _B)
        x = (x ^ (x >> _C)) * _FACTOR | np.uint64(1)
    for k in range(len(order) - 1, 0, -1):
        x ^= x >> _A
        x ^= x << _B
        x ^= x >> _C
        high = ((x * _FACTOR) >> _HALF) & _MASK
        m = np.int64((high * np.uint64(k + 1)) >> _HALF)  # in 0 ... k, uniform up to k / 2^32
        order[k], order[m] = order[m], order[k]


def random_order(n: int, rng: Any) -> IntArray:
    """A random order of ``range(n)`` as uint32; ``rng`` is a RandomState, from which one number is drawn."""
    order: IntArray = np.arange(n, dtype=np.uint32)
    shuffle(order, int(rng.randint(2**31 - 1)))
    return order
