"""What a solver returns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from maxmargin.base.typing import FloatArray


class Status(Enum):
    """How a solver ended; the value is a sentence a user can read."""

    CONVERGED = "converged to the tolerance asked for"
    MAX_ITER = "stopped at max_iter before the tolerance was reached"
    TIME_LIMIT = "stopped at time_limit before the tolerance was reached"
    INTERRUPTED = "interrupted by the user before the tolerance was reached"
    STALLED = "stopped because no further progress was possible in float64"
    UNBOUNDED = "the dual is unbounded: the primal has no feasible point"


@dataclass(frozen=True, kw_only=True)
class Solution:
    """The answer of a solver: the point ``x``, the multipliers of its constraints, and how it was found.

    ``gradient`` is what the solver believes the (signed) gradient to be: certificates use it only to decide
    where to look. ``kernel_values`` and ``cache_hits`` count what it cost: kernel values computed, and kernel
    rows that were found in the cache. ``trace`` is a table of the steps where one was asked for.
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
