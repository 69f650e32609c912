"""``maxmargin play``: the live page on 127.0.0.1, or a lesson as one HTML file."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Any

from maxmargin.base.whole_files import whole_file
from maxmargin.cli.command_options import PlayOptions
from maxmargin.cli.outputs import check_outputs
from maxmargin.cli.screen import ExitCode, Screen
from maxmargin.playground import lessons
from maxmargin.playground.messages import MessageError
from maxmargin.playground.session import Session
from maxmargin.playground.tuning_tab import TableTab
from maxmargin.tables.refusals import Refusal, UsageRefusal


def run(options: PlayOptions, screen: Screen) -> ExitCode:
    """Serve the page until Ctrl-C, or write a lesson."""
    check_outputs(options.export, force=options.files.force, read=(options.data,))
    if options.target is not None and options.data is None:
        raise UsageRefusal("--target names a column of a table: maxmargin play DATA --target COLUMN.")
    if options.data is not None and options.export is not None:
        raise UsageRefusal("--export writes a lesson, and a lesson has no table: leave DATA out.")
    lesson = None if options.lesson is None else _lesson(options.lesson)
    if options.export is not None:
        if lesson is None:
            raise UsageRefusal("--export needs --lesson: a ready lesson by name, or a lesson file.")
        return _export(lesson, options, screen)
    language = "es" if str(options.screen.language) == "es" else None
    table = None if options.data is None else _table(options, screen)
    return _serve(options, screen, table, lesson, language)


def _serve(
    options: PlayOptions, screen: Screen, table: TableTab | None, lesson: Any, language: str | None
) -> ExitCode:
    try:
        from maxmargin.playground.server import serve_page
    except ImportError as missing:
        raise UsageRefusal(str(missing)) from None

    def started(address: str) -> None:
        screen.line("page", address)
        screen.note("the page answers on this computer only; Ctrl-C ends it.")
        screen.heart.rest()
        if not options.no_browser:
            webbrowser.open(address)

    def session() -> Session:
        own = None if table is None else TableTab.made_of(table.source, table.table, options.target, [])
        return Session(own, lesson, language)

    try:
        serve_page(session, port=options.port, started=started, tunes=table is not None)
    except OSError as wrong:
        raise UsageRefusal(
            f"port {options.port} cannot be used: {wrong}. --port 0 picks a free one."
        ) from None
    return ExitCode.DONE


def _table(options: PlayOptions, screen: Screen) -> TableTab:
    assert options.data is not None
    try:
        found = TableTab.read(options.data, options.target)
    except MessageError as wrong:
        raise Refusal(f"{options.data}: {wrong}") from None
    for note in found.notes:
        screen.note(note)
    return found


def _lesson(name: str) -> Any:
    """A lesson file where the name ends in .json, else a ready lesson."""
    try:
        if not name.endswith(".json"):
            return lessons.ready(name)
        return lessons.read_lesson(Path(name).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as wrong:
        raise Refusal(f"{name} cannot be read: {wrong}.") from None
    except MessageError as wrong:
        raise UsageRefusal(f"--lesson {name}: {wrong}") from None


def _export(lesson: Any, options: PlayOptions, screen: Screen) -> ExitCode:
    from maxmargin.playground.one_file import lesson_page

    assert options.export is not None
    with screen.working("recording the lesson"):
        page = lesson_page(lesson, str(options.screen.language))
    with whole_file(options.export, overwrite=options.files.force) as file:
        file.write(page)
    screen.line("saved", str(options.export))
    return ExitCode.DONE
