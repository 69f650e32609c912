"""What a command says: lines and tables for people, one JSON object for machines, and how it ends."""

from __future__ import annotations

import json
import math
import os
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from maxmargin.cli.refusal import Code, Refusal

_LABEL = 10


class Screen:
    """Standard output carries the answer, standard error what is said about the way to it."""

    def __init__(self, command: str, *, as_json: bool) -> None:
        self.as_json = as_json
        self.answer: dict[str, Any] = {"command": command}
        self.notes: list[str] = []
        width = None if sys.stdout.isatty() else 100
        self._out = Console(highlight=False, soft_wrap=False, width=width)
        self._err = Console(stderr=True, highlight=False, soft_wrap=True)
        self._began = time.perf_counter()

    # -- for people ----------------------------------------------------------------------------------

    def line(self, label: str, text: str) -> None:
        """One fact under a label."""
        if not self.as_json:
            grid = Table.grid(padding=(0, 1))
            grid.add_column(width=_LABEL, style="bold cyan", no_wrap=True)
            grid.add_column(overflow="fold")
            grid.add_row(escape(label), escape(text))
            self._out.print(grid)

    def table(self, columns: list[str], rows: list[list[Any]], *, title: str = "", mark: int = -1) -> None:
        """A table with numbers to the right; the row ``mark`` is marked."""
        if self.as_json:
            return
        table = Table(
            title=escape(title) or None, title_justify="left", title_style="bold", box=None, pad_edge=False
        )
        for j, name in enumerate(columns):
            numeric = all(isinstance(row[j], (int, float)) for row in rows)
            table.add_column(
                escape(name), justify="right" if numeric else "left", header_style="bold", overflow="fold"
            )
        for i, row in enumerate(rows):
            table.add_row(*(escape(shown(value)) for value in row), style="bold green" if i == mark else None)
        self._out.print()
        self._out.print(table)
        self._out.print()

    def text(self, text: str) -> None:
        """Text as it is."""
        if not self.as_json:
            self._out.print(escape(text), soft_wrap=True)

    def note(self, text: str) -> None:
        """Something the reader should know; told once."""
        text = " ".join(str(text).split())
        if text in self.notes:
            return
        self.notes.append(text)
        if not self.as_json:
            self._err.print(f"[yellow]note[/yellow] {escape(text)}")

    def fail(self, text: str, code: Code) -> None:
        """The one line of a failure."""
        text = " ".join(str(text).split())
        self._err.print(f"[red]maxmargin: error:[/red] {escape(text)}")
        if self.as_json:
            self.answer = {"command": self.answer["command"], "error": text, "code": int(code)}
            self._write_json()

    # -- for machines --------------------------------------------------------------------------------

    def tell(self, **facts: Any) -> None:
        """Facts for the JSON answer."""
        self.answer.update(facts)

    def close(self) -> None:
        if self.as_json:
            self.answer["notes"] = self.notes
            self.answer["seconds"] = round(time.perf_counter() - self._began, 3)
            self._write_json()

    def _write_json(self) -> None:
        sys.stdout.write(json.dumps(plain(self.answer), indent=1, allow_nan=False) + "\n")

    # -- on the way ----------------------------------------------------------------------------------

    @contextmanager
    def working(self, what: str, total: int | None = None) -> Iterator[Any]:
        """A bar on a terminal while something runs; call what is given after every step."""
        if not sys.stderr.isatty():
            yield lambda text="": None
            return
        columns = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=30)]
        if total is not None:
            columns.append(MofNCompleteColumn())
        with Progress(*columns, TimeElapsedColumn(), console=self._err, transient=True) as bar:
            task = bar.add_task(escape(what), total=total)
            yield lambda text="": bar.update(
                task, advance=0 if total is None else 1, description=escape(text or what)
            )


@contextmanager
def running(command: str, *, as_json: bool) -> Iterator[Screen]:
    """Run a command: warnings become notes, errors one line and an exit code."""
    screen = Screen(command, as_json=as_json)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", category=FutureWarning)
        warnings.showwarning = lambda message, *_, **__: screen.note(str(message))
        try:
            yield screen
        except BaseException as error:
            code = _failure(screen, error)
            if code is None:
                raise
            raise typer.Exit(int(code)) from None
        screen.close()


def _failure(screen: Screen, error: BaseException) -> Code | None:
    """Say what happened; None where the error is no failure of ours to explain."""
    from maxmargin.io import ModelFileError
    from maxmargin.kernels import KernelExpressionError

    if os.environ.get("MAXMARGIN_TRACEBACK") and isinstance(error, Exception):
        return None
    match error:
        case typer.Exit() | SystemExit() | GeneratorExit():
            return None
        case Refusal():
            code, text = error.code, str(error)
        case ModelFileError():
            code, text = Code.MODEL, str(error)
        case KernelExpressionError():
            code, text = Code.USAGE, str(error)
        case KeyboardInterrupt():
            code, text = Code.INTERRUPTED, f"interrupted ({error})" if str(error) else "interrupted"
        case BrokenPipeError():
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads: nothing to flush
            return Code.FAILED
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            code, text = Code.FAILED, f"{where}{error.strerror or error}"
        case MemoryError():
            code, text = Code.FAILED, "the memory is not enough for this table: use fewer rows or columns"
        case ValueError() | ImportError():
            code, text = Code.FAILED, str(error)
        case Exception():
            text = f"{type(error).__name__}: {error} (set MAXMARGIN_TRACEBACK=1 to see where)"
            code = Code.FAILED
        case _:
            return None
    screen.fail(text, code)
    return code


# -- values --------------------------------------------------------------------------------------------------


def shown(value: Any) -> str:
    """A value for people: four significant digits, nothing for NaN."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool) or not isinstance(value, float):
        return str(value)
    return f"{value:.4g}" if abs(value) < 1e5 else f"{value:.6g}"


def plain(value: Any) -> Any:
    """A value that JSON can hold; NaN and infinity become null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Path):
        return str(value)
    return repr(value)
