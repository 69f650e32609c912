"""What a solver returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from maxmargin.base.plain_state import PlainState
from maxmargin.base.shown import short_repr
from maxmargin.base.typing import FloatArray


class Status(Enum):
    """How a solver ended; the value is a sentence a user can read."""

    CONVERGED = "converged to the tolerance asked for"
    MAX_ITER = "stopped at max_iter before the tolerance was reached"
    TIME_LIMIT = "stopped at time_limit before the tolerance was reached"
    INTERRUPTED = "interrupted by the user before the tolerance was reached"
    STALLED = "stopped because steps in float64 no longer made useful progress"
    WIDE_GAP = "the objective may be far from its minimum: the duality gap is wide although tol was reached"
    UNBOUNDED = "the dual is unbounded: the primal has no feasible point"

    @property
    def short(self) -> str:
        """One word for tables, as converged, max_iter, time_limit, interrupted, stalled, wide_gap."""
        return self.name.lower()


@dataclass(frozen=True)
class Ending:
    """How a solve ended: status, number of steps, and the largest remaining KKT violation."""

    status: Status
    n_iter: int
    violation: float

    def then(self, later: Ending) -> Ending:
        """Combine with a later solve of the same problem, whose status and violation count."""
        return Ending(later.status, self.n_iter + later.n_iter, later.violation)


def worst_ending(endings: Sequence[Ending]) -> Ending:
    """Combine several problems: the sum of steps, the largest violation, and the worst status."""
    if len(endings) == 1:
        return endings[0]
    failed = [ending for ending in endings if ending.status is not Status.CONVERGED]
    worst = max(failed or endings, key=lambda ending: ending.violation)
    violation = max(ending.violation for ending in endings)
    return Ending(worst.status, sum(ending.n_iter for ending in endings), violation)


@dataclass(frozen=True, kw_only=True)
class Solution(PlainState):
    """The result of a solver: the point ``x``, the multipliers of its constraints, and how it was found.

    ``gradient`` is the (signed) gradient as the solver knows it; certificates only use it to choose rows to
    check. ``kernel_values`` counts kernel values computed, ``cache_hits`` kernel rows found in the cache.
    ``trace`` is a table of the steps, if requested.
    """

    x: FloatArray
    multipliers: FloatArray
    status: Status
    n_iter: int
    seconds: float
    gradient: FloatArray | None = None
    trace: Any = None
    kernel_values: int = 0
    cache_hits: int = 0

    __repr__ = short_repr

    def __getstate__(self) -> dict[str, Any]:
        """The fields with the status by its name: skops cannot make a member of an Enum."""
        return {**super().__getstate__(), "status": self.status.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({**state, "status": Status[state["status"]]})
