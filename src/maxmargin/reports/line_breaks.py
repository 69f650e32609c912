"""Where a browser may break a line: between words and after _ . = and /, never inside a name or a number."""

from __future__ import annotations

import re

from maxmargin.base.visible_text import visible

_LONGEST = 24  # characters of a name that are kept together where nothing else is possible
_SEAM = re.compile(r"(?<=[^\W\d])(?<!\d[eE])([_./=:-]+)(?=\w|(?<==)\()")  # not after the e of 5.5e-05
_RUN = re.compile(rf"[^\s\u200b]{{{_LONGEST}}}(?=[^\s\u200b])")
_FIGURE = r"[-+−]?(?:\d[\d.,]*(?:e[-+]?\d+)?|∞)(?: %)?"
_SPAN = re.compile(rf"{_FIGURE}(?: (?:to|a|±) {_FIGURE})")
_EXPONENT = re.compile(r"(?<=\d[eE][-+])(?=\d)")
_SIGNED = re.compile(r"(?<=\d) (?=%)|(?<=<) (?=\d)")


def with_breaks(text: str) -> str:
    """The text with zero-width spaces where a line may break, and nothing that breaks inside figures."""
    text = _SPAN.sub(lambda found: found[0].replace(" ", "\u00a0"), visible(text))
    text = _EXPONENT.sub("\u2060", text)
    text = _SEAM.sub("\\1\u200b", _SIGNED.sub("\u00a0", text))
    return _RUN.sub("\\g<0>\u200b", text)
