"""The one place where Numba decorators are defined.

``cache=True, nogil=True`` on every function, so that compiled code is kept on disk and runs in threads.
Never ``fastmath=True``: it would assume that no NaN exists and break ``isnan``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """Compile with strict IEEE arithmetic."""
    compiled: F = numba.njit(cache=True, nogil=True)(function)
    return compiled


def jit_sums(function: F) -> F:
    """Compile with sums that may be reordered and contracted, so that they vectorise."""
    compiled: F = numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})(function)
    return compiled


def jit_finite(function: F) -> F:
    """As `jit_sums`, for element-wise minima and selections over data known to be finite."""
    flags = {"reassoc", "contract", "nnan", "nsz"}
    compiled: F = numba.njit(cache=True, nogil=True, fastmath=flags)(function)
    return compiled


def inline(function: F) -> F:
    """A small function that is always expanded into its jitted caller."""
    compiled: F = numba.njit(inline="always")(function)
    return compiled
