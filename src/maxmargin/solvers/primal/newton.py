"""Newton's method for losses with a continuous derivative and an l2 penalty or none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from maxmargin.base import work_clock
from maxmargin.base.typing import FloatArray
from maxmargin.compute.primal.bracket import is_flat, narrower, next_trial
from maxmargin.compute.primal.dense_newton import (
    MOVED,
    SINGULAR,
    DenseObjective,
    DensePoint,
    dense_point,
    newton_steps_dense,
)
from maxmargin.compute.tables.design import Design, small_and_dense
from maxmargin.compute.tables.row_terms import PSI_LOGISTIC, PSI_SQUARED, Psi, psi_at
from maxmargin.problems.loss_penalty import LossPenalty, closed
from maxmargin.problems.losses import Logistic, Loss, SquaredHinge
from maxmargin.problems.newton_system import EXPLICIT, hessian, solve_symmetric
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.stopping import GapCallback, stop_asked

_PATIENCE = 50  # steps after which the value must have decreased by a thousandth


class RowTerms(Protocol):
    """A separable smooth function of the scores f: sum_i psi_i(f_i).

    ``model`` fills slopes and curvatures of shape (2, n_samples) and returns the value; ``derivative`` is
    that of the sum at f + t along. ``bias_floor`` is the minimum curvature of the intercept: if no row
    has curvature its gradient need not vanish, and Newton's step would be infinite.
    """

    @property
    def bias_floor(self) -> float: ...
    def value(self, f: FloatArray) -> float: ...
    def slope(self, f: FloatArray) -> FloatArray: ...
    def curvature(self, f: FloatArray) -> FloatArray: ...
    def model(self, f: FloatArray, out: FloatArray) -> float: ...
    def derivative(self, f: FloatArray, along: FloatArray, t: float) -> float: ...


class PlainTerms:
    """``model`` and ``derivative`` from the other three, for losses without a jitted pass."""

    def model(self: Any, f: FloatArray, out: FloatArray) -> float:
        out[0], out[1] = self.slope(f), self.curvature(f)
        return float(self.value(f))

    def derivative(self: Any, f: FloatArray, along: FloatArray, t: float) -> float:
        return float(along @ self.slope(f + t * along))


class JittedTerms:
    """``model`` and ``derivative`` in one jitted pass over the rows; ``psi`` is the function."""

    @property
    def psi(self) -> Psi:
        raise NotImplementedError  # implemented by subclasses

    def model(self, f: FloatArray, out: FloatArray) -> float:
        return float(psi_at(self.psi, f, out))

    def derivative(self, f: FloatArray, along: FloatArray, t: float) -> float:
        out = np.empty((2, len(f)))
        psi_at(self.psi, f + t * along, out)
        return float(along @ out[0])


@dataclass(frozen=True)
class WeightedLoss(PlainTerms):
    """sum_i c_i L(y_i, f_i)."""

    loss: Loss
    y: FloatArray
    c: FloatArray
    bias_floor: float = 0.0

    def value(self, f: FloatArray) -> float:
        return float(self.c @ self.loss.value(f, self.y))

    def slope(self, f: FloatArray) -> FloatArray:
        return self.c * self.loss.slope(f, self.y)

    def curvature(self, f: FloatArray) -> FloatArray:
        return self.c * self.loss.curvature(f, self.y)


@dataclass(frozen=True)
class JittedLoss(JittedTerms, WeightedLoss):
    """As `WeightedLoss`, for the losses that `maxmargin.compute.tables.row_terms` knows."""

    @property
    def psi(self) -> Psi:
        kind = PSI_SQUARED if type(self.loss) is SquaredHinge else PSI_LOGISTIC
        return Psi(kind, self.y, self.c, edge=1.0, sigma=1.0, v=self.y)


def weighted_loss(problem: LossPenalty) -> WeightedLoss:
    jitted = type(problem.loss) in (SquaredHinge, Logistic)
    return (JittedLoss if jitted else WeightedLoss)(problem.loss, problem.y, problem.c)


class ChangingGram:
    """X' diag(d) X for weights d that change in few rows from one call to the next.

    Losses with corners only switch rows on and off, so the rows that changed are added or subtracted.
    """

    def __init__(self) -> None:
        self._pattern: FloatArray | None = None
        self._gram: FloatArray = np.empty(0)

    def of(self, X: Design, d: FloatArray) -> FloatArray:
        scale = float(d.max(initial=0.0))
        if scale == 0.0:
            return np.zeros((X.shape[1], X.shape[1]))
        pattern = d / scale
        if self._pattern is not None:
            change = pattern - self._pattern
            changed = np.abs(change) > 1e-12
            if 2 * np.count_nonzero(changed) < np.count_nonzero(d):
                self._gram = self._gram + X.gram(np.where(changed, change, 0.0))
                self._pattern = np.where(changed, pattern, self._pattern)
                return scale * self._gram
        self._pattern, self._gram = pattern, X.gram(pattern)
        return scale * self._gram


@dataclass
class NewtonState:
    """State of Newton's method: the point, its scores, and slopes u that balance the last full step.

    ``local`` are slopes and curvatures of ``terms`` at f, if they are known.
    """

    theta: FloatArray
    f: FloatArray
    value: float
    u: FloatArray
    decrement: float = np.inf
    terms: Any = None
    local: FloatArray | None = None
    gram: ChangingGram = field(default_factory=ChangingGram)
    point: DensePoint | None = None  # of the compiled steps

    def model(self, terms: RowTerms) -> FloatArray:
        """Slopes and curvatures at f, of shape (2, n_samples)."""
        if self.local is None or self.terms is not terms:
            self.terms, self.local = terms, np.empty((2, len(self.f)))
            terms.model(self.f, self.local)
        return self.local


@dataclass(frozen=True, kw_only=True)
class Newton:
    """min over w, b   sum_i c_i L(y_i, <w, x_i> + b) + l2/2 ||w||^2   by Newton's method with line search.

    The Hessian is formed with BLAS from the rows of non-zero curvature while p <= 1500 (cost n p^2 per
    iteration), and used through products in conjugate gradients above (cost n p per product).
    The multipliers returned are the losses' slopes linearised over the last step: they satisfy
    X'u + l2 w = 0 and sum u = 0 up to rounding, which makes the duality gap as small as the error of w.

    References: Keerthi & DeCoste 2005 (squared hinge); Lin, Weng & Keerthi 2008 (logistic).
    """

    tol: float = 1e-4
    max_iter: int = 100
    stop: Callable[[LossPenalty, FloatArray], bool] | None = (
        None  # (problem, scores): True to give up, for example if the classes are separated
    )

    def can_solve(self, problem: LossPenalty) -> bool:
        return problem.loss.smooth and problem.penalty.smooth

    def solve(
        self, problem: LossPenalty, *, start: FloatArray | None = None, callback: GapCallback | None = None
    ) -> Solution:
        began = work_clock.now()
        terms = weighted_loss(problem)
        state = first_state(problem, terms, start)
        status = Status.MAX_ITER
        iteration, earlier = 0, np.inf
        for iteration in range(1, self.max_iter + 1):
            before = state.value
            moved = newton_step(problem, terms, state)
            if iteration % _PATIENCE == 0:
                moved &= state.value < 0.999 * earlier
                earlier = state.value
            asked = stop_asked(callback, iteration, state.value)
            if self.stop is not None and self.stop(problem, state.f):
                status = Status.UNBOUNDED
                break
            if reached(problem, state, before, self.tol):
                status = Status.CONVERGED
                break
            if asked or not moved:
                status = Status.INTERRUPTED if asked else Status.STALLED
                break
        return Solution(
            x=state.theta,
            multipliers=state.u,
            status=status,
            n_iter=iteration,
            seconds=work_clock.now() - began,
        )


def first_state(problem: LossPenalty, terms: RowTerms, start: FloatArray | None) -> NewtonState:
    theta = np.zeros(problem.X.shape[1] + 1) if start is None else np.array(start, dtype=np.float64)
    f = np.zeros(problem.X.shape[0]) if start is None else problem.scores(theta)
    value = terms.value(f) + problem.penalty.value(theta[:-1])
    return NewtonState(theta, f, value, terms.slope(f))


def reached(problem: LossPenalty, state: NewtonState, before: float, tol: float) -> bool:
    """True if the duality gap at the linearised slopes is below ``tol`` relative to the dual value.

    ``before`` is the value before the step. The dual value costs a product with X, so it is only computed
    after a small step (with quadratic convergence the gap is then far smaller) that agrees with its quadratic
    model; otherwise the gap is about as large as the decrease.
    """
    size, surprise = state.decrement, abs(before - state.value - state.decrement)
    if not (size <= 100.0 * tol * abs(state.value) and surprise <= 2.0 * tol * abs(state.value)):
        return False
    dual, _, _ = problem.dual_value(state.u)
    return closed(state.value - dual, dual, tol, problem.rounding)


def _compiled_steps(
    problem: LossPenalty, terms: Any, state: NewtonState, goal: float, most: int
) -> tuple[int, int]:
    """Steps in one compiled function: how the last one ended, and their number.

    After `SINGULAR` the state is that before the failed step.
    """
    if state.local is None or state.terms is not terms:
        state.terms, state.local = terms, np.empty((2, len(state.f)))
        # in NumPy: a compiled function would have to be compiled for this one use
        state.local[0], state.local[1] = terms.slope(state.f), terms.curvature(state.f)
    point = state.point or dense_point(state.theta, state.f)
    if point.local is not state.local:
        slope = state.local[0]
        point.gradient[:-1], point.gradient[-1] = problem.X.adjoint(slope), slope.sum()
    state.u = np.empty(len(state.f))
    state.point = point = DensePoint(state.theta, state.f, state.local, state.u, *point[4:])
    objective = DenseObjective(
        problem.X.X, terms.psi, problem.penalty.l2, terms.bias_floor, problem.fit_intercept
    )
    outcome, done, value, decrement = newton_steps_dense(objective, point, state.value, goal, most)
    if done:
        state.value, state.decrement = value, decrement
    return outcome, done


def newton_steps(problem: LossPenalty, terms: RowTerms, state: NewtonState, goal: float, most: int) -> int:
    """As `repeated`, of `newton_step`."""
    done = 0
    if _compiles(problem, terms):
        outcome, done = _compiled_steps(problem, terms, state, goal, most)
        if outcome != SINGULAR:
            return done
    return done + repeated(newton_step, problem, terms, state, goal, most - done)


def repeated(
    step: Callable[[LossPenalty, Any, NewtonState], bool],
    problem: LossPenalty,
    terms: RowTerms,
    state: NewtonState,
    goal: float,
    most: int,
) -> int:
    """Steps until their decrement is at most ``goal`` times the value, or nothing moves; and their number."""
    for done in range(1, most + 1):
        if not step(problem, terms, state) or state.decrement <= goal * abs(state.value):
            return done
    return most


def _compiles(problem: LossPenalty, terms: RowTerms) -> bool:
    return isinstance(terms, JittedTerms) and small_and_dense(problem.X)


def newton_step(problem: LossPenalty, terms: RowTerms, state: NewtonState) -> bool:
    """One Newton step with line search, in place; False when no decrease was possible."""
    if _compiles(problem, terms):
        outcome, _ = _compiled_steps(problem, terms, state, 0.0, 1)
        if outcome != SINGULAR:
            return outcome == MOVED
    l2 = problem.penalty.l2
    local = state.model(terms)
    slope, d = local
    explicit = problem.X.shape[1] <= EXPLICIT and problem.fit_intercept
    adjoints = problem.X.adjoint(local) if explicit else problem.X.adjoint(slope)[None]
    gradient = np.append(adjoints[0] + l2 * state.theta[:-1], slope.sum() * problem.fit_intercept)
    floor = max(0.0, terms.bias_floor - float(d.sum()))
    border = adjoints[1] if explicit else None
    small = problem.X.shape[1] <= EXPLICIT
    gram = state.gram.of(problem.X, d) if small else None
    direction = newton_direction(problem.X, d, l2, gradient, problem.fit_intercept, floor, border, gram)
    along = problem.X.scores(direction[:-1])
    along += direction[-1]
    descent = float(gradient @ direction)
    state.decrement = -0.5 * descent
    state.u = slope + d * along
    if not descent < 0:
        return False
    w, v = state.theta[:-1], direction[:-1]
    line = Line(terms, state.f, along, l2 * float(w @ v), l2 * float(v @ v), descent)
    t, f, value, local = line.search(np.empty_like(local))
    theta = state.theta + t * direction
    value += problem.penalty.value(theta[:-1])
    if not value <= state.value + 1e-14 * abs(state.value):
        return False
    state.theta, state.f, state.value, state.local = theta, f, value, local
    return True


@dataclass(frozen=True)
class Line:
    """The objective along a direction: convex, with derivative ``slope(t)``, ``descent`` < 0 at 0."""

    terms: RowTerms
    f: FloatArray
    along: FloatArray
    linear: float
    quadratic: float
    descent: float

    def search(self, local: FloatArray) -> tuple[float, FloatArray, float, FloatArray]:
        """A step, the scores, the sum over rows and its slopes and curvatures (filled into ``local``) there.

        The full step is tried first: if it is good enough, one pass over the rows suffices.
        """
        f = self.f + self.along
        value = self.terms.model(f, local)
        slope = float(self.along @ local[0]) + self.penalty_slope(1.0)
        if is_flat(slope, self.descent):
            return 1.0, f, value, local
        t = self._flat_step(slope)
        f = self.f + t * self.along
        return t, f, self.terms.model(f, local), local

    def slope(self, t: float) -> float:
        return self.terms.derivative(self.f, self.along, t) + self.penalty_slope(t)

    def penalty_slope(self, t: float) -> float:
        return self.linear + t * self.quadratic

    def _flat_step(self, slope: float) -> float:
        """A step where the derivative is flat; ``slope`` is that at 1.

        Losses with corners need this: step halving makes Newton's method very slow, or cycle.
        """
        low, low_slope, high, high_slope, last = 0.0, self.descent, np.inf, np.inf, 0
        t = 1.0
        for _ in range(40):
            if is_flat(slope, self.descent):
                return t
            low, low_slope, high, high_slope, last = narrower(
                t, slope, low, low_slope, high, high_slope, last
            )
            t = next_trial(low, low_slope, high, high_slope)
            slope = self.slope(t)
        return low


def newton_direction(
    X: Design,
    d: FloatArray,
    l2: float,
    gradient: FloatArray,
    fit_intercept: bool,
    bias: float = 0.0,
    border: FloatArray | None = None,
    gram: FloatArray | None = None,
) -> FloatArray:
    """Solve ([X 1]' diag(d) [X 1] + diag(l2, ..., l2, bias)) step = -gradient.

    ``border`` is X'd and ``gram`` X' diag(d) X, if they are known.
    """
    if X.shape[1] <= EXPLICIT:
        H = hessian(X, d, l2, fit_intercept, border, gram)
        H[-1, -1] += bias
        return solve_symmetric(H, -gradient)
    return _conjugate_gradients(X, d, l2, gradient, fit_intercept, bias)


def _conjugate_gradients(
    X: Design, d: FloatArray, l2: float, gradient: FloatArray, fit_intercept: bool, bias: float
) -> FloatArray:
    def product(v: FloatArray) -> FloatArray:
        rows, last = X.hessian_product(d, v[:-1], v[-1])
        return np.append(rows + l2 * v[:-1], (last + bias * v[-1]) * fit_intercept)

    return conjugate_gradients(product, gradient)


def conjugate_gradients(product: Callable[[FloatArray], FloatArray], gradient: FloatArray) -> FloatArray:
    """The Newton step by conjugate gradients, to a tenth of the gradient's length (or its square root)."""
    step = np.zeros_like(gradient)
    residual = -gradient
    search = residual.copy()
    size = float(residual @ residual)
    limit = min(0.1, np.sqrt(np.sqrt(size))) ** 2 * size
    for _ in range(250):
        if size <= limit:
            break
        image = product(search)
        curvature = float(search @ image)
        if curvature <= 0:
            break
        t = size / curvature
        step += t * search
        residual = residual - t * image
        previous, size = size, float(residual @ residual)
        search = residual + (size / previous) * search
    return step if step.any() else -gradient
