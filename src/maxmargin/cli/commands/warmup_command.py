"""``maxmargin warmup``: compile ahead, so that later commands on this machine do not."""

from __future__ import annotations

import maxmargin as mm
from maxmargin.cli.command_options import WarmupOptions
from maxmargin.cli.screen import Screen


def run(options: WarmupOptions, screen: Screen) -> None:
    """Compile what was named, or everything, and say how long it took."""
    seconds = mm.warmup(options.only or None, verbose=-1 if options.screen.json else 1)
    screen.tell(compiled={name: round(value, 2) for name, value in seconds.items()})
    total = sum(seconds.values())
    said = (
        f"{total:.1f} s, kept for later processes"
        if total > 0.05
        else "nothing to do, all was compiled before"
    )
    screen.line("compiled", said)
