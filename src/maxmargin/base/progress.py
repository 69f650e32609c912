"""Progress of long work, always on standard error: a live bar on a terminal or notebook, else lines."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.util import find_spec
from numbers import Integral
from threading import Lock, Timer
from typing import Any, Self

from maxmargin.base import work_clock

_FIRST_AFTER = 0.5  # seconds: shorter work shows nothing
_BETWEEN = 0.5  # seconds between two lines


def on_terminal() -> bool:
    """True if a live bar can be shown."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def bar_is_shown() -> bool:
    """True while a live bar is on screen."""
    return bool(_bars)


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


_bars: list[Any] = []  # bars on screen: only one at a time
_n_silent = 0  # running calls with verbose=-1


@contextmanager
def silenced_by(verbose: object) -> Iterator[None]:
    """Show no notice during a call with ``verbose=-1``."""
    global _n_silent
    quiet = isinstance(verbose, Integral) and verbose < 0
    _n_silent += quiet
    try:
        yield
    finally:
        _n_silent -= quiet


@dataclass(frozen=True)
class SolverProgress:
    """The progress of a solver, as the ``callback`` of a fit receives it.

    ``measure`` says what ``violation`` is: "violation" or "gap" of a dual problem, "objective" of a primal
    one, "loss" of a pass. ``n_active`` counts the rows that take part; None where all do.
    """

    n_iter: int
    violation: float
    n_active: int | None
    seconds: float
    measure: str = "violation"

    def __str__(self) -> str:
        rows = "" if self.n_active is None else f"  {self.n_active} active rows"
        return f"{self.seconds:8.1f} s  {self.n_iter:10d} steps  {self.measure} {self.violation:.3g}{rows}"


Callback = Callable[[SolverProgress], object]  # True stops the solver
_listener: ContextVar[tuple[Callback, float] | None] = ContextVar("listener", default=None)


@contextmanager
def reporting_to(callback: Callback | None) -> Iterator[None]:
    """During this block `tell` calls ``callback``, or that of the surrounding block if it is None."""
    stopped = False

    def listener(progress: SolverProgress) -> bool:  # a request to stop is final
        nonlocal stopped
        assert callback is not None
        stopped = callback(progress) is True or stopped
        return stopped

    token = _listener.set(_listener.get() if callback is None else (listener, work_clock.now()))
    try:
        yield
    finally:
        _listener.reset(token)


def tell(n_iter: int, value: float, measure: str) -> bool:
    """Report to the ``callback`` of the running fit; True once it has asked to stop."""
    if (found := _listener.get()) is None:
        return False
    callback, began = found
    return bool(callback(SolverProgress(n_iter, value, None, work_clock.now() - began, measure)))


class Notice:
    """Work in the background, such as compilation: a bar on a terminal, or a line below another bar.

    Without a terminal it is a message of the logger "maxmargin" at level INFO; nothing during a call with
    ``verbose=-1``. ``again``: the line was shown before.
    """

    def __init__(self, title: str, *, again: bool = False) -> None:
        self._report: ProgressReport | None = None
        if _n_silent:
            return
        if not on_terminal():
            if not again:
                logging.getLogger("maxmargin").info(title)
        elif not _bars and find_spec("rich") is not None:
            self._report = ProgressReport(title, at_once=True)
        elif not again:
            show_line(f"[{title}]")

    def update(self, note: str) -> None:
        if self._report is not None:
            self._report.advance(1, lambda: note)

    def close(self) -> None:
        if self._report is not None:
            self._report.__exit__()


class ProgressReport:
    """Counts finished work and shows progress.

    ``verbose=0`` shows a live bar on a terminal and nothing elsewhere, 1 prints a line about twice a second
    without a terminal, 2 a line for every piece of work, -1 nothing. ``live=False`` never shows a
    bar. ``total=None`` means that it is not known. ``at_once`` shows it from the first moment.
    """

    def __init__(
        self,
        title: str,
        total: int | None = None,
        *,
        verbose: int = 0,
        live: bool = True,
        at_once: bool = False,
    ) -> None:
        self._title = title
        self._total = total
        self._verbose = int(verbose)
        self._live = live and self._verbose >= 0 and on_terminal()
        self._began = self._last = work_clock.now()
        self._first_after = 0.0 if at_once else _FIRST_AFTER
        self._done = 0
        self._bar: Any = None
        self._task: Any = None
        self._lock = Lock()
        self._timer: Timer | None = None

    def __enter__(self) -> Self:
        if self._live:  # the bar must not wait for the first piece of work, which may be long
            self._timer = Timer(_FIRST_AFTER, self._update_bar, [""])
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *exc: object) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._live = False
            if self._bar is not None:
                self._bar.stop()
                _bars.remove(self._bar)
                self._bar = None

    def advance(self, n: int = 1, note: Callable[[], str] = str) -> None:
        """Count ``n`` more pieces of work; ``note()`` returns a text to show with them."""
        self._done += n
        now = work_clock.now()
        if self._live and now - self._began >= self._first_after:
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
        with self._lock:
            if not self._live or (self._bar is None and not self._open_bar()):
                return
            self._bar.update(self._task, completed=self._done, description=note)

    def _open_bar(self) -> bool:
        if _bars:  # another bar is on screen; the next piece of work tries again
            return False
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
        _bars.append(self._bar)
        self._bar.start()
        return True
