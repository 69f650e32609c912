"""Translations of what commands print; a file for each language holds them."""

from __future__ import annotations

import re
import tomllib
from importlib import resources

_NUMBER = re.compile(r"[-+±]?\d+\.\d+(e[-+]?\d+)?")
_INTERVAL = re.compile(r"[(\[]-?[\d.]*(inf)?(e[-+]?\d+)?, -?[\d.]*(inf)?(e[-+]?\d+)?[)\]]")
_AT_END = re.compile(r"(?<= \()[^()]*(?=\)$)")
_IN_BRACKETS = re.compile(rf"(?<=\(){_NUMBER.pattern}(?=\))")


class Translator:
    """Translates sentences such as "12 rows are left out."; unknown ones stay as they are.

    English is translated too: messages for programmers become messages in the words of the command line.

    A file of translations maps the English sentence, with ``{}`` for each value and ``{#}`` for each number
    beside another value, to one with ``{0}``, ``{1}`` and so on; ``{1:t}`` is translated in turn. Numbers get
    the decimal mark of the language.
    """

    def __init__(self, language: str = "en") -> None:
        self.language = language
        measures = {} if language == "en" else _of("maxmargin.reports", language, "measures")
        sentences = {**measures, **_of("maxmargin.cli", language)}
        self._words = {key: value for key, value in sentences.items() if "{" not in key}
        keys = sorted((key for key in sentences if "{" in key), key=len, reverse=True)
        self._patterns = [(_pattern(key), sentences[key]) for key in keys]

    def __call__(self, text: str) -> str:
        if text in self._words or not self._patterns:
            return self._words.get(text, text)
        for pattern, sentence in self._patterns:
            found = pattern.fullmatch(text)
            if found:
                return sentence.format(*(_Value(self, group) for group in found.groups()))
        return self.number(text)

    def number(self, text: str) -> str:
        """A number or an interval with the decimal mark of the language; other text as it is."""
        if self.language == "en" or not (_NUMBER.fullmatch(text) or _INTERVAL.fullmatch(text)):
            return text
        return text.replace(", ", "; ").replace(".", ",")


class _Value:
    """A value inside a sentence.

    ``{0:t}`` translates it, ``{0:n}`` the numbers in brackets in it, ``{0:r}`` what stands in brackets at the
    ends of the parts of a list.
    """

    def __init__(self, translator: Translator, text: str) -> None:
        self.translator, self.text = translator, text

    def __format__(self, spec: str) -> str:
        if spec == "r":
            parts = self.text.split("; ")
            return "; ".join(_AT_END.sub(lambda found: self.translator(found[0]), part) for part in parts)
        if spec == "n":
            return _IN_BRACKETS.sub(lambda found: self.translator.number(found[0]), self.text)
        return self.translator(self.text) if spec == "t" else self.translator.number(self.text)


def _of(package: str, language: str, part: str = "sentences") -> dict[str, str]:
    file = resources.files(package) / "languages" / f"{language}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))[part]


def _pattern(key: str) -> re.Pattern[str]:
    parts = re.split(r"(\{#?\})", key)
    values = {"{}": "(.+?)", "{#}": r"([-+]?[\d.]+(?:e[-+]?\d+)?)"}
    return re.compile("".join(values.get(part, re.escape(part)) for part in parts), re.DOTALL)
