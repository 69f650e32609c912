"""One fitted dual problem. Every support vector machine consists of one or several of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from maxmargin.base.progress import Callback, SolverProgress, line_printer
from maxmargin.base.shown import short_repr
from maxmargin.base.typing import BoolArray, FloatArray, IntArray
from maxmargin.base.user_line import warn_user
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.points import Points
from maxmargin.kernels.vectors import lost_by_shift
from maxmargin.machines.svm.hard_margin import hard_margin_start
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.formulations import (
    Classification,
    Expansion,
    Formulation,
    NuClassification,
    OneClass,
    Sphere,
    squared_extent,
)
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.certified import solve_certified
from maxmargin.solvers.settings import DualSolver
from maxmargin.solvers.trace import joined


@dataclass(frozen=True)
class FittedProblem:
    """The solution of one dual problem on the training rows ``rows``.

    Attributes
    ----------
    rows : training rows of the problem; signs : their y (or target), of the same shape.
    alpha : multipliers (twice as many in regression); beta : coefficients of the rows.
    decisions : f at the rows, as computed by the solver.
    bounded : which multipliers are at their upper bound; upper : these bounds.
    violations : by how much each multiplier violates its optimality condition, as computed by the solver.
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

    __repr__ = short_repr

    @property
    def norm(self) -> float:
        """||w||, from the decisions at the support vectors."""
        square = float(self.beta @ (self.decisions - self.intercept))
        return float(np.sqrt(max(square, 0.0)))

    @property
    def margin(self) -> float:
        """1 / ||w||; infinite if w = 0."""
        return 1.0 / self.norm if self.norm > 0 else float("inf")

    def trace(self, number: int) -> pd.DataFrame:
        """The steps of the solver, with the numbers of the training rows."""
        steps: pd.DataFrame = self.solution.trace
        rows = [self.rows[points] for points in steps["rows"]]
        return steps.assign(machine=number, rows=rows)[["machine", *steps.columns]]


def fit_problem(
    form: Formulation,
    kernel: Kernel,
    points: Points,
    target: FloatArray,
    weight: FloatArray,
    solver: DualSolver,
    *,
    rows: IntArray,
    full: bool = False,
    start: FloatArray | None = None,
    callback: Callback | None = None,
) -> FittedProblem:
    """Build the problem, solve it, certify the solution and recover the model."""
    problem = form.build(kernel, points, target, weight)
    hulls = None
    if isinstance(form, Classification) and np.isinf(form.C) and form.loss == "hinge":
        hulls = hard_margin_start(problem, target, solver, rows, callback)
        start, solver = hulls.x, hulls.solver
    finer = _margin_check(form, problem) if isinstance(form, (NuClassification, OneClass)) else None
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow shows in the certificate
        solution, certificate = solve_certified(
            problem, solver, full=full, start=start, callback=callback, finer=finer
        )
    _check_finite(problem, solution)
    if solution.status is Status.CONVERGED and certificate.is_wide:
        solution = replace(solution, status=Status.WIDE_GAP)
    if hulls is not None:
        both = None if hulls.trace is None else joined([hulls.trace, solution.trace])
        solution = replace(solution, n_iter=solution.n_iter + hulls.n_iter, trace=both)
    if solution.trace is not None:
        intercepts = [form.intercept(one) for one in solution.trace["multipliers"]]
        solution = replace(solution, trace=solution.trace.assign(intercept=intercepts))
    machine = read_machine(form, problem, solution, certificate, rows, target)
    if isinstance(form, Sphere):  # its coefficients sum to 2, and its decisions are those of shifted rows
        return machine
    lost = float(lost_by_shift(kernel, points) @ machine.beta)
    return replace(machine, intercept=machine.intercept - lost)


def read_machine(
    form: Formulation,
    problem: BoxQP,
    solution: Solution,
    certificate: Certificate,
    rows: IntArray,
    target: FloatArray,
) -> FittedProblem:
    """The machine of a solution or of an intermediate state; its gradient must be known."""
    gradient = solution.gradient
    assert gradient is not None
    expansion: Expansion = form.recover(problem, solution)
    if isinstance(form, Sphere):
        sums: FloatArray = problem.s * gradient  # 2 K a - K(x, x)
    else:
        sums = _kernel_sums(problem, solution.x, gradient) / expansion.scale
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


def _check_finite(problem: BoxQP, solution: Solution) -> None:
    """Refuse multipliers with which decisions would overflow."""
    largest = float(np.abs(problem.Q.kernel.diagonal(problem.Q.points)).max(initial=0.0))
    with np.errstate(over="ignore", invalid="ignore"):
        reach = float(np.abs(problem.Q.weights(solution.x)).sum()) * largest
    if not np.isfinite(4.0 * reach) or not np.isfinite(solution.multipliers).all():
        raise ValueError(
            f"decisions are too large for floating-point numbers: kernel values up to {largest:.2g} with "
            f"multipliers up to {solution.x.max(initial=0.0):.2g}. Scale the columns, or lower C, the "
            "targets or sample_weight."
        )


def _margin_check(
    form: NuClassification | OneClass, problem: BoxQP
) -> Callable[[Solution, float], float | None]:
    """`finer` of the formulation as a function of the solution and its violation."""
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


def warn_if_loose(problem: FittedProblem, solver: DualSolver, *, is_linear: bool) -> None:
    """Warn if the certificate misses the tolerance or its gap is wide."""
    certificate, solution = problem.certificate, problem.solution
    if solution.status is Status.WIDE_GAP:
        warn_user(
            f"{solver.reached(certificate)}, within tol={solver.tol:g}, but the duality gap is "
            f"{certificate.relative_gap:.2g} of the dual value: the objective may be far from its minimum. "
            "Scale the columns, lower C, or lower tol.",
            ConvergenceWarning,
        )
    accepted = solver.accepts(certificate)
    if accepted and solution.status in (Status.CONVERGED, Status.WIDE_GAP):
        return
    reached = f"{solver.reached(certificate)}, tol={solver.tol:g}"
    if accepted:
        reached = f"{solver.reached(certificate)}, too coarse for decisions as small as these"
    steps = f"({solution.n_iter} steps, {solution.seconds:.1f} s)"
    remedy = "raise max_iter or time_limit"
    if solution.status is Status.STALLED:
        if certificate.complete and certificate.convex and certificate.dual != 0:
            share = certificate.rounding / abs(certificate.dual)
            reached += (
                f"; the duality gap is {certificate.relative_gap:.2g} of the dual value, and rounding alone "
                f"can cause {share:.2g}"
            )
        remedy = "lower C, or " + ("use LinearSVC or LinearSVR" if is_linear else "try a larger gamma")
    warn_user(
        f"{solution.status.value}: {reached} {steps}. Scale the columns, {remedy}, or raise tol.",
        ConvergenceWarning,
    )


def progress_lines(verbose: int, name: str, callback: Callback | None) -> Callback | None:
    """The user's callback, which with ``verbose`` also prints a line twice a second; None for neither."""
    if not verbose:
        return callback
    show = line_printer(name)

    def tell(progress: SolverProgress) -> object:
        show(progress)
        return callback(progress) if callback is not None else None

    return tell
