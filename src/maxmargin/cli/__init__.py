"""The command line: ``maxmargin fit data.csv --target outcome``."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from typing import Any


def main() -> None:
    """Entry point of the command ``maxmargin``."""
    signal.signal(signal.SIGTERM, _end)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)  # Typer, which takes a while to load, would end without a message
    try:
        _run()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # compiled code in threads may not outlive the process
        gc.freeze()  # a last collection of all objects would take 0.4 s
        if getattr(sys.exc_info()[1], "code", 0) == 130:
            sys.unraisablehook = lambda lost: None  # LLVM objects that Ctrl-C left incomplete
            _leave_compilation()


def _leave_compilation() -> None:
    """End at once if a thread compiles: nothing stops it for seconds, and nobody needs its code."""
    compiling = sys.modules.get("maxmargin.compute.compiling")
    if compiling is None or not compiling.WATCH.running:
        return
    atexit._run_exitfuncs()  # temporary files
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(130)


def _end(number: int, frame: Any) -> None:
    """End as after an error: unfinished files are removed and workers are stopped."""
    if number == signal.SIGINT:
        print("maxmargin: interrupted", file=sys.stderr)
    raise SystemExit(128 + number)


def expect_interrupts() -> None:
    """Let Ctrl-C raise KeyboardInterrupt from now on, which a command reports in one line."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _run() -> None:
    try:
        import rich  # noqa: F401  # only asked whether it is here
        import typer  # noqa: F401  # likewise
    except ImportError:
        print("maxmargin: the command line needs more: pip install 'maxmargin[cli]'", file=sys.stderr)
        raise SystemExit(1) from None
    from maxmargin.cli.app import app

    app(prog_name="maxmargin")


__all__ = ["expect_interrupts", "main"]
