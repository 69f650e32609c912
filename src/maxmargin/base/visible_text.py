"""Text from files and users, safe to show: control characters become visible escapes."""

from __future__ import annotations

# marks that change the direction of the text around them, and separators that act as line ends
_DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029"
_CONTROLS = [*range(0x20), *range(0x7F, 0xA0)]
_ESCAPES = {code: f"\\x{code:02x}" for code in _CONTROLS if code not in (0x09, 0x0A)}
_HALVES = range(0xD800, 0xE000)  # halves of characters, which no file or terminal accepts
_ESCAPES |= {code: f"\\u{code:04x}" for code in [*map(ord, _DIRECTIONS), *_HALVES]}


def visible(text: str) -> str:
    r"""The text with terminal controls and bidirectional marks written as escapes; tabs and line ends stay.

    Such characters can move the cursor, or show a name in another order than it is stored.

    Examples
    --------
    >>> print(visible("cod\u202egpj.exe"))
    cod\u202egpj.exe
    """
    return text.translate(_ESCAPES)
