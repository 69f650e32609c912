"""Solve one problem after another on a shared Gram matrix, each from the answer of the last."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin._compute import dual
from maxmargin.problems.box_qp import BoxQP
from maxmargin.typing import AnyArray, FloatArray, IntArray

_STEPS_AT_ONCE = 200_000


@dataclass
class State:
    """Signed variables and kernel sums, with the bounds they were found for."""

    t: FloatArray
    v: FloatArray
    hi: FloatArray
    lo: FloatArray


@dataclass(frozen=True)
class GramView:
    """A Gram matrix over all rows, the rows of one problem, and the segments of columns it keeps up to date."""

    K: AnyArray
    rows: IntArray
    segments: IntArray


def block_size(n_variables: int) -> int:
    """Working sets on a matrix in memory: gathering a block costs its square, so small problems take less."""
    return int(np.clip(n_variables // 8, 64, 512))


def solve_next(
    view: GramView, problem: BoxQP, tol: float, max_iter: int, before: State | None
) -> tuple[State, FloatArray, int]:
    """The answer to ``problem``, the multipliers of its equalities, and the steps it took."""
    s = problem.s
    lo = np.where(s > 0, 0.0, -problem.C)
    hi = np.where(s > 0, problem.C, 0.0)
    c = s * problem.p
    tau = s * problem.Q.sign
    row = view.rows[problem.Q.row]
    group = problem.group.astype(np.int64)
    state = _start(view, problem, before, lo, hi, c, tau, row)
    steps = 0
    while True:
        left = _STEPS_AT_ONCE if max_iter < 0 else min(_STEPS_AT_ONCE, max_iter - steps)
        made, violation = dual.solve_on_gram(
            view.K, row, view.segments, tau, problem.d, c, lo, hi, group, len(problem.delta),
            state.t, state.v, block_size(len(row)), tol, left,
        )  # fmt: skip
        steps += made
        if violation <= tol or made == 0 or (0 <= max_iter <= steps):
            break
    g = np.empty(len(row))
    dual.gradient(state.v, row, tau, problem.d, state.t, c, g)
    return state, problem.multipliers(g, np.abs(state.t)), steps


def _start(
    view: GramView,
    problem: BoxQP,
    before: State | None,
    lo: FloatArray,
    hi: FloatArray,
    c: FloatArray,
    tau: FloatArray,
    row: IntArray,
) -> State:
    """Go on from ``before`` where a multiple of it is feasible, else from a start of the problem's own."""
    balanced = not problem.delta.any()
    if before is not None and balanced:
        factor = _best_multiple(before, c, lo, hi, tau, row, problem.d)
        return State(_inside(before.t * factor, lo, hi), before.v * factor, hi, lo)
    t = problem.s * problem.start
    v = np.zeros(len(view.K))
    one_each = len(row) == len(view.rows)
    if balanced and one_each and np.isfinite(hi).all() and np.isfinite(lo).all():
        t = _both_sides_full(lo, hi)
    _add(view, v, row, tau * t)
    if balanced:
        state = State(t, v, hi, lo)
        factor = _best_multiple(state, c, lo, hi, tau, row, problem.d)
        if factor < 0.5:  # most variables will be free: nothing is gained by starting at the bounds
            return State(np.zeros_like(t), np.zeros_like(v), hi, lo)
        return State(_inside(t * factor, lo, hi), v * factor, hi, lo)
    return State(t, v, hi, lo)


def _inside(t: FloatArray, lo: FloatArray, hi: FloatArray) -> FloatArray:
    """Values within rounding of a bound are put on it, so that they count as bounded."""
    t = np.where(t >= hi * (1 - 1e-12), np.where(hi > 0, hi, t), t)
    return np.where(t <= lo * (1 - 1e-12), np.where(lo < 0, lo, t), t)


def _both_sides_full(lo: FloatArray, hi: FloatArray) -> FloatArray:
    """Every variable at its outer bound, the heavier side scaled down to balance: the limit of small C."""
    up, down = hi.sum(), -lo.sum()
    total = min(up, down)
    return hi * (total / up) + lo * (total / down)


def _add(view: GramView, v: FloatArray, row: IntArray, weights: FloatArray) -> None:
    used = np.flatnonzero(weights)
    for start, stop in view.segments:
        dual.add_rows(v, view.K, row[used], weights[used], start, stop)


def _best_multiple(
    state: State, c: FloatArray, lo: FloatArray, hi: FloatArray, tau: FloatArray, row: IntArray, d: FloatArray
) -> float:
    """The multiple of a balanced point with the smallest objective that keeps to the bounds."""
    t = state.t
    quadratic = float((tau * t) @ state.v[row] + d @ (t * t))
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(t > 0, hi / t, np.where(t < 0, lo / t, np.inf)).min(initial=np.inf)
    if not quadratic > 0:
        return float(min(room, 1.0))
    return float(np.clip(-float(c @ t) / quadratic, 0.0, room))
