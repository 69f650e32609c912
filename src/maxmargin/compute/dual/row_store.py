"""A store of computed kernel rows; when it is full, the least recently used row is replaced."""

from __future__ import annotations

import mmap
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress

import numpy as np
from numpy.typing import DTypeLike

from maxmargin.base.typing import AnyArray, FloatArray, IntArray

FillRows = Callable[[IntArray, FloatArray], None]


_KEPT_BYTES = 256 << 20  # memory that stays for the next fit: fresh pages cost more than the values in them
_kept: list[AnyArray] = []
_lock = threading.Lock()


def _borrow(n_bytes: int) -> AnyArray:
    """A buffer of bytes: the one kept from the last store if it is large enough, else a new one."""
    with _lock:
        kept = _kept.pop() if _kept else None
    if kept is not None and kept.nbytes >= n_bytes:
        return kept
    del kept  # its pages go before new ones come: a fit never holds two stores
    return _small_pages(n_bytes)


def _small_pages(n_bytes: int) -> AnyArray:
    """Memory in small pages: rows fill it slowly, and the system clears a huge page as a whole."""
    if not hasattr(mmap, "MADV_NOHUGEPAGE"):  # not Linux
        return np.empty(n_bytes, dtype=np.uint8)
    memory = mmap.mmap(-1, max(n_bytes, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a kernel without huge pages
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype=np.uint8)


def _give_back(buffer: AnyArray) -> None:
    """Keep the larger of two buffers."""
    with _lock:
        if _kept and _kept[0].nbytes >= buffer.nbytes:
            return
        _kept[:] = [buffer]


def release_pages() -> None:
    """Return the pages beyond what is kept between fits; the next fit takes fresh ones."""
    with _lock:
        for buffer in list(_kept):
            if buffer.nbytes > _KEPT_BYTES:
                memory = getattr(buffer.base, "obj", None)
                if isinstance(memory, mmap.mmap):
                    memory.madvise(mmap.MADV_DONTNEED, _KEPT_BYTES)
                else:
                    _kept.remove(buffer)


class RowStore:
    """Up to ``n_bytes`` of rows of length ``width``. Untouched memory is never paged in."""

    def __init__(self, width: int, dtype: DTypeLike, n_bytes: int, at_least: int) -> None:
        itemsize = np.dtype(dtype).itemsize
        capacity = max(at_least, n_bytes // max(1, width * itemsize))
        shape = (min(width, capacity), width)
        buffer = _borrow(shape[0] * shape[1] * itemsize)
        self.rows: AnyArray = buffer[: shape[0] * shape[1] * itemsize].view(dtype).reshape(shape)
        weakref.finalize(self, _give_back, buffer)
        self._slot_of = np.full(width, -1, dtype=np.int64)
        self._owner = np.full(len(self.rows), -1, dtype=np.int64)
        self._used_at = np.zeros(len(self.rows), dtype=np.int64)
        self._n_used = 0
        self._clock = 0
        self.n_computed = 0

    @property
    def full(self) -> bool:
        """True if the next new row replaces another."""
        return self._n_used == len(self.rows) < self.rows.shape[1]

    @property
    def needs_fresh_pages(self) -> bool:
        """True if the next new row lies beyond the memory that is kept between fits."""
        used = self.rows[: self._n_used].nbytes
        return self._n_used < len(self.rows) and used > _KEPT_BYTES

    def places(self, points: IntArray) -> IntArray:
        """Where the rows of these points are stored, -1 for those that are not."""
        return self._slot_of[points]

    def slots(self, points: IntArray, fill: FillRows) -> IntArray:
        """Where the rows of these points are stored; ``fill(points, rows)`` computes the missing ones."""
        self._clock += 1
        present = points[self._slot_of[points] >= 0]
        self._used_at[self._slot_of[present]] = self._clock
        missing = points[self._slot_of[points] < 0]
        for part in self._free_runs(len(missing)):
            chosen, missing = missing[: part.stop - part.start], missing[part.stop - part.start :]
            fill(chosen, self.rows[part])
            self._owner[part] = chosen
            self._slot_of[chosen] = np.arange(part.start, part.stop)
            self._used_at[part] = self._clock
            self.n_computed += len(chosen)
        return self._slot_of[points]

    def _free_runs(self, n: int) -> list[slice]:
        """Runs of consecutive slots for ``n`` new rows: unused ones first, then the oldest."""
        fresh = min(n, len(self.rows) - self._n_used)
        runs = [slice(self._n_used, self._n_used + fresh)] if fresh else []
        self._used_at[self._n_used : self._n_used + fresh] = self._clock  # not to be taken again below
        self._n_used += fresh
        if n > fresh:
            oldest = np.sort(np.argpartition(self._used_at, n - fresh - 1)[: n - fresh])
            self._slot_of[self._owner[oldest]] = -1
            breaks = np.flatnonzero(np.diff(oldest) > 1) + 1
            runs += [slice(int(run[0]), int(run[-1]) + 1) for run in np.split(oldest, breaks)]
        return runs
