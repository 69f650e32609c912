"""Progress of long work, always on standard error: a live bar on a terminal or notebook, else lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Self

_FIRST_AFTER = 0.5  # seconds: shorter work shows nothing
_BETWEEN = 0.5  # seconds between two lines


def on_terminal() -> bool:
    """True where a live bar can be shown."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def show_line(text: str) -> None:
    """One line about an iteration or a pass."""
    print(text, file=sys.stderr, flush=True)


def line_printer(title: str) -> Callable[[object], None]:
    """A function that prints what it is given on standard error, at most about twice a second."""
    last = [-_BETWEEN]

    def show(note: object) -> None:
        now = time.perf_counter()
        if now - last[0] >= _BETWEEN:
            last[0] = now
            show_line(f"[{title}] {note}")

    return show


class ProgressReport:
    """Counts what is done and tells about it.

    ``verbose=0`` shows a live bar on a terminal and nothing elsewhere, 1 prints a line about twice a second
    where there is no terminal, 2 a line for every piece of work, -1 nothing. ``live=False`` never shows a
    bar. ``total=None`` means that it is not known.
    """

    def __init__(self, title: str, total: int | None = None, *, verbose: int = 0, live: bool = True) -> None:
        self._title = title
        self._total = total
        self._verbose = int(verbose)
        self._live = live and self._verbose >= 0 and on_terminal()
        self._began = self._last = time.perf_counter()
        self._done = 0
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def advance(self, n: int = 1, note: Callable[[], str] = str) -> None:
        """Count ``n`` more pieces of work; ``note()`` says what is known so far, when it is shown."""
        self._done += n
        now = time.perf_counter()
        if self._live and now - self._began >= _FIRST_AFTER:
            self._update_bar(note())
        elif self._verbose > 0 and not self._live and self._is_due(now):
            self._last = now
            self._print(now - self._began, note())

    def _is_due(self, now: float) -> bool:
        return self._verbose > 1 or now - self._last >= _BETWEEN or self._is_last()

    def _is_last(self) -> bool:
        return self._done == self._total

    def _print(self, seconds: float, note: str) -> None:
        count = f"{self._done}" if self._total is None else f"{self._done}/{self._total}"
        left = ""
        if self._total and self._done and not self._is_last():
            left = f", about {seconds * (self._total - self._done) / self._done:.0f} s left"
        said = f", {note}" if note else ""
        show_line(f"[{self._title}] {count} in {seconds:.1f} s{left}{said}")

    def _update_bar(self, note: str) -> None:
        if self._bar is None and not self._open_bar():
            return
        self._bar.update(self._task, completed=self._done, description=note)

    def _open_bar(self) -> bool:
        try:
            from rich import progress as rich_progress
            from rich.console import Console
        except ImportError:
            self._live = False
            return False
        self._bar = rich_progress.Progress(
            rich_progress.TextColumn(self._title),
            rich_progress.BarColumn(),
            rich_progress.MofNCompleteColumn(),
            rich_progress.TimeElapsedColumn(),
            rich_progress.TimeRemainingColumn(),
            rich_progress.TextColumn("{task.description}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("", total=self._total)
        self._bar.start()
        return True
