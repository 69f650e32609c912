"""Exact leave-one-out from one solve of all rows: only support vectors are solved again.

A row with multiplier zero can be removed without changing the solution, so its decision is already known.
That holds when nothing else depends on the number of rows: nu machines, balanced class weights, a scaler or
gamma="scale" are refitted for every row instead.
"""

from __future__ import annotations

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
from maxmargin.solvers.dual.gram.warm_starts import GramState

_NO_LIMIT = 2**62


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
        again = leave_out(problem, state.t, state.v, cell, decisions, n_threads)
        ending = worst_ending([state.ending, again])
        found.append(LeftOut(decisions, ending, work_clock.now() - began))
    return found


def leave_out(
    problem: GramProblem, t: FloatArray, v: FloatArray, cell: ChainCell, decisions: FloatArray, n_threads: int
) -> Ending:
    """Replace the decisions at points with a multiplier by those of the problem solved without them."""
    tol, max_iter = cell.solver.tol, cell.solver.max_iter
    max_steps = max_iter if max_iter >= 0 else _NO_LIMIT
    points = _points_that_matter(problem, t)
    jobs = [
        partial(_leave_out_some, problem, t, v, points[k::n_threads], (tol, max_steps), decisions)
        for k in range(min(n_threads, max(1, len(points))))
    ]
    return worst_ending(run(jobs, n_threads))


def _leave_out_some(
    problem: GramProblem,
    t: FloatArray,
    v: FloatArray,
    points: IntArray,
    limits: tuple[float, int],
    decisions: FloatArray,
) -> Ending:
    cursor, ends, now = np.array([0, -1]), np.zeros(2), (np.empty_like(t), np.empty_like(v))
    done = False
    while not done:
        check_stop()
        done = leave_each_out(
            problem.K, problem.signed, points, cursor, t, v, now, problem.block, *limits, decisions, ends
        )
    tol, max_steps = limits
    return ending_of(int(ends[0]), float(ends[1]), tol, max_steps)


def _points_that_matter(problem: GramProblem, t: FloatArray) -> IntArray:
    """Points with a multiplier; all points if no variable is free, because the bias then depends on all."""
    point = problem.signed.point
    chosen = point[t != 0] if problem.free(t).any() else point
    return np.unique(chosen)
