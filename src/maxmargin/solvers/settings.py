"""Base class of the solvers of the dual problem: limits, and acceptance of a solution."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import inf
from typing import Any, Self

from maxmargin.base.progress import Callback
from maxmargin.base.typing import FloatArray
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.solution import Solution

LIMITS = ("tol", "max_iter", "time_limit", "cache_size", "shrinking", "n_threads", "trace")


@dataclass(frozen=True, kw_only=True)
class DualSolver:
    """Immutable settings of a solver. The machine sets the limits; other options belong to the solver.

    Parameters
    ----------
    tol : largest KKT violation allowed in the certificate.
    max_iter : maximum number of steps, -1 for no limit. time_limit : maximum number of seconds.
    cache_size : MB for kernel values; None chooses from free memory.
    shrinking : leave out variables that cannot move, for solvers that support it.
    n_threads : threads for kernel values.
    trace : record every step in `Solution.trace`.
    """

    tol: float = 1e-3
    max_iter: int = -1
    time_limit: float | None = None
    cache_size: float | None = None
    shrinking: bool = True
    n_threads: int = 1
    trace: bool = False

    warm_starts = True  # False if a start cannot be used
    needs_sums = True  # False where the solver does without the equality of a problem that has none
    narrows_gap = False  # True if it continues where the violation is within tol but the gap is wide
    exact_below = inf  # kernel values are float64 from the start where tol is smaller
    needs_gap = False  # True if `accepts` needs the gap, which only a full certificate has

    def solve(
        self, problem: BoxQP, *, start: FloatArray | None = None, callback: Callback | None = None
    ) -> Solution:
        """Solve from ``start`` (feasible, shape (m,)) or from the problem's own start."""
        raise NotImplementedError  # implemented by every solver

    def check(self, problem: BoxQP) -> None:
        """Raise an error if this solver cannot solve this problem."""

    def offered(self, solution: Solution) -> FloatArray | None:
        """The solver's own multipliers of the equalities; None if they follow from the solution."""
        return None

    def accepts(self, certificate: Certificate) -> bool:
        """True if the certificate meets the tolerance."""
        return certificate.kkt <= self.tol

    def reached(self, certificate: Certificate) -> str:
        """The accuracy reached, in words."""
        return f"the largest KKT violation is {certificate.kkt:.3g}"

    # -- as a parameter of an estimator --------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The solver's own options, without the limits that belong to the machine."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in LIMITS}

    def with_params(self, **params: Any) -> Self:
        """A copy with other options."""
        known = self.get_params()
        for name in params:
            if name not in known:
                raise ValueError(
                    f"{name!r} is not an option of {type(self).__name__}: use {', '.join(known) or 'none'}."
                )
        return replace(self, **params)

    def with_limits(self, **limits: Any) -> Self:
        """A copy with the limits of a machine; an error if the solver already has its own limits."""
        for field in fields(self):
            if field.name in LIMITS and getattr(self, field.name) != field.default:
                where = "n_jobs" if field.name == "n_threads" else field.name
                raise ValueError(
                    f"{field.name}={getattr(self, field.name)!r} of {type(self).__name__} belongs to the "
                    f"machine: set {where} there."
                )
        return replace(self, **limits)

    def __sklearn_clone__(self) -> Self:
        return self  # immutable, so a clone is the solver itself

    def __repr__(self) -> str:
        shown = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if getattr(self, field.name) != field.default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"
