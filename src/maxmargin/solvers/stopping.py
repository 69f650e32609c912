"""What a solver tells about its work, and when it must stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from maxmargin.base.threads import check_stop
from maxmargin.problems.solution import Status


@dataclass(frozen=True)
class SolverProgress:
    """One line of a solver's story. ``measure`` says what ``violation`` is."""

    n_iter: int
    violation: float
    n_active: int
    seconds: float
    measure: str = "violation"

    def __str__(self) -> str:
        return (
            f"{self.seconds:8.1f} s  {self.n_iter:10d} steps  {self.measure} {self.violation:.3g}  "
            f"{self.n_active} active rows"
        )


Callback = Callable[[SolverProgress], object]

SAFETY = 0.9  # solvers aim below tol, so that rounding does not lift the checked value above it
_PATIENCE = 1_000_000  # pair steps without progress after which a solver gives up


class Budget:
    """Time and iterations that are left. ``max_iter=-1`` and ``time_limit=None`` mean no limit."""

    def __init__(self, max_iter: int, time_limit: float | None) -> None:
        self._max_iter = max_iter
        self._time_limit = time_limit
        self._start = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._start

    def steps_left(self, n_iter: int, at_most: int) -> int:
        return at_most if self._max_iter < 0 else max(0, min(at_most, self._max_iter - n_iter))

    def exhausted(self, n_iter: int) -> Status | None:
        check_stop()
        if self._max_iter >= 0 and n_iter >= self._max_iter:
            return Status.MAX_ITER
        if self._time_limit is not None and self.seconds >= self._time_limit:
            return Status.TIME_LIMIT
        return None


class Referee:
    """Tells what a solver of the dual has reached, and when it must stop."""

    def __init__(self, target: float, budget: Budget, callback: Callback | None, n_variables: int) -> None:
        self._target = target
        self._budget = budget
        self._callback = callback
        self._n_variables = n_variables
        self._patience = max(_PATIENCE, 100 * n_variables)
        self.start_again(0)

    def aiming_at(self, target: float) -> Referee:
        """The same budget and callback with another target."""
        return Referee(target, self._budget, self._callback, self._n_variables)

    def start_again(self, n_pairs: int) -> None:
        """Forget what was reached after so many pair steps, as when the precision changes."""
        self._best, self._improved_at = inf, n_pairs

    def judge(
        self, violation: float, *, n_iter: int, n_pairs: int, n_active: int, stuck: bool = False
    ) -> Status | None:
        """Report progress; the reason to stop, or None to go on.

        A great many pair steps that have not lowered the violation say that rounding is all that is left.
        """
        if self._callback is not None:
            self._callback(SolverProgress(n_iter, violation, n_active, self._budget.seconds))
        if violation <= self._target:
            return Status.CONVERGED
        if (status := self._budget.exhausted(n_iter)) is not None:
            return status
        if violation < (1 - 1e-3) * self._best:
            self._best, self._improved_at = violation, n_pairs
        idle = n_pairs - self._improved_at > self._patience
        return Status.STALLED if stuck or idle else None
