"""The state of a model after chosen steps of its trace, on the rows and on a grid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.machines.svm import SVDD
from maxmargin.machines.svm.base import KernelMachine
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.replay import iterates


@dataclass(frozen=True)
class Iterate:
    """Weights of the rows, the rows that were chosen, and f on the grid."""

    weights: FloatArray
    chosen: IntArray
    decisions: FloatArray


def iterates_of(
    model: Any, trace: Any, frames: IntArray, machine: int, rows: Any, grid: Any
) -> list[Iterate]:
    """The states after the steps at the positions ``frames`` of the trace of one machine."""
    if isinstance(model, KernelMachine):
        return list(_dual(model, trace, frames, machine, rows, grid))
    if "coefficient" in trace:
        return list(_kernel_perceptron(model, trace, frames, rows, grid))
    return list(
        _linear(trace, frames, np.asarray(rows, dtype=np.float64), np.asarray(grid, dtype=np.float64))
    )


def _dual(model: Any, trace: Any, frames: IntArray, k: int, rows: Any, grid: Any) -> Iterator[Iterate]:
    machine, kernel, form = model.machines_[k], model.kernel_, model.formulation()
    points = kernel.prepare(rows).take(machine.rows).astype(np.float64)
    at = kernel.prepare(grid, like=points).astype(np.float64)
    K, on_grid = kernel.gram(points), kernel.gram(at, points)
    shift = -kernel.diagonal(at) if isinstance(model, SVDD) else 0.0
    problem = form.build(kernel, points, machine.signs, np.ones(len(points)))
    problem = replace(problem, C=machine.upper * machine.scale)
    a = np.zeros(len(problem))
    wanted = set(frames.tolist())
    for position, (variables, after, chosen) in enumerate(
        zip(trace["variables"], trace["after"], trace["rows"], strict=True)
    ):
        a[variables] = after
        if position not in wanted:
            continue
        gradient = problem.signed_gradient(a, (K @ problem.Q.weights(a))[problem.Q.row])
        weights = np.zeros(len(rows))
        weights[machine.rows] = np.abs(problem.Q.weights(a))
        f = _decisions(form, problem, a, gradient, on_grid) + shift
        yield Iterate(weights, np.unique(chosen) if position else np.empty(0, dtype=np.int64), f)


def _decisions(
    form: Any, problem: Any, a: FloatArray, gradient: FloatArray, on_grid: FloatArray
) -> FloatArray:
    """f on the grid; NaN while a nu-SVM has no margin yet."""
    solution = Solution(
        x=a,
        multipliers=problem.multipliers(gradient, a),
        status=Status.INTERRUPTED,
        n_iter=0,
        seconds=0.0,
    )
    try:
        expansion = form.recover(problem, solution)
    except ValueError:
        return np.full(len(on_grid), np.nan)
    f: FloatArray = on_grid @ expansion.beta + expansion.intercept
    return f


def _kernel_perceptron(model: Any, trace: Any, frames: IntArray, rows: Any, grid: Any) -> Iterator[Iterate]:
    kernel = model.kernel_
    points = kernel.prepare(rows)
    on_grid = kernel.gram(kernel.prepare(grid, like=points), points) + 1.0
    sums = np.zeros(len(rows))
    for position, (row, coefficient) in enumerate(zip(trace["row"], trace["coefficient"], strict=True)):
        sums[row] = coefficient
        if position in frames:
            yield Iterate(np.abs(sums), np.array([row]), on_grid @ sums)


def _linear(trace: Any, frames: IntArray, rows: FloatArray, grid: FloatArray) -> Iterator[Iterate]:
    none = np.empty(0, dtype=np.int64)
    rows_of_steps = trace["row"] if "row" in trace else [None] * len(trace)
    for position, (theta, row) in enumerate(zip(iterates(trace, rows), rows_of_steps, strict=True)):
        if position in frames:
            chosen = none if row is None else np.array([row])
            yield Iterate(np.zeros(len(rows)), chosen, grid @ theta[:-1] + theta[-1])
