"""Exact leave-one-out of a solved dual problem: remove a point, repair the solution, solve from there."""

from __future__ import annotations

import numpy as np

from maxmargin.compute.dual.block_solver import Signed
from maxmargin.compute.dual.bounds import multiplier
from maxmargin.compute.dual.gram_parts import add_rows
from maxmargin.compute.dual.one_group import WORK_AT_ONCE, signed_gradient, solve_on_gram
from maxmargin.compute.jit import jit, part


@part
def _hand_over(K, point, amount, signed, t, rows, weights):
    """Give ``amount`` of signed multiplier to the variables that are most similar to the point and have room.

    Free variables come first. What they receive is written to ``rows`` and ``weights`` after the first place.
    Returns the number of places used, and how much of the amount is left.
    """
    lo, hi = signed.lo, signed.hi
    sign = 1.0 if amount > 0.0 else -1.0
    left = sign * amount
    used = np.int64(1)
    for attempt in range(2):
        while left > 0.0:
            best, likeness = np.int64(-1), -np.inf
            for k in range(len(t)):
                room = hi[k] - t[k] if sign > 0.0 else t[k] - lo[k]
                is_free = lo[k] < t[k] and t[k] < hi[k]
                value = K[point, signed.point[k]]
                if room > 0.0 and (is_free or attempt == 1) and value > likeness:
                    best, likeness = k, value
            if best < 0:
                break
            bound = hi[best] if sign > 0.0 else lo[best]
            room = sign * (bound - t[best])
            share = room if room < left else left
            t[best] = bound if share == room else t[best] + sign * share
            rows[used], weights[used] = signed.point[best], signed.tau[best] * sign * share
            used += 1
            left -= share
    return used, left


@part
def _take_out(K, signed, point, t, v, t_now, v_now):
    """Write a solution without the point to ``t_now`` and ``v_now``: feasible, and near the optimum."""
    amount, weight = 0.0, 0.0
    for j in range(len(v)):
        v_now[j] = v[j]
    for k in range(len(t)):
        t_now[k] = t[k]
        if signed.point[k] == point:
            amount += t[k]
            weight += signed.tau[k] * t[k]
            t_now[k] = 0.0
    rows, weights = np.empty(len(t) + 1, np.int64), np.empty(len(t) + 1)
    rows[0], weights[0] = point, -weight
    used, left = _hand_over(K, point, amount, signed, t_now, rows, weights)
    if left == 0.0:
        add_rows(v_now, K, rows[:used], weights[:used], np.int64(0), len(v))
        return
    for k in range(len(t)):  # no other variable has room for it: start from zero
        t_now[k] = 0.0
    for j in range(len(v)):
        v_now[j] = 0.0


@part
def _fix(signed, point, lo, hi):
    """The bounds of the problem, with the variables of the point fixed at zero."""
    for k in range(len(lo)):
        inside = signed.point[k] != point
        lo[k] = signed.lo[k] if inside else 0.0
        hi[k] = signed.hi[k] if inside else 0.0


@jit
def leave_each_out(K, signed, points, cursor, t, v, now, q, tol, max_steps, out, ends):
    """out[point] = f(point) of the problem solved without it, for every point of ``points`` (one group).

    Returns True when all points are done. A call that takes long returns False, and the next one continues:
    ``cursor`` holds the place in ``points`` and the steps made there (-1: not begun), ``now`` the variables
    and sums that belong to it. ``ends`` collects the steps and the largest violation left. A point that is
    not solved after ``max_steps`` steps has NaN.
    """
    segments = np.empty((1, 2), np.int64)
    segments[0, 0], segments[0, 1] = 0, len(v)
    t_now, v_now = now
    numbers = np.empty((3, len(t)))
    lo, hi, g = numbers[0], numbers[1], numbers[2]
    rest = Signed(signed.point, signed.tau, signed.d, signed.c, lo, hi, signed.group)
    work = np.int64(0)
    while cursor[0] < len(points):
        point = points[cursor[0]]
        _fix(signed, point, lo, hi)
        if cursor[1] < 0:
            _take_out(K, rest, point, t, v, t_now, v_now)
            cursor[1] = 0
        made, violation, _ = solve_on_gram(K, rest, segments, t_now, v_now, q, tol, max_steps - cursor[1])
        cursor[1] += made
        work += 20 * len(t) + q * (q + 2 * made)
        if violation <= tol or made == 0 or cursor[1] >= max_steps:
            signed_gradient(v_now, rest, t_now, g)
            is_solved = violation <= tol
            out[point] = v_now[point] - multiplier(g, t_now, lo, hi) if is_solved else np.nan
            ends[0] += cursor[1]
            ends[1] = violation if is_solved and violation > ends[1] else ends[1]
            cursor[0] += 1
            cursor[1] = -1
        if work > WORK_AT_ONCE:
            break
    return cursor[0] == len(points)
