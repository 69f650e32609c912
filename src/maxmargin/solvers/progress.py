"""What a solver tells about its work, and when it must stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from maxmargin._compute.threads import check_stop
from maxmargin.problems.solution import Status


@dataclass(frozen=True)
class Progress:
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


Callback = Callable[[Progress], object]


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
