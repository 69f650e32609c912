"""Checks of constructor arguments: what, what was got, the remedy."""

from __future__ import annotations

import math
import numbers
from typing import Any


def _number(value: Any) -> float:
    """The value as a float, NaN where it is no number."""
    return float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else math.nan


def check_positive(name: str, value: Any, *, infinite: bool = False) -> None:
    if not _number(value) > 0:
        raise ValueError(f"{name}={value!r} must be a number > 0.")
    if math.isinf(value) and not infinite:
        raise ValueError(f"{name}={value!r} must be finite.")


def check_share(name: str, value: Any) -> None:
    if not 0 < _number(value) <= 1:
        raise ValueError(f"{name}={value!r} must be a number in (0, 1].")


def check_not_negative(name: str, value: Any) -> None:
    if not 0 <= _number(value) < math.inf:
        raise ValueError(f"{name}={value!r} must be a finite number >= 0.")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        *others, last = map(repr, choices)
        raise ValueError(f"{name}={value!r} is unknown: use {', '.join(others)} or {last}.")


def check_count(name: str, value: Any) -> int:
    if not _is_whole(value) or value < 1:
        raise ValueError(f"{name}={value!r} must be a whole number >= 1.")
    return int(value)


def check_max_iter(value: Any) -> None:
    if not _is_whole(value) or value < -1 or value == 0:
        raise ValueError(f"max_iter={value!r} must be a whole number >= 1, or -1 for no limit.")


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_time_limit(value: Any) -> None:
    if value is not None:
        check_positive("time_limit", value)
