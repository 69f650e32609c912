"""Problems with one equality constraint on a kernel matrix in memory: nearly all problems, and the first fit.

Written for compile time as well as for speed (see the README of this package): marks instead of sorting and
fancy indexing, one loop for both sides, the block in float32 whatever the matrix is. Sums over all points are
made in float64 after every block, so a float32 block costs digits of a step and none of the answer.
"""

from __future__ import annotations

import numpy as np

from maxmargin.compute.dual.bounds import ROUNDING, multiplier
from maxmargin.compute.dual.gram_parts import add_rows, gather
from maxmargin.compute.dual.narrow_block import MOST, solve_narrow_block
from maxmargin.compute.jit import jit, part

WORK_AT_ONCE = 150_000_000  # numbers that one call reads at most: about 0.1 s, so that Ctrl-C is not delayed

_BIG = 1e300
BINS = 256
OUT, KEPT, FRESH = 0, 1, 2  # a variable is outside the working set, was in the last one too, or is new


@jit
def solve_block(B, g, t, lo, hi, tol, max_steps):
    """Minimise over one block, a float32 or float64 matrix of at most MOST variables; changes ``t`` only."""
    return solve_narrow_block(B, g, t, lo, hi, tol, max_steps)


@part
def signed_gradient(v, signed, t, g):
    """g = tau v + d t + c; returns the smallest g that can go up and the largest that can go down."""
    point, tau, d, c, lo, hi, _ = signed
    smallest_up, largest_down = _BIG, -_BIG
    for i in range(len(g)):
        g[i] = tau[i] * v[point[i]] + d[i] * t[i] + c[i]
        if t[i] < hi[i] and g[i] < smallest_up:
            smallest_up = g[i]
        if t[i] > lo[i] and g[i] > largest_down:
            largest_down = g[i]
    return smallest_up, largest_down


@part
def mark_violators(g, t, lo, hi, smallest_up, largest_down, mark, bins, counts, n_new):
    """Mark about the ``n_new`` worst violators as fresh, half of each side: those in the last of 256 bins."""
    scale = (BINS - 1) / (largest_down - smallest_up)
    for side in range(2):
        for b in range(BINS):
            counts[b] = 0
        for i in range(len(g)):
            room, depth = hi[i] - t[i], largest_down - g[i]
            if side == 1:
                room, depth = t[i] - lo[i], g[i] - smallest_up
            b = 0
            if mark[i] == OUT and room > 0.0 and depth > 0.0:
                b = 1 + int(depth * scale)
                b = b if b < BINS else BINS - 1
            bins[i] = b
            counts[b] += 1
        left = (n_new + side) // 2
        b = BINS - 1
        while b > 0 and counts[b] <= left:
            left -= counts[b]
            b -= 1
        for i in range(len(g)):
            if bins[i] > b:
                mark[i] = FRESH
            elif bins[i] == b and b > 0 and left > 0:
                mark[i] = FRESH
                left -= 1


@jit
def solve_on_gram(K, signed, segments, t, v, q, tol, max_steps):
    """Solve a problem of one group on a kernel matrix in memory, without Python.

    ``K`` may hold more points than the problem: ``signed.point`` says which are its own, and ``v`` is kept up
    to date for all points in ``segments`` (pairs of start and stop), so the decisions of held-out points cost
    nothing extra. Changes ``t`` and ``v``. Returns the number of steps, the violation reached and how many
    numbers were read: most of the time goes into reading if most rounds have few steps. A call that takes
    long returns before it has converged; the caller checks for Ctrl-C and calls again.
    """
    point, tau, d, _, lo, hi, _ = signed
    m = len(t)
    q = q if q < m else m
    q = q if q < MOST else MOST
    numbers, places = np.empty((6, m)), np.empty((5, m + BINS), np.int64)
    g, weights, gb, tb, lob, hib = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]
    mark, bins, counts, ws, rows = places[0], places[1], places[2], places[3], places[4]
    B = np.empty((q, q), np.float32)
    for i in range(m):
        mark[i] = OUT
    steps, work, n_kept = 0, 0, np.int64(0)
    while True:
        smallest_up, largest_down = signed_gradient(v, signed, t, g)
        violation = largest_down - smallest_up
        if violation <= tol or steps >= max_steps or work > WORK_AT_ONCE:
            return steps, violation, work
        mark_violators(g, t, lo, hi, smallest_up, largest_down, mark, bins, counts, q - n_kept)
        size, n_kept = np.int64(0), np.int64(0)
        for i in range(m):
            if mark[i] != OUT:
                ws[size], rows[size], weights[size] = i, point[i], tau[i]
                gb[size], tb[size], lob[size], hib[size] = g[i], t[i], lo[i], hi[i]
                size += 1
                mark[i] = KEPT if mark[i] == FRESH and 2 * n_kept < q else OUT
                n_kept += mark[i]
        gather(K, rows, rows, np.int64(0), size, B)
        _scale(B, weights, size)
        for k in range(size):
            B[k, k] += np.float32(d[ws[k]])
        inner = 0.1 * violation if violation > 5.0 * tol else 0.5 * tol
        left = max_steps - steps
        taken = solve_narrow_block(B, gb[:size], tb[:size], lob[:size], hib[:size], inner, left)
        if taken == 0:
            return steps, violation, work
        steps += taken
        changed = _take_over(ws, rows, weights, tb, size, t)
        for k in range(len(segments)):
            add_rows(v, K, rows[:changed], weights[:changed], segments[k, 0], segments[k, 1])
        work += 8 * m + size * (size + taken) + changed * len(v)


