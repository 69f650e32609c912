"""One fitted dual problem. Every support vector machine consists of one or several of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from maxmargin.base.progress import line_printer
from maxmargin.base.typing import BoolArray, FloatArray, IntArray
from maxmargin.kernels.base import Kernel
from maxmargin.machines.svm.hard_margin import hard_margin_start
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.formulations import (
    Classification,
    Expansion,
    Formulation,
    NuClassification,
    squared_extent,
)
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.certified import solve_certified
from maxmargin.solvers.settings import DualSolver
from maxmargin.solvers.stopping import Callback


@dataclass(frozen=True)
class FittedProblem:
    """The solution of one dual problem on the training rows ``rows``.

    Attributes
    ----------
    rows : training rows of the problem; signs : their y (or target), of the same shape.
    alpha : multipliers (twice as many in regression); beta : coefficients of the rows.
    decisions : f at the rows, as the solver left them.
    bounded : which multipliers are at their upper bound; upper : these bounds.
    violations : by how much each multiplier violates its optimality condition, as the solver saw it.
    """

    rows: IntArray
    signs: FloatArray
    alpha: FloatArray
    beta: FloatArray
    intercept: float
    decisions: FloatArray
    bounded: BoolArray
    upper: FloatArray
    violations: FloatArray
    solution: Solution
    certificate: Certificate
    epsilon: float | None = None
    scale: float = 1.0

    @property
    def norm(self) -> float:
        """||w||, from the decisions at the support vectors."""
        square = float(self.beta @ (self.decisions - self.intercept))
        return float(np.sqrt(max(square, 0.0)))

    @property
    def margin(self) -> float:
        """1 / ||w||; infinite where w = 0."""
        return 1.0 / self.norm if self.norm > 0 else float("inf")

    def trace(self, number: int) -> pd.DataFrame:
        """The steps of the solver, with the numbers of the training rows."""
        steps: pd.DataFrame = self.solution.trace
        rows = [self.rows[points] for points in steps["rows"]]
        return steps.assign(machine=number, rows=rows)[["machine", *steps.columns]]


def fit_problem(
    form: Formulation,
    kernel: Kernel,
    points: Any,
    target: FloatArray,
    weight: FloatArray,
    solver: DualSolver,
    *,
    rows: IntArray,
    full: bool = False,
    start: FloatArray | None = None,
    callback: Callback | None = None,
) -> FittedProblem:
    """Build the problem, solve it, certify the solution and read the model from it."""
    problem = form.build(kernel, points, target, weight)
    extra = 0
    if isinstance(form, Classification) and np.isinf(form.C) and form.loss == "hinge":
        start, solver, extra = hard_margin_start(kernel, points, target, solver, rows)
    finer = _margin_check(form, problem) if isinstance(form, NuClassification) else None
    solution, certificate = solve_certified(
        problem, solver, full=full, start=start, callback=callback, finer=finer
    )
    gradient = solution.gradient
    assert gradient is not None  # every dual solver returns it
    expansion: Expansion = form.recover(problem, solution)
    sums = _kernel_sums(problem, solution.x, gradient) / expansion.scale
    if extra:
        solution = replace(solution, n_iter=solution.n_iter + extra)
    return FittedProblem(
        rows=rows,
        signs=target,
        alpha=expansion.alpha,
        beta=expansion.beta,
        intercept=expansion.intercept,
        decisions=sums + expansion.intercept,
        bounded=solution.x >= problem.C,
        upper=problem.C / expansion.scale,
        violations=problem.violations(gradient, solution.x, solution.multipliers) / expansion.scale,
        solution=solution,
        certificate=certificate,
        epsilon=expansion.epsilon,
        scale=expansion.scale,
    )


def _margin_check(form: NuClassification, problem: BoxQP) -> Callable[[Solution, float], float | None]:
    """`NuClassification.finer` as a function of the solution and its violation."""
    kernel, points = problem.Q.kernel, problem.Q.points.astype(np.float64)
    first = kernel.gram(points, points.take(np.array([0])))[:, 0]
    extent = squared_extent(kernel.diagonal(points), first)

    def finer(solution: Solution, kkt: float) -> float | None:
        assert solution.gradient is not None
        square = float(solution.x @ solution.gradient)
        return form.finer(problem, solution.multipliers, kkt, square=square, extent=extent)

    return finer


def _kernel_sums(problem: Any, a: FloatArray, gradient: FloatArray) -> FloatArray:
    """sum_j beta_j K(x_j, x_i) at the rows, from the signed gradient of the solver."""
    n = len(problem.Q.points)
    plain = problem.s[:n] * gradient[:n] - problem.d[:n] * a[:n] - problem.p[:n]
    return np.asarray(plain / problem.Q.sign[:n])


def warn_if_loose(problem: FittedProblem, solver: DualSolver) -> None:
    """Warn where the certificate misses the tolerance."""
    certificate, solution = problem.certificate, problem.solution
    if solver.accepts(certificate):
        return
    stalled = solution.status is Status.STALLED
    remedy = "lower C, or try a larger gamma" if stalled else "raise max_iter or time_limit"
    warnings.warn(
        f"{solution.status.value}: {solver.reached(certificate)}, tol={solver.tol:g} "
        f"({solution.n_iter} steps, {solution.seconds:.1f} s). Scale the columns, {remedy}, or raise tol.",
        ConvergenceWarning,
        stacklevel=6,
    )


def progress_printer(verbose: int, name: str) -> Callback | None:
    """A callback that prints a line about twice a second, or None."""
    return line_printer(name) if verbose else None
