"""A live bar on a terminal or notebook; plain lines elsewhere when asked for."""

from __future__ import annotations

import sys
import time
from typing import Any, Self

import numpy as np

from maxmargin.base.typing import FloatArray


def _on_terminal() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class Progress:
    """Counts evaluations and shows the best cell so far. Silent unless somebody can watch it."""

    def __init__(self, total: int, cells: list[dict[str, Any]], verbose: int) -> None:
        self._total = total
        self._cells = cells
        self._done = 0
        self._verbose = verbose
        self._began = time.perf_counter()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if self._verbose >= 0 and _on_terminal():
            self._open_bar()
        return self

    def _open_bar(self) -> None:
        try:
            from rich import progress as rich_progress
            from rich.console import Console
        except ImportError:
            return
        self._bar = rich_progress.Progress(
            rich_progress.TextColumn("tuning"),
            rich_progress.BarColumn(),
            rich_progress.MofNCompleteColumn(),
            rich_progress.TimeElapsedColumn(),
            rich_progress.TextColumn("{task.description}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("", total=self._total)
        self._bar.start()

    def advance(self, n: int, errors: FloatArray) -> None:
        self._done += n
        if self._bar is not None:
            self._bar.update(self._task, advance=n, description=self._best(errors))
        elif self._verbose > 0:
            seconds = time.perf_counter() - self._began
            print(f"[tune] {self._done}/{self._total} in {seconds:.1f} s, {self._best(errors)}", flush=True)

    def _best(self, errors: FloatArray) -> str:
        complete = ~np.isnan(errors).any(axis=1)
        if not complete.any():
            return "no cell finished yet"
        means = np.where(complete, errors.mean(axis=1), np.inf)
        best = int(means.argmin())
        params = ", ".join(
            f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in self._cells[best].items()
        )
        return f"best {means[best]:.4g} at {params}"

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()
