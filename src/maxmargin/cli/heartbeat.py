"""A line on standard error whenever a command has been silent for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from time import monotonic

from maxmargin.base.progress import bar_is_shown, show_line

_SILENCE = 1.2  # seconds
_SOME = 0.03  # share of the work after which the time left is shown
_LOOK = 0.1  # seconds between two looks at the clock


@dataclass
class _Work:
    """What is being done, how much of it is finished, and whether a live display shows it already."""

    what: str
    total: int | None = None
    live: bool = False
    done: int = 0
    began: float = field(default_factory=monotonic)
    counted: float = 0.0  # when the last step was finished

    def finished(self, done: int) -> None:
        if done != self.done:
            self.done, self.counted = done, monotonic()

    def line(self) -> str:
        seconds = monotonic() - self.began
        if not self.total:
            return f"[{self.what}] {seconds:.0f} s"
        line = f"[{self.what}] {self.done}/{self.total} in {seconds:.0f} s"
        if self.done == self.total or self.done < _SOME * self.total:
            return line
        # steps can be finished many at a time: between two of them, the time left falls
        left = (self.counted - self.began) * self.total / self.done - seconds
        if left <= 0:
            left = seconds * (self.total - self.done) / self.done
        return f"{line}, about {max(1, round(left))} s left"


class Heartbeat:
    """Prints what the command is doing if nothing was printed for a while.

    ``command`` is its name until the work has one; ``say`` translates.
    """

    def __init__(self, command: str, say: Callable[[str], str]) -> None:
        self._say = say
        self._work = _Work(command)
        self._last = monotonic()
        self._end = Event()

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Watch the clock during this block."""
        thread = Thread(target=self._watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._end.set()
            thread.join()

    def _watch(self) -> None:
        while not self._end.wait(_LOOK):
            if self._work.live or bar_is_shown():
                self.heard()
            elif monotonic() - self._last >= _SILENCE:
                show_line(self._say(self._work.line()))
                self.heard()

    def heard(self) -> None:
        """Note that something was printed."""
        self._last = monotonic()

    def rest(self) -> None:
        """Print no more progress: the command waits for its user."""
        self._end.set()

    @contextmanager
    def during(self, what: str, total: int | None = None, *, live: bool = False) -> Iterator[None]:
        """Name the work of this block; ``live`` if a display shows it."""
        before, self._work = self._work, _Work(what, total, live)
        self.heard()
        try:
            yield
        finally:
            self._work = before
            self.heard()

    def reached(self, done: int, total: int | None = None) -> None:
        """Note how much of the present work is finished."""
        self._work.finished(done)
        self._work.total = total or self._work.total

    def step(self, steps: int = 1) -> None:
        """Note that one or more pieces of the present work are finished."""
        self._work.finished(self._work.done + steps)
