"""Checks of constructor arguments: what, what was got, the remedy."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np


def check_positive(name: str, value: Any, *, infinite: bool = False) -> None:
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or np.isnan(value) or value <= 0:
        raise ValueError(f"{name}={value!r} must be a number > 0.")
    if np.isinf(value) and not infinite:
        raise ValueError(f"{name}={value!r} must be finite.")


def check_share(name: str, value: Any) -> None:
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not 0 < value <= 1:
        raise ValueError(f"{name}={value!r} must be a number in (0, 1].")


def check_not_negative(name: str, value: Any) -> None:
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not 0 <= value < np.inf:
        raise ValueError(f"{name}={value!r} must be a finite number >= 0.")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name}={value!r} is unknown: use {' or '.join(map(repr, choices))}.")


def check_max_iter(value: Any) -> None:
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < -1 or value == 0:
        raise ValueError(f"max_iter={value!r} must be a whole number >= 1, or -1 for no limit.")


def check_time_limit(value: Any) -> None:
    if value is not None:
        check_positive("time_limit", value)
