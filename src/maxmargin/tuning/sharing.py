"""Decides which problems can share a kernel matrix, for tuning and for feature selection."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
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
from maxmargin.solvers.dual.gram.subset_kernels import SubsetKernel

DUAL = (SVC, NuSVC, SVR, NuSVR, OneClassSVM)
MODELS = (*DUAL, KernelRidge, KernelPerceptron)
# transformers that may come first: fitted on the training rows of a fold, they give every row its own values,
# whatever the target is
SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)
_FRONTS = (*SCALERS, SimpleImputer, OneHotEncoder, OrdinalEncoder)

SHARED = "shared Gram matrices"
ROWS = "row store, one fit per cell and fold"
SCIKIT = "scikit-learn's search, one fit per cell and fold"


@dataclass(frozen=True)
class SharedParts:
    """The parts of a model: the transformers in front (or None) and the estimator at the end.

    ``reason`` says why its problems cannot share a kernel matrix; it is empty where they can.
    """

    front: Any
    model: Any
    reason: str = ""


def shared_parts(model: BaseEstimator) -> SharedParts:
    """Can the dual problems of this model (on folds, with other parameters) share one kernel matrix?"""
    front, last = _split(model)
    if last is None:
        end = model.steps[-1][1]
        if type(end) in MODELS:
            end = next(step for _, step in model.steps[:-1] if not _may_come_first(step))
        return SharedParts(None, None, f"{type(end).__name__} has no shared path")
    if type(last) not in MODELS or isinstance(last, HardMarginSVC) or np.isinf(getattr(last, "C", 1.0)):
        return SharedParts(front, last, f"{type(last).__name__} has no shared path")
    if getattr(last, "solver", "working_set") != "working_set" or getattr(last, "trace", False):
        return SharedParts(front, last, "only solver='working_set' without a trace has a shared path")
    if isinstance(last, SVC) and not last.fit_intercept:
        return SharedParts(front, last, "fit_intercept=False has no shared path")
    if getattr(last, "probability", False):
        return SharedParts(front, last, "probability=True calibrates inside every fit")
    return SharedParts(front, last)


def column_parts(model: BaseEstimator) -> SharedParts:
    """As `shared_parts`, for subsets of columns: a hinge classifier whose kernel is a sum over columns.

    The step in front must treat each column separately. One call solves all folds of a subset, so limits of
    time or steps and full checks cannot be applied in between.
    """
    parts = shared_parts(model)
    svc, front = parts.model, parts.front
    if parts.reason or not isinstance(svc, SVC) or svc.loss != "hinge" or svc.C <= 0 or svc.tol <= 0:
        return SharedParts(front, svc, parts.reason or "only SVC with hinge loss has a shared path")
    if svc.max_iter != -1 or svc.time_limit is not None or svc.certify == "full":
        return SharedParts(front, svc, "max_iter, time_limit and certify='full' need a fit for each fold")
    scalers = [] if front is None else [step for _, step in front.steps]
    if len(scalers) > 1 or any(type(scaler) not in SCALERS for scaler in scalers):
        return SharedParts(front, svc, "only one scaler of single columns may come first")
    if SubsetKernel.of(svc.make_kernel()) is None:
        return SharedParts(front, svc, f"{svc.make_kernel()!r} is not a sum over columns")
    return SharedParts(scalers[0] if scalers else None, svc)


@dataclass(frozen=True)
class Plan:
    """The path of a search, why it was taken, the transformers in front and the models of the cells."""

    path: str
    reason: str
    front: Any
    models: list[Any]


def configured(estimator: BaseEstimator, cells: list[dict[str, Any]]) -> list[Any]:
    """The estimator with the parameters of every cell; pipelines share the steps that no cell changes."""
    if isinstance(estimator, Pipeline) and hasattr(estimator.steps[-1][1], "set_params"):
        name, last = estimator.steps[-1]
        inner = [{key.removeprefix(f"{name}__"): value for key, value in cell.items()} for cell in cells]
        if all(key.startswith(f"{name}__") for cell in cells for key in cell):
            front = clone(estimator).steps[:-1]
            return [_with_steps(estimator, [*front, (name, last)]) for last in configured(last, inner)]
    return [clone(estimator).set_params(**cell) for cell in cells]


def _with_steps(pipeline: Pipeline, steps: list[tuple[str, Any]]) -> Pipeline:
    other = copy(pipeline)
    other.steps = steps
    return other


def make_plan(models: list[Any], cells: list[dict[str, Any]], n: int, needs_probabilities: bool) -> Plan:
    """Decide from the models of all cells whether they can share kernel matrices."""
    parts = [shared_parts(model) for model in models]
    reasons = sorted({part.reason for part in parts if part.reason})
    if needs_probabilities:
        reasons = ["the scoring needs probabilities"]
    elif not reasons and _changes_front(models[0], cells):
        reasons = ["the grid changes what comes before the model"]
    if reasons:
        return Plan(SCIKIT, "; ".join(reasons), None, models)
    needed = matrix_bytes(n)
    budget = min(map(cache_bytes, {getattr(part.model, "cache_size", None) for part in parts}))
    if needed > budget:
        megabytes = f"takes {needed / 2**20:.3g} MB, cache_size allows {budget / 2**20:.3g} MB"
        return Plan(ROWS, f"a Gram matrix of {n} rows {megabytes}", parts[0].front, models)
    return Plan(SHARED, "", parts[0].front, [part.model for part in parts])


def _changes_front(estimator: Any, cells: list[dict[str, Any]]) -> bool:
    """True if the cells give the steps before the model different parameters."""
    if not isinstance(estimator, Pipeline):
        return False
    last = estimator.steps[-1][0]
    others = [
        {name: value for name, value in cell.items() if name.partition("__")[0] != last} for cell in cells
    ]
    return any(
        other.keys() != others[0].keys() or not all(_same(other[name], others[0][name]) for name in other)
        for other in others
    )


def _same(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, str | float | int) and type(a) is type(b) and a == b)


def refused_cells(models: list[Any]) -> dict[int, str]:
    """Cells whose parameters are invalid for any data, with the reason."""
    refused = {}
    for index, configured_model in enumerate(models):
        model = _split(configured_model)[1]
        if not isinstance(model, MODELS):
            continue
        try:
            model.check_parameters()
            model.make_kernel()
        except ValueError as error:
            refused[index] = str(error)
    return refused


def _split(model: Any) -> tuple[Any, Any]:
    """The transformers in front (or None) and the model at the end; (None, None) for other pipelines."""
    if not isinstance(model, Pipeline):
        return None, model
    front = [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
    if not all(_may_come_first(step) for step in front):
        return None, None
    return (Pipeline(model.steps[:-1]) if front else None), model.steps[-1][1]


def _may_come_first(step: Any) -> bool:
    if isinstance(step, Pipeline):
        return all(_may_come_first(inner) for _, inner in step.steps)
    if isinstance(step, ColumnTransformer):
        inner = [*(transformer for _, transformer, _ in step.transformers), step.remainder]
        return all(_may_come_first(transformer) for transformer in inner)
    return isinstance(step, _FRONTS) or step in (None, "passthrough", "drop")


def matrix_bytes(n: int) -> int:
    """Inner products in float64, and kernel values in float32 and, where that is too coarse, in float64.

    Two threads, each with a part of the matrix, take 4.5 n^2 more in float32 or 2 n^2 more in float64.
    """
    return n * n * (8 + 4 + 8 + 2)
