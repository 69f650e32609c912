"""How results show themselves: tables with all their columns, objects in lines of at most 80 characters."""

from __future__ import annotations

import math
import reprlib
import textwrap
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

WIDTH = 80


class ShownTable(pd.DataFrame):
    """A DataFrame that prints every column; one that is too wide has four significant digits and, if need
    be, more than one block.

    pandas leaves out the middle columns of a table that is wider than the terminal. Its options
    ``display.width``, ``display.float_format``, ``display.max_rows`` and ``display.max_colwidth`` hold here.
    """

    @property
    def _constructor(self) -> type[ShownTable]:
        return ShownTable

    def __repr__(self) -> str:
        names = ("max_rows", "min_rows", "max_colwidth", "show_dimensions")
        options = {name: pd.get_option(f"display.{name}") for name in names}
        plain: str = self.to_string(**options)
        fits = max(map(len, plain.splitlines())) <= (pd.get_option("display.width") or WIDTH)
        return plain if fits else shown(self, **options)


def shown(table: pd.DataFrame, **options: Any) -> str:
    """All columns of a table in lines of at most 80 characters, with four significant digits."""
    width = pd.get_option("display.width") or WIDTH
    form = pd.get_option("display.float_format") or "{:.4g}".format
    return table.to_string(line_width=width, float_format=form, **options)


def ratio_digits(value: float, digits: int = 4) -> int:
    """So many significant digits, or more for a value near one: an odds ratio of 0.99997 is not 1."""
    distance = abs(value - 1.0)
    if not 0 < distance < 10.0 ** (1 - digits):
        return digits
    return 2 + math.ceil(-math.log10(max(distance, 1e-9)))


def filled(text: str) -> str:
    """The text with lines of at most 80 characters, broken at spaces."""
    return "\n".join(
        textwrap.fill(line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        if len(line) > WIDTH
        else line
        for line in text.splitlines()
    )


def short_repr(result: Any) -> str:
    """The ``repr`` of a dataclass in a few lines: sizes in place of arrays and tables."""
    shown = (f"{field.name}={_short(getattr(result, field.name))}" for field in fields(result) if field.repr)
    return filled(f"{type(result).__name__}({', '.join(shown)})")


def _short(value: Any) -> str:
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    if getattr(value, "shape", ()):
        return f"<{type(value).__name__} {' x '.join(map(str, value.shape))}>"
    known = getattr(type(value), "__repr__", None) is short_repr
    return f"<{type(value).__name__}>" if known else reprlib.repr(value)


def json_value(value: Any) -> Any:
    """A value that JSON can hold; NaN and infinity become null."""
    if isinstance(value, dict):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]
    if hasattr(value, "tolist"):
        return json_value(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return str(value) if isinstance(value, Path) else repr(value)
