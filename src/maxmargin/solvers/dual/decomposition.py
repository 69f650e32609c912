"""Decomposition: as chunking, but the working set keeps its size: whoever comes in, somebody goes out.

1. Choose the q multipliers that break the conditions most, half of those that can rise and half of those that
   can fall.
2. Solve their quadratic problem, all others held where they are.
3. Move the gradient of all rows with the kernel rows of what changed, and choose again.

Memory is that of a q x q matrix, however many support vectors there are. Osuna, Freund & Girosi (1997),
Joachims (1999); Valera, chapter 7. With q = 2 it is SMO; with q = 512, rows in a cache and half of the set
kept between rounds it is the engine (`WorkingSet`).
"""

from __future__ import annotations

from dataclasses import dataclass

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
class Decomposition(DualSolver):
    """A working set of fixed size.

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
