"""Progress reports of a solver, and its stopping rules."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from maxmargin.base import work_clock
from maxmargin.base.progress import Callback, SolverProgress, show_line, tell
from maxmargin.base.threads import check_stop
from maxmargin.problems.solution import Status

GapCallback = Callable[[int, float], bool]  # of primal solvers: number of steps, objective; True stops


def stop_asked(callback: GapCallback | None, n_iter: int, value: float) -> bool:
    """Report progress of a primal solver; True if it must stop."""
    return callback is not None and callback(n_iter, value)


def tell_iteration(model: Any, n_iter: int, objective: float) -> bool:
    """The `GapCallback` of a linear model: a line with ``verbose``, and the callback of the fit."""
    if model.verbose > 0:
        show_line(f"{type(model).__name__}: iteration {n_iter}, objective {objective:.10g}")
    return tell(n_iter, objective, "objective")


SAFETY = 0.9  # solvers aim below tol, so that rounding does not lift the checked value above it
_PATIENCE = 1_000_000  # pair steps without progress after which a solver gives up


class Budget:
    """Remaining time and iterations. ``max_iter=-1`` and ``time_limit=None`` mean no limit."""

    def __init__(self, max_iter: int, time_limit: float | None) -> None:
        self._max_iter = max_iter
        self._time_limit = time_limit
        self._start = work_clock.now()

    @property
    def seconds(self) -> float:
        return work_clock.now() - self._start

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
    """Reports the progress of a dual solver, and decides when it must stop."""

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
        """Forget the progress so far, as after a change of precision."""
        self._best, self._improved_at = inf, n_pairs

    def judge(
        self, violation: float, *, n_iter: int, n_pairs: int, n_active: int, stuck: bool = False
    ) -> Status | None:
        """Report progress; the reason to stop, or None to continue.

        Very many pair steps without a smaller violation mean that only rounding errors are left.
        """
        if self._callback is not None:
            stop = self._callback(SolverProgress(n_iter, violation, n_active, self._budget.seconds))
            if stop is True:
                return Status.INTERRUPTED
        if violation <= self._target:
            return Status.CONVERGED
        if (status := self._budget.exhausted(n_iter)) is not None:
            return status
        if violation < (1 - 1e-3) * self._best:
            self._best, self._improved_at = violation, n_pairs
        idle = n_pairs - self._improved_at > self._patience
        return Status.STALLED if stuck or idle else None
