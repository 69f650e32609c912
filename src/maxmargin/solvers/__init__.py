"""Solvers: one file per algorithm, from a problem to a `Solution`.

docs/classroom.md describes those of the dual problem. They are given by name or as objects with options:
``SVC(solver="smo")``, ``SVC(solver=mm.solvers.SMO(selection="first"))``. Names are loaded when first used.
"""

from maxmargin.base.lazy_names import getter_of, homes_of

_HOMES = homes_of(
    __name__,
    {
        "dual.qp": "QP",
        "dual.chunking": "Chunking Decomposition",
        "dual.smo": "SMO",
        "dual.working_set": "WorkingSet",
        "online.batch_subgradient": "BatchSubgradient",
        "online.stochastic_subgradient": "StochasticSubgradient",
    },
)
__all__ = list(_HOMES)
__dir__ = __all__.copy
__getattr__ = getter_of(__name__, _HOMES)
