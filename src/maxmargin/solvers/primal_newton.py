"""Newton's method for smooth (or once smooth) losses with an l2 penalty or none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from scipy import linalg

from maxmargin._compute.design import Design
from maxmargin.losses import Loss
from maxmargin.problems.loss_penalty import LossPenalty
from maxmargin.problems.solution import Solution, Status
from maxmargin.typing import FloatArray

_EXPLICIT_COLUMNS = 1500  # up to here a p x p Hessian is formed and factored


class RowTerms(Protocol):
    """A separable smooth function of the scores f: sum_i psi_i(f_i).

    ``bias_floor`` is the least curvature that the intercept is given: where no row is curved its gradient
    need not vanish, and Newton's step would be infinite.
    """

    @property
    def bias_floor(self) -> float: ...
    def value(self, f: FloatArray) -> float: ...
    def slope(self, f: FloatArray) -> FloatArray: ...
    def curvature(self, f: FloatArray) -> FloatArray: ...


@dataclass(frozen=True)
class WeightedLoss:
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


@dataclass
class NewtonState:
    """Where Newton's method stands: the point, its scores, and slopes u that balance the last full step."""

    theta: FloatArray
    f: FloatArray
    value: float
    u: FloatArray
    decrement: float = np.inf


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
        None  # (problem, scores): give up, e.g. separated
    )

    def can_solve(self, problem: LossPenalty) -> bool:
        return problem.loss.smooth and problem.penalty.smooth

    def solve(
        self, problem: LossPenalty, *, start: FloatArray | None = None, callback: Any = None
    ) -> Solution:
        began = perf_counter()
        terms = WeightedLoss(problem.loss, problem.y, problem.c)
        state = first_state(problem, terms, start)
        status = Status.MAX_ITER
        iteration = 0
        for iteration in range(1, self.max_iter + 1):
            moved = newton_step(problem, terms, state)
            if callback is not None:
                callback(iteration, state.value)
            if self.stop is not None and self.stop(problem, state.f):
                status = Status.UNBOUNDED
                break
            if reached(problem, state, self.tol):
                status = Status.CONVERGED
                break
            if not moved:
                status = Status.STALLED
                break
        return Solution(
            x=state.theta,
            multipliers=state.u,
            status=status,
            n_iter=iteration,
            seconds=perf_counter() - began,
        )


def first_state(problem: LossPenalty, terms: RowTerms, start: FloatArray | None) -> NewtonState:
    theta = np.zeros(problem.X.shape[1] + 1) if start is None else np.array(start, dtype=np.float64)
    f = np.zeros(problem.X.shape[0]) if start is None else problem.scores(theta)
    value = terms.value(f) + problem.penalty.value(theta[:-1])
    return NewtonState(theta, f, value, terms.slope(f))


def reached(problem: LossPenalty, state: NewtonState, tol: float) -> bool:
    """Whether the duality gap at the linearised slopes is below ``tol`` relative to the dual value."""
    # the decrement is that of the step just made: where Newton converges quadratically the gap is far smaller
    if not state.decrement <= 100.0 * tol * abs(state.value):
        return False
    dual, _, adjoint = problem.dual_value(state.u)
    hidden = 0.0 if problem.penalty.l2 else float(np.abs(adjoint) @ np.abs(state.theta[:-1]))
    return max(state.value - dual, hidden) <= tol * abs(dual)


