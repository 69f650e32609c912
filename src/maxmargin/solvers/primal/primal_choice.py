"""The choice of the solver for a loss-plus-penalty problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from maxmargin.base.parameters import check_choice, check_not_negative, check_positive
from maxmargin.base.threads import single_threaded_blas
from maxmargin.base.typing import FloatArray, RandomStateLike
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.loss_penalty import LossPenalty
from maxmargin.problems.losses import SquaredHinge
from maxmargin.problems.newton_system import EXPLICIT
from maxmargin.problems.penalties import Penalty
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.primal.augmented import AugmentedLagrangian
from maxmargin.solvers.primal.dual_coordinate import DualCoordinateDescent
from maxmargin.solvers.primal.linear_program import LinearProgram
from maxmargin.solvers.primal.newton import Newton
from maxmargin.solvers.primal.proximal_coordinate import ProximalCoordinateDescent
from maxmargin.solvers.primal.successive import SuccessiveLinearisation
from maxmargin.solvers.primal.warm_newton import ROWS_PER_COLUMN, DescentThenNewton, sample_start
from maxmargin.solvers.stopping import GapCallback

_LARGEST_PROGRAM = 2_000_000  # numbers in a table whose linear program takes seconds
_LONGEST_PROGRAM = 2000
_PENALTIES = ("l2", "l1", "l0", "l1l2", "l0l2", "none")
_MAKERS: dict[str, Callable[[float, int, int], Any]] = {
    "newton": lambda tol, max_iter, seed: Newton(tol=tol, max_iter=max_iter),
    "descent_newton": lambda tol, max_iter, seed: DescentThenNewton(
        tol=tol, max_iter=max_iter, random_state=seed
    ),
    "augmented": lambda tol, max_iter, seed: AugmentedLagrangian(tol=tol, max_iter=max_iter),
    "dual_coordinate": lambda tol, max_iter, seed: DualCoordinateDescent(
        tol=tol, max_iter=max_iter, random_state=seed
    ),
    "proximal_coordinate": lambda tol, max_iter, seed: ProximalCoordinateDescent(tol=tol, max_iter=max_iter),
    "linear_program": lambda tol, max_iter, seed: LinearProgram(tol=tol, max_iter=max_iter),
    "successive": lambda tol, max_iter, seed: SuccessiveLinearisation(
        solve_convex=_convex, tol=tol, max_iter=max_iter, random_state=seed
    ),
}


def _convex(problem: LossPenalty, start: FloatArray | None, tol: float, steps: int) -> Solution:
    """Solve a convex problem inside successive linearisation."""
    solver = _MAKERS[choose(problem)](tol, steps, 0)
    if isinstance(solver, ProximalCoordinateDescent):
        solver = replace(solver, settled=1e4 * tol)  # a descent only needs to lower the objective
    if isinstance(solver, LinearProgram):
        solver = replace(solver, presolve=False)
    return solver.solve(problem, start=start)


def primal_penalty(name: str, sparsity: float, alpha: float) -> Penalty:
    """The penalty called ``name``, with weight 1 on the l2 part and ``sparsity`` on the l1 or l0 part."""
    check_choice("penalty", name, _PENALTIES)
    check_not_negative("sparsity", sparsity)
    check_positive("l0_alpha", alpha)
    parts = {
        "l2": Penalty(l2=1.0),
        "l1": Penalty(l1=sparsity),
        "l0": Penalty(l0=sparsity, alpha=alpha),
        "l1l2": Penalty(l2=1.0, l1=sparsity),
        "l0l2": Penalty(l2=1.0, l0=sparsity, alpha=alpha),
        "none": Penalty(),
    }
    return parts[name]


def choose(problem: LossPenalty) -> str:
    """The name of the fastest solver for a problem, as benchmarks/linear.py measures it."""
    if not problem.penalty.convex:
        return "successive"
    wide = problem.X.shape[1] > EXPLICIT
    if wide and isinstance(problem.loss, SquaredHinge) and problem.penalty.smooth and problem.penalty.l2 > 0:
        return "descent_newton"
    if problem.loss.smooth:
        return "newton" if problem.penalty.smooth else "proximal_coordinate"
    if problem.penalty.l2 == 0:
        return "linear_program"
    if not problem.penalty.smooth:
        return "augmented"
    return "dual_coordinate" if wide else "augmented"


def solve_primal(
    problem: LossPenalty,
    solver: str,
    *,
    tol: float,
    max_iter: int,
    random_state: RandomStateLike | None = None,
    callback: GapCallback | None = None,
    start: FloatArray | None = None,
    rows_per_column: int = ROWS_PER_COLUMN,
) -> tuple[Solution, Certificate]:
    """Solve and certify, from ``start`` if given; an error if the named solver cannot solve this problem.

    Newton's method starts from the solution on a sample with at least ``rows_per_column``.
    """
    check_choice("solver", solver, ("auto", *_MAKERS))
    name = choose(problem) if solver == "auto" else solver
    seed = int(check_random_state(random_state).randint(2**31 - 1)) if random_state is not None else 0
    chosen = _MAKERS[name](tol, max_iter, seed)
    if not chosen.can_solve(problem):
        raise ValueError(
            f"solver={name!r} cannot solve a {type(problem.loss).__name__} loss with {problem.penalty}: "
            "use solver='auto'."
        )
    # the tall products run on our threads; BLAS threads would compete
    with single_threaded_blas():
        # for the other solvers a sample of a hinge problem saves nothing
        if start is None and name == "newton":
            start = sample_start(problem, chosen, rows_per_column)
        solution: Solution = chosen.solve(problem, start=start, callback=callback)
        certificate = problem.certify(solution.x, solution.multipliers)
        if solver == "auto" and name == "augmented" and solution.status is Status.STALLED:
            return _better_without_penalty(problem, solution, certificate, tol)
        return solution, certificate


def _better_without_penalty(
    problem: LossPenalty, solution: Solution, certificate: Certificate, tol: float
) -> tuple[Solution, Certificate]:
    """The solution without the l2 part, a linear program, if it is closer to the optimum.

    The augmented Lagrangian stalls if the weights c are so large that the l2 part is lost in rounding.
    """
    scale = float(problem.c.max())
    program = LinearProgram(tol=tol, max_iter=_LONGEST_PROGRAM)
    alone = replace(problem, c=problem.c / scale, penalty=Penalty(l1=problem.penalty.l1 / scale))
    if np.prod(problem.X.shape) > _LARGEST_PROGRAM or not program.can_solve(alone):
        return solution, certificate
    found = program.solve(alone)
    found = replace(found, multipliers=scale * found.multipliers, n_iter=solution.n_iter + found.n_iter)
    other = problem.certify(found.x, found.multipliers)
    return (found, other) if other.gap < certificate.gap else (solution, certificate)
