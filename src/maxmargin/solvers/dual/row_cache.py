"""Kernel rows kept as they are computed; when the memory is used up the oldest one goes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.kernels.base import Kernel
from maxmargin.solvers.trace import Work


class RowCache:
    """Rows K(x_i, .) over ``points`` rounded to ``dtype``, up to ``n_bytes``; 0 computes every row afresh."""

    def __init__(
        self, kernel: Kernel, points: Any, dtype: DTypeLike, n_bytes: int, n_threads: int, work: Work
    ) -> None:
        self.kernel, self.points, self.dtype = kernel, points, np.dtype(dtype)
        self.n_bytes, self.n_threads, self.work = n_bytes, n_threads, work
        self.capacity = max(2, n_bytes // (self.dtype.itemsize * len(points))) if n_bytes else 0
        self._rows: OrderedDict[int, FloatArray] = OrderedDict()

    def row(self, i: int) -> FloatArray:
        found = self._rows.get(i)
        if found is not None:
            self._rows.move_to_end(i)
            self.work.cache_hits += 1
            return found
        i_alone = self.points.take(slice(i, i + 1))
        exact = self.kernel.gram(i_alone, self.points, n_threads=self.n_threads)[0]
        row: FloatArray = exact.astype(self.dtype, copy=False)
        self.work.kernel_values += len(self.points)
        if self.capacity > 0:
            if len(self._rows) >= self.capacity:
                self._rows.popitem(last=False)
            self._rows[i] = row
        return row

    def cut(self, points: Any, keep: IntArray) -> RowCache:
        """A cache over ``points``, the ones called ``keep`` here, that begins with the rows kept so far."""
        smaller = RowCache(self.kernel, points, self.dtype, self.n_bytes, self.n_threads, self.work)
        for new, old in enumerate(keep):
            if int(old) in self._rows and len(smaller._rows) < smaller.capacity:
                smaller._rows[new] = self._rows[int(old)][keep]
        self._rows.clear()
        return smaller
