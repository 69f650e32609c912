"""Newton's method on rows in pieces: one pass over the data for each step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from math import inf

import numpy as np

from maxmargin.base import work_clock
from maxmargin.base.typing import FloatArray
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.loss_penalty import RowSums, Slopes, solved, with_penalty
from maxmargin.problems.newton_system import EXPLICIT, solve_symmetric
from maxmargin.problems.rows_in_pieces import LossPenaltyPieces
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.primal.newton import conjugate_gradients
from maxmargin.solvers.stopping import GapCallback, stop_asked

_SHARE = 8  # the start is a solution on every eighth piece
_ROWS_PER_COLUMN = 10
_ROUGH_STEPS = 10
_LENGTHS = 2.0 ** np.arange(-12, 5)  # steps whose slopes one pass measures


@dataclass(frozen=True, kw_only=True)
class PiecesNewton:
    """min over w, b   sum_i c_i L(y_i, <w, x_i> + b) + l2/2 ||w||^2   for rows in pieces.

    The pass that forms gradient and Hessian after a full step also shows whether the step was good, so an
    iteration costs one pass, n p^2; a step that is too long costs two more. A solution on every eighth
    piece is the start. With more than 1500 columns the step comes from conjugate gradients, one pass of n p
    for each product. The solution does not depend on how the rows are cut, up to rounding.
    """

    tol: float = 1e-4
    max_iter: int = 100
    stop_separated: bool = False  # stop once the classes are separated: no maximum exists

    def solve(
        self,
        problem: LossPenaltyPieces,
        *,
        start: FloatArray | None = None,
        callback: GapCallback | None = None,
    ) -> tuple[Solution, Certificate, RowSums]:
        """The solution, its certificate, and the sums over rows there."""
        began = work_clock.now()
        status, certificate = Status.MAX_ITER, None
        steps = islice(newton_steps(problem, start), self.max_iter)
        for iteration, at in enumerate(steps, start=1):
            asked = stop_asked(callback, iteration, at.value)
            if self.stop_separated and at.sums.least > 0:
                status = Status.UNBOUNDED
                break
            certificate = None
            if asked:
                status = Status.INTERRUPTED
                break
            # the decrement is that of the last step: the gap after it is far smaller
            if at.moved and at.decrement > self.tol * abs(at.value):
                continue
            certificate = problem.certify(at.theta, at.slopes)
            if solved(certificate, self.tol):
                status = Status.CONVERGED
                break
            if not at.moved:
                status = Status.STALLED
                break
        solution = Solution(
            x=at.theta,
            multipliers=np.empty(0),  # one number per row: they stay with the pieces
            status=status,
            n_iter=iteration,
            seconds=work_clock.now() - began,
        )
        return solution, certificate or problem.certify(at.theta, at.slopes), at.sums


@dataclass(frozen=True)
class NewtonStep:
    """Result of a Newton step: the point, the sums over rows there, and the slopes that balance the step."""

    theta: FloatArray
    sums: RowSums
    value: float
    slopes: Slopes
    decrement: float
    moved: bool


def newton_steps(problem: LossPenaltyPieces, start: FloatArray | None) -> Iterator[NewtonStep]:
    """An endless iterator of Newton steps; the point stays once no decrease is possible."""
    theta = np.zeros(problem.n_features + 1) if start is None else start
    explicit = problem.n_features <= EXPLICIT
    sums = problem.sums(theta, hessian=explicit)
    value = _value(problem, theta, sums)
    while True:
        gradient = _gradient(problem, theta, sums)
        step = _direction(problem, theta, sums, gradient)
        descent = float(gradient @ step)
        slopes, moved = Slopes(theta, step), False
        if descent < 0:
            t, reached = _search(problem, theta, step, descent, explicit)
            trial = _value(problem, theta + t * step, reached)
            moved = trial <= value + 1e-14 * abs(value)
            if moved:
                theta, sums, value = theta + t * step, reached, trial
        yield NewtonStep(theta, sums, value, slopes, -0.5 * descent, moved)


def solve_pieces(
    problem: LossPenaltyPieces, solver: PiecesNewton, *, callback: GapCallback | None = None
) -> tuple[Solution, Certificate, RowSums]:
    """Solve on every eighth piece, to an accuracy that matches its size, then on all."""
    return solver.solve(problem, start=_start(problem, solver.tol), callback=callback)


def _start(problem: LossPenaltyPieces, tol: float) -> FloatArray | None:
    n, p = problem.n_rows // _SHARE, problem.n_features
    few = problem.pieces.some(_SHARE) if n >= max(2000, _ROWS_PER_COLUMN * p) else None
    if few is None:
        return None
    penalty = replace(problem.penalty, l2=problem.penalty.l2 / _SHARE)
    sample = replace(problem, pieces=few, n_rows=n, penalty=penalty)
    for at in islice(newton_steps(sample, None), _ROUGH_STEPS):
        if at.sums.least > 0:  # one class only, or separated rows: the sample is of no use
            return None
        if not at.moved or at.decrement <= max(tol, 0.3 * p / n) * abs(at.value):
            break
    return at.theta if np.isfinite(at.theta).all() else None


def _value(problem: LossPenaltyPieces, theta: FloatArray, sums: RowSums) -> float:
    return sums.value + problem.penalty.value(theta[:-1])


def _gradient(problem: LossPenaltyPieces, theta: FloatArray, sums: RowSums) -> FloatArray:
    gradient = sums.gradient.copy()
    gradient[:-1] += problem.penalty.l2 * theta[:-1]
    return gradient


def _direction(
    problem: LossPenaltyPieces, theta: FloatArray, sums: RowSums, gradient: FloatArray
) -> FloatArray:
    l2 = problem.penalty.l2
    if sums.hessian is None:

        def product(v: FloatArray) -> FloatArray:
            return problem.hessian_product(theta, v) + l2 * np.append(v[:-1], 0.0)

        return conjugate_gradients(product, gradient)
    return solve_symmetric(with_penalty(sums.hessian, l2, problem.fit_intercept), -gradient)


def _search(
    problem: LossPenaltyPieces, theta: FloatArray, step: FloatArray, descent: float, explicit: bool
) -> tuple[float, RowSums]:
    """A step length where the slope has fallen to a third of its size, and the sums at its end."""
    sums = problem.sums(theta + step, hessian=explicit)
    slope = float(_gradient(problem, theta + step, sums) @ step)
    if abs(slope) <= -descent / 3.0:
        return 1.0, sums
    l2, w, v = problem.penalty.l2, theta[:-1], step[:-1]
    lengths, low, high = _LENGTHS, 0.0, inf
    for _ in range(4):  # each pass divides the bracket by 16 or more
        slopes = problem.slopes_along(theta, step, lengths) + l2 * float(w @ v) + lengths * l2 * float(v @ v)
        good = np.flatnonzero(np.abs(slopes) <= -descent / 3.0)
        if len(good):
            # the one nearest to the full step: longer ones diverge if rows are separated
            low = float(lengths[good[np.argmin(np.abs(np.log(lengths[good])))]])
            break
        low = float(np.max(lengths[slopes < 0], initial=low))
        high = float(np.min(lengths[slopes > 0], initial=high))
        lengths = low * 2.0 ** np.arange(1, 17) if np.isinf(high) else np.linspace(low, high, 18)[1:-1]
    return low, problem.sums(theta + low * step, hessian=explicit)
