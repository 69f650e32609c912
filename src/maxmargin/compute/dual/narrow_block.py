"""Sequential minimal optimisation on a float32 block, all in float32: twice the numbers per instruction.

Gradients are stored relative to the middle of the two extremes. Near the solution only small ones matter, so
float32 always resolves them; the caller computes exact sums from the solution anyway. A value and its index
share 32 bits, of which the index takes the last ten.
"""

from __future__ import annotations

import numpy as np

from maxmargin.compute.dual.bounds import moved
from maxmargin.compute.intrinsics.bits import bits_f32
from maxmargin.compute.jit import part, part_finite

MOST = 1024  # variables in a block

_BIG = np.float32(1e30)
_ZERO = np.float32(0.0)
_SMALLEST_CURVATURE = np.float32(1e-12)
_INDEX_BITS = np.int32(MOST - 1)
_VALUE_BITS = ~_INDEX_BITS
_SIGN_LESS = np.int32(0x7FFF_FFFF)
_SIGN = np.int32(31)


@part_finite
def _ordered(value, index):
    """A float32 as an int32 in the same order, its last bits replaced by ``index``.

    Every operation is cast back: Numba widens them to int64, which halves the speed.
    """
    bits = bits_f32(value)
    flip = np.int32(np.int32(bits >> _SIGN) & _SIGN_LESS)
    return np.int32(np.int32(np.int32(bits ^ flip) & _VALUE_BITS) | index)


@part_finite
def _move_and_scan(g, change, Bi, Bj, up, down):
    """g += change (Bi - Bj). Returns the smallest g that can go up and the largest that can go down."""
    lowest = _SIGN_LESS
    highest = np.int32(-_SIGN_LESS)
    for k in range(len(g)):
        value = g[k] + change * (np.float32(Bi[k]) - np.float32(Bj[k]))
        g[k] = value
        low = _ordered(value + up[k], np.int32(k))
        high = _ordered(value + down[k], np.int32(k))
        lowest = low if low < lowest else lowest
        highest = high if high > highest else highest
    return np.int64(lowest & _INDEX_BITS), np.int64(highest & _INDEX_BITS)


@part_finite
def _partner(g, gi, down, Bi, curvature, cii):
    """The variable that can go down and promises the largest decrease with i (second-order choice)."""
    best = np.int32(0)
    for k in range(len(g)):
        difference = g[k] + down[k] - gi
        difference = difference if difference > _ZERO else _ZERO
        eta = cii + curvature[k] - np.float32(Bi[k] + Bi[k])
        eta = eta if eta > _SMALLEST_CURVATURE else _SMALLEST_CURVATURE
        gain = np.int32(bits_f32(difference * (difference / eta)) & _VALUE_BITS)
        key = np.int32(gain | np.int32(k))
        best = key if key > best else best
    return np.int64(best & _INDEX_BITS)


@part
def solve_narrow_block(B, exact_g, t, lo, hi, tol, max_steps):
    """As `dual.solve_block` for one group, B in float32 with at most MOST variables; changes ``t`` only."""
    size = len(t)
    memory = np.empty((4, size), np.float32)
    g, up, down, curvature = memory[0], memory[1], memory[2], memory[3]
    lowest, highest = np.inf, -np.inf
    for k in range(size):
        up[k] = _ZERO if t[k] < hi[k] else _BIG
        down[k] = _ZERO if t[k] > lo[k] else -_BIG
        curvature[k] = B[k, k]
        low, high = exact_g[k] + up[k], exact_g[k] + down[k]
        lowest = low if low < lowest else lowest
        highest = high if high > highest else highest
    middle = 0.5 * (lowest + highest)
    for k in range(size):
        g[k] = exact_g[k] - middle
    steps = 0
    while True:
        begun = steps
        i, j = _move_and_scan(g, _ZERO, B[0, :size], B[0, :size], up, down)
        while steps < max_steps and g[j] + down[j] - g[i] - up[i] > tol:
            Bi = B[i, :size]
            j = _partner(g, g[i], down, Bi, curvature, curvature[i])
            Bj = B[j, :size]
            eta = np.float64(curvature[i]) + np.float64(curvature[j]) - 2.0 * np.float64(Bi[j])
            eta = eta if eta > _SMALLEST_CURVATURE else np.float64(_SMALLEST_CURVATURE)
            delta = (np.float64(g[j]) - np.float64(g[i])) / eta
            room = hi[i] - t[i]
            delta = room if room < delta else delta
            room = t[j] - lo[j]
            delta = room if room < delta else delta
            t[i] = moved(t[i], delta, lo[i], hi[i])
            t[j] = moved(t[j], -delta, lo[j], hi[j])
            up[i] = _ZERO if t[i] < hi[i] else _BIG
            down[i] = _ZERO if t[i] > lo[i] else -_BIG
            up[j] = _ZERO if t[j] < hi[j] else _BIG
            down[j] = _ZERO if t[j] > lo[j] else -_BIG
            i, j = _move_and_scan(g, np.float32(delta), Bi, Bj, up, down)
            steps += 1
        if steps == begun or steps >= max_steps:
            return steps
        middle = np.float64(np.float32(0.5) * (g[i] + g[j]))
        for k in range(size):  # the extremes have moved: centre again, so that float32 resolves them
            g[k] -= middle
