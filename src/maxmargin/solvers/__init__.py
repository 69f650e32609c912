"""Solvers: one file per algorithm; take a problem, return a `Solution`.

Those of the dual problem are the ladder of docs/classroom.md, by name or as objects with options:
``SVC(solver="smo")``, ``SVC(solver=mm.solvers.SMO(selection="first"))``. Names are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# public name -> module that defines it
_HOMES: dict[str, str] = {
    "QP": "maxmargin.solvers.qp",
    "Chunking": "maxmargin.solvers.chunking",
    "Decomposition": "maxmargin.solvers.decomposition",
    "SMO": "maxmargin.solvers.smo",
    "WorkingSet": "maxmargin.solvers.working_set",
    "Subgradient": "maxmargin.solvers.subgradient",
    "Pegasos": "maxmargin.solvers.pegasos",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'maxmargin.solvers' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
