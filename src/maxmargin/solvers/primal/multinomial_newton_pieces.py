"""Newton's method for multinomial logistic regression on rows in pieces."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import Any

import numpy as np

from maxmargin.base.typing import FloatArray
from maxmargin.pieces.piece import Piece
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.loss_penalty_pieces import Slopes
from maxmargin.problems.multinomial_pieces import MultinomialPieces, MultinomialRows
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.primal.multinomial_newton import EXPLICIT_UNKNOWNS, free_unknowns, full_hessian
from maxmargin.solvers.primal.newton import solve_symmetric


@dataclass(frozen=True)
class MultinomialSums:
    """Sums over rows at theta, without the penalty; ``least`` is the smallest lead of a row's own class."""

    value: float
    gradient: FloatArray
    hessian: FloatArray
    least: float

    def __add__(self, other: MultinomialSums) -> MultinomialSums:
        return MultinomialSums(
            self.value + other.value,
            self.gradient + other.gradient,
            self.hessian + other.hessian,
            min(self.least, other.least),
        )


@dataclass(frozen=True, kw_only=True)
class MultinomialPiecesNewton:
    """Newton with halving on K (p + 1) unknowns, at most 1500: one pass of n K^2 p^2 for each step."""

    tol: float = 1e-10
    max_iter: int = 100

    def solve(
        self, problem: MultinomialPieces, *, callback: Any = None
    ) -> tuple[Solution, Certificate, MultinomialSums]:
        """The solution, its certificate, and the sums over rows at the answer."""
        began = perf_counter()
        K, p = len(problem.rows.classes), problem.n_features
        free = free_unknowns(K, p, problem.l2, problem.rows.fit_intercept)
        if free.sum() > EXPLICIT_UNKNOWNS:
            raise ValueError(
                f"multiclass='multinomial' on data in pieces forms a matrix of {free.sum()} unknowns "
                f"({K} classes, {p} columns), and {EXPLICIT_UNKNOWNS} is the most: use multiclass='ovr'."
            )
        flat, inside = free.ravel(), np.ix_(free.ravel(), free.ravel())
        ridge = np.diag(np.tile(np.append(np.full(p, problem.l2), 0.0), K))[inside]
        theta = np.zeros(free.shape)
        sums = self._sums(problem, theta)
        status, slopes, iteration = Status.MAX_ITER, Slopes(theta, theta), 0
        for iteration in range(1, self.max_iter + 1):
            gradient = sums.gradient.copy()
            gradient[:, :-1] += problem.l2 * theta[:, :-1]
            step = np.zeros_like(theta)
            step.ravel()[flat] = solve_symmetric(sums.hessian[inside] + ridge, -gradient[free])
            descent = float(gradient[free] @ step[free])
            slopes = Slopes(theta, step)
            value = _value(problem, theta, sums)
            t, reached = self._search(problem, theta, step, value, descent)
            if reached is None:
                status = Status.STALLED
                break
            theta, sums = theta + t * step, reached
            if callback is not None:
                callback(iteration, _value(problem, theta, sums))
            if t == 1.0 and -descent <= self.tol * abs(value):
                status = Status.CONVERGED
                break
        certificate = problem.certify(theta, slopes)
        if problem.l2 > 0:
            theta[:, -1] -= theta[:, -1].mean()
        solution = Solution(
            x=theta,
            multipliers=np.empty(0),  # one row of numbers per row of data: they stay with the data
            status=status,
            n_iter=iteration,
            seconds=perf_counter() - began,
        )
        return solution, certificate, sums

    def _sums(self, problem: MultinomialPieces, theta: FloatArray) -> MultinomialSums:
        sums: MultinomialSums = problem.pieces.map_reduce(_row_sums, problem.rows, theta)
        return sums

    def _search(
        self, problem: MultinomialPieces, theta: FloatArray, step: FloatArray, value: float, descent: float
    ) -> tuple[float, MultinomialSums | None]:
        """The first of 1, 1/2, 1/4, ... that lowers the value enough, and the sums there."""
        t = 1.0
        while descent < 0 and t > 1e-9:
            sums = self._sums(problem, theta + t * step)
            trial = _value(problem, theta + t * step, sums)
            if trial <= value + 1e-4 * t * descent + 1e-15 * abs(value):
                return t, sums
            t *= 0.5
        return 0.0, None


def _value(problem: MultinomialPieces, theta: FloatArray, sums: MultinomialSums) -> float:
    return sums.value + 0.5 * problem.l2 * float(np.sum(theta[:, :-1] ** 2))


def _row_sums(piece: Piece, rows: MultinomialRows, theta: FloatArray) -> MultinomialSums:
    problem = rows(piece)
    scores = problem.scores(theta)
    u = problem.slopes(scores)
    value = problem.value(theta, scores)
    own = scores[np.arange(len(scores)), problem.codes].copy()
    scores[np.arange(len(scores)), problem.codes] = -np.inf
    lead = (own - scores.max(axis=1))[problem.c > 0]
    return MultinomialSums(value, problem.adjoint(u), full_hessian(problem, u), float(lead.min(initial=inf)))
