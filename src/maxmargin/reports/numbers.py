"""How numbers are written."""

from __future__ import annotations

from math import isfinite, isnan
from typing import Any

import numpy as np


def number(value: Any, digits: int = 4) -> str:
    """A short number; nothing for NaN."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
        return str(value)
    given = float(value)
    if isnan(given):
        return ""
    if not isfinite(given):
        return "∞" if given > 0 else "-∞"
    if given.is_integer() and abs(given) < 1e7:
        return str(int(given))
    return f"{given:.{digits}g}"


def percent(share: float) -> str:
    """A share as a percentage with one decimal, or with more where it would read as nothing."""
    if isnan(share):
        return ""
    per_cent = 100.0 * share
    return f"{per_cent:.1f} %" if per_cent == 0 or abs(per_cent) >= 0.05 else f"{per_cent:.2g} %"


def value_text(value: Any, length: int = 60) -> str:
    """A parameter or a cell, cut when it is long."""
    text = number(value)
    return text if len(text) <= length else text[: length - 1] + "…"
