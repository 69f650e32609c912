"""Lessons: points, settings, a text in one or two languages, and which panels are hidden."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from maxmargin.base.visible_text import visible
from maxmargin.playground import messages
from maxmargin.playground.messages import Message, MessageError

PANELS = ("machine", "solver", "certificate", "chart", "row", "conditions", "data", "export", "lessons")
_LONGEST_TEXT = 20_000


@cache
def _all() -> dict[str, Message]:
    """The ready lessons by name, in their order."""
    folder = resources.files("maxmargin.playground") / "lesson_files"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".json")), key=lambda f: f.name)
    return {
        file.name.removesuffix(".json"): checked(json.loads(file.read_text(encoding="utf-8")))
        for file in files
    }


def listed() -> list[Message]:
    """Names and titles of the ready lessons."""
    return [{"name": name, "title": lesson["title"]} for name, lesson in _all().items()]


def ready(name: str) -> Message:
    """The ready lesson called ``name``."""
    if name not in _all():
        raise MessageError(f"there is no lesson {name[:40]!r}: use {', '.join(_all())}.")
    return _all()[name]


def read_lesson(text: str) -> Message:
    """A lesson from the text of a file."""
    return checked(messages.parsed(text))


def checked(lesson: Any) -> Message:
    """The lesson, or a sentence about what is wrong with it."""
    if not isinstance(lesson, dict) or lesson.get("maxmargin_lesson") != 1:
        raise MessageError('this file is not a lesson: it needs "maxmargin_lesson": 1.')
    known = (
        "maxmargin_lesson",
        "title",
        "text",
        "points",
        "settings",
        "view",
        "tab",
        "hidden",
        "rival",
        "watch",
        "selected",
    )
    messages.only(lesson, *known)
    points, classes = messages.points_of(lesson.get("points"))
    settings = lesson.get("settings", {})
    messages.settings_of(settings)
    found: Message = {
        "maxmargin_lesson": 1,
        "title": _words(lesson, "title", 200),
        "text": _words(lesson, "text", _LONGEST_TEXT),
        "points": [[float(x), float(y), int(c)] for (x, y), c in zip(points, classes, strict=True)],
        "settings": dict(settings),
        "tab": messages.choice(lesson, "tab", ("plane", "steps"), "plane"),
        "hidden": _panels(lesson.get("hidden", [])),
        "watch": bool(lesson.get("watch", False)),
        "selected": messages.whole(lesson, "selected", -1, messages.MAX_POINTS, -1),
    }
    if "rival" in lesson:
        found["rival"] = messages.choice(lesson, "rival", messages.SOLVERS)
    if "view" in lesson:
        view = lesson["view"] if isinstance(lesson["view"], dict) else {}
        checked_view = messages.view_of({**view, "nx": 2, "ny": 2})
        found["view"] = {name: getattr(checked_view, name) for name in ("x0", "x1", "y0", "y1")}
    return found


def _words(lesson: Message, name: str, longest: int) -> Any:
    """One text for all languages, or one for each."""
    value = lesson.get(name, "")
    if isinstance(value, dict):
        messages.only(value, "en", "es")
        return {language: visible(messages.text(value, language, longest)) for language in value}
    return visible(messages.text(lesson, name, longest, ""))


def _panels(names: Any) -> list[str]:
    if not isinstance(names, list) or not all(name in PANELS for name in names):
        raise MessageError(f"hidden must be a list of panels: {', '.join(PANELS)}.", field="hidden")
    return list(names)
