"""Cells of a classifier that differ in C only, in one compiled call.

Most cells of a search take less time than the Python around them. They are solved here without it, as long
as pairwise steps converge and float32 values are good enough. The first cell that needs more ends the path,
and `chains.solve_cell` continues from the cell before.
"""

from __future__ import annotations

import numpy as np

from maxmargin.base.threads import check_stop
from maxmargin.base.typing import FloatArray
from maxmargin.compute.dual.one_group import solve_along
from maxmargin.problems.formulations import Classification, Formulation
from maxmargin.problems.solution import Ending, Status
from maxmargin.solvers.dual.gram.gram_problem import STEPS_AT_ONCE
from maxmargin.solvers.dual.gram.shared_gram import SharedGram
from maxmargin.solvers.dual.gram.warm_starts import GramState, PlacedProblem
from maxmargin.solvers.settings import DualSolver


def costs_of(forms: list[Formulation]) -> FloatArray | None:
    """C of hinge classifiers with an intercept, which differ in their bounds only; None for others."""
    costs = [f.C for f in forms if isinstance(f, Classification) and f.loss == "hinge" and f.fit_intercept]
    return np.array(costs) if len(costs) == len(forms) else None


def solve_cost_path(
    gram: SharedGram, placed: PlacedProblem, caps: FloatArray, solver: DualSolver
) -> list[GramState]:
    """The states of the first cells; row k of ``caps`` has the upper bounds of cell k."""
    hidden = gram.can_hide_gap(caps.max(axis=1))
    caps = caps[: int(np.argmax(hidden)) if hidden.any() else len(caps)]
    if not len(caps):
        return []
    problem, signed = placed.problem, placed.signed
    los, his = np.where(problem.s > 0, 0.0, -caps), np.where(problem.s > 0, caps, 0.0)
    T, V = np.empty(caps.shape), np.empty((len(caps), len(placed.gram.K)))
    found = np.empty((len(caps), 3))
    T[0], V[0] = placed.first_start()
    space = signed._replace(lo=los[0].copy(), hi=his[0].copy())
    most = STEPS_AT_ONCE if solver.max_iter < 0 else min(STEPS_AT_ONCE, solver.max_iter)
    known = (placed.gram.K, space, placed.gram.segments)
    n_solved = solve_along(*known, los, his, T, V, found, placed.gram.block, solver.tol, most)
    check_stop()
    return [
        GramState(
            T[k],
            V[k],
            signed._replace(lo=los[k], hi=his[k]),
            found[k, 2:],
            Ending(Status.CONVERGED, int(found[k, 0]), float(found[k, 1])),
        )
        for k in range(gram.n_fine(placed.rows, T[:n_solved], solver.tol))
    ]
