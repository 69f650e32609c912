"""The parts of one pair step, in the signed variables of `block_solver`: which pair moves, and how far."""

from __future__ import annotations

import numpy as np

from maxmargin.compute.dual.block_solver import BIG, SMALLEST_CURVATURE
from maxmargin.compute.dual.bounds import moved
from maxmargin.compute.jit import jit


@jit
def worst_pair(g, t, lo, hi, group, n_groups):
    """The pair of one group that violates most: i can rise and has the smallest g, j can fall.

    The last of equals is taken, as in LIBSVM: if Q is not convex, the solution depends on this choice.
    """
    ups = np.full(n_groups, -1, np.int64)
    downs = np.full(n_groups, -1, np.int64)
    smallest = np.full(n_groups, BIG)
    largest = np.full(n_groups, -BIG)
    for k in range(len(g)):
        q = group[k]
        if t[k] < hi[k] and g[k] <= smallest[q]:
            smallest[q], ups[q] = g[k], k
        if t[k] > lo[k] and g[k] >= largest[q]:
            largest[q], downs[q] = g[k], k
    worst = 0
    for q in range(1, n_groups):
        if largest[q] - smallest[q] > largest[worst] - smallest[worst]:
            worst = q
    return ups[worst], downs[worst], largest[worst] - smallest[worst]


@jit
def best_partner(g, t, lo, group, row, tau, curvature, Ki, i):
    """The variable that can fall and promises the largest decrease with i; the last of equals."""
    best, chosen = -1.0, -1
    for k in range(len(g)):
        difference = g[k] - g[i]
        if group[k] != group[i] or t[k] <= lo[k] or difference <= 0.0:
            continue
        eta = curvature[i] + curvature[k] - 2.0 * tau[i] * tau[k] * Ki[row[k]]
        gain = difference * difference / max(eta, SMALLEST_CURVATURE)
        if gain >= best:
            best, chosen = gain, k
    return chosen


@jit
def move_pair(t, g, v, lo, hi, row, linear, curvature, Ki, Kj, i, j):
    """Raise t_i and lower t_j to the minimum on that line inside the box; v and g follow.

    ``linear`` has the rows tau, d and c of g = tau v + d t + c.
    """
    tau, d, c = linear[0], linear[1], linear[2]
    eta = curvature[i] + curvature[j] - 2.0 * tau[i] * tau[j] * Ki[row[j]]
    delta = (g[j] - g[i]) / max(eta, SMALLEST_CURVATURE)
    delta = min(delta, min(hi[i] - t[i], t[j] - lo[j]))
    new_i = moved(t[i], delta, lo[i], hi[i])
    new_j = moved(t[j], -delta, lo[j], hi[j])
    change_i = tau[i] * (new_i - t[i])
    change_j = tau[j] * (new_j - t[j])
    t[i], t[j] = new_i, new_j
    for k in range(len(v)):
        v[k] += change_i * Ki[k] + change_j * Kj[k]
    for k in range(len(g)):
        g[k] = tau[k] * v[row[k]] + d[k] * t[k] + c[k]
