"""Cells of a classifier that differ in C only, on at most 512 rows, in one compiled call.

Most cells of such a search take less time than the Python code around them. Here they are solved without it,
as long as pairwise steps converge and float32 values are precise enough. A cell that needs more ends the
path; `chains.solve_cell` solves it, and the path continues after it.
"""

from __future__ import annotations

import numpy as np

from maxmargin.base.threads import check_stop
from maxmargin.base.typing import AnyArray, FloatArray
from maxmargin.compute.dual.one_group import solve_along
from maxmargin.problems.formulations import Classification, Formulation
from maxmargin.problems.solution import Ending, Status
from maxmargin.solvers.dual.gram.gram_problem import STEPS_AT_ONCE
from maxmargin.solvers.dual.gram.shared_gram import SharedGram
from maxmargin.solvers.dual.gram.warm_starts import GramState, PlacedProblem
from maxmargin.solvers.settings import DualSolver

_MOST_ROWS = 512  # above, working sets are faster than one block


def costs_of(forms: list[Formulation], n_rows: int) -> FloatArray | None:
    """C of hinge classifiers with an intercept, which differ in their bounds only; None for others."""
    costs = [f.C for f in forms if isinstance(f, Classification) and f.loss == "hinge" and f.fit_intercept]
    return np.array(costs) if len(costs) == len(forms) and n_rows <= _MOST_ROWS else None


def solve_cost_path(
    gram: SharedGram,
    placed: PlacedProblem,
    B: AnyArray,
    caps: FloatArray,
    solver: DualSolver,
    before: GramState | None,
) -> list[GramState]:
    """The states of the first cells; row k of ``caps`` has the upper bounds of cell k.

    ``B`` holds the kernel values among the rows, and ``before`` is the state of the cell before these.
    """
    hidden = gram.can_hide_gap(caps.max(axis=1))
    caps = caps[: int(np.argmax(hidden)) if hidden.any() else len(caps)]
    if not len(caps):
        return []
    signed, positive = placed.signed, placed.problem.s > 0
    los = np.vstack([signed.lo if before is None else before.signed.lo, np.where(positive, 0.0, -caps)])
    his = np.vstack([signed.hi if before is None else before.signed.hi, np.where(positive, caps, 0.0)])
    T, V = np.empty(los.shape), np.empty((len(los), len(placed.gram.K)))
    T[0], V[0] = placed.first_start() if before is None else (before.t, before.v)
    found = np.empty((len(los), 3))
    space = signed._replace(lo=los[0].copy(), hi=his[0].copy())
    most = STEPS_AT_ONCE if solver.max_iter < 0 else min(STEPS_AT_ONCE, solver.max_iter)
    n_solved = solve_along(B, placed.gram.K, space, los, his, T, V, found, solver.tol, most)
    check_stop()
    return [
        GramState(
            T[k],
            V[k],
            signed._replace(lo=los[k], hi=his[k]),
            found[k, 2:],
            Ending(Status.CONVERGED, int(found[k, 0]), float(found[k, 1])),
        )
        for k in range(1, 1 + gram.n_fine(placed.rows, T[1 : 1 + n_solved], solver.tol))
    ]
