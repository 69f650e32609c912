"""Solve, then let the problem check the solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

from maxmargin.base.progress import Callback
from maxmargin.base.typing import FloatArray
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.settings import DualSolver
from maxmargin.solvers.trace import first_variables, joined

_ATTEMPTS = 3
_STRIDES = (1e-3, 0.1)  # factors on the violation to narrow a gap; the second is used if the first fails
_FINE = 1e-2  # coarser tolerances are left as the user asked
_NARROW = 0.01  # relative gap aimed at where tol leaves a wide one


def solve_certified(
    problem: BoxQP,
    solver: DualSolver,
    *,
    full: bool = False,
    start: FloatArray | None = None,
    callback: Callback | None = None,
    finer: Callable[[Solution, float], float | None] | None = None,
) -> tuple[Solution, Certificate]:
    """The solution of the solver and its certificate from the problem.

    If the certificate finds a larger violation than the solver did, or if ``finer`` requires it (see
    `NuClassification.finer`), the solver continues with a smaller tolerance. All attempts share the limits,
    and their steps are added. The same happens if the violation is within tol but the gap is wide, which is
    possible with a huge C, because small violations then cost much.
    """
    solver.check(problem)
    solution = solve(problem, solver, start=start, callback=callback)
    solution, certificate = _check(problem, solution, solver, full)
    tol, at_most = solver.tol, inf
    for _ in range(_ATTEMPTS):
        if solution.status is not Status.CONVERGED or solver.accepts(certificate):
            break
        tol = min(tol / 4, at_most)
        reached = certificate.kkt
        left = remaining(replace(solver, tol=tol), solution)
        solution = _both(solution, solve(problem, left, start=solution.x, callback=callback))
        solution, certificate = _check(problem, solution, solver, full)
        if certificate.kkt > 0.9 * reached:
            if tol < solver.exact_below:
                break
            at_most = 0.9 * solver.exact_below  # float32 is too coarse at rows that its sample missed
    if solution.status is Status.CONVERGED and not solver.accepts(certificate):
        solution = replace(solution, status=Status.STALLED)  # the rest of the gap is rounding
    if solution.status is Status.STALLED:
        certificate = problem.with_rounding(certificate, solution.x)
    costly = solver.narrows_gap and solver.tol <= _FINE
    if solution.status is Status.CONVERGED and costly and certificate.is_wide:
        solution, certificate = _narrowed(problem, solver, solution, certificate, callback)
    by_gap = solver.needs_gap  # then a smaller tolerance on the violation does not help
    if finer is None or by_gap or solution.status not in (Status.CONVERGED, Status.STALLED):
        return solution, certificate
    smaller = finer(solution, certificate.kkt)
    if smaller is None or smaller >= solver.tol or solution.status is Status.STALLED:
        return solution, certificate
    left = remaining(replace(solver, tol=smaller), solution)
    options: dict[str, Any] = {"full": full, "callback": callback, "finer": finer}
    again, certificate = solve_certified(problem, left, start=solution.x, **options)
    return _both(solution, again), certificate


def _narrowed(
    problem: BoxQP,
    solver: DualSolver,
    solution: Solution,
    certificate: Certificate,
    callback: Callback | None,
) -> tuple[Solution, Certificate]:
    """Continue with tolerances that narrow the gap; if that does not succeed, return the earlier solution."""
    strides = list(_STRIDES)
    for _ in range(2 * _ATTEMPTS):
        if not certificate.is_wide:
            break
        tol = certificate.kkt * max(0.1 * _NARROW / certificate.relative_gap, strides[0])
        tol = max(tol, 2.0 * problem.grain(solution.x))
        if tol <= problem.rounding(solution.x) or tol > 0.5 * certificate.kkt:
            break
        left = remaining(replace(solver, tol=tol), solution)
        later = solve(problem, left, start=solution.x, callback=callback)
        later, found = _check(problem, later, solver, full=True)
        if not (solver.accepts(found) and found.gap < certificate.gap):
            strides.pop(0)
            if strides and later.status is Status.CONVERGED:
                continue
            break
        slow = later.status is Status.STALLED and found.gap > 0.1 * certificate.gap
        solution, certificate = replace(_both(solution, later), status=Status.CONVERGED), found
        if slow or later.status is Status.INTERRUPTED:
            break
    return solution, certificate


def solve(
    problem: BoxQP, solver: DualSolver, *, start: FloatArray | None = None, callback: Callback | None = None
) -> Solution:
    """`solver.solve`; a problem without equality gets one where the solver needs it."""
    if problem.fixed_sums or not solver.needs_sums:
        return solver.solve(problem, start=start, callback=callback)
    wider = problem.with_sums(start)
    solution = solver.solve(wider, start=wider.start, callback=callback)
    m, gradient, trace = len(problem), solution.gradient, solution.trace
    return replace(
        solution,
        x=solution.x[:m],
        gradient=None if gradient is None else gradient[:m],
        trace=None if trace is None else first_variables(trace, m),
    )


def remaining(solver: DualSolver, solution: Solution) -> DualSolver:
    """The same settings with the rest of max_iter and time_limit."""
    steps = max(0, solver.max_iter - solution.n_iter) if solver.max_iter >= 0 else solver.max_iter
    seconds = None if solver.time_limit is None else max(0.0, solver.time_limit - solution.seconds)
    return replace(solver, max_iter=steps, time_limit=seconds)


def _both(first: Solution, second: Solution) -> Solution:
    """The second solution, with the costs and steps of both added."""
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


def _check(
    problem: BoxQP, solution: Solution, solver: DualSolver, full: bool
) -> tuple[Solution, Certificate]:
    """The certificate, and the solution with the certificate's multipliers: a solver's own sums drift."""
    x, offered = solution.x, solver.offered(solution)
    if not problem.checks_all(x, full=full or solver.needs_gap, suspects=solution.gradient):
        return solution, problem.certify(x, suspects=solution.gradient, n_threads=solver.n_threads)
    v = problem.Q.times(x, n_threads=solver.n_threads)
    if offered is None:
        exact = problem.multipliers(problem.signed_gradient(x, v[problem.Q.row]), x)
        solution = replace(solution, multipliers=exact)
    return solution, problem.certify_all(x, v, solution.multipliers if offered is None else offered)
