"""Memory for kernel rows."""

from __future__ import annotations

import math
import os
from numbers import Real

_LEAST = 32 << 20
_MEGABYTE = 1 << 20


def available_bytes() -> int:
    """Free memory, or 256 MB if the system does not report it."""
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 256 << 20


def cache_bytes(cache_size: float | None) -> int:
    """Bytes for kernel rows: ``cache_size`` in MB, or half of the free memory."""
    if cache_size is None:
        return max(_LEAST, available_bytes() // 2)
    if not isinstance(cache_size, Real) or not 0 < cache_size < math.inf:
        raise ValueError(f"cache_size={cache_size!r} must be a number of MB > 0 and finite, or None.")
    return int(cache_size * _MEGABYTE)
