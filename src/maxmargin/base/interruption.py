"""A fit replaces the whole model or nothing, a prediction uses one model, and Ctrl-C works at any time."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from maxmargin.base.progress import reporting_to, silenced_by

Estimator = TypeVar("Estimator")
Options = ParamSpec("Options")
Result = TypeVar("Result")
Method = Callable[Concatenate[Estimator, Options], Result]


def all_or_nothing(fit: Method[Estimator, Options, Result]) -> Method[Estimator, Options, Result]:
    """A ``fit`` that works on a copy and then replaces all attributes of the estimator in one assignment.

    If it raises or is interrupted, the estimator does not change. Threads that predict during the fit see the
    old model, because their methods are marked with `of_one_fit`. Meanwhile
    `maxmargin.base.progress.tell` reports to the ``callback`` of the fit. scikit-learn's callbacks must see
    the estimator itself: with them the fit works in place, and restores the old attributes if it fails.
    """

    @wraps(fit)
    def whole(self: Estimator, /, *args: Options.args, **options: Options.kwargs) -> Result:
        before = dict(self.__dict__)
        in_place = "_skl_callbacks" in before
        twin = self if in_place else _with_state(self, dict(before))
        callback = cast(Any, options.get("callback"))
        try:
            with silenced_by(getattr(self, "verbose", 0)), reporting_to(callback):
                result = fit(twin, *args, **options)
        except BaseException as error:
            if in_place:
                self.__dict__ = before
            raise_interrupt(error)
            raise
        if in_place:
            return result
        after = twin.__dict__
        # keep the current value of what this fit did not change: another thread may have called set_params
        state = {name: value for name, value in self.__dict__.items() if name in after or name not in before}
        state |= {
            name: value for name, value in after.items() if name not in before or before[name] is not value
        }
        self.__dict__ = state
        return self if result is twin else result  # type: ignore[return-value]  # fit returns its estimator

    return whole


def of_one_fit(method: Method[Estimator, Options, Result]) -> Method[Estimator, Options, Result]:
    """A method such as ``predict`` that sees the attributes of one fit, even if another thread refits."""

    @wraps(method)
    def steady(self: Estimator, /, *args: Options.args, **options: Options.kwargs) -> Result:
        try:
            return method(_with_state(self, self.__dict__), *args, **options)
        except SystemError as error:
            raise_interrupt(error)
            raise

    return steady


def raise_interrupt(error: BaseException) -> None:
    """Raise KeyboardInterrupt if an error of the interpreter stands for one.

    Ctrl-C may come while the result of compiled code becomes a Python object. The interpreter then reports "a
    result with an exception set", a SystemError whose cause is the KeyboardInterrupt.
    """
    if isinstance(error, SystemError) and isinstance(error.__cause__, KeyboardInterrupt):
        raise KeyboardInterrupt from error


def _with_state(estimator: Estimator, state: dict[str, object]) -> Estimator:
    """An object of the same class with these attributes."""
    twin: Estimator = object.__new__(type(estimator))
    twin.__dict__ = state
    return twin


@contextmanager
def interrupts_afterwards() -> Iterator[None]:
    """Delay Ctrl-C during a short block in which an exception would leave a library's memory half written."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    pressed: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pressed:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Raise KeyboardInterrupt, as Ctrl-C does, in a block that takes longer than this."""
    timer = threading.Timer(seconds, _thread.interrupt_main)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def interrupts_kept() -> Iterator[None]:
    """Repeat a Ctrl-C that Python drops because it came in a finaliser or a weak reference's callback."""
    before = sys.unraisablehook

    def again(lost: Any) -> None:
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            before(lost)
        else:
            _thread.start_new_thread(_interrupt_soon, ())

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = before


def _interrupt_soon() -> None:
    time.sleep(0.05)  # at once it would be dropped again
    _thread.interrupt_main()
