"""What commands say, in another language: the English sentence is the key."""

from __future__ import annotations

import tomllib
from importlib import resources
from string import Formatter
from typing import Any

LANGUAGES = ("en", "es")


class Translator(Formatter):
    """Fills in sentences such as "{n} rows", in English or translated.

    A sentence without a translation stays in English. Numbers get the decimal mark of the language.
    """

    def __init__(self, language: str = "en") -> None:
        self.language = language
        self.sentences: dict[str, str] = {}
        if language != "en":
            file = resources.files("maxmargin.cli") / "languages" / f"{language}.toml"
            self.sentences = tomllib.loads(file.read_text(encoding="utf-8"))["sentences"]

    def __call__(self, sentence: str, /, **values: Any) -> str:
        sentence = self.sentences.get(sentence, sentence)
        return self.vformat(sentence, (), values) if values else sentence

    def format_field(self, value: Any, format_spec: str) -> str:
        text = format(value, format_spec)
        return self.marked(text) if isinstance(value, float) else text

    def marked(self, number: str) -> str:
        """A number with the decimal mark of the language."""
        return number if self.language == "en" else number.replace(".", ",")
