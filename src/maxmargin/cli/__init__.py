"""The command line: ``maxmargin fit data.csv --target outcome``."""

from __future__ import annotations

import signal
import sys
from typing import Any


def main() -> None:
    """Entry point of the command ``maxmargin``."""
    signal.signal(signal.SIGTERM, _end)
    try:
        _run()
    except KeyboardInterrupt:  # while the library is imported; a command has its own words for it
        print("maxmargin: interrupted", file=sys.stderr)
        raise SystemExit(130) from None


def _end(number: int, frame: Any) -> None:
    """End as after an error: unfinished files are removed and workers are stopped."""
    raise SystemExit(128 + number)


def _run() -> None:
    try:
        import rich  # noqa: F401  # only asked whether it is here
        import typer  # noqa: F401  # likewise
    except ImportError:
        print("maxmargin: the command line needs more: pip install 'maxmargin[cli]'", file=sys.stderr)
        raise SystemExit(1) from None
    from maxmargin.cli.app import app

    app(prog_name="maxmargin")


__all__ = ["main"]
