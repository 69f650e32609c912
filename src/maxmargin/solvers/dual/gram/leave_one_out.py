"""Exact leave-one-out from one solve of all rows: only support vectors are solved again.

A row with multiplier zero can be removed without changing the solution, so its decision is already known.
That requires that nothing else depends on the number of rows: with a nu, balanced class weights, a scaler or
gamma="scale" every row is refitted instead. Pairwise steps repair a solution fast. If they are slow,
or a huge C can hide a wide gap, the problem without the row is solved and checked like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from maxmargin.base import work_clock
from maxmargin.base.threads import check_stop, run
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.dual.left_out_points import leave_each_out
from maxmargin.problems.solution import Ending, worst_ending
from maxmargin.solvers.dual.gram.chains import ChainCell, ProblemRows, solve_cell
from maxmargin.solvers.dual.gram.class_pairs import ending_of
from maxmargin.solvers.dual.gram.gram_problem import GramProblem
from maxmargin.solvers.dual.gram.shared_gram import SharedGram
from maxmargin.solvers.dual.gram.warm_starts import GramState, Start

_MOST_STEPS = 4_000  # pairwise steps for a row; a problem that needs more is slow
Again = Callable[[int], tuple[float, Ending]]  # the decision for a row by the problem without it


@dataclass(frozen=True)
class LeftOut:
    """f(x_i) of the problem without row i, for every row; the endings of all problems and their time."""

    decisions: FloatArray
    ending: Ending
    seconds: float


def solve_without_each(
    gram: SharedGram, cells: list[ChainCell], setting: ProblemRows, n_threads: int
) -> list[LeftOut]:
    """Leave-one-out of a chain of cells; each starts from the solution of the one before."""
    n = len(gram.narrow)
    everything = np.array([[0, n]])
    state: GramState | None = None
    found = []
    for cell in cells:
        began = work_clock.now()
        link = solve_cell(gram, cell, setting, everything, np.arange(n), along=state)
        if link.state is None:
            raise ValueError(link.failure)
        state = link.state
        problem = GramProblem(gram.wide() if state.wide else gram.narrow, everything, state.signed, 1)
        decisions = state.v - state.multipliers[0]
        again = partial(_solve_without, gram, cell, setting, state)
        hides_gap = bool(gram.can_hide_gap(np.abs([state.signed.lo, state.signed.hi]).max()))
        later = leave_out(problem, (state.t, state.v), cell, decisions, again, n_threads, hides_gap=hides_gap)
        ending = worst_ending([state.ending, later])
        found.append(LeftOut(decisions, ending, work_clock.now() - began))
    return found


def _solve_without(
    gram: SharedGram, cell: ChainCell, setting: ProblemRows, state: GramState, point: int
) -> tuple[float, Ending]:
    kept = setting.rows != point
    rest = ProblemRows(setting.rows[kept], setting.target[kept], setting.weight[kept])
    everything = np.array([[0, len(gram.narrow)]])
    link = solve_cell(gram, cell, rest, everything, np.array([point]), same_cell=state)
    if link.sums is None or link.expansion is None or link.ending is None:
        raise ValueError(link.failure)
    return float(link.sums[0]) + link.expansion.intercept, link.ending


def leave_out(
    problem: GramProblem,
    start: Start,
    cell: ChainCell,
    decisions: FloatArray,
    again: Again,
    n_threads: int,
    *,
    hides_gap: bool,
) -> Ending:
    """Replace the decisions at points with a multiplier by those of the problem solved without them.

    Where pairwise steps are slow, or ``hides_gap``, ``again`` gives them.
    """
    points = _points_that_matter(problem, start[0])
    shares = [points[k::n_threads] for k in range(min(n_threads, max(1, len(points))))]
    if hides_gap:
        decisions[points] = np.nan
        endings = [ending_of(0, 0.0, 0.0, 0)]
    else:
        jobs = [partial(_leave_out_some, problem, start, share, cell, decisions) for share in shares]
        endings = run(jobs, n_threads)
    late = points[np.isnan(decisions[points])]
    answers = run([partial(again, int(point)) for point in late], n_threads)
    decisions[late] = [decision for decision, _ in answers]
    return worst_ending([*endings, *(ending for _, ending in answers)])


def _leave_out_some(
    problem: GramProblem, start: Start, points: IntArray, cell: ChainCell, decisions: FloatArray
) -> Ending:
    """Pairwise steps from the solution of all rows; NaN for the points where they are slow."""
    tol, max_iter = cell.solver.tol, cell.solver.max_iter
    t, v = start
    patience = max(_MOST_STEPS, 4 * len(t))
    max_steps = min(max_iter, patience) if max_iter >= 0 else patience
    cursor, ends, now = np.array([0, -1]), np.zeros(2), (np.empty_like(t), np.empty_like(v))
    done = False
    limits = problem.block, tol, max_steps
    while not done:
        check_stop()
        done = leave_each_out(problem.K, problem.signed, points, cursor, t, v, now, *limits, decisions, ends)
    return ending_of(int(ends[0]), float(ends[1]), tol, max_steps)


def _points_that_matter(problem: GramProblem, t: FloatArray) -> IntArray:
    """Points with a multiplier; all points if no variable is free, because the bias then depends on all."""
    point = problem.signed.point
    chosen = point[t != 0] if problem.free(t).any() else point
    return np.unique(chosen)
