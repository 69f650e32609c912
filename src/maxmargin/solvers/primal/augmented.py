"""The augmented Lagrangian method with semismooth Newton steps, for losses with corners."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from maxmargin.base import work_clock
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.tables.row_terms import PSI_HINGE, Psi
from maxmargin.problems.loss_penalty import LossPenalty
from maxmargin.problems.losses import Loss, ShiftedHinge
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.primal.newton import (
    JittedTerms,
    NewtonState,
    PlainTerms,
    first_state,
    newton_steps,
    repeated,
)
from maxmargin.solvers.primal.proximal_coordinate import proximal_step
from maxmargin.solvers.stopping import GapCallback, stop_asked

_ROUGH = 0.1  # relative gap at which the relevant rows are known
_NEAR = 0.3  # distance from a corner, in units of the score
_PATIENCE = 20  # outer steps without a smaller gap: sigma has then gone through its range
_ROUNDING = 1e-16  # a Newton decrement below this share of the value is rounding


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

    loss: ShiftedHinge

    @property
    def psi(self) -> Psi:
        return Psi(PSI_HINGE, self.y, self.c, float(self.loss.edge), float(self.sigma), self.v)


def envelope(problem: LossPenalty, v: FloatArray, sigma: float) -> Envelope:
    if isinstance(problem.loss, ShiftedHinge):
        return HingeEnvelope(problem.loss, problem.y, problem.c, v, sigma)
    return Envelope(problem.loss, problem.y, problem.c, v, sigma)


@dataclass(frozen=True, kw_only=True)
class AugmentedLagrangian:
    """min over w, b   sum_i c_i L(y_i, <w, x_i> + b) + l2/2 ||w||^2 + l1 ||w||_1   for hinge-like losses.

    Outer steps move the multipliers v and raise sigma; inner steps are Newton's (proximal Newton's with an
    l1 part) on the `Envelope`, whose Hessian only depends on the rows near a corner. Once the gap is below a
    tenth, rows far from every corner are left out if they are the majority, and checked again at the end. The
    intercept is free: its optimality condition sum u = 0 is one more row of the Newton system. Cost of an
    inner step: two products with X and p^2 times the rows near a corner.

    Reference: Yan & Li 2020 (semismooth Newton augmented Lagrangian for support vector machines).
    """

    tol: float = 1e-4
    max_iter: int = 500
    sigma: float = 0.5
    warm_sigma: float = 4.0
    leap: float = 4.0
    growth: float = 2.0

    def can_solve(self, problem: LossPenalty) -> bool:
        return problem.penalty.convex and problem.penalty.l2 > 0

    def solve(
        self, problem: LossPenalty, *, start: FloatArray | None = None, callback: GapCallback | None = None
    ) -> Solution:
        began = work_clock.now()
        terms = envelope(problem, np.zeros(len(problem.y)), self.sigma)
        state = first_state(problem, terms, start)
        if start is not None:
            terms = envelope(problem, problem.loss.slope(state.f, problem.y), self.warm_sigma)
        run = OuterState(problem, terms, state)
        self._outer(run, max(self.tol, _ROUGH), callback)
        rows = run.awake() if problem.penalty.smooth else np.arange(len(problem.y))
        if run.gap.relative > self.tol and not run.asked and 2 * len(rows) < len(problem.y):
            part = run.only(rows)
            self._outer(part, 0.9 * self.tol, callback)
            run.take_over(part, rows)
        self._outer(run, self.tol, callback)
        left = Status.MAX_ITER if run.iteration >= self.max_iter else Status.STALLED
        left = Status.INTERRUPTED if run.asked else left
        return Solution(
            x=run.state.theta,
            multipliers=run.gap.u,
            status=Status.CONVERGED if run.gap.relative <= self.tol else left,
            n_iter=run.iteration,
            seconds=work_clock.now() - began,
        )

    def _outer(self, run: OuterState, tol: float, callback: GapCallback | None) -> None:
        """Outer steps until the gap is below ``tol``, no longer decreases, or ``max_iter`` is reached."""
        smallest, waited = run.gap.relative, 0
        while (
            run.iteration < self.max_iter and run.gap.relative > tol and waited < _PATIENCE and not run.asked
        ):
            problem, state = run.problem, run.state
            local = np.empty((2, len(problem.y)))
            state.value = run.terms.model(state.f, local) + problem.penalty.value(state.theta[:-1])
            state.terms, state.local = run.terms, local
            run.iteration = self._inner(problem, run.terms, state, run.gap, run.iteration)
            run.asked = stop_asked(callback, run.iteration, run.gap.primal)
            slope, c = state.model(run.terms)[0], problem.c
            v = np.divide(slope, c, out=np.zeros_like(c), where=c > 0)
            growth = self.leap if run.terms.sigma <= self.sigma else self.growth  # sharp envelopes are slow
            run.terms = envelope(problem, v, min(run.terms.sigma * growth, 1e6))
            waited = 0 if run.gap.relative < 0.9 * smallest else waited + 1
            smallest = min(smallest, run.gap.relative)

    def _inner(
        self, problem: LossPenalty, terms: Envelope, state: NewtonState, gap: Gap, iteration: int
    ) -> int:
        """Newton steps until their effect is small compared with the gap."""
        goal = max(min(0.002 * gap.relative, 1e-4), 0.01 * self.tol, _ROUNDING)
        most = self.max_iter - iteration
        if problem.penalty.smooth:
            iteration += newton_steps(problem, terms, state, goal, most)
        else:
            iteration += repeated(proximal_step, problem, terms, state, goal, most)
        gap.update(state)
        return iteration


class OuterState:
    """State of the method on a problem: the next envelope, the point, the best gap."""

    def __init__(self, problem: LossPenalty, terms: Envelope, state: NewtonState, iteration: int = 0) -> None:
        self.problem, self.terms, self.state, self.iteration = problem, terms, state, iteration
        self.gap = Gap(problem, terms.slope(state.f))
        self.asked = False  # to stop

    def awake(self) -> IntArray:
        """The rows that have a multiplier or are near a corner; the others can be left out for a while."""
        loss, y, f = self.problem.loss, self.problem.y, self.state.f
        flat = (loss.slope(f - _NEAR, y) == 0) & (loss.slope(f + _NEAR, y) == 0)
        return np.flatnonzero(~flat | (self.terms.v != 0))

    def only(self, rows: IntArray) -> OuterState:
        """The same on some of the rows. Rows left out have the multiplier 0, so that every dual point of the
        part is one of the whole, with the same value."""
        whole = self.problem
        problem = replace(whole, X=whole.X.take(rows), y=whole.y[rows], c=whole.c[rows])
        terms = envelope(problem, self.terms.v[rows], self.terms.sigma)
        state = NewtonState(self.state.theta, self.state.f[rows], self.state.value, self.state.u[rows])
        return OuterState(problem, terms, state, self.iteration)

    def take_over(self, part: OuterState, rows: IntArray) -> None:
        """Continue on all rows from the result on a part; the gap is that of all rows."""
        self.iteration, self.asked = part.iteration, part.asked
        v, u = np.zeros(len(self.problem.y)), np.zeros(len(self.problem.y))
        v[rows], u[rows] = part.terms.v, part.gap.u
        self.terms = envelope(self.problem, v, part.terms.sigma)
        theta = part.state.theta
        self.state = NewtonState(theta, self.problem.scores(theta), np.inf, u)
        self.gap = Gap(self.problem, u)
        self.gap.update(self.state)


class Gap:
    """The best dual value so far, and the gap of the current primal value."""

    def __init__(self, problem: LossPenalty, u: FloatArray) -> None:
        self.problem, self.u = problem, u
        self.dual, self.primal, self.relative = -np.inf, np.inf, np.inf

    def update(self, state: NewtonState) -> None:
        dual, u, _ = self.problem.dual_value(state.u)
        if dual > self.dual:
            self.dual, self.u = dual, u
        self.primal = self.problem.value(state.theta, state.f)
        self.relative = (self.primal - self.dual) / max(abs(self.dual), 1e-300)
