"""Proximal Newton with working sets of columns."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from maxmargin.base import work_clock
from maxmargin.base.threads import portions
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.primal.proximal_descent import proximal_descent
from maxmargin.problems.loss_penalty import LossPenalty, closed
from maxmargin.problems.newton_system import hessian, solve_symmetric
from maxmargin.problems.penalties import Penalty
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.primal.newton import Line, NewtonState, RowTerms, first_state, weighted_loss
from maxmargin.solvers.stopping import GapCallback, stop_asked

_ROUNDS = 10  # of guesses at the signs of a model's minimiser
_PASSES = 1000  # of descent over the columns of a model
_AT_ONCE = 1 << 27  # elements of its matrix that one compiled call visits


def _minimiser(
    H: FloatArray, g: FloatArray, w: FloatArray, l1: FloatArray, l2: float, rough: float
) -> FloatArray:
    """The minimiser of the model of `proximal_descent`: descent finds the signs, linear algebra the rest.

    Columns with a wrong sign become zero, zeros that should move get a sign, and the system of the others is
    solved again. If a guess comes back, or after too many of them, coordinate descent takes over.
    """
    z, gradient = w.copy(), g.copy()
    _descend(H, gradient, l1, l2, z, rough)
    signs = np.sign(z)
    right = H @ w - g
    tried: set[bytes] = set()
    while (guess := signs.tobytes()) not in tried and len(tried) < _ROUNDS:
        tried.add(guess)
        live = (signs != 0) | (l1 == 0)
        exact = np.zeros_like(z)
        system = H[np.ix_(live, live)]
        system[np.diag_indices_from(system)] += l2
        if live.any():
            exact[live] = solve_symmetric(system, (right - l1 * signs)[live])
        wrong = (l1 > 0) & (exact * signs < 0)
        pull = right - H @ exact
        late = ~live & (np.abs(pull) > l1 * (1.0 + 1e-9) + 1e-14 * np.abs(right))
        if not wrong.any() and not late.any():
            return exact
        signs = np.where(wrong, 0.0, np.where(late, np.sign(pull), signs))
    _descend(H, gradient, l1, l2, z, 1e-15 * rough)
    return z


def _descend(
    H: FloatArray, gradient: FloatArray, l1: FloatArray, l2: float, z: FloatArray, tol: float
) -> None:
    """Passes of `proximal_descent` until one changes little, as many in a call as take 0.1 s at most."""
    for some in portions(slice(0, _PASSES), _AT_ONCE // H.size):
        if proximal_descent(H, gradient, l1, l2, z, tol, some.stop - some.start):
            break


@dataclass(frozen=True, kw_only=True)
class ProximalCoordinateDescent:
    """min over w, b   sum_i c_i L(y_i, <w, x_i> + b) + l2/2 ||w||^2 + sum_j l1_j |w_j|   for smooth losses.

    Proximal Newton (Yuan, Ho & Lin 2012): on a working set of columns (the non-zero ones and the worst
    violators, Johnson & Guestrin 2015) coordinate descent on the Gram matrix finds the signs of the model's
    minimiser and a linear system its values, then a line search. Cost of a step: n q^2 + q^3 for q columns in
    the set, and one product with X.
    """

    tol: float = 1e-4
    max_iter: int = 500
    settled: float = 0.0  # stop if five steps lower the objective by less than this share

    def can_solve(self, problem: LossPenalty) -> bool:
        return problem.loss.smooth and problem.penalty.convex

    def solve(
        self, problem: LossPenalty, *, start: FloatArray | None = None, callback: GapCallback | None = None
    ) -> Solution:
        began = work_clock.now()
        terms = weighted_loss(problem)
        state = first_state(problem, terms, start)
        status, iteration, gap, values = Status.MAX_ITER, 0, inf, [state.value]
        for iteration in range(1, self.max_iter + 1):
            moved = proximal_step(problem, terms, state)
            asked = stop_asked(callback, iteration, state.value)
            state.u = terms.slope(state.f)
            values.append(state.value)
            if len(values) > 5 and values[-6] - values[-1] < self.settled * abs(values[-1]):
                status = Status.STALLED
                break
            if closed(state.decrement, state.value, self.tol, problem.rounding) or not moved:
                dual, _, _ = problem.dual_value(state.u)
                before, gap = gap, state.value - dual
                if closed(gap, dual, self.tol, problem.rounding):
                    status = Status.CONVERGED
                    break
                rounding = state.decrement <= max(1e-6 * self.tol, 1e-11) * abs(state.value)
                if not moved or (rounding and gap > 0.5 * before):
                    status = Status.STALLED
                    break
            if asked:
                status = Status.INTERRUPTED
                break
        return Solution(
            x=state.theta,
            multipliers=state.u,
            status=status,
            n_iter=iteration,
            seconds=work_clock.now() - began,
        )


def proximal_step(problem: LossPenalty, terms: RowTerms, state: NewtonState) -> bool:
    """One proximal Newton step with line search, in place; False when no decrease was possible."""
    penalty = problem.penalty
    p = problem.X.shape[1]
    slope, d = state.model(terms)
    gradient = problem.X.adjoint(slope)
    w = state.theta[:-1]
    chosen = _working_set(penalty, w, gradient)
    columns = problem.X.columns(chosen) if len(chosen) < p else problem.X
    H = hessian(columns, d, 0.0, problem.fit_intercept)
    H[-1, -1] += max(1e-20, terms.bias_floor - float(d.sum()))
    g = np.append(gradient[chosen], slope.sum() * problem.fit_intercept)
    # the model at the best b for each w: b absorbs the means of the columns
    ratio = H[:-1, -1] / H[-1, -1]
    reduced = H[:-1, :-1] - np.multiply.outer(ratio, H[:-1, -1])
    # columns may depend on each other; the second term is the rounding error
    reduced[np.diag_indices_from(reduced)] += 1e-10 * np.diag(reduced) + 1e-14 * np.diag(H)[:-1] + 1e-20
    l1 = np.broadcast_to(penalty.l1, p)[chosen]
    rough = 1e-3 * max(min(state.decrement, abs(state.value)), 1e-16)
    step = np.zeros(len(chosen) + 1)
    step[:-1] = _minimiser(reduced, g[:-1] - g[-1] * ratio, w[chosen], l1, penalty.l2, rough) - w[chosen]
    if problem.fit_intercept:
        step[-1] = -g[-1] / H[-1, -1] - float(ratio @ step[:-1])
    direction = np.zeros(p + 1)
    direction[chosen], direction[-1] = step[:-1], step[-1]
    along = columns.scores(step[:-1]) + step[-1]
    state.u = slope + d * along
    change = penalty.value(w + direction[:-1]) - penalty.value(w)
    state.decrement = -(float(g @ step) + change)
    v = direction[:-1]
    linear, quadratic = penalty.l2 * float(w @ v), penalty.l2 * float(v @ v)
    weights = np.broadcast_to(penalty.l1, p)
    descent = float(g @ step) + linear + float(weights @ np.where(w == 0, np.abs(v), np.sign(w) * v))
    if not descent < 0:
        return False
    line = _KinkedLine(terms, state.f, along, linear, quadratic, descent, w, v, weights)
    t, f, value, local = line.search(np.empty((2, len(along))))
    theta = state.theta + t * direction
    value += penalty.value(theta[:-1])
    if not value <= state.value + 1e-14 * abs(state.value):
        return False
    state.theta, state.f, state.value, state.terms, state.local = theta, f, value, terms, local
    return True


@dataclass(frozen=True)
class _KinkedLine(Line):
    """As `Line`, with sum_j l1_j |w_j + t v_j| in the objective."""

    w: FloatArray
    v: FloatArray
    l1: FloatArray

    def penalty_slope(self, t: float) -> float:
        return super().penalty_slope(t) + float((self.l1 * self.v) @ np.sign(self.w + t * self.v))


def _working_set(penalty: Penalty, w: FloatArray, gradient: FloatArray) -> IntArray:
    """The non-zero columns and as many of the worst violators (at least 100); all columns when few."""
    if len(w) <= 400:
        return np.arange(len(w))
    violation = np.abs(penalty.stationarity(w, gradient))
    kept = np.flatnonzero(w)
    more = max(100, len(kept))
    worst = np.argpartition(-violation, min(more, len(w) - 1))[:more]
    worst = worst[violation[worst] > 0]
    return np.union1d(kept, worst)
