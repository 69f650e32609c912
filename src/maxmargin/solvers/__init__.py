"""Solvers: one file per algorithm, from a problem to a `Solution`.

docs/classroom.md describes those of the dual problem. They are given by name or as objects with options:
``SVC(solver="smo")``, ``SVC(solver=mm.solvers.SMO(selection="first"))``. Names are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# public name -> module that defines it
_HOMES: dict[str, str] = {
    "QP": "maxmargin.solvers.dual.qp",
    "Chunking": "maxmargin.solvers.dual.rounds",
    "Decomposition": "maxmargin.solvers.dual.rounds",
    "SMO": "maxmargin.solvers.dual.smo",
    "WorkingSet": "maxmargin.solvers.dual.working_set",
    "BatchSubgradient": "maxmargin.solvers.online.batch_subgradient",
    "StochasticSubgradient": "maxmargin.solvers.online.stochastic_subgradient",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'maxmargin.solvers' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
