"""Exact leave-one-out of a solved dual problem: take a point out, repair, solve again from there."""

from __future__ import annotations

import numpy as np

from maxmargin.compute.dual.block_solver import Signed, gradient
from maxmargin.compute.dual.bounds import multiplier
from maxmargin.compute.dual.gram_parts import add_rows
from maxmargin.compute.dual.one_group import WORK_AT_ONCE, solve_on_gram
from maxmargin.compute.jit import jit


@jit
def _hand_over(K, point, amount, row, lo, hi, t):
    """Hand ``amount`` of signed multiplier to the variables that resemble the point most and have room.

    Free variables first, then any. Returns the variables and what each received.
    """
    m = len(t)
    who = np.empty(m, np.int64)
    share = np.empty(m)
    n_used = 0
    rising = amount > 0.0
    for free_only in (True, False):
        while amount != 0.0:
            best = -1
            likeness = -np.inf
            for k in range(m):
                room = hi[k] - t[k] if rising else t[k] - lo[k]
                if room <= 0.0 or (free_only and not (lo[k] < t[k] < hi[k])):
                    continue
                if K[point, row[k]] > likeness:
                    likeness = K[point, row[k]]
                    best = k
            if best < 0:
                break
            room = hi[best] - t[best] if rising else t[best] - lo[best]
            part = min(room, abs(amount))
            if part == room:
                t[best] = hi[best] if rising else lo[best]
            else:
                t[best] += part if rising else -part
            who[n_used] = best
            share[n_used] = part if rising else -part
            n_used += 1
            amount = 0.0 if part == abs(amount) else (amount - part if rising else amount + part)
    return who[:n_used], share[:n_used], amount


@jit
def _take_out(K, signed, point, t, v, t_now, v_now):
    """Put the solution without the point into ``t_now`` and ``v_now``: feasible, and near the optimum."""
    t_now[:] = t
    v_now[:] = v
    amount = 0.0
    weight = 0.0
    for k in range(len(t)):
        if signed.point[k] == point:
            amount += t_now[k]
            weight += signed.tau[k] * t_now[k]
            t_now[k] = 0.0
    who, share, rest = _hand_over(K, point, amount, signed.point, signed.lo, signed.hi, t_now)
    if rest != 0.0:  # no other variable has room for it: start from zero
        t_now[:] = 0.0
        v_now[:] = 0.0
        return
    rows = np.empty(len(who) + 1, np.int64)
    weights = np.empty(len(who) + 1)
    rows[0] = point
    weights[0] = -weight
    for k in range(len(who)):
        rows[k + 1] = signed.point[who[k]]
        weights[k + 1] = signed.tau[who[k]] * share[k]
    add_rows(v_now, K, rows, weights, 0, len(v))


@jit
def _without(signed, point):
    """The problem with the variables of the point fixed at zero."""
    lo = signed.lo.copy()
    hi = signed.hi.copy()
    for k in range(len(lo)):
        if signed.point[k] == point:
            lo[k] = 0.0
            hi[k] = 0.0
    return Signed(signed.point, signed.tau, signed.d, signed.c, lo, hi, signed.group)


@jit
def leave_each_out(K, signed, points, cursor, t, v, now, q, tol, max_steps, out, ends):
    """out[point] = f(point) of the problem solved without it, for every point of ``points`` (one group).

    Returns True when all points are done. A call that takes long returns False, and the next one goes on:
    ``cursor`` holds the place in ``points`` and the steps made there (-1: not begun), ``now`` the variables
    and sums that belong to it. ``ends`` collects the steps and the largest violation left.
    """
    segments = np.empty((1, 2), np.int64)
    segments[0, 0] = 0
    segments[0, 1] = len(v)
    t_now, v_now = now
    g = np.empty(len(t))
    work = 0
    while cursor[0] < len(points):
        point = points[cursor[0]]
        rest = _without(signed, point)
        if cursor[1] < 0:
            _take_out(K, rest, point, t, v, t_now, v_now)
            cursor[1] = 0
        made, violation = solve_on_gram(K, rest, segments, t_now, v_now, q, tol, max_steps - cursor[1])
        cursor[1] += made
        work += 20 * len(t) + q * (q + 2 * made)
        if violation <= tol or made == 0 or cursor[1] >= max_steps:
            gradient(v_now, rest.point, rest.tau, rest.d, t_now, rest.c, g)
            out[point] = v_now[point] - multiplier(g, t_now, rest.lo, rest.hi)
            ends[0] += cursor[1]
            ends[1] = max(ends[1], violation)
            cursor[0] += 1
            cursor[1] = -1
        if work > WORK_AT_ONCE:
            break
    return cursor[0] == len(points)
