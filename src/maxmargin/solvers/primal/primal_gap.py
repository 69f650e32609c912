"""Functions for solvers of the primal: the gap of a feasible point, and the best intercept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.base.progress import Callback, SolverProgress
from maxmargin.base.typing import FloatArray
from maxmargin.kernels.vectors import Linear
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.settings import DualSolver
from maxmargin.solvers.stopping import Budget
from maxmargin.solvers.trace import Tracer


@dataclass(frozen=True, kw_only=True, repr=False)
class PrimalSolver(DualSolver):
    """A solver of the primal for the linear kernel; ``tol`` bounds its relative duality gap."""

    warm_starts = False
    needs_sums = False
    needs_gap = True
    name = ""

    def check(self, problem: BoxQP) -> None:
        if not (isinstance(problem.Q.kernel, Linear) and hasattr(problem.Q.points, "X")):
            raise ValueError(
                f"solver={self.name!r} works on the primal and needs kernel='linear', got "
                f"{problem.Q.kernel!r}: use solver='smo' or 'working_set'."
            )
        if not np.isfinite(problem.C).all():
            raise ValueError(
                f"solver={self.name!r} needs bounded multipliers (the hinge or epsilon-insensitive loss, a "
                "finite C): use solver='smo' or 'working_set'."
            )

    def offered(self, solution: Solution) -> FloatArray | None:
        return solution.multipliers

    def accepts(self, certificate: Certificate) -> bool:
        return certificate.relative_gap <= self.tol

    def reached(self, certificate: Certificate) -> str:
        return f"the duality gap is {certificate.relative_gap:.3g} of the dual value"

    def judge(
        self, problem: BoxQP, a: FloatArray, v: FloatArray, t: int, budget: Budget, callback: Callback | None
    ) -> Status | None:
        """Report progress; the reason to stop, or None to continue."""
        gap, dual = gap_of(problem, a, v)
        if callback is not None:
            stop = callback(SolverProgress(t, gap, len(v), budget.seconds, "gap"))
            if stop is True:
                return Status.INTERRUPTED
        if gap <= self.tol * abs(dual):
            return Status.CONVERGED
        return budget.exhausted(t)


def since_a_power_of_two(t: int) -> int:
    """How many of the steps 1, 2, ... t came since the last power of two."""
    return t - (1 << (t.bit_length() - 1)) + 1


def times(A: Any, b: FloatArray) -> FloatArray:
    """A b as an array, A dense or sparse."""
    return np.asarray(A @ b).ravel()


def gradient(problem: BoxQP, v: FloatArray) -> FloatArray:
    """The signed gradient of the dual from v = K weights; bounded multipliers have no d."""
    return problem.signed_gradient(np.zeros(len(problem)), v[problem.Q.row])


def best_corner(problem: BoxQP, g: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The feasible point that is smallest in the direction g, and the multiplier of each equality there.

    In every group the variables with the smallest g are raised until the equality holds: the slopes of the
    losses at the best intercept for w. Without equality every variable whose
    own gradient is negative is raised.
    """
    if not problem.fixed_sums:
        return np.where(problem.s * g < 0, problem.C, 0.0), np.zeros(len(problem.delta))
    corner, multipliers = np.zeros(len(g)), np.zeros(len(problem.delta))
    for k in range(len(problem.delta)):
        mine = np.flatnonzero(problem.group == k)
        order = mine[np.argsort(g[mine], kind="stable")]
        C, s = problem.C[order], problem.s[order]
        needed = float(problem.delta[k] + C[s < 0].sum())
        total = np.cumsum(C)
        raised = np.clip(needed - (total - C), 0.0, C)
        corner[order] = np.where(s > 0, raised, C - raised)
        multipliers[k] = g[order[min(int(np.searchsorted(total, needed)), len(order) - 1)]]
    return corner, multipliers


def gap_of(problem: BoxQP, a: FloatArray, v: FloatArray) -> tuple[float, float]:
    """Duality gap with the best intercepts, and dual value, from v = K weights."""
    g = gradient(problem, v)
    corner, _ = best_corner(problem, g)
    dual = -(0.5 * float(problem.Q.weights(a) @ v) + float(problem.p @ a))
    return float((problem.s * g) @ (a - corner)), dual


def record(
    tracer: Tracer, problem: BoxQP, before: FloatArray, after: FloatArray, v: FloatArray
) -> FloatArray:
    """A step of the averages; returns ``after``."""
    gap, dual = gap_of(problem, after, v)
    g = gradient(problem, v)
    changed = np.flatnonzero(before != after)
    tracer.objective = -dual
    tracer.step(changed, before[changed], after[changed], np.zeros(len(changed)), n_active=len(v))
    tracer.describe(problem.violation(g, after), dual + gap, best_corner(problem, g)[1])
    return after


def answer(
    problem: BoxQP,
    a: FloatArray,
    v: FloatArray,
    status: Status,
    n_iter: int,
    budget: Budget,
    tracer: Tracer | None,
) -> Solution:
    g = gradient(problem, v)
    return Solution(
        x=a,
        multipliers=best_corner(problem, g)[1],
        status=status,
        n_iter=n_iter,
        seconds=budget.seconds,
        gradient=g,
        trace=None if tracer is None else tracer.frame(),
    )
