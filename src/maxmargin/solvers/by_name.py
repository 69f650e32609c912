"""From a name, or an object, to a solver of the dual problem."""

from __future__ import annotations

from typing import Any

from maxmargin import solvers
from maxmargin.base.parameters import check_choice
from maxmargin.solvers.dual.working_set import (
    WorkingSet,  # the default: imported with the machines, not in fit
)
from maxmargin.solvers.settings import DualSolver

NAMES = {
    "working_set": "WorkingSet",
    "qp": "QP",
    "chunking": "Chunking",
    "decomposition": "Decomposition",
    "smo": "SMO",
    "subgradient": "BatchSubgradient",
    "pegasos": "StochasticSubgradient",
}


def as_solver(solver: Any) -> DualSolver:
    """The solver of this name with default options, or the solver itself."""
    if isinstance(solver, DualSolver):
        return solver
    if not isinstance(solver, str):
        raise ValueError(
            f"solver={solver!r} is not a solver: give a name ({', '.join(map(repr, NAMES))}) or an object of "
            "maxmargin.solvers."
        )
    check_choice("solver", solver, tuple(NAMES))
    return WorkingSet() if solver == "working_set" else getattr(solvers, NAMES[solver])()
