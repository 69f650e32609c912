"""What a command prints, how it reports errors, and its exit codes."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from enum import IntEnum
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from maxmargin.base import work_clock
from maxmargin.base.interruption import interrupts_kept
from maxmargin.base.progress import ProgressReport, on_terminal
from maxmargin.base.shown import json_value, ratio_digits
from maxmargin.base.visible_text import visible
from maxmargin.cli.heartbeat import Heartbeat
from maxmargin.tables.refusals import Refusal, UsageRefusal
from maxmargin.tables.translation import Translator

_LABEL = 10


class ExitCode(IntEnum):
    """Exit codes of all commands."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    DATA = 3
    MODEL = 4
    NO = 5
    INTERRUPTED = 130


class Screen:
    """Standard output carries the results, standard error the notes about them.

    Sentences are translated here. With ``as_json`` standard output carries one JSON object only.
    """

    def __init__(self, command: str = "", *, as_json: bool = False, language: str = "en") -> None:
        self.as_json = as_json
        self.say = Translator(language)
        self.heart = Heartbeat(command, self.say)
        self.answer: dict[str, Any] = {"command": command}
        self.notes: list[str] = []
        width = None if sys.stdout.isatty() else 100
        self._out = Console(highlight=False, soft_wrap=False, width=width)
        self._err = Console(stderr=True, highlight=False, soft_wrap=True)
        self._began = work_clock.now()

    # -- for people ----------------------------------------------------------------------------------

    def line(self, label: str, text: str) -> None:
        """One fact after a label."""
        if not self.as_json:
            grid = Table.grid(padding=(0, 1))
            grid.add_column(width=_LABEL, style="bold cyan", no_wrap=True)
            grid.add_column(overflow="fold")
            grid.add_row(escape(self.say(label)), escape(self._filled(visible(self.say(text)))))
            self._out.print(grid)
            self.heart.heard()

    def _filled(self, text: str) -> str:
        """The text in lines that end at spaces, but not between a number and its percent sign."""
        whole = text.replace(" %", "\xa0%")
        lines = textwrap.wrap(
            whole, self._out.width - _LABEL - 1, break_long_words=False, break_on_hyphens=False
        )
        return "\n".join(lines).replace("\xa0%", " %")

    def table(
        self, columns: Sequence[str], rows: list[list[Any]], title: str = "", *, mark: int = -1
    ) -> None:
        """A table with numbers to the right; the row ``mark`` is highlighted."""
        if self.as_json:
            return
        table = Table(box=None, pad_edge=False)
        for j, name in enumerate(columns):
            numeric = all(isinstance(row[j], (int, float)) for row in rows)
            table.add_column(
                escape(visible(self.say(name))),
                justify="right" if numeric else "left",
                header_style="bold",
                overflow="fold",
            )
        for i, row in enumerate(rows):
            cells = [escape(visible(self.shown(value))) for value in row]
            table.add_row(*cells, style="bold green" if i == mark else None)
        self._out.print()
        if title:  # not the table's own, which is broken to the width of the table
            self._out.print(f"[bold]{escape(visible(self.say(title)))}[/bold]")
        self._out.print(table)
        self._out.print()
        self.heart.heard()

    def parts(self, text: str) -> str:
        """A list with semicolons, translated part by part."""
        return "; ".join(map(self.say, text.split("; ")))

    def shown(self, value: Any) -> str:
        """A value as text: four significant digits, nothing for NaN."""
        return self.say.number(shown(value))

    def figures(self, text: str) -> str:
        """The text with the decimal marks of the language."""
        return re.sub(r"\d+\.\d+", lambda found: self.say.number(found[0]), text)

    def text(self, text: str) -> None:
        """A sentence without a label."""
        if not self.as_json:
            self._out.print(escape(visible(self.say(text))), soft_wrap=True)
            self.heart.heard()

    def note(self, text: str) -> None:
        """A note on standard error; printed once."""
        text = " ".join(visible(self.say(" ".join(text.split()))).split())
        if text in self.notes:
            return
        self.notes.append(text)
        if not self.as_json:
            self._err.print(f"[yellow]{self.say('note')}[/yellow] {escape(text)}")
            self.heart.heard()

    def fail(self, text: str, code: ExitCode) -> None:
        """Print the line of a failure."""
        text = " ".join(visible(text).split())
        self._err.print(f"[red]maxmargin: error:[/red] {escape(text)}")
        if self.as_json:
            self.answer = {"command": self.answer["command"], "error": text, "code": int(code)}
            try:
                self._write_json()
            except OSError:  # a full disk: the line above says so
                _leave_stdout()

    # -- for programs --------------------------------------------------------------------------------

    def tell(self, **facts: Any) -> None:
        """Facts for the JSON answer."""
        self.answer.update(facts)

    def close(self) -> None:
        """Write the JSON answer."""
        if self.as_json:
            self.answer["notes"] = self.notes
            self.answer["seconds"] = round(work_clock.now() - self._began, 3)
            self._write_json()

    def _write_json(self) -> None:
        sys.stdout.write(json.dumps(json_value(self.answer), indent=1, allow_nan=False) + "\n")
        sys.stdout.flush()  # an error at the end of the program could not be caught

    # -- while something runs ------------------------------------------------------------------------

    @contextmanager
    def working(self, what: str, total: int | None = None) -> Iterator[Callable[..., None]]:
        """Progress on a terminal, else a line every other second.

        Call the function that it yields, with a note, after each of the ``total`` steps, or with their number
        after several.
        """
        what, live = self.say(what), on_terminal()
        with self.heart.during(what, total, live=live):
            if not live:
                yield lambda note, steps=1: self.heart.step(steps)
            elif total is None:
                with self._err.status(escape(what)):
                    yield lambda note, steps=1: None
            else:
                with ProgressReport(what, total) as progress:
                    yield lambda note, steps=1: progress.advance(steps, lambda: note)


