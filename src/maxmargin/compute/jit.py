"""The one place where Numba decorators are defined.

``cache=True, nogil=True`` on every function, so that compiled code is kept on disk and runs in threads.
Never ``fastmath=True``: it would assume that no NaN exists and break ``isnan``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

Function = Callable[..., Any]


def jit(function: Function) -> Any:
    """Compile with strict IEEE arithmetic."""
    return numba.njit(cache=True, nogil=True)(function)


def jit_sums(function: Function) -> Any:
    """Compile with sums that may be reordered and contracted, so that they vectorise."""
    return numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})(function)


def jit_row(function: Function) -> Any:
    """As `jit_sums`, expanded into its caller: a call with three arrays passes thirty arguments."""
    flags = {"reassoc", "contract"}
    return numba.njit(cache=True, nogil=True, forceinline=True, fastmath=flags)(function)


def jit_finite(function: Function) -> Any:
    """As `jit_sums`, for element-wise minima and selections over data known to be finite."""
    flags = {"reassoc", "contract", "nnan", "nsz"}
    return numba.njit(cache=True, nogil=True, fastmath=flags)(function)


def jit_scan(function: Function) -> Any:
    """As `jit_finite`, expanded into its caller."""
    flags = {"reassoc", "contract", "nnan", "nsz"}
    return numba.njit(cache=True, nogil=True, forceinline=True, fastmath=flags)(function)


def inline(function: Function) -> Any:
    """A small function that is always expanded into its jitted caller."""
    return numba.njit(inline="always")(function)
