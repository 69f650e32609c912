"""Docstrings are plain text; this turns them into reStructuredText when the reference is built.

What a reader of ``help(mm.SVC)`` sees stays free of markup. Here indented formulas become literal blocks,
sections become headings with definition lists, names in backticks become links, and characters with a meaning
in reStructuredText are escaped.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import maxmargin as mm

_LISTS = {"Parameters", "Attributes", "Returns", "Raises", "Parameters shared by all rankers"}
_NAME = re.compile(r"^(?P<names>[\w*, .()\[\]\"'=-]+?) : (?P<text>.*)$")
_CODE = re.compile(r"``(.+?)``|`([^`]+)`|(?<![\w`])([A-Za-z]\w*(?:\.\w+)*_)(?![\w`])")


def _public_names() -> dict[str, str]:
    names = {name: f"maxmargin.{name}" for name in mm._HOMES}
    for module in ("kernels", "metrics", "scorecards", "displays", "feature_selection"):
        for name in getattr(mm, module).__all__:
            names.setdefault(name, f"maxmargin.{module}.{name}")
    return names


_PUBLIC = _public_names()


def _inline(text: str) -> str:
    """One line of prose: code and links marked, everything else escaped."""
    parts, last = [], 0
    for match in _CODE.finditer(text):
        parts.append(_escape(text[last : match.start()]))
        parts.append(_marked(match))
        last = match.end()
    return "".join([*parts, _escape(text[last:])])


def _marked(match: re.Match[str]) -> str:
    code = next(group for group in match.groups() if group is not None)
    if match.group(2) in _PUBLIC:
        return rf"\ :py:obj:`~{_PUBLIC[code]}`\ "
    return rf"\ ``{code}``\ "


def _escape(text: str) -> str:
    return re.sub(r"([\\*|`_])", r"\\\1", text)


def _sections(lines: list[str]) -> list[tuple[str, list[str]]]:
    """(title, lines) of every part; the first has no title."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    skip = False
    for line, following in pairwise([*lines, ""]):
        if skip:
            skip = False
        elif line.strip() and re.fullmatch(r"-{3,}", following.strip()):
            parts.append((line.strip(), []))
            skip = True
        else:
            parts[-1][1].append(line)
    return parts


def _prose(lines: list[str]) -> list[str]:
    out: list[str] = []
    block: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            block.append(line)
            continue
        if block:
            out += [*_block(block), ""]
        block = []
    return out


def _block(block: list[str]) -> list[str]:
    if block[0].lstrip().startswith(">>>"):
        return [".. code-block:: pycon", "", *[f"    {line}" for line in block]]
    if all(line.startswith("    ") for line in block):
        return [".. code-block:: none", "", *[f"    {line[4:]}" for line in block]]
    if block[0].lstrip().startswith(("|", "===")):  # a table, aligned for the terminal
        return [".. code-block:: none", "", *[f"    {line}" for line in block]]
    prose: list[str] = []
    for k, line in enumerate(block):
        if line.startswith("    ") and not block[0].lstrip().startswith(("- ", "* ")):
            return [*prose, "", *_block(block[k:])] if prose else _block(block[k:])
        bullet = re.match(r"\s*[-*] ", line)
        if bullet:
            prose += ["", f"* {_inline(line[bullet.end() :])}"]
        else:
            indent = "  " if any(p.startswith("* ") for p in prose) else ""
            prose.append(indent + _inline(line.strip()))
    return prose


def _definitions(lines: list[str]) -> list[str]:
    """``name : text`` with its continuation lines, as a definition list."""
    out: list[str] = []
    for line in lines:
        found = _NAME.match(line)
        if found:
            out += ["", f"``{found['names']}``", f"    {_inline(found['text'])}"]
        elif line.strip():
            out.append(f"    {_inline(line.strip())}" if out else _inline(line.strip()))
    return [*out, ""]


def as_rst(lines: list[str]) -> list[str]:
    """The whole docstring."""
    out: list[str] = []
    for title, body in _sections(lines):
        if title:
            out += [f".. rubric:: {title}", ""]
        out += _definitions(body) if title in _LISTS else _prose(body)
    return out


def _process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = as_rst(lines)


def _skip(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Only what this package defines; what scikit-learn adds is described there."""
    target = obj.fget if isinstance(obj, property) else obj
    module = getattr(target, "__module__", None)
    if module is not None and not str(module).startswith("maxmargin"):
        return True
    return None


def setup(app: Any) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", _process)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True}
