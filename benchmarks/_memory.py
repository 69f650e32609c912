"""Peak memory of this process while something runs."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

_STATUS = Path("/proc/self/status")


def status(*names: str) -> list[float]:
    """Fields of /proc/self/status in MB: RssAnon (memory of its own), RssFile (mapped files), VmHWM, ..."""
    lines = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
    return [float(lines[name].split()[0]) / 1024.0 for name in names]


class PeakMemory:
    """Samples RssAnon and RssFile every few milliseconds; the kernel keeps the peak of their sum (VmHWM)."""

    def __enter__(self) -> PeakMemory:
        self.anon, self.file = status("RssAnon", "RssFile")
        self.before = self.anon
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._done.wait(0.005):
            anon, file = status("RssAnon", "RssFile")
            self.anon, self.file = max(self.anon, anon), max(self.file, file)

    def __exit__(self, *_: Any) -> None:
        self._done.set()
        self._thread.join()
        (self.high_water,) = status("VmHWM")
