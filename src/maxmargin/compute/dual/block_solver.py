"""Jitted steps of the dual engine.

All work in signed variables t_i = s_i a_i, in which the dual problem reads

    min 1/2 t'Bt + c't   subject to   sum of t over each group fixed,  lo <= t <= hi,
    B_ij = tau_i tau_j K(row_i, row_j) + d_i [i = j],

so that a step moves t_i up and t_j down by the same amount. The problem is solved when no variable that can
go up has a smaller gradient g than one of its group that can go down.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.dual.bounds import moved
from maxmargin.compute.dual.gram_parts import add_rows, gather
from maxmargin.compute.dual.one_group import WORK_AT_ONCE
from maxmargin.compute.intrinsics.bits import bits_f32, bits_f64
from maxmargin.compute.jit import inline, jit, jit_finite, jit_sums

MAX_BLOCK = 4096  # variables in a block: their index is stored in the last 12 bits of a float
BIG = 1e300
SMALLEST_CURVATURE = 1e-12

_INDEX_BITS = np.int64(MAX_BLOCK - 1)
_VALUE_BITS = ~_INDEX_BITS
_SIGN_LESS = np.int64(0x7FFF_FFFF_FFFF_FFFF)
_INT64_MAX = np.int64(0x7FFF_FFFF_FFFF_FFFF)
_INDEX_BITS_32 = np.int32(MAX_BLOCK - 1)
_VALUE_BITS_32 = ~_INDEX_BITS_32
_ZERO_32 = np.float32(0.0)
_SMALLEST_32 = np.float32(SMALLEST_CURVATURE)


class Signed(NamedTuple):
    """The constant part of a problem in signed variables; variable i has the kernel row ``point[i]``."""

    point: IntArray
    tau: FloatArray
    d: FloatArray
    c: FloatArray
    lo: FloatArray
    hi: FloatArray
    group: IntArray


@jit_sums
def gradient(v, row, tau, d, t, c, g):
    """g = tau * v[row] + d * t + c."""
    for i in range(len(g)):
        g[i] = tau[i] * v[row[i]] + d[i] * t[i] + c[i]


@jit
def extremes(g, t, lo, hi, group, n_groups):
    """Smallest g that can go up and largest g that can go down, for every group."""
    smallest_up = np.empty(n_groups)
    largest_down = np.empty(n_groups)
    smallest_up[:] = BIG
    largest_down[:] = -BIG
    for i in range(len(g)):
        k = group[i]
        if t[i] < hi[i] and g[i] < smallest_up[k]:
            smallest_up[k] = g[i]
        if t[i] > lo[i] and g[i] > largest_down[k]:
            largest_down[k] = g[i]
    return smallest_up, largest_down


@jit
def smallest(values, k):
    """Indices of the ``k`` smallest values below BIG, in no particular order: one pass, one heap."""
    keys = np.empty(k)
    items = np.empty(k, np.int64)
    keys[:] = BIG  # a heap, with the largest key on top
    items[:] = -1
    for i in range(len(values)):
        if k == 0 or values[i] >= keys[0]:
            continue
        root, child = 0, 1
        while child < k:  # sink from the top to where it belongs
            if child + 1 < k and keys[child + 1] > keys[child]:
                child += 1
            if values[i] >= keys[child]:
                break
            keys[root], items[root] = keys[child], items[child]
            root, child = child, 2 * child + 1
        keys[root], items[root] = values[i], i
    size = 0
    for i in items:
        if i >= 0:
            items[size] = i
            size += 1
    return items[:size]


@jit_finite
def _violations(g, can_move, sign, group, middle, reach, key):
    """Keys of those that can move and lie on the wrong side of ``reach``, from the middle; BIG for others."""
    for i in range(len(g)):
        k = group[i]
        violates = can_move[i] & (sign * (g[i] - reach[k]) < 0.0)
        key[i] = sign * (g[i] - middle[k]) if violates else BIG


@jit
def choose(g, t, lo, hi, group, smallest_up, largest_down, kept, n_new):
    """The next working set: ``kept`` and the ``n_new`` worst violators, half of each side, of all groups.

    A variable violates when it could go up and lies below the largest that could go down, or the reverse.
    The distance is measured from the middle of its group, so that groups compete on equal terms.
    """
    middle = 0.5 * (smallest_up + largest_down)
    key = np.empty(len(g))
    can_move = t < hi
    can_move[kept] = False
    _violations(g, can_move, 1.0, group, middle, largest_down, key)
    ups = smallest(key, n_new // 2)
    can_move = t > lo
    can_move[kept] = False
    can_move[ups] = False
    _violations(g, can_move, -1.0, group, middle, smallest_up, key)
    downs = smallest(key, n_new - len(ups))
    return np.concatenate((kept, ups, downs))


@inline
def _ordered(value, index):
    """A float64 as an int64 in the same order, its last bits replaced by ``index``.

    A minimum over such integers is a vectorised argmin: the compiler vectorises integer minima, but no float
    minimum and no index. The lost bits leave 40 bits of mantissa, more than a choice needs.
    """
    bits = bits_f64(value)
    return ((bits ^ ((bits >> 63) & _SIGN_LESS)) & _VALUE_BITS) | index


@jit_finite
def scan(g, up, down):
    """The variable with the smallest g that can go up, and the one with the largest that can go down."""
    lowest = _INT64_MAX
    highest = -_INT64_MAX
    for k in range(len(g)):
        low = _ordered(g[k] + up[k], k)
        high = _ordered(g[k] + down[k], k)
        lowest = low if low < lowest else lowest
        highest = high if high > highest else highest
    return lowest & _INDEX_BITS, highest & _INDEX_BITS


@jit_finite
def move_and_scan(g, delta, Bi, Bj, up, down):
    """g += delta (Bi - Bj), fused with `scan`: one pass over the block for a whole step."""
    lowest = _INT64_MAX
    highest = -_INT64_MAX
    for k in range(len(g)):
        value = g[k] + delta * (np.float64(Bi[k]) - np.float64(Bj[k]))
        g[k] = value
        low = _ordered(value + up[k], k)
        high = _ordered(value + down[k], k)
        lowest = low if low < lowest else lowest
        highest = high if high > highest else highest
    return lowest & _INDEX_BITS, highest & _INDEX_BITS


@jit_finite
def partner(g, gi, down, Bi, curvature, cii):
    """The variable that can go down and promises the largest decrease with i (second-order choice).

    Gains are compared in float32 with 11 bits of mantissa, because a partner within 0.05 % of the best is as
    good.
    """
    best = np.int32(0)
    for k in range(len(g)):
        difference = np.float32(g[k] + down[k] - gi)
        difference = difference if difference > _ZERO_32 else _ZERO_32
        eta = np.float32(cii + curvature[k] - (Bi[k] + Bi[k]))
        eta = eta if eta > _SMALLEST_32 else _SMALLEST_32
        key = (bits_f32(difference * (difference / eta)) & _VALUE_BITS_32) | np.int32(k)
        best = key if key > best else best
    return np.int64(best & _INDEX_BITS_32)


@jit
def solve_block(B, g, t, lo, hi, starts, stops, tol, max_steps):
    """Sequential minimal optimisation on one block that stays in the cache; changes ``g`` and ``t``.

    The variables of group k stand in starts[k] ... stops[k]. Returns the number of steps.
    """
    size = len(g)
    up = np.empty(size)
    down = np.empty(size)
    curvature = np.empty(size, B.dtype)
    for k in range(size):
        up[k] = 0.0 if t[k] < hi[k] else BIG
        down[k] = 0.0 if t[k] > lo[k] else -BIG
        curvature[k] = B[k, k]
    n_groups = len(starts)
    first = np.zeros(n_groups, np.int64)
    violation = np.empty(n_groups)
    for k in range(n_groups):
        a, z = starts[k], stops[k]
        if a == z:
            violation[k] = -BIG
            continue
        low, high = scan(g[a:z], up[a:z], down[a:z])
        first[k] = a + low
        violation[k] = g[a + high] + down[a + high] - g[a + low] - up[a + low]
    for step in range(max_steps):
        worst = 0
        for k in range(1, n_groups):
            if violation[k] > violation[worst]:
                worst = k
        if not violation[worst] > tol:
            return step
        i = first[worst]
        a, z = starts[worst], stops[worst]
        j = a + partner(g[a:z], g[i], down[a:z], B[i, a:z], curvature[a:z], curvature[i])
        eta = np.float64(B[i, i]) + np.float64(B[j, j]) - 2.0 * np.float64(B[i, j])
        delta = (g[j] - g[i]) / max(eta, SMALLEST_CURVATURE)
        room_up = hi[i] - t[i]
        room_down = t[j] - lo[j]
        delta = min(delta, min(room_up, room_down))
        t[i] = moved(t[i], delta, lo[i], hi[i])
        t[j] = moved(t[j], -delta, lo[j], hi[j])
        up[i] = 0.0 if t[i] < hi[i] else BIG
        down[i] = 0.0 if t[i] > lo[i] else -BIG
        up[j] = 0.0 if t[j] < hi[j] else BIG
        down[j] = 0.0 if t[j] > lo[j] else -BIG
        for k in range(n_groups):
            a, z = starts[k], stops[k]
            if a == z:
                continue
            low, high = move_and_scan(g[a:z], delta, B[i, a:z], B[j, a:z], up[a:z], down[a:z])
            first[k] = a + low
            violation[k] = g[a + high] + down[a + high] - g[a + low] - up[a + low]
    return max_steps


@jit
def group_layout(group, n_groups):
    """Order that puts the variables of each group together, with the start and stop of every group."""
    m = len(group)
    starts = np.zeros(n_groups, np.int64)
    stops = np.zeros(n_groups, np.int64)
    order = np.empty(m, np.int64)
    size = 0
    for k in range(n_groups):
        starts[k] = size
        for i in range(m):
            if group[i] == k:
                order[size] = i
                size += 1
        stops[k] = size
    return order, starts, stops


@jit
def scale_block(B, tau, d):
    """Kernel values of a working set become B: times tau on both sides, plus d on the diagonal."""
    plain = True
    for i in range(len(tau)):
        plain = plain and tau[i] == 1.0
    if not plain:
        for i in range(len(tau)):
            for j in range(len(tau)):
                B[i, j] *= tau[i] * tau[j]
    for i in range(len(tau)):
        B[i, i] += d[i]


@jit
def solve_on_gram(K, signed, n_groups, segments, t, v, q, tol, max_steps):
    """As `one_group.solve_on_gram` for any number of groups, the blocks in the precision of ``K``."""
    m = len(t)
    g = np.empty(m)
    kept = np.empty(0, np.int64)
    steps = 0
    work = 0
    while True:
        gradient(v, signed.point, signed.tau, signed.d, t, signed.c, g)
        smallest_up, largest_down = extremes(g, t, signed.lo, signed.hi, signed.group, n_groups)
        violation = (largest_down - smallest_up).max()
        if violation <= tol or steps >= max_steps or work > WORK_AT_ONCE:
            return steps, violation, work
        ws = choose(
            g, t, signed.lo, signed.hi, signed.group, smallest_up, largest_down, kept, min(q, m) - len(kept)
        )
        fresh = ws[len(kept) :].copy()
        ws.sort()  # ascending columns are read faster
        order, starts, stops = group_layout(signed.group[ws], n_groups)
        ws = ws[order]
        B = np.empty((len(ws), len(ws)), K.dtype)
        points = signed.point[ws]
        gather(K, points, points, np.int64(0), len(ws), B)
        scale_block(B, signed.tau[ws], signed.d[ws])
        t_block = t[ws]
        inner = max(0.5 * tol, 0.1 * violation)
        left = max_steps - steps
        lo, hi = signed.lo[ws], signed.hi[ws]
        taken = solve_block(B, g[ws], t_block, lo, hi, starts, stops, inner, left)
        if taken == 0:
            return steps, violation, work
        steps += taken
        changed = _take_over(K, signed, ws, t_block, segments, t, v)
        work += 8 * m + len(ws) * (len(ws) + taken) + changed * len(v)
        kept = fresh[: q // 2]


@jit
def _take_over(K, signed, ws, t_block, segments, t, v):
    """Write the new values of a working set to ``t`` and update ``v``. Returns how many changed."""
    points = np.empty(len(ws), np.int64)
    weights = np.empty(len(ws))
    changed = 0
    for i in range(len(ws)):
        delta = t_block[i] - t[ws[i]]
        if delta != 0.0:
            points[changed] = signed.point[ws[i]]
            weights[changed] = signed.tau[ws[i]] * delta
            changed += 1
            t[ws[i]] = t_block[i]
    for k in range(len(segments)):
        add_rows(v, K, points[:changed], weights[:changed], segments[k, 0], segments[k, 1])
    return changed
