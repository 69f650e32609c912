"""Kernel rows kept as they are computed; when the memory is used up the oldest one goes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from maxmargin.kernels.base import Kernel
from maxmargin.solvers.trace import Work
from maxmargin.typing import FloatArray, IntArray


class RowCache:
    """Up to ``capacity`` rows K(x_i, .) over ``points``; 0 computes every row afresh."""

    def __init__(self, kernel: Kernel, points: Any, capacity: int, n_threads: int, work: Work) -> None:
        self.kernel, self.points = kernel, points
        self.capacity, self.n_threads, self.work = capacity, n_threads, work
        self._rows: OrderedDict[int, FloatArray] = OrderedDict()

    def row(self, i: int) -> FloatArray:
        found = self._rows.get(i)
        if found is not None:
            self._rows.move_to_end(i)
            self.work.cache_hits += 1
            return found
        i_alone = self.points.take(slice(i, i + 1))
        row: FloatArray = self.kernel.gram(i_alone, self.points, n_threads=self.n_threads)[0]
        self.work.kernel_values += len(self.points)
        if self.capacity > 0:
            if len(self._rows) >= self.capacity:
                self._rows.popitem(last=False)
            self._rows[i] = row
        return row

    def cut(self, points: Any, keep: IntArray, capacity: int) -> RowCache:
        """A cache over ``points``, the ones called ``keep`` here, that begins with the rows kept so far."""
        smaller = RowCache(self.kernel, points, capacity, self.n_threads, self.work)
        for new, old in enumerate(keep):
            if int(old) in self._rows and len(smaller._rows) < capacity:
                smaller._rows[new] = self._rows[int(old)][keep]
        self._rows.clear()
        return smaller
