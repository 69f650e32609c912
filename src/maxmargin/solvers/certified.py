"""Solve, then let the problem check the answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.progress import Callback
from maxmargin.solvers.working_set import WorkingSet
from maxmargin.typing import FloatArray

_ATTEMPTS = 3


def solve_certified(
    problem: BoxQP,
    solver: WorkingSet,
    *,
    full: bool = False,
    start: FloatArray | None = None,
    callback: Callback | None = None,
) -> tuple[Solution, Certificate]:
    """The solver's answer and the problem's certificate of it.

    Where the certificate finds more violation than the solver believed, the solver goes on from there with a
    smaller tolerance; the steps of all attempts are counted.
    """
    solution = solver.solve(problem, start=start, callback=callback)
    certificate = _check(problem, solution, solver, full)
    tol = solver.tol
    for _ in range(_ATTEMPTS):
        if solution.status is not Status.CONVERGED or certificate.kkt <= solver.tol:
            break
        tol /= 4
        again = replace(solver, tol=tol).solve(problem, start=solution.x, callback=callback)
        later = again.trace + np.array([solution.n_iter, 0.0, 0.0, solution.seconds])
        solution = replace(
            again,
            n_iter=solution.n_iter + again.n_iter,
            seconds=solution.seconds + again.seconds,
            trace=np.concatenate([solution.trace, later]),
        )
        certificate = _check(problem, solution, solver, full)
    return solution, certificate


def _check(problem: BoxQP, solution: Solution, solver: WorkingSet, full: bool) -> Certificate:
    return problem.certify(solution.x, full=full, suspects=solution.gradient, n_threads=solver.n_threads)
