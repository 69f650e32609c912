"""Sections and their blocks. A block holds content; the template draws it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar


class Block:
    """A piece of a section; ``kind`` names the macro of the template that draws it."""

    kind: ClassVar[str]


@dataclass(frozen=True)
class Text(Block):
    """A paragraph."""

    text: str
    kind = "text"


@dataclass(frozen=True)
class Heading(Block):
    """A heading inside a section."""

    text: str
    kind = "heading"


@dataclass(frozen=True)
class BulletList(Block):
    """A list of short sentences."""

    items: Sequence[str]
    kind = "bullets"


@dataclass(frozen=True)
class Facts(Block):
    """Names and values side by side."""

    items: Sequence[tuple[str, str]]
    kind = "facts"


@dataclass(frozen=True)
class Sparkline:
    """A cell of a table that is drawn: bars of these heights, between 0 and 1."""

    heights: Sequence[float]


@dataclass(frozen=True)
class Grid(Block):
    """A table. ``cards`` turns each row into a card on a narrow screen; ``more`` rows are folded away."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str | Sparkline]]
    caption: str = ""
    cards: bool = False
    numbers: Sequence[int] = ()
    more: Sequence[Sequence[str | Sparkline]] = ()
    more_label: str = ""
    kind = "grid"


@dataclass(frozen=True)
class Matrix(Block):
    """Counts of predictions (rows) by truth (columns), each cell shaded by its share of the column."""

    names: Sequence[str]
    counts: Sequence[Sequence[str]]
    shares: Sequence[Sequence[float]]
    rows_are: str
    columns_are: str
    caption: str = ""
    kind = "matrix"


@dataclass(frozen=True)
class Bars(Block):
    """Labelled bars; ``share`` is the length between 0 and 1."""

    items: Sequence[tuple[str, str, float]]
    kind = "bars"


@dataclass(frozen=True)
class Picture(Block):
    """An image inside the file."""

    source: str
    alt: str
    caption: str = ""
    kind = "picture"


@dataclass(frozen=True)
class CodeBlock(Block):
    """Lines to copy."""

    text: str
    kind = "code"


@dataclass(frozen=True)
class Caution:
    """A warning: its key, whether it is serious, what was found, and what to do."""

    key: str
    serious: bool
    what: str
    remedy: str


@dataclass(frozen=True)
class Cautions(Block):
    """Warnings."""

    items: Sequence[Caution]
    kind = "cautions"


@dataclass(frozen=True)
class Section:
    """A part of the page with its place in the table of contents."""

    key: str
    title: str
    blocks: Sequence[Any] = field(default_factory=list)
