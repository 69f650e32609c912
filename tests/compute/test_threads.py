"""Calls on threads after an earlier call failed or was interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.base import threads
from maxmargin.base.threads import interruptible, run, single_threaded_blas


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


def interrupt(call: Callable[[], Any], begun: Callable[[], bool] = lambda: True) -> None:
    """Ctrl-C during ``interruptible(call)`` once it has begun; by a true signal, which wakes a thread."""

    def press() -> None:
        while not begun():
            time.sleep(0.01)
        time.sleep(0.1)
        signal.pthread_kill(main, signal.SIGINT)

    def wait() -> None:
        ctrl_c.start()
        interruptible(call, 10**9)

    main, ctrl_c = threading.main_thread().ident or 0, threading.Thread(target=press)
    try:
        with pytest.raises(KeyboardInterrupt):
            wait()
    finally:
        ctrl_c.join()


needs_signals = pytest.mark.skipif(
    not hasattr(signal, "pthread_kill"), reason="a signal cannot be sent to a thread here"
)


LOCKED = """
import signal, threading
from maxmargin.base.threads import interruptible, run
enter, entered, main = threading.Condition.__enter__, [], threading.get_ident()

def interrupted(condition):
    enter(condition)
    if threading.get_ident() == main:
        entered.append(condition)
        if len(entered) == {nth}:
            signal.raise_signal(signal.SIGINT)

threading.Condition.__enter__ = interrupted
try:
    {call}
except KeyboardInterrupt:
    pass
threading.Condition.__enter__ = enter
print({call}, run([lambda: 1, lambda: 2], 2))
"""


@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize("call", ["run([lambda: 3, lambda: 4], 2)", "interruptible(lambda: 5, 10**9)"])
def test_an_interrupt_while_a_lock_is_taken_leaves_no_lock_behind(nth: int, call: str) -> None:
    """Those of semaphores and futures are written in Python: one stayed locked, and the next call hung."""
    code = LOCKED.format(nth=nth, call=call)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip().endswith("[1, 2]")


@needs_signals
def test_an_interrupt_does_not_wait_for_a_call_that_cannot_be_stopped() -> None:
    released = threading.Event()
    started = time.perf_counter()
    try:
        interrupt(lambda: released.wait(60.0))
        assert time.perf_counter() - started < 20.0
    finally:
        released.set()


@needs_signals
def test_interrupted_calls_do_not_run_in_parallel() -> None:
    """The first goes on unseen, the second never begins, and the third waits for the first."""
    released, seen = threading.Event(), list[str]()

    def first() -> None:
        seen.append("first begins")
        released.wait(60.0)
        seen.append("first ends")

    try:
        interrupt(first, begun=lambda: bool(seen))
        interrupt(lambda: seen.append("second"))
        threading.Timer(0.3, released.set).start()
        assert interruptible(lambda: list(seen), 10**9) == ["first begins", "first ends"]
    finally:
        released.set()


def test_an_interruptible_call_gives_its_result_or_its_error() -> None:
    assert interruptible(lambda: 1 + 1, 10**9) == 2
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0, 10**9)
    assert run(
        [lambda: interruptible(threading.get_ident, 10**9), threading.get_ident], 2
    )  # on a thread it stays there


class Limits:
    """Stands for threadpoolctl: counts limits, and an interrupt comes where it is told to."""

    def __init__(self) -> None:
        self.limited, self.interrupts = 0, 0

    def limit(self, **_: Any) -> Limits:
        self.limited += 1
        return self

    def restore_original_limits(self) -> None:
        if self.interrupts:
            self.interrupts -= 1
            raise KeyboardInterrupt
        self.limited -= 1


def test_small_factorisations_use_one_blas_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several would wait for each other: on a busy machine for seconds instead of a tenth of one."""
    limits = Limits()
    monkeypatch.setattr(threads, "_controller", lambda: limits)
    assert interruptible(lambda: limits.limited, 400**2) == 1
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 4, 60)
    counted = limits.limited
    seen: list[int] = []
    mm.LogisticRegression().fit(X, y, callback=lambda _: seen.append(limits.limited))
    assert counted == 0
    assert seen
    assert min(seen) == 1


def test_an_interrupt_does_not_leave_blas_with_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits()
    monkeypatch.setattr(threads, "_controller", lambda: limits)
    limits.interrupts = 1
    with pytest.raises(KeyboardInterrupt), single_threaded_blas():
        pass
    assert limits.limited == 1  # not lifted yet ...
    with single_threaded_blas(), single_threaded_blas():
        assert limits.limited == 1
    assert limits.limited == 0  # ... but by the next call


def test_an_interrupt_before_the_limit_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits()

    def interrupted() -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(threads, "_controller", interrupted)
    with pytest.raises(KeyboardInterrupt), single_threaded_blas():
        pass
    monkeypatch.setattr(threads, "_controller", lambda: limits)
    with single_threaded_blas():
        assert limits.limited == 1
    assert limits.limited == 0


def test_threads_have_numpys_error_settings_of_their_caller() -> None:
    """`np.errstate` holds for one thread only, so `run` hands it on."""
    largest = np.full(3, 1e308)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with np.errstate(over="ignore"):
            found = run([lambda: 10.0 * largest] * 2, 2)
        with np.errstate(over="raise"), pytest.raises(FloatingPointError):
            run([lambda: 10.0 * largest] * 2, 2)
    assert np.isinf(found).all()
