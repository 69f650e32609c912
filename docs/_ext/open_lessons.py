"""The ready lessons of the live page as files that open from the docs: recorded states, no Python needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from maxmargin.playground import lessons
from maxmargin.playground.one_file import lesson_page


def write_lessons(folder: Path) -> None:
    """One HTML file for each lesson, with its text in both languages."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in lessons.listed():
        page = lesson_page(lessons.ready(one["name"]))
        (folder / f"{one['name']}.html").write_text(page, encoding="utf-8")


def _finished(app: Any, failure: Exception | None) -> None:
    if failure is None and app.builder.format == "html":
        write_lessons(Path(app.outdir) / "lessons")


def setup(app: Any) -> dict[str, bool]:
    app.connect("build-finished", _finished)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
