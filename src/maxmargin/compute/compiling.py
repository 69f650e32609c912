"""What happens while Numba compiles: the work clock stops, and long compilations are announced.

Every function is compiled once on a machine and then read from the disk (`jit`). If a call compiles for
more than a second, a bar or a line on the terminal says why it takes longer this time.
"""

from __future__ import annotations

import gc
import multiprocessing
from time import perf_counter
from typing import Any

from numba.core import event

from maxmargin.base import work_clock
from maxmargin.base.progress import Notice

_LONG = 1.0  # seconds of compilation from which it is announced
_NEW_CALL = 2.0  # seconds without compilation after which a new call is assumed


class CompileWatch(event.Listener):
    """Follows the compilation of our functions, and of what is compiled inside them."""

    def __init__(self) -> None:
        self.seconds = 0.0  # spent on compilation in this process
        self._depth = 0
        self._collects = False
        self._began = self._ended = -_NEW_CALL
        self._this_call = 0.0
        self._notice: Notice | None = None

    @property
    def running(self) -> bool:
        """True while a thread compiles."""
        return self._depth > 0

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if self._depth == 0 and not function.__module__.startswith("maxmargin."):
            return
        self._depth += 1
        if self._depth == 1:
            self._began = perf_counter()
            if self._began - self._ended > _NEW_CALL:
                self._this_call = 0.0
            work_clock.pause()
            self._collects = gc.isenabled()
            gc.disable()  # collecting would take a tenth of the time, and there is little garbage
        self._announce(function.__name__)

    def on_end(self, event: Any) -> None:
        if self._depth == 0:
            return
        self._announce(event.data["dispatcher"].py_func.__name__)
        self._depth -= 1
        if self._depth == 0:
            if self._collects:
                _spare_the_collector()
                gc.enable()
            self._this_call += work_clock.resume()
            self._ended = perf_counter()
            self.seconds += self._ended - self._began
            if self._notice is not None:
                self._notice.close()
                self._notice = None

    def _announce(self, name: str) -> None:
        if self._this_call + perf_counter() - self._began < _LONG:
            return
        if self._notice is None and multiprocessing.current_process().name == "MainProcess":
            self._notice = Notice("compiling, once on this machine", again=self._this_call >= _LONG)
        if self._notice is not None:
            self._notice.update(name.strip("_<>"))


def _spare_the_collector() -> None:
    """Count all objects as old: most of Numba's stay, and collecting them at once would take 0.1 s."""
    if gc.get_freeze_count() == 0:  # objects that the user froze would be released
        gc.freeze()
        gc.unfreeze()


WATCH = CompileWatch()


def start_watch() -> None:
    """Follow compilations from now on."""
    event.register("numba:compile", WATCH)
