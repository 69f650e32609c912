"""The end of an interior-point method: variables move exactly onto the bounds that they approach.

An interior point keeps a small distance from the bounds. A bound is active if its multiplier is larger than
the distance; the free variables compensate for the change. Then follow steps of a primal active-set method:
a Newton step of the free variables up to the first bound, or the release of the bounded variable whose
gradient points most strongly inside.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import lstsq

from maxmargin.base.typing import BoolArray, FloatArray
from maxmargin.problems.box_qp import BoxQP

_STEPS = 32  # of the active-set method
_MOST_FREE = 800  # variables in one of them
_ROUNDING = 1e-13


def fixed_sums(problem: BoxQP) -> FloatArray:
    return problem.delta if problem.fixed_sums else problem.delta[:0]


def points_on_bounds(
    problem: BoxQP, Q: FloatArray, a: FloatArray, prices: FloatArray
) -> Iterator[FloatArray]:
    """Points with exact sums; later ones are closer to the solution.

    ``prices`` are the multipliers of all lower bounds and then of the finite upper ones.
    """
    m = len(problem)
    finite = np.isfinite(problem.C)
    upper = np.zeros(m, dtype=bool)
    upper[finite] = prices[m:] > (problem.C - a)[finite]
    lower = (prices[:m] > a) & ~upper
    a = _with_sums(problem, np.where(lower, 0.0, np.where(upper, problem.C, a)), ~(lower | upper))
    yield a
    for _ in range(_STEPS):
        if np.count_nonzero(free := ~(lower | upper)) > _MOST_FREE:
            return
        step, force = _newton(problem, Q, a, free)
        room = np.where(step < 0, a, problem.C - a)
        lengths = np.divide(room, np.abs(step), out=np.full(m, np.inf), where=step != 0)
        first = int(lengths.argmin())
        if lengths[first] < 1.0:
            a, done = a + lengths[first] * step, False
            lower[first], upper[first] = step[first] < 0, step[first] > 0
        else:
            a = a + step
            wrong = np.where(lower, -force, np.where(upper, force, 0.0))
            done = not wrong.max() > 0
            lower[wrong.argmax()] = upper[wrong.argmax()] = False
        a = _with_sums(problem, np.where(lower, 0.0, np.where(upper, problem.C, a)), ~(lower | upper))
        yield a
        if done:
            return


def _with_sums(problem: BoxQP, a: FloatArray, free: BoolArray) -> FloatArray:
    a = a.copy()
    for k in range(len(fixed_sums(problem))):
        mine = problem.group == k
        _restore(problem, a, k, mine & free)
        _restore(problem, a, k, mine)  # if no variable is free
    return a


def _newton(problem: BoxQP, Q: FloatArray, a: FloatArray, free: BoolArray) -> tuple[FloatArray, FloatArray]:
    """The shortest step of the free variables to equal gradients, and the forces on all variables then."""
    sums = fixed_sums(problem)
    E = problem.s * (problem.group == np.arange(len(sums))[:, None])
    B, size = Q[np.ix_(free, free)], float(Q.diagonal().max()) or 1.0
    A = np.block([[B / size, E[:, free].T], [E[:, free], np.zeros((len(sums), len(sums)))]])
    right = np.concatenate([-(Q[free] @ a + problem.p[free]) / size, sums - E @ a])
    found = lstsq(A, right, cond=1e-13, overwrite_a=True, check_finite=False, lapack_driver="gelsy")[0]
    step = np.zeros(len(a))
    step[free] = found[: len(B)]
    return step, Q @ (a + step) + problem.p + size * (found[len(B) :] @ E)


def _restore(problem: BoxQP, a: FloatArray, k: int, movable: BoolArray) -> None:
    """Move variables of group k, each in proportion to its room, until their sum is right up to rounding."""
    mine = problem.group == k
    missing = float(problem.delta[k] - problem.s[mine] @ a[mine])
    if abs(missing) <= _ROUNDING * float(a[mine].sum()):
        return
    direction = np.sign(missing) * problem.s
    above = np.where(np.isfinite(problem.C), problem.C - a, a + 1.0)
    room = np.where(movable, np.where(direction > 0, above, a), 0.0)
    if room.sum() > 0:
        a += direction * room * min(1.0, abs(missing) / room.sum())
        np.clip(a, 0.0, problem.C, out=a)
