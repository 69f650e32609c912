"""Chunking: solve the quadratic problem of a subset, add the rows that break the conditions, repeat.

1. Begin with a chunk of rows.
2. Solve the quadratic problem of the chunk, all other multipliers held at zero.
3. Apply the machine to all rows and order them by how much they break the KKT conditions.
4. The next chunk: the support vectors of this one and the worst offenders. Stop when nobody offends.

The chunk grows to hold every support vector, and its matrix with it: that is the method's limit. Vapnik
(1982); Valera, chapter 7.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.base.parameters import check_count
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.dual.block_solver import MAX_BLOCK
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.solution import Solution
from maxmargin.solvers.dual.dual_state import DualState
from maxmargin.solvers.dual.rounds import solve_in_rounds, worst_violators
from maxmargin.solvers.settings import DualSolver
from maxmargin.solvers.stopping import Callback


@dataclass(frozen=True, kw_only=True, repr=False)
class Chunking(DualSolver):
    """Support vectors stay in the chunk, the worst offenders join it.

    Parameters
    ----------
    size : offenders that join in a round (Valera suggests 100 to 500).

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
