"""Calls on threads after an earlier call failed."""

from __future__ import annotations

import threading
import time

import pytest

from maxmargin.base.threads import run


def test_work_does_not_wait_for_tasks_that_were_given_up() -> None:
    """Tasks that see the stop event late keep their threads, and the next call gets others."""
    released = threading.Event()

    def fails() -> None:
        raise ZeroDivisionError

    def blocks() -> None:
        released.wait(20.0)

    with pytest.raises(ZeroDivisionError):
        run([fails, blocks, blocks], 2)
    started = time.perf_counter()
    try:
        assert run([lambda: 1, lambda: 2], 2) == [1, 2]
    finally:
        released.set()
    assert time.perf_counter() - started < 10.0
