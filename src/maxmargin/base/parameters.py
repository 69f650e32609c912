"""Checks of constructor arguments; every error names the argument, its value, and the remedy."""

from __future__ import annotations

import math
import numbers

import numpy as np
import numpy.typing as npt


def as_number(value: object) -> float:
    """The value as a float; NaN if it is not a number."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # a whole number beyond the largest float
        return math.copysign(math.inf, value)


def check_positive(name: str, value: object, *, infinite: bool = False) -> None:
    if not as_number(value) > 0:
        raise ValueError(f"{name}={value!r} must be a number > 0.")
    if math.isinf(as_number(value)) and not infinite:
        raise ValueError(f"{name}={value!r} must be finite.")


def as_numbers(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The values as an array of floats; empty if one is not a number."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return np.empty(0)


def check_positives(name: str, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """A list of finite numbers > 0 as an array."""
    given = as_numbers(values)
    if given.ndim != 1 or len(given) == 0 or not (np.isfinite(given) & (given > 0)).all():
        raise ValueError(f"{name}={values!r} must be a list of finite numbers > 0.")
    return given


def check_share(name: str, value: object) -> None:
    if not 0 < as_number(value) <= 1:
        raise ValueError(f"{name}={value!r} must be a number in (0, 1].")


def check_fraction(name: str, value: object) -> None:
    if not 0 <= as_number(value) <= 1:
        raise ValueError(f"{name}={value!r} must be a number between 0 and 1.")


def check_inner_fraction(name: str, value: object) -> None:
    if not 0 < as_number(value) < 1:
        raise ValueError(f"{name}={value!r} must be strictly between 0 and 1.")


def check_not_negative(name: str, value: object) -> None:
    if not 0 <= as_number(value) < math.inf:
        raise ValueError(f"{name}={value!r} must be a finite number >= 0.")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        *others, last = map(repr, choices)
        raise ValueError(f"{name}={value!r} is unknown: use {', '.join(others)} or {last}.")


def check_allowed(name: str, value: object, allowed: tuple[object, ...], reason: str) -> None:
    """Refuse a value that scikit-learn's estimator of the same name accepts, with the reason."""
    if not any(value is one or (type(value) is type(one) and value == one) for one in allowed):
        raise ValueError(f"{name}={value!r} is not supported: {reason}")


def check_count(name: str, value: object, *, least: int = 1, most: int | None = None) -> int:
    number = int(value) if isinstance(value, numbers.Integral) and not isinstance(value, bool) else least - 1
    if number < least or (most is not None and number > most):
        allowed = f">= {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name}={value!r} must be a whole number {allowed}.")
    return number


def check_max_iter(value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < -1 or value == 0:
        raise ValueError(f"max_iter={value!r} must be a whole number >= 1, or -1 for no limit.")


def count_or_share(value: object, total: int) -> int | None:
    """A number of ``total`` items from a whole number >= 1 or a share in (0, 1); None for anything else."""
    number = as_number(value)
    if 0 < number < 1:
        return max(1, round(number * total))
    return int(number) if number >= 1 and number.is_integer() else None


def check_flag(name: str, value: object) -> None:
    """Require True or False: a string such as "no" would count as True."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}={value!r} must be True or False.")


def check_flags(estimator: object, *names: str) -> None:
    for name in names:
        check_flag(name, getattr(estimator, name))


def check_time_limit(value: object) -> None:
    if value is not None:
        check_positive("time_limit", value)
