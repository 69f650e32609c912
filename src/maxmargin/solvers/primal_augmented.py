"""The augmented Lagrangian method with semismooth Newton steps, for losses with corners."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from maxmargin._compute.row_terms import PSI_HINGE
from maxmargin.losses import Loss, ShiftedHinge
from maxmargin.problems.loss_penalty import LossPenalty
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.primal_newton import JittedTerms, NewtonState, PlainTerms, first_state, newton_step
from maxmargin.solvers.primal_proximal_coordinate import proximal_step
from maxmargin.typing import FloatArray


@dataclass(frozen=True)
class Envelope(PlainTerms):
    """A smooth lower bound of sum_i c_i L(y_i, f_i), exact where the slopes are ``v`` (per unit of c).

        psi_i(f) = c_i min over s of L(y_i, s) + v_i (f - s) + sigma/2 (f - s)^2

    Its slope is the next multiplier; its curvature is zero except on the rows near a corner of L.
    """

    loss: Loss
    y: FloatArray
    c: FloatArray
    v: FloatArray
    sigma: float

    @property
    def bias_floor(self) -> float:
        return float(self.c.mean())

    def _corner(self, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        shifted = f + self.v / self.sigma
        return shifted, self.loss.prox(shifted, self.y, 1.0 / self.sigma)

    def value(self, f: FloatArray) -> float:
        _, s = self._corner(f)
        r = f - s
        return float(self.c @ (self.loss.value(s, self.y) + r * (self.v + 0.5 * self.sigma * r)))

    def slope(self, f: FloatArray) -> FloatArray:
        shifted, s = self._corner(f)
        return self.c * self.sigma * (shifted - s)

    def curvature(self, f: FloatArray) -> FloatArray:
        shifted = f + self.v / self.sigma
        return self.c * self.sigma * (1.0 - self.loss.prox_slope(shifted, self.y, 1.0 / self.sigma))


@dataclass(frozen=True)
class HingeEnvelope(JittedTerms, Envelope):
    """As `Envelope`, in one jitted pass over the rows."""

    def _arguments(self) -> tuple[Any, ...]:
        return PSI_HINGE, float(self.loss.edge), float(self.sigma), self.v, self.y, self.c  # type: ignore[attr-defined]  # `envelope` gives hinges only


def envelope(problem: LossPenalty, v: FloatArray, sigma: float) -> Envelope:
    kind = HingeEnvelope if isinstance(problem.loss, ShiftedHinge) else Envelope
    return kind(problem.loss, problem.y, problem.c, v, sigma)


@dataclass(frozen=True, kw_only=True)
class AugmentedLagrangian:
    """min over w, b   sum_i c_i L(y_i, <w, x_i> + b) + l2/2 ||w||^2 + l1 ||w||_1   for hinge-like losses.

    Outer steps move the multipliers v and raise sigma; inner steps are Newton's (proximal Newton's with an
    l1 part) on the `Envelope`, whose
    Hessian only sees the rows near a corner. The intercept is free: its optimality condition sum u = 0 is
    one more row of the Newton system. Cost of an inner step: two products with X and p^2 times the rows near
    a corner. Reference: Yan & Li 2020 (semismooth Newton augmented Lagrangian for support vector machines).
    """

    tol: float = 1e-4
    max_iter: int = 500
    sigma: float = 0.5
    warm_sigma: float = 4.0
    growth: float = 4.0
    sharp: float = 8.0
    gentle: float = 1.4

    def can_solve(self, problem: LossPenalty) -> bool:
        return problem.penalty.convex and problem.penalty.l2 > 0

    def solve(
        self, problem: LossPenalty, *, start: FloatArray | None = None, callback: Any = None
    ) -> Solution:
        began = perf_counter()
        loss, y, c = problem.loss, problem.y, problem.c
        terms = envelope(problem, np.zeros(len(y)), self.sigma)
        state = first_state(problem, terms, start)
        if start is not None:
            terms = envelope(problem, loss.slope(state.f, y), self.warm_sigma)
        status, iteration = Status.MAX_ITER, 0
        gap = Gap(problem, terms.slope(state.f))
        while iteration < self.max_iter and status is Status.MAX_ITER:
            local = np.empty((2, len(y)))
            state.value = terms.model(state.f, local) + problem.penalty.value(state.theta[:-1])
            state.terms, state.local = terms, local
            iteration = self._inner(problem, terms, state, gap, iteration)
            if callback is not None:
                callback(iteration, gap.primal)
            if gap.relative <= self.tol:
                status = Status.CONVERGED
            v = np.divide(state.model(terms)[0], c, out=np.zeros_like(c), where=c > 0)
            terms = envelope(problem, v, self._next_sigma(terms))
        u = gap.u
        return Solution(
            x=state.theta, multipliers=u, status=status, n_iter=iteration, seconds=perf_counter() - began
        )

    def _inner(
        self, problem: LossPenalty, terms: Envelope, state: NewtonState, gap: Gap, iteration: int
    ) -> int:
        """Newton steps until they matter less than the gap does."""
        goal = min(0.02 * gap.relative, 3e-4)
        while iteration < self.max_iter:
            iteration += 1
            step = newton_step if problem.penalty.smooth else proximal_step
            moved = step(problem, terms, state)
            if not moved or state.decrement <= max(goal, 0.01 * self.tol) * abs(state.value):
                break
        gap.update(state)
        return iteration

    def _next_sigma(self, terms: Envelope) -> float:
        """Quickly up to ``sharp``; after that gently, because a sharp envelope needs many Newton steps."""
        return min(terms.sigma * (self.growth if terms.sigma < self.sharp else self.gentle), 1e6)


class Gap:
    """The best dual value seen, and how far the present primal value is above it."""

    def __init__(self, problem: LossPenalty, u: FloatArray) -> None:
        self.problem, self.u = problem, u
        self.dual, self.primal, self.relative = -np.inf, np.inf, np.inf

    def update(self, state: NewtonState) -> None:
        dual, u, _ = self.problem.dual_value(state.u)
        if dual > self.dual:
            self.dual, self.u = dual, u
        self.primal = self.problem.value(state.theta, state.f)
        self.relative = (self.primal - self.dual) / max(abs(self.dual), 1e-300)
