"""Chunking and decomposition: choose a working set, solve its quadratic problem, check all rows again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from maxmargin.base.parameters import check_count
from maxmargin.base.progress import Callback
from maxmargin.base.threads import single_threaded_blas
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.dual import block_solver
from maxmargin.compute.dual.block_solver import MAX_BLOCK
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.solution import Solution
from maxmargin.solvers.dual.dual_state import DualState
from maxmargin.solvers.settings import DualSolver

Choice = Callable[[DualState, FloatArray, FloatArray], IntArray]
_NONE_KEPT = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, kw_only=True, repr=False)
class Chunking(DualSolver):
    """Chunking: solve the quadratic problem of a subset, add the rows that violate most, repeat.

    1. Begin with a chunk of rows.
    2. Solve the quadratic problem of the chunk, all other multipliers fixed at zero.
    3. Compute the decisions of all rows and order them by how much they violate the KKT conditions.
    4. The next chunk: the support vectors of this one and the worst violators. Stop when there are none.

    The chunk and its matrix grow until they contain every support vector, which limits the method.
    Vapnik (1982); Valera, chapter 7.

    Parameters
    ----------
    size : violators that join in a round (Valera suggests 100 to 500).

    ``max_iter`` counts rounds. A round computes the matrix of its chunk and the rows of what changed.

    >>> import maxmargin as mm
    >>> mm.SVC(solver="chunking").fit([[0.0], [1.0]], [0, 1]).n_iter_
    array([1])
    """

    size: int = 200

    def solve(
        self, problem: BoxQP, *, start: FloatArray | None = None, callback: Callback | None = None
    ) -> Solution:
        check_count("size", self.size, least=2)  # a single multiplier cannot move
        return solve_in_rounds(DualState(self, problem, start, callback), self._chunk)

    def _chunk(self, state: DualState, low: FloatArray, high: FloatArray) -> IntArray:
        support = np.flatnonzero(state.t != 0)
        chunk = np.union1d(support, worst_violators(state, low, high, self.size))
        if len(chunk) > MAX_BLOCK:
            raise ValueError(
                f"the chunk would hold {len(chunk)} multipliers, more than {MAX_BLOCK}: too many support "
                "vectors for chunking. Use solver='decomposition', whose working set does not grow."
            )
        return chunk


@dataclass(frozen=True, kw_only=True, repr=False)
class Decomposition(DualSolver):
    """Decomposition: as chunking, but a variable leaves the working set for each one that enters.

    1. Choose the q multipliers that violate the conditions most, half of those that can rise and half of
       those that can fall.
    2. Solve their quadratic problem, all others fixed.
    3. Update the gradient of all rows with the kernel rows of what changed, and choose again.

    Memory is that of a q x q matrix, however many support vectors there are. Osuna, Freund & Girosi (1997),
    Joachims (1999); Valera, chapter 7. With q = 2 it is SMO; with q = 512, a cache of rows and half of the
    set kept between rounds it is the engine (`WorkingSet`).

    Parameters
    ----------
    size : q, the multipliers in a working set, from 2 to 4096.

    ``max_iter`` counts rounds. A round computes q^2 kernel values and the rows of what changed.

    >>> import maxmargin as mm
    >>> solver = mm.solvers.Decomposition(size=2)
    >>> mm.SVC(solver=solver).fit([[0.0], [1.0]], [0, 1]).n_iter_
    array([1])
    """

    size: int = 64

    def solve(
        self, problem: BoxQP, *, start: FloatArray | None = None, callback: Callback | None = None
    ) -> Solution:
        check_count("size", self.size, least=2, most=MAX_BLOCK)
        return solve_in_rounds(DualState(self, problem, start, callback), self._working_set)

    def _working_set(self, state: DualState, low: FloatArray, high: FloatArray) -> IntArray:
        return worst_violators(state, low, high, self.size)


def solve_in_rounds(state: DualState, choose: Choice) -> Solution:
    """Rounds until no row violates its condition; ``choose`` returns the variables of a round."""
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
    return block_solver.choose(state.g, state.t, state.lo, state.hi, state.group, low, high, _NONE_KEPT, n)