def newton_step(problem: LossPenalty, terms: RowTerms, state: NewtonState) -> bool:
    """One Newton step with line search, in place; False when no decrease was possible."""
    l2 = problem.penalty.l2
    slope, d = terms.slope(state.f), terms.curvature(state.f)
    explicit = problem.X.shape[1] <= _EXPLICIT_COLUMNS and problem.fit_intercept
    adjoints = problem.X.adjoint(np.stack([slope, d])) if explicit else problem.X.adjoint(slope)[None]
    gradient = np.append(adjoints[0] + l2 * state.theta[:-1], slope.sum() * problem.fit_intercept)
    floor = max(0.0, terms.bias_floor - float(d.sum()))
    direction = newton_direction(
        problem.X, d, l2, gradient, problem.fit_intercept, floor, adjoints[1] if explicit else None
    )
    along = problem.X.scores(direction[:-1]) + direction[-1]
    descent = float(gradient @ direction)
    state.decrement = -0.5 * descent
    state.u = slope + d * along
    if not descent < 0:
        return False
    w, v = state.theta[:-1], direction[:-1]
    line = Line(terms, state.f, along, l2 * float(w @ v), l2 * float(v @ v), descent)
    t = line.search()
    f = state.f + t * along
    theta = state.theta + t * direction
    value = terms.value(f) + problem.penalty.value(theta[:-1])
    if not value <= state.value + 1e-14 * abs(state.value):
        return False
    state.theta, state.f, state.value = theta, f, value
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

    def slope(self, t: float) -> float:
        rows = float(self.along @ self.terms.slope(self.f + t * self.along))
        return rows + self.linear + t * self.quadratic

    def search(self) -> float:
        """A step where the derivative has fallen to a third of its size; the full step where that will do.

        Losses with corners need this: halving until the value falls makes Newton's method creep or cycle.
        """
        low, low_slope, high, high_slope = 0.0, self.descent, np.inf, np.inf
        t = 1.0
        for _ in range(40):
            slope = self.slope(t)
            if abs(slope) <= -self.descent / 3.0:
                return t
            if slope < 0:
                low, low_slope = t, slope
            else:
                high, high_slope = t, slope
            if np.isinf(high):
                t = 2.0 * low
            else:  # the secant's root, kept off the ends of the bracket
                t = low + (high - low) * min(max(low_slope / (low_slope - high_slope), 0.1), 0.9)
        return low


def newton_direction(
    X: Design,
    d: FloatArray,
    l2: float,
    gradient: FloatArray,
    fit_intercept: bool,
    bias: float = 0.0,
    border: FloatArray | None = None,
) -> FloatArray:
    """Solve ([X 1]' diag(d) [X 1] + diag(l2, ..., l2, bias)) step = -gradient; ``border`` is X'd if known."""
    if X.shape[1] <= _EXPLICIT_COLUMNS:
        H = hessian(X, d, l2, fit_intercept, border)
        H[-1, -1] += bias
        return solve_symmetric(H, -gradient)
    return _conjugate_gradients(X, d, l2, gradient, fit_intercept, bias)


def hessian(
    X: Design, d: FloatArray, l2: float, fit_intercept: bool, border: FloatArray | None = None
) -> FloatArray:
    """The (p + 1) x (p + 1) Hessian; the intercept's row is that of the identity when there is none."""
    p = X.shape[1]
    H = np.zeros((p + 1, p + 1))
    H[:p, :p] = X.gram(d)
    H[np.arange(p), np.arange(p)] += l2
    if fit_intercept:
        H[p, :p] = H[:p, p] = X.adjoint(d) if border is None else border
        H[p, p] = d.sum()
    else:
        H[p, p] = 1.0
    return H


def solve_symmetric(H: FloatArray, right: FloatArray) -> FloatArray:
    """H^-1 right for a positive semidefinite H; the shortest solution where H is singular."""
    scale = np.sqrt(np.maximum(np.diag(H), 1e-300))
    scaled = H / scale / scale[:, None]
    try:
        factor = linalg.cho_factor(scaled, lower=True, check_finite=False)
        if np.min(np.diag(factor[0])) > 1e-7:
            step: FloatArray = linalg.cho_solve(factor, right / scale, check_finite=False) / scale
            return step
    except linalg.LinAlgError:
        pass
    values, vectors = linalg.eigh(scaled, check_finite=False)
    kept = values > 1e-12 * max(values[-1], 1e-300)
    inside = vectors[:, kept]
    return np.asarray(inside @ ((inside.T @ (right / scale)) / values[kept]) / scale)


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
