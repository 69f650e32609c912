"""Exact leave-one-out of a solved dual problem: take a point out, repair, solve again from there."""

from __future__ import annotations

import numpy as np

from maxmargin.compute.dual.block_solver import add_rows, gradient, solve_on_gram
from maxmargin.compute.dual.bounds import multiplier
from maxmargin.compute.jit import jit


@jit
def _take_over(K, point, amount, row, lo, hi, t):
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
def leave_each_out(K, points, row, tau, d, c, lo, hi, group, t, v, q, tol, max_steps, out):
    """out[point] = f(point) of the machine solved without it, for every point of ``points`` (one group)."""
    segments = np.empty((1, 2), np.int64)
    segments[0, 0] = 0
    segments[0, 1] = len(v)
    g = np.empty(len(t))
    for point in points:
        t_now = t.copy()
        v_now = v.copy()
        lo_now = lo.copy()
        hi_now = hi.copy()
        amount = 0.0
        weight = 0.0
        for k in range(len(t)):
            if row[k] == point:
                amount += t_now[k]
                weight += tau[k] * t_now[k]
                t_now[k] = 0.0
                lo_now[k] = 0.0
                hi_now[k] = 0.0
        who, share, rest = _take_over(K, point, amount, row, lo_now, hi_now, t_now)
        if rest != 0.0:  # nobody can take it over: start from nothing
            t_now[:] = 0.0
            v_now[:] = 0.0
        else:
            rows = np.empty(len(who) + 1, np.int64)
            weights = np.empty(len(who) + 1)
            rows[0] = point
            weights[0] = -weight
            for k in range(len(who)):
                rows[k + 1] = row[who[k]]
                weights[k + 1] = tau[who[k]] * share[k]
            add_rows(v_now, K, rows, weights, 0, len(v))
        solve_on_gram(K, row, segments, tau, d, c, lo_now, hi_now, group, 1, t_now, v_now, q, tol, max_steps)
        gradient(v_now, row, tau, d, t_now, c, g)
        out[point] = v_now[point] - multiplier(g, t_now, lo_now, hi_now)
