"""The words of the page, by language."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

LANGUAGES = ("en", "es")


@cache
def all_words() -> dict[str, dict[str, str]]:
    """Sentences by language and key; every language has the same keys."""
    folder = resources.files("maxmargin.playground") / "languages"
    return {
        language: tomllib.loads((folder / f"{language}.toml").read_text(encoding="utf-8"))
        for language in LANGUAGES
    }