@jit
def scaled_start(signed, old_t, old_v, old_lo, old_hi, t, v):
    """As `scale_start`, for callers in Python."""
    scale_start(signed, old_t, old_v, old_lo, old_hi, t, v)


@part
def scale_start(signed, old_t, old_v, old_lo, old_hi, t, v):
    """Fill ``t`` and ``v`` with the best multiple of the solution for other bounds that is within these.

    If most support vectors were free, they are nearly right, and are never enlarged.
    """
    point, tau, d, c, lo, hi, _ = signed
    quadratic, linear, room, largest = 0.0, 0.0, np.inf, 0.0
    n_free, n_bounded = 0, 0
    for i in range(len(t)):
        old = old_t[i]
        if old == 0.0:
            n_free += old_lo[i] < 0.0 < old_hi[i]
            continue
        n_free += old_lo[i] < old < old_hi[i]
        n_bounded += old <= old_lo[i] or old >= old_hi[i]
        quadratic += old * (tau[i] * old_v[point[i]] + d[i] * old)
        linear += c[i] * old
        bound = hi[i] / old if old > 0.0 else lo[i] / old
        room = bound if bound < room else room
        size = old if old > 0.0 else -old
        largest = size if size > largest else largest
    factor = -linear / quadratic if quadratic > 0.0 else 1.0
    factor = factor if factor > 0.0 else 0.0
    factor = factor if factor < room else room
    factor = 1.0 if n_free > n_bounded and factor > 1.0 else factor
    largest *= factor
    for i in range(len(t)):
        value, width = factor * old_t[i], hi[i] - lo[i]
        slack = ROUNDING * (width if width < largest else largest)
        value = hi[i] if value >= hi[i] - slack else value
        t[i] = lo[i] if value <= lo[i] + slack else value
    for j in range(len(v)):
        v[j] = factor * old_v[j]


@jit
def solve_along(B, K, signed, los, his, T, V, found, tol, max_steps):
    """Solve one problem after the other that differ in their bounds, each from the scaled solution before it.

    ``B`` holds the values among the points of the problem, in float32, and ``K`` those of all points. Rows
    k of ``los`` and ``his`` are the bounds of problem k, rows k of ``T`` and ``V`` become its variables and
    sums, and row k of ``found`` its steps, violation and multiplier; rows 0 are known. Returns how many
    problems were solved: a hard one ends the call, and so does a long time.
    """
    lo, hi, point = signed.lo, signed.hi, signed.point  # lo, hi: memory for the bounds of the problem at hand
    m, work = len(lo), 0
    numbers, places = np.empty((3, m)), np.empty(m, np.int64)
    g, new, weights = numbers[0], numbers[1], numbers[2]
    for k in range(1, len(los)):
        for i in range(m):
            lo[i], hi[i] = los[k, i], his[k, i]
        t, v = T[k], V[k]
        scale_start(signed, T[k - 1], V[k - 1], los[k - 1], his[k - 1], t, v)
        steps = 0
        while True:
            smallest_up, largest_down = signed_gradient(v, signed, t, g)
            violation = largest_down - smallest_up
            if violation <= tol:
                break
            if steps >= max_steps or work > WORK_AT_ONCE:
                return k - 1
            for i in range(m):
                new[i] = t[i]
            inner = 0.1 * violation if violation > 5.0 * tol else 0.5 * tol
            taken = solve_narrow_block(B, g, new, lo, hi, inner, max_steps - steps)
            if taken == 0:
                return k - 1
            steps += taken
            changed = np.int64(0)
            for i in range(m):
                if new[i] != t[i]:
                    places[changed], weights[changed] = point[i], new[i] - t[i]
                    t[i] = new[i]
                    changed += 1
            add_rows(v, K, places[:changed], weights[:changed], np.int64(0), len(v))
            work += m * taken + changed * len(v)
        found[k, 0], found[k, 1], found[k, 2] = steps, violation, multiplier(g, t, lo, hi)
    return len(los) - 1


@jit
def multiplier_at(signed, t, v):
    """The multiplier of the equality at a point with its sums."""
    g = np.empty(len(t))
    signed_gradient(v, signed, t, g)
    return multiplier(g, t, signed.lo, signed.hi)


@part
def _take_over(ws, rows, weights, new, size, t):
    """Put new values into ``t``; ``rows`` and ``weights`` become those of what changed. Returns how many."""
    changed = np.int64(0)
    for k in range(size):
        i = ws[k]
        if new[k] != t[i]:
            rows[changed], weights[changed] = rows[k], weights[k] * (new[k] - t[i])
            t[i] = new[k]
            changed += 1
    return changed


@part
def _scale(B, tau, size):
    """B_ij becomes tau_i tau_j B_ij."""
    plain = True
    for i in range(size):
        plain &= tau[i] == 1.0
    if not plain:
        for i in range(size):
            for j in range(size):
                B[i, j] *= tau[i] * tau[j]
