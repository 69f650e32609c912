"""Problems that the user can correct: a sentence, not a traceback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Refusal(ValueError):  # noqa: N818  # an answer to the user, not a fault of the program
    """A table that cannot be used, and what to do about it."""


class UsageRefusal(Refusal):
    """An option that cannot be honoured, and what to use instead."""


def listed(names: Sequence[Any], most: int = 6) -> str:
    """The first names, and how many more there are."""
    text = ", ".join(map(str, names[:most]))
    return text if len(names) <= most else f"{text}, … (+{len(names) - most})"
