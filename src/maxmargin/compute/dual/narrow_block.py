"""Sequential minimal optimisation on a float32 block, all in float32: twice the numbers per instruction.

Gradients are stored relative to the middle of the two extremes. Near the solution only small ones matter, so
float32 always resolves them; the caller computes exact sums from the solution anyway. A value and its index
share 32 bits, of which the index takes the last ten, or as many as the caller says.
"""

from __future__ import annotations

import numpy as np

from maxmargin.compute.dual.bounds import moved
from maxmargin.compute.intrinsics.bits import bits_f32
from maxmargin.compute.jit import part, part_finite

MOST = 1024  # variables in a block

BIG = np.float32(1e30)
ZERO = np.float32(0.0)
SMALLEST_CURVATURE = np.float32(1e-12)
_INDEX_BITS = np.int32(MOST - 1)
_SIGN_LESS = np.int32(0x7FFF_FFFF)
_SIGN = np.int32(31)


@part_finite
def _ordered(value, index, index_bits):
    """A float32 as an int32 in the same order, its last bits replaced by ``index``.

    Every operation is cast back: Numba widens them to int64, which halves the speed.
    """
    bits = bits_f32(value)
    flip = np.int32(np.int32(bits >> _SIGN) & _SIGN_LESS)
    return np.int32(np.int32(np.int32(bits ^ flip) & ~index_bits) | index)


@part_finite
def move_and_scan(g, change, Bi, Bj, up, down, index_bits):
    """g += change (Bi - Bj). Returns the smallest g that can go up and the largest that can go down."""
    lowest = _SIGN_LESS
    highest = np.int32(-_SIGN_LESS)
    for k in range(len(g)):
        value = g[k] + change * (np.float32(Bi[k]) - np.float32(Bj[k]))
        g[k] = value
        low = _ordered(value + up[k], np.int32(k), index_bits)
        high = _ordered(value + down[k], np.int32(k), index_bits)
        lowest = low if low < lowest else lowest
        highest = high if high > highest else highest
    return np.int64(lowest & index_bits), np.int64(highest & index_bits)


@part_finite
def partner(g, gi, down, Bi, curvature, cii, index_bits):
    """The variable that can go down and promises the largest decrease with i (second-order choice)."""
    best = np.int32(0)
    for k in range(len(g)):
        difference = g[k] + down[k] - gi
        difference = difference if difference > ZERO else ZERO
        eta = cii + curvature[k] - np.float32(Bi[k] + Bi[k])
        eta = eta if eta > SMALLEST_CURVATURE else SMALLEST_CURVATURE
        gain = np.int32(bits_f32(difference * (difference / eta)) & ~index_bits)
        key = np.int32(gain | np.int32(k))
        best = key if key > best else best
    return np.int64(best & index_bits)


@part
def solve_narrow_block(B, exact_g, t, lo, hi, tol, max_steps):
    """As `dual.solve_block` for one group, B in float32 with at most MOST variables; changes ``t`` only."""
    size = len(t)
    memory = np.empty((4, size), np.float32)
    g, up, down, curvature = memory[0], memory[1], memory[2], memory[3]
    lowest, highest = np.inf, -np.inf
    for k in range(size):
        up[k] = ZERO if t[k] < hi[k] else BIG
        down[k] = ZERO if t[k] > lo[k] else -BIG
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
        i, j = move_and_scan(g, ZERO, B[0, :size], B[0, :size], up, down, _INDEX_BITS)
        while steps < max_steps and g[j] + down[j] - g[i] - up[i] > tol:
            Bi = B[i, :size]
            j = partner(g, g[i], down, Bi, curvature, curvature[i], _INDEX_BITS)
            Bj = B[j, :size]
            eta = np.float64(curvature[i]) + np.float64(curvature[j]) - 2.0 * np.float64(Bi[j])
            eta = eta if eta > SMALLEST_CURVATURE else np.float64(SMALLEST_CURVATURE)
            delta = (np.float64(g[j]) - np.float64(g[i])) / eta
            room = hi[i] - t[i]
            delta = room if room < delta else delta
            room = t[j] - lo[j]
            delta = room if room < delta else delta
            t[i] = moved(t[i], delta, lo[i], hi[i])
            t[j] = moved(t[j], -delta, lo[j], hi[j])
            up[i] = ZERO if t[i] < hi[i] else BIG
            down[i] = ZERO if t[i] > lo[i] else -BIG
            up[j] = ZERO if t[j] < hi[j] else BIG
            down[j] = ZERO if t[j] > lo[j] else -BIG
            i, j = move_and_scan(g, np.float32(delta), Bi, Bj, up, down, _INDEX_BITS)
            steps += 1
        if steps == begun or steps >= max_steps:
            return steps
        middle = np.float64(np.float32(0.5) * (g[i] + g[j]))
        for k in range(size):  # the extremes have moved: centre again, so that float32 resolves them
            g[k] -= middle
