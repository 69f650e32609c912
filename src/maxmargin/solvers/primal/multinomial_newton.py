"""Newton's method for multinomial logistic regression, with rows in memory or in pieces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.base import work_clock
from maxmargin.base.typing import BoolArray, FloatArray
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.loss_penalty import Slopes, solved
from maxmargin.problems.multinomial import MemoryPoint, Multinomial, MultinomialPoint, MultinomialProblem
from maxmargin.problems.newton_system import EXPLICIT, solve_symmetric
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.primal.newton import conjugate_gradients
from maxmargin.solvers.stopping import GapCallback, stop_asked


@dataclass(frozen=True, kw_only=True)
class MultinomialNewton:
    """Newton with step halving on K (p + 1) unknowns: a pass of n K^2 p^2 over the rows for each step.

    With more than 1500 unknowns the step comes from conjugate gradients, for rows in memory only. With a
    penalty the intercepts are centred at the end.
    """

    tol: float = 1e-10
    max_iter: int = 100

    def solve(
        self, problem: MultinomialProblem, *, callback: GapCallback | None = None
    ) -> tuple[Solution, Certificate, MultinomialPoint]:
        """The solution, its certificate, and the objective at the solution."""
        began = work_clock.now()
        free = problem.free()
        explicit = int(free.sum()) <= EXPLICIT
        if not explicit and not isinstance(problem, Multinomial):
            raise ValueError(
                f"multiclass='multinomial' on data in pieces forms a matrix of {free.sum()} unknowns "
                f"({len(free)} classes, {free.shape[1] - 1} columns), and {EXPLICIT} is the most: "
                "use multiclass='ovr'."
            )
        theta = np.zeros(free.shape)
        at = problem.at(theta)
        status, slopes, certificate, iteration = Status.MAX_ITER, Slopes(theta, theta), None, 0
        for iteration in range(1, self.max_iter + 1):
            step = np.zeros_like(theta)
            step[free] = _direction(at, free, explicit)
            descent = float(at.gradient[free] @ step[free])
            slopes, certificate = Slopes(theta, step), None
            t, reached = _search(problem, theta, step, at.value, descent)
            if reached is None:
                status = Status.STALLED
                break
            small = -descent <= self.tol * abs(at.value)
            theta, at = theta + t * step, reached
            asked = stop_asked(callback, iteration, at.value)
            if t == 1.0 and small:
                certificate = problem.certify(theta, slopes)
                # slopes of an inexact step balance the columns only roughly
                if explicit or solved(certificate, self.tol):
                    status = Status.CONVERGED
                    break
            if asked:
                status = Status.INTERRUPTED
                break
        certificate = certificate or problem.certify(theta, slopes)
        if problem.l2 > 0:
            theta[:, -1] -= theta[:, -1].mean()
        solution = Solution(
            x=theta,
            multipliers=np.empty(0),  # as long as the data: they stay with the pieces
            status=status,
            n_iter=iteration,
            seconds=work_clock.now() - began,
        )
        return solution, certificate, at


def _search(
    problem: MultinomialProblem, theta: FloatArray, step: FloatArray, value: float, descent: float
) -> tuple[float, MultinomialPoint | None]:
    """The first of 1, 1/2, 1/4, ... that lowers the value enough, and the objective there."""
    t = 1.0
    while descent < 0 and t > 1e-9:
        at = problem.at(theta + t * step)
        if at.value <= value + 1e-4 * t * descent + 1e-15 * abs(value):
            return t, at
        t *= 0.5
    return 0.0, None


def _direction(at: MultinomialPoint, free: BoolArray, explicit: bool) -> FloatArray:
    """Newton's step of the free unknowns, from the Hessian or from products with it."""
    if explicit:
        return solve_symmetric(at.hessian_of(free), -at.gradient[free])
    assert isinstance(at, MemoryPoint)  # pieces were refused before the first step

    def product(x: FloatArray) -> FloatArray:
        v = np.zeros(free.shape)
        v[free] = x
        return np.asarray(at.product(v)[free])

    return conjugate_gradients(product, at.gradient[free])
