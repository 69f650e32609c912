"""Successive linearisation of the concave l0 penalty."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from maxmargin.base.typing import FloatArray
from maxmargin.problems.loss_penalty import LossPenalty
from maxmargin.problems.penalties import Penalty
from maxmargin.problems.solution import Solution, Status

_SHARES = (0.3, 0.2, 0.14, 0.1, 0.07, 0.05, 0.03)  # of the tangent at zero; neighbours can end far apart
Solve = Callable[[LossPenalty, FloatArray | None], Solution]


@dataclass(frozen=True)
class Descent:
    """One descent: the objective by iteration and the answer."""

    objectives: list[float]
    solution: Solution
    converged: bool


@dataclass(frozen=True, kw_only=True)
class SuccessiveLinearisation:
    """min over w, b   sum_i c_i L + l2/2 ||w||^2 + l1 ||w||_1 + l0 sum_j (1 - exp(-alpha |w_j|)).

    The concave part is replaced by its tangent at the present w, which gives a convex problem with a weighted
    l1 norm (a linear program for the hinge without l2: Bradley & Mangasarian 1998, algorithm 2.1; a
    difference-of-convex step otherwise: Neumann, Schnoerr & Steidl 2005). The objective falls at every step
    and the limit is a stationary point.

    A stationary point depends on the start. Several are tried: zero (the l1 solution), solutions with lighter
    tangents, and ``n_random`` random ones; the best is then improved by taking its
    columns out one at a time while that helps. The trace has the objectives of every descent.

    ``max_iter`` and ``n_iter`` count the convex problems of all descents, of which one has ``longest`` at
    most.
    """

    solve_convex: Solve
    tol: float = 1e-4
    max_iter: int = 2000
    longest: int = 50
    n_random: int = 4
    random_state: int = 0

    def can_solve(self, problem: LossPenalty) -> bool:
        return not problem.penalty.convex

    def solve(
        self, problem: LossPenalty, *, start: FloatArray | None = None, callback: Any = None
    ) -> Solution:
        began = perf_counter()
        runs: list[Descent] = []
        for w in self._starts(problem, start):
            if not (left := self._left(runs)):
                break
            runs.append(self.descend(problem, w, left))
            if callback is not None:
                callback(len(runs), min(run.objectives[-1] for run in runs))
        best = min(runs, key=lambda run: run.objectives[-1])
        best = self._without_columns(problem, best, runs)
        return Solution(
            x=best.solution.x,
            multipliers=best.solution.multipliers,
            status=Status.CONVERGED if best.converged else Status.MAX_ITER,
            n_iter=sum(len(run.objectives) for run in runs),
            seconds=perf_counter() - began,
            trace=[run.objectives for run in runs],
        )

    def _left(self, runs: list[Descent]) -> int:
        return self.max_iter - sum(len(run.objectives) for run in runs)

    def descend(self, problem: LossPenalty, w: FloatArray, left: int) -> Descent:
        """The successive linearisation algorithm from the weights w, with ``left`` steps at most."""
        objectives: list[float] = []
        theta: FloatArray | None = None
        tangent = problem.penalty.linearised(w)
        for _ in range(min(left, self.longest)):
            solution = self._tangent_problem(problem, tangent, theta)
            theta = solution.x
            objectives.append(problem.value(theta))
            before, w = w, theta[:-1]
            touched, tangent = tangent, problem.penalty.linearised(w)
            # what the tangent turned is what the first-order condition still lacks
            moved = np.max(np.maximum(np.abs(w - before), np.abs(tangent - touched)), initial=0.0)
            if moved <= 0.1 * self.tol:
                return Descent(objectives, solution, True)
        return Descent(objectives, solution, False)

    def _tangent_problem(
        self, problem: LossPenalty, weights: FloatArray, theta: FloatArray | None
    ) -> Solution:
        tangent = Penalty(l2=problem.penalty.l2, l1=weights)
        return self.solve_convex(replace(problem, penalty=tangent), theta)

    def _starts(self, problem: LossPenalty, start: FloatArray | None) -> Iterator[FloatArray]:
        p = problem.X.shape[1]
        if start is not None:
            yield start[:-1]
            return
        yield np.zeros(p)
        full = problem.penalty.linearised(np.zeros(p))
        for share in _SHARES:
            yield self._tangent_problem(problem, share * full, None).x[:-1]
        rng = np.random.default_rng(self.random_state)
        for _ in range(self.n_random):
            yield rng.exponential(1.0 / problem.penalty.alpha, size=p)

    def _without_columns(self, problem: LossPenalty, best: Descent, runs: list[Descent]) -> Descent:
        """Restart without each of the columns in use, weakest first, while the objective falls."""
        for _ in range(20):
            w = best.solution.x[:-1]
            used = np.flatnonzero(w)
            used = used[np.argsort(np.abs(w[used]))][:5]
            better = None
            for j in used:
                trial = w.copy()
                trial[j] = 0.0
                if not (left := self._left(runs)):
                    return best
                run = self.descend(problem, trial, left)
                runs.append(run)
                if run.objectives[-1] < best.objectives[-1] - 1e-9 * abs(best.objectives[-1]):
                    better = run
                    break
            if better is None:
                return best
            best = better
        return best
