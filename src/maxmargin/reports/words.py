"""The sentences and numbers of the report, by language."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from importlib import resources
from math import isfinite, isnan
from typing import Any

import numpy as np

LANGUAGES = ("en", "es")
_ONE = re.compile(r"(?<![\d.,])1( (?:more )?(?:variable|row|fila))s\b")  # the plural of one
_IN_KERNELS = re.compile(r"""'[^']*'|"[^"]*"|, |(?<![\w.])\d+\.\d+(?:e[-+]?\d+)?|(?<![\w.])\d+e[-+]?\d+""")


@dataclass(frozen=True)
class Words:
    """Sentences by key, and the way a language writes numbers.

    ``measures`` names the measures of an evaluation, ``options`` the parameters of models; ``in_pictures``
    translates what the displays write (regular expressions, applied in order).
    """

    language: str
    sentences: dict[str, str]
    measures: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    in_pictures: dict[str, str] = field(default_factory=dict)

    @property
    def decimal(self) -> str:
        """The decimal mark."""
        return "," if self.language == "es" else "."

    def say(self, key: str, **values: Any) -> str:
        """The sentence called ``key``, with its values filled in."""
        return _ONE.sub(r"1\1", self.sentences[key].format(**values))

    def measure(self, name: str) -> str:
        """A measure's name: a known one, or "recall of CLASS"."""
        if name in self.measures:
            return self.measures[name]
        head, of, rest = name.partition(" of ")
        return f"{self.measures[head + of.rstrip()]} {rest}" if of else name

    def option(self, name: str) -> str:
        """A parameter's name, without that of its step in a pipeline; or a value that is a word."""
        name = name.rpartition("__")[2]
        return self.options.get(name, name)

    def number(self, value: Any, digits: int = 4) -> str:
        """A number with few digits; "" for NaN; other values as text."""
        if isinstance(value, (bool, np.bool_)):
            return self.sentences["value.yes" if value else "value.no"]
        if value is None:
            return self.sentences["value.none"]
        if not isinstance(value, (int, float, np.number)):
            return str(value)
        given = float(value)
        if isnan(given):
            return ""
        if not isfinite(given):
            return "∞" if given > 0 else "-∞"
        if given.is_integer() and abs(given) < 1e7:
            return str(int(given))
        if 10**digits <= abs(given) < 1e9:  # money: all digits before the point rather than a power of ten
            return f"{given:.0f}"
        return f"{given:.{digits}g}".replace(".", self.decimal)

    def percent(self, share: float) -> str:
        """A share as a percentage with one decimal, or two digits where it would read as zero."""
        if isnan(share):
            return ""
        value = 100.0 * share
        text = f"{value:.1f}" if value == 0 or abs(value) >= 0.05 else f"{value:.2g}"
        return f"{text} %".replace(".", self.decimal)

    def kernel(self, kernel: Any, length: int = 120) -> str:
        """A kernel with few digits; where commas are decimal marks, semicolons separate its parameters."""

        def shown(found: re.Match[str]) -> str:
            text = found[0]
            if text == ", ":
                return text if self.decimal == "." else "; "
            return text if text[0] in "'\"" else self.number(float(text))  # names of columns stay

        return shortened_words(_IN_KERNELS.sub(shown, str(kernel)), length)

    def value(self, value: Any, length: int = 60) -> str:
        """A parameter or a cell, shortened if it is long."""
        return shortened_words(self.number(value), length)


def shortened_words(text: str, length: int) -> str:
    """The text, cut between two words if it is longer than ``length``."""
    if len(text) <= length:
        return text
    head = text[: length - 1]
    words, space, _ = head.rpartition(" ")
    return f"{(words if space and len(words) > length // 2 else head).rstrip(' ,;')}…"


def words_in(language: str) -> Words:
    """The sentences in ``language``."""
    if language not in LANGUAGES:
        known = " or ".join(map(repr, LANGUAGES))
        raise ValueError(f"language={language!r} is unknown: use {known}.")
    file = resources.files("maxmargin.reports") / "languages" / f"{language}.toml"
    return Words(language=str(language), **tomllib.loads(file.read_text(encoding="utf-8")))
