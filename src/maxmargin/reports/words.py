"""The sentences of the report, by language."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

LANGUAGES = ("en", "es")


@dataclass(frozen=True)
class Words:
    """Sentences by key; ``say`` fills in their values.

    ``measures`` names the measures of an evaluation; ``in_pictures`` translates what the displays write
    (patterns of regular expressions, applied in order).
    """

    language: str
    sentences: dict[str, str]
    measures: dict[str, str] = field(default_factory=dict)
    in_pictures: dict[str, str] = field(default_factory=dict)

    def say(self, key: str, **values: Any) -> str:
        """The sentence called ``key``."""
        return self.sentences[key].format(**values)

    def measure(self, name: str) -> str:
        """A measure's name: a known one, or "recall of CLASS"."""
        if name in self.measures:
            return self.measures[name]
        head, of, rest = name.partition(" of ")
        return f"{self.measures[head + of.rstrip()]} {rest}" if of else name


def words_in(language: str) -> Words:
    """The sentences in ``language``."""
    if language not in LANGUAGES:
        known = ", ".join(map(repr, LANGUAGES))
        raise ValueError(f"language={language!r} is not spoken here: use one of {known}.")
    file = resources.files("maxmargin.reports") / "languages" / f"{language}.toml"
    return Words(language=language, **tomllib.loads(file.read_text(encoding="utf-8")))