@contextmanager
def running(screen: Screen) -> Iterator[None]:
    """Run a command: warnings become notes, errors become one line and an exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", category=FutureWarning)
        warnings.filterwarnings("ignore", category=ResourceWarning)  # files that Ctrl-C left open
        # joblib renews a worker whose memory has grown, and loses no work
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")
        warnings.showwarning = lambda message, *_, **__: screen.note(_plain_step(str(message)))
        try:
            with interrupts_kept(), nullcontext() if screen.as_json else screen.heart.beating():
                yield
        except BaseException as error:
            code = _failure(screen, error)
            if code is None:
                raise
            raise typer.Exit(int(code)) from None


def _failure(screen: Screen, error: BaseException) -> ExitCode | None:
    """Print what happened; None for errors that are not explained here."""
    if os.environ.get("MAXMARGIN_TRACEBACK") and isinstance(error, Exception):
        return None
    if isinstance(error, (typer.Exit, SystemExit, GeneratorExit)):
        return None
    if isinstance(error, BrokenPipeError):
        _leave_stdout()
        return ExitCode.FAILED
    explained = _explained(screen.say, error)
    if explained is not None:
        screen.fail(*explained)
    return None if explained is None else explained[1]


def _leave_stdout() -> None:
    """Discard output that was not written yet: the reader has gone, or the disk is full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _explained(say: Translator, error: BaseException) -> tuple[str, ExitCode] | None:
    if isinstance(error, SystemError) and isinstance(error.__cause__, KeyboardInterrupt):
        error = error.__cause__  # Ctrl-C came in compiled code, see `raise_interrupt`
    if isinstance(error, KeyboardInterrupt):  # first: Ctrl-C does not wait for imports
        return say(str(error) or "interrupted"), ExitCode.INTERRUPTED
    from maxmargin.io import ModelFileError
    from maxmargin.kernels import KernelExpressionError

    match error:
        case UsageRefusal() | KernelExpressionError():
            return say(str(error)), ExitCode.USAGE
        case Refusal():
            return say(str(error)), ExitCode.DATA
        case ModelFileError():
            return say(str(error)), ExitCode.MODEL
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            return f"{where}{error.strerror or error}", ExitCode.FAILED
        case MemoryError():
            return say("this table does not fit in memory: use fewer rows or columns."), ExitCode.FAILED
        case ValueError() | ImportError():
            return _plain_step(str(error)), ExitCode.FAILED
        case Exception():
            text = f"{type(error).__name__}: {error} (set MAXMARGIN_TRACEBACK=1 to see where)"
            return say(text), ExitCode.FAILED
    return None


def _plain_step(text: str) -> str:
    """A parameter without the name of the step of our pipelines, which the user did not choose."""
    return text.replace("model__", "")


# -- values --------------------------------------------------------------------------------------------------


def shown(value: Any, digits: int = 4) -> str:
    """A value as text: four significant digits, or all before the point; nothing for NaN."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool) or not isinstance(value, float):
        return str(value)
    digits = ratio_digits(value, digits)
    return f"{value:.0f}" if 10**digits <= abs(value) < 1e9 else f"{value:.{digits}g}"
