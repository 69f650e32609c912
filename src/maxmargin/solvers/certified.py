"""Solve, then let the problem check the answer."""

from __future__ import annotations

from dataclasses import replace

from maxmargin.base.typing import FloatArray
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.settings import DualSolver
from maxmargin.solvers.stopping import Callback
from maxmargin.solvers.trace import joined

_ATTEMPTS = 3


def solve_certified(
    problem: BoxQP,
    solver: DualSolver,
    *,
    full: bool = False,
    start: FloatArray | None = None,
    callback: Callback | None = None,
) -> tuple[Solution, Certificate]:
    """The solver's answer and the problem's certificate of it.

    Where the certificate finds more violation than the solver believed, the solver goes on from there with a
    smaller tolerance; the steps of all attempts are counted.
    """
    solver.check(problem)
    solution = solver.solve(problem, start=start, callback=callback)
    certificate = _check(problem, solution, solver, full)
    tol = solver.tol
    for _ in range(_ATTEMPTS):
        if solution.status is not Status.CONVERGED or solver.accepts(certificate):
            break
        tol /= 4
        reached = certificate.kkt
        again = replace(solver, tol=tol).solve(problem, start=solution.x, callback=callback)
        solution = _both(solution, again)
        certificate = _check(problem, solution, solver, full)
        if certificate.kkt > 0.9 * reached:
            break
    if solution.status is Status.CONVERGED and not solver.accepts(certificate):
        solution = replace(solution, status=Status.STALLED)  # rounding hides from the solver what is left
    return solution, certificate


def _both(first: Solution, second: Solution) -> Solution:
    """The second answer, with the cost and the steps of both."""
    return replace(
        second,
        n_iter=first.n_iter + second.n_iter,
        seconds=first.seconds + second.seconds,
        kernel_values=first.kernel_values + second.kernel_values,
        cache_hits=first.cache_hits + second.cache_hits,
        trace=None if first.trace is None else joined([first.trace, second.trace]),
    )


def certify_fully(problem: BoxQP, solution: Solution, solver: DualSolver) -> Certificate:
    """The certificate of every row."""
    return problem.certify(solution.x, full=True, multipliers=solver.offered(solution))


def _check(problem: BoxQP, solution: Solution, solver: DualSolver, full: bool) -> Certificate:
    return problem.certify(
        solution.x,
        full=full or solver.needs_gap,
        suspects=solution.gradient,
        multipliers=solver.offered(solution),
        n_threads=solver.n_threads,
    )
