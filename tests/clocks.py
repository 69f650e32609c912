"""Processor time of calls, without what a new machine spends on compiling."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from maxmargin.compute.compiling import WATCH


def warm(call: Callable[[], Any]) -> tuple[Any, float]:
    """What the call returns, and the processor time of the first run that compiles nothing.

    It counts all threads of this process; other work on the machine does not count.
    """
    compiled = -1.0
    while WATCH.seconds != compiled:
        compiled, began = WATCH.seconds, time.process_time()
        found = call()
        spent = time.process_time() - began
    return found, spent


def quickest(call: Callable[[], Any], enough: float, tries: int = 3) -> float:
    """The least processor time of this thread in a few calls, or the first that is ``enough``.

    The garbage of other tests is collected in any of them.
    """
    spent = []
    while len(spent) < tries and min(spent, default=enough) >= enough:
        began = time.thread_time()
        call()
        spent.append(time.thread_time() - began)
    return min(spent)
