"""Rounds of a working set: choose it, solve its quadratic problem, look at all rows again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin.base.threads import single_threaded_blas
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.dual import block_solver as dual
from maxmargin.problems.solution import Solution
from maxmargin.solvers.dual.dual_state import DualState

Choice = Callable[[DualState, FloatArray, FloatArray], IntArray]
_NOBODY = np.empty(0, dtype=np.int64)


def solve_in_rounds(state: DualState, choose: Choice) -> Solution:
    """Rounds until nobody breaks the conditions; ``choose`` says which variables move in a round."""
    steps = 1
    with single_threaded_blas():
        while True:
            low, high = state.extremes()
            violation = float((high - low).max())
            status = state.judge(violation, len(state.v), stuck=steps == 0)
            if status is not None:
                return state.solution(status)
            steps = state.solve_block(choose(state, low, high), violation)
            state.n_iter += 1


def worst_violators(state: DualState, low: FloatArray, high: FloatArray, n: int) -> IntArray:
    """Up to ``n`` variables: the worst that can rise and the worst that can fall, half of each."""
    chosen: IntArray = dual.choose(state.g, state.t, state.lo, state.hi, state.group, low, high, _NOBODY, n)
    return chosen
