"""A small pool of threads for nogil functions, and control of the threads of BLAS."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial
from numbers import Integral
from queue import SimpleQueue
from typing import Any

import joblib
import numpy as np
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from maxmargin.base.interruption import interrupts_afterwards, raise_interrupt

_Done = tuple[int, Any, BaseException | None]  # the number of a task, its result, its error


def effective_threads(n_jobs: int | None) -> int:
    """Number of threads for one fit: all cores by default, one inside a joblib worker.

    ``n_jobs`` counts as in joblib (-1 all cores, -2 all but one); ``None`` means "as many as are free",
    which is every core in a plain program and one core inside a parallel worker.
    """
    cores = _cores()
    if n_jobs is not None:
        if not isinstance(n_jobs, Integral) or n_jobs == 0:
            raise ValueError(f"n_jobs={n_jobs!r} has no meaning: use None, 1, 2, ... or -1 for all cores.")
        return max(1, n_jobs if n_jobs > 0 else cores + 1 + n_jobs)
    if get_active_backend()[0].nesting_level:
        return 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores


@cache
def _cores() -> int:
    """Number of cores that this process may use, cached because asking takes as long as a small product."""
    return joblib.cpu_count()


@cache
def _pool(n_threads: int, pid: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix=f"maxmargin-{pid}")


def start_workers(n_jobs: int | None) -> None:
    """Start joblib's worker processes so that they ignore Ctrl-C: this process ends them, without tracebacks.

    They inherit the signals that are blocked while they start; a Ctrl-C in that time is not lost.
    """
    backend = get_active_backend()[0]
    local = type(backend).__name__ == "LokyBackend" and hasattr(signal, "pthread_sigmask")
    if not local or backend.nesting_level or joblib.effective_n_jobs(n_jobs) == 1:
        return
    from multiprocessing import resource_tracker  # not on every system

    resource_tracker.ensure_running()  # it would unblock the signal when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        joblib.Parallel(n_jobs=n_jobs)([joblib.delayed(int)()])
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run(tasks: Sequence[Callable[[], Any]], n_threads: int) -> list[Any]:
    """Run the tasks on up to ``n_threads`` threads and return their results in order."""
    if _alone(len(tasks), n_threads):
        try:
            return [task() for task in tasks]
        except SystemError as error:
            raise_interrupt(error)
            raise
    with _handed_over(tasks, n_threads) as results:
        return results()


def run_short(tasks: Sequence[Callable[[], Any]], n_threads: int) -> None:
    """Run tasks far below a second: this thread takes its share, because handing work over takes time too.

    Ctrl-C waits for the share of this thread.
    """
    n_shares = 1 if _alone(len(tasks), n_threads) else min(n_threads, len(tasks))
    mine, *others = [partial(_each, tasks[k::n_shares]) for k in range(n_shares)]
    with _handed_over(others, n_threads) if others else nullcontext(list) as results:
        mine()
        results()


def _each(tasks: Sequence[Callable[[], Any]]) -> None:
    for task in tasks:
        check_stop()
        task()


def _alone(n_tasks: int, n_threads: int) -> bool:
    """True if this thread does all tasks, because there is nothing to share or it is one of our workers."""
    return n_threads == 1 or n_tasks <= 1 or threading.current_thread().name.startswith("maxmargin-")


@contextmanager
def _handed_over(tasks: Sequence[Callable[[], Any]], n_threads: int) -> Iterator[Callable[[], list[Any]]]:
    """Start the tasks on the pool, and give a function that waits for their results; an error stops them.

    Locks written in Python, such as those of futures, stay locked if Ctrl-C comes while they are taken. So
    Ctrl-C is held back while tasks are handed over, and the results come through a queue written in C.
    """
    stop, errors, done = threading.Event(), np.geterr(), SimpleQueue[_Done]()

    def watched(number: int, task: Callable[[], Any]) -> None:
        _local.stop = stop
        try:
            check_stop()
            with np.errstate(**errors):  # threads do not inherit it
                done.put((number, task(), None))
        except BaseException as error:
            done.put((number, None, error))

    with single_threaded_blas():
        try:
            with interrupts_afterwards():
                for number, task in enumerate(tasks):
                    _pool(n_threads, os.getpid()).submit(watched, number, task)
            yield partial(_in_order, done, len(tasks))
        except BaseException:
            stop.set()
            _pool.cache_clear()  # later calls do not wait for tasks that notice the stop event late
            raise


def _in_order(done: SimpleQueue[_Done], n_tasks: int) -> list[Any]:
    """The results of all tasks, or the error of the first that failed."""
    found: dict[int, tuple[Any, BaseException | None]] = {}
    for number in range(n_tasks):
        while number not in found:
            other, value, failure = done.get()
            found[other] = value, failure
        failure = found[number][1]
        if failure is not None:
            raise failure
    return [found[number][0] for number in range(n_tasks)]


def interruptible(call: Callable[[], Any], size: int) -> Any:
    """The result of a long call that cannot be stopped, such as a factorisation, without delaying Ctrl-C.

    Calls from the main thread run on another thread, whose result is dropped if the user interrupts. They
    must release the interpreter's lock: NumPy's linear algebra and LAPACK by address do, SciPy's wrappers do
    not. Only one such call runs at a time, because several would slow each other, and BLAS, down. ``size`` is
    the number of elements of the matrix: for few, a thread would take longer than the call, and BLAS threads
    would wait for each other, for seconds on a busy machine.
    """
    if size <= _SMALL_MATRIX**2:
        with single_threaded_blas():
            return call()
    if threading.current_thread() is not threading.main_thread():
        return call()
    done, dropped, turn = SimpleQueue[_Done](), list[bool](), _turn(os.getpid())

    def work() -> None:
        while not turn.acquire(timeout=0.1):
            if dropped:
                return
        try:
            if not dropped:
                done.put((0, call(), None))
        except BaseException as error:
            done.put((0, None, error))
        finally:
            turn.release()

    try:
        with interrupts_afterwards():  # see `_handed_over`
            threading.Thread(target=work, daemon=True).start()
        return _in_order(done, 1)[0]
    finally:
        dropped.append(True)  # interrupted before its turn: it never begins


@cache
def _turn(pid: int) -> threading.Lock:
    """One lock per process: a forked one may not inherit a lock that is held."""
    return threading.Lock()


class StoppedError(Exception):
    """Another task of the same call failed, or the user interrupted it, so this task stops."""


_local = threading.local()


def check_stop() -> None:
    """Raise StoppedError in a task whose result is no longer needed; long tasks call it regularly."""
    stop = getattr(_local, "stop", None)
    if stop is not None and stop.is_set():
        raise StoppedError


def portions(part: slice, size: int) -> Iterator[slice]:
    """Cut a slice into portions of one compiled call each, and look at the stop event before every one."""
    for start in range(part.start, part.stop, max(size, 1)):
        check_stop()
        yield slice(start, min(start + max(size, 1), part.stop))


def split(n: int, n_parts: int, *, multiple: int = 16) -> list[slice]:
    """Cut ``range(n)`` into at most ``n_parts`` slices whose lengths are multiples of ``multiple``."""
    length = -(-n // n_parts)
    length = max(-(-length // multiple) * multiple, multiple)
    return [slice(start, min(start + length, n)) for start in range(0, n, length)]


def in_parts(task: Callable[[slice], Any], n: int, width: int, n_threads: int) -> None:
    """Call ``task`` with slices of ``range(n)``, on threads if n * width numbers are worth starting them."""
    n_threads = n_threads if n * width > _LARGE_COPY else 1
    run([partial(task, part) for part in split(n, n_threads)], n_threads)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


_SMALL_MATRIX = 700
_LARGE_COPY = 1 << 21
_blas_lock = threading.RLock()
_blas_depth = 0
_blas_limiter: Any = None


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread while our own threads call it. Re-entrant, and safe from many threads."""
    global _blas_depth, _blas_limiter
    entered = False  # Ctrl-C may come anywhere: the count is always restored, and the limit is lifted later
    try:
        with _blas_lock:
            if _blas_limiter is None:
                _blas_limiter = _controller().limit(limits=1, user_api="blas")
            _blas_depth, entered = _blas_depth + 1, True
        yield
    finally:
        with _blas_lock:
            _blas_depth -= entered
            if _blas_depth == 0 and _blas_limiter is not None:
                _blas_limiter.restore_original_limits()
                _blas_limiter = None


def blas_threads_for(size: int) -> AbstractContextManager[None]:
    """One BLAS thread for factorisations of small matrices: several would wait for each other."""
    return single_threaded_blas() if size <= _SMALL_MATRIX else nullcontext()
