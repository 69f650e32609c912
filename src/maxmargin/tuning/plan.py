"""Which way a search goes: shared Gram matrices, the row store, or scikit-learn's own search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from maxmargin.base.memory import cache_bytes
from maxmargin.machines.kernel import KernelPerceptron, KernelRidge
from maxmargin.machines.svm import SVC, SVR, HardMarginSVC, NuSVC, NuSVR, OneClassSVM

DUAL = (SVC, NuSVC, SVR, NuSVR, OneClassSVM)
MACHINES = (*DUAL, KernelRidge, KernelPerceptron)
# transformers that may stand in front: fitted on the training rows of a fold, they give every row its own
# values, whatever the target is
SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)
FRONTS = (*SCALERS, SimpleImputer, OneHotEncoder, OrdinalEncoder)

SHARED = "shared Gram matrices"
ROWS = "row store, one fit per cell and fold"
SCIKIT = "scikit-learn's search, one fit per cell and fold"


@dataclass(frozen=True)
class Plan:
    """The path, why it was taken, the scalers in front and the machines of the cells."""

    path: str
    reason: str
    scaler: Any
    machines: list[Any]


def make_plan(estimator: Any, cells: list[dict[str, Any]], n: int, needs_probabilities: bool) -> Plan:
    """Look at the estimator and all cells: can they share Gram matrices?"""
    configured = [clone(estimator).set_params(**cell) for cell in cells]
    split = [_split(model) for model in configured]
    _check_cells(cells, [machine for _, machine in split])
    if needs_probabilities:
        return Plan(SCIKIT, "the scoring needs probabilities", None, configured)
    if any(machine is None for _, machine in split):
        return Plan(SCIKIT, f"{type(estimator).__name__} has no shared path", None, configured)
    machines = [machine for _, machine in split]
    if any(type(m) not in MACHINES or isinstance(m, HardMarginSVC) or _is_hard(m) for m in machines):
        names = {type(m).__name__ for m in machines}
        return Plan(SCIKIT, f"{', '.join(sorted(names))} has no shared path", None, configured)
    scalers = {repr(scaler) for scaler, _ in split}
    if len(scalers) > 1:
        return Plan(SCIKIT, "the grid changes what stands in front of the machine", None, configured)
    if any(_asks_for_a_solver(machine) for machine in machines):
        return Plan(SCIKIT, "only solver='working_set' without a trace has a shared path", None, configured)
    if any(m.probability for m in machines if hasattr(m, "probability")):
        return Plan(SCIKIT, "probability=True calibrates inside every fit", None, configured)
    largest = _matrix_bytes(n)
    budget = min(cache_bytes(getattr(m, "cache_size", None)) for m in machines)
    if largest > budget:
        reason = f"a Gram matrix of {n} rows takes {largest >> 20} MB, cache_size allows {budget >> 20} MB"
        return Plan(ROWS, reason, split[0][0], configured)
    return Plan(SHARED, "", split[0][0], machines)


def _check_cells(cells: list[dict[str, Any]], machines: list[Any]) -> None:
    """An error for a value that no data can make right; what depends on the rows is noted in its cell."""
    for cell, machine in zip(cells, machines, strict=True):
        if not isinstance(machine, MACHINES):
            continue
        try:
            machine.check_parameters()
            machine.make_kernel()
        except ValueError as refused:
            raise ValueError(f"the cell {cell} cannot be fitted: {refused}") from None


def _split(model: Any) -> tuple[Any, Any]:
    """The scalers in front (or None) and the machine at the end; (None, None) where that is not the form."""
    if not isinstance(model, Pipeline):
        return None, model
    front = [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
    if not all(_may_stand_in_front(step) for step in front):
        return None, None
    return (Pipeline(model.steps[:-1]) if front else None), model.steps[-1][1]


def _may_stand_in_front(step: Any) -> bool:
    if isinstance(step, Pipeline):
        return all(_may_stand_in_front(inner) for _, inner in step.steps)
    if isinstance(step, ColumnTransformer):
        inner = [*(transformer for _, transformer, _ in step.transformers), step.remainder]
        return all(_may_stand_in_front(transformer) for transformer in inner)
    return isinstance(step, FRONTS) or step in (None, "passthrough", "drop")


def _is_hard(machine: Any) -> bool:
    return bool(np.isinf(getattr(machine, "C", 1.0)))


def _asks_for_a_solver(machine: Any) -> bool:
    return getattr(machine, "solver", "working_set") != "working_set" or getattr(machine, "trace", False)


def _matrix_bytes(n: int) -> int:
    """Inner products in float64, and kernel values in float32 and, where that is too coarse, in float64.

    Two threads with parts of the matrix of their own take 4.5 n^2 more in float32 or 2 n^2 more in float64.
    """
    return n * n * (8 + 4 + 8 + 2)
