"""Gram matrices that all folds and all cells of a kernel share."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from maxmargin.base.threads import run_short, single_threaded_blas, split
from maxmargin.base.typing import AnyArray, FloatArray, IntArray
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.points import Points, VectorPoints, for_engine, is_beyond_float32
from maxmargin.kernels.subsequence import Subsequence
from maxmargin.kernels.vector_base import VectorKernel
from maxmargin.kernels.vectors import Constant, Laplacian

_PROBE = 128  # rows on which float32 is compared with float64
_FEW = 32  # rows whose mean value is subtracted from all
_TILE = 1 << 18  # values of a task: fewer cost less than handing them to a thread
_HALF_DIGIT = 2.0**-24  # relative error of rounding to float32
_HUGE = 1e6  # bound times K(x, x): from there on gaps are computed
_SHARED_ROWS = 8000  # rows above which a matrix of products takes longer to page in than to compute again


class Layout:
    """What the kernels of a search share on the same rows.

    Kernels of inner products share those; subsequence kernels that differ in length only share one recursion,
    which also gives all shorter lengths.
    """

    def __init__(
        self, n_threads: int, kernels: Iterable[Kernel] = (), pages: dict[Any, AnyArray] | None = None
    ) -> None:
        self._n_threads = n_threads
        self._products: dict[Any, AnyArray] = {}
        self._by_length: dict[str, AnyArray] = {}
        self._longest: dict[str, int] = {}
        self._pages = {} if pages is None else pages
        for kernel in kernels:
            if isinstance(kernel, Subsequence):
                family = _family(kernel)
                self._longest[family] = max(kernel.length, self._longest.get(family, 0))

    def gram(self, kernel: Kernel, points: Points, dtype: DTypeLike, shift: float = 0.0) -> AnyArray:
        """The Gram matrix of ``points`` minus ``shift``, out of shared inner products where that is possible.

        Shared products and values are computed in float64 and rounded once: a float32 matrix then has an
        error of 6e-8 in every element, however large gamma is.
        """
        if isinstance(kernel, Subsequence):
            return self._of_length(kernel, points).astype(dtype, copy=False)
        ready = for_engine(points, np.float64)
        if not self.rounds_once(kernel, ready):
            assert shift == 0.0
            K = self._space(len(points), dtype)
            return kernel.gram(ready.astype(dtype), out=K, n_threads=self._n_threads)
        assert isinstance(kernel, VectorKernel)
        products, K = self._products_of(kernel, ready), self._space(len(ready), dtype)
        parts = split(len(ready), max(1, len(ready) ** 2 // _TILE))
        run_short([partial(_map, kernel, ready, products, K, part, shift) for part in parts], self._n_threads)
        return K

    def rows(self, kernel: Kernel, points: Points, which: IntArray) -> AnyArray:
        """Values between some rows and all points in float64."""
        ready = for_engine(points, np.float64)
        if not isinstance(kernel, VectorKernel) or not self.rounds_once(kernel, ready):
            return kernel.gram(ready.take(which), ready)
        values = self._products_of(kernel, ready)[which]
        kernel.map_products(values, ready.take(which), ready)
        return values

    def _products_of(self, kernel: Kernel, ready: VectorPoints) -> AnyArray:
        key = (kernel.view_key(), ready.shift is not None)
        if key not in self._products:
            self._products[key] = ready.X @ np.ascontiguousarray(ready.X.T)  # else NumPy mirrors one half
        return self._products[key]

    @staticmethod
    def rounds_once(kernel: Kernel, points: Points) -> bool:
        """True if values are computed in float64 before they are rounded: only then does a shift help."""
        if isinstance(kernel, Subsequence):
            return True
        return len(points) <= _SHARED_ROWS and _maps_products(kernel, points)

    def _space(self, n: int, dtype: Any) -> AnyArray:
        """Memory for a matrix, reused by all kernels, because fresh pages cost more than their values."""
        key = (n, np.dtype(dtype))
        if key not in self._pages:
            self._pages[key] = np.empty((n, n), dtype=dtype)
        return self._pages[key]

    def _of_length(self, kernel: Subsequence, points: Any) -> AnyArray:
        family = _family(kernel)
        if family not in self._by_length:
            longest = kernel.with_params(length=max(kernel.length, self._longest.get(family, 0)))
            self._by_length[family] = longest.gram_by_length(points, n_threads=self._n_threads)
        return self._by_length[family][kernel.length - 1]


def _family(kernel: Subsequence) -> str:
    """A key that is equal for kernels that only differ in their length."""
    return repr(kernel.with_params(length=1))


def _maps_products(kernel: Kernel, points: Any) -> bool:
    plain = isinstance(kernel, VectorKernel) and not isinstance(kernel, (Laplacian, Constant))
    return plain and isinstance(points, VectorPoints) and isinstance(points.X, np.ndarray)


def _map(
    kernel: VectorKernel, points: VectorPoints, products: AnyArray, K: AnyArray, part: slice, shift: float
) -> None:
    tile = products[part].copy()
    kernel.map_products(tile, points.take(part), points)
    np.subtract(tile, shift, out=K[part], casting="same_kind")


@cache
def _probe_of(n: int) -> IntArray:
    return np.random.default_rng(0).permutation(n)[:_PROBE]


def can_hide_gap(kernel: Kernel, largest: float, bound: Any) -> Any:
    """True if the bounds are so large that rounding can leave a wide gap; ``largest`` is max K(x, x)."""
    return (bound * largest > _HUGE) & (kernel.psd is not False)


class SharedGram:
    """One kernel's values over all rows, in float32 while that is good enough.

    The float32 error is known exactly on a sample of rows, and so is the error of any solution there; if it
    exceeds a quarter of the tolerance, a float64 matrix is computed, once.

    ``balanced`` means that the coefficients of every machine sum to zero. A constant can then be subtracted
    from all values without an effect, so a wide kernel, whose values are all near one, keeps its significant
    digits in float32.

    ``in_parts`` means that the matrix is not needed as a whole. If its values do not come from shared inner
    products, it is then never formed: `fill`, `values` and `wide_part` compute their values when called.
    """

    def __init__(
        self,
        kernel: Kernel,
        points: Points,
        layout: Layout,
        *,
        wide: bool,
        balanced: bool,
        in_parts: bool = False,
    ) -> None:
        self.kernel = kernel
        self.points = points
        self._layout = layout
        self._lock = threading.Lock()
        self._wide: AnyArray | None = None
        self._parts: Any = None
        self._shift = 0.0
        self._largest_error = 0.0
        self.dtype = np.dtype(np.float64 if wide else np.float32)
        if wide:
            self.narrow = self._wide = layout.gram(kernel, points, np.float64)
        else:
            self._probe = _probe_of(len(points))
            shared = layout.rounds_once(kernel, points)
            if balanced and shared:
                self._shift = float(layout.rows(kernel, points, self._probe[:_FEW]).mean())
            if in_parts and not shared:
                self._parts = for_engine(points, np.float32)
            else:
                self.narrow = layout.gram(kernel, points, np.float32, self._shift)
            if shared:  # the errors themselves are computed if this bound does not suffice
                self._largest_error = _HALF_DIGIT * max(float(self.narrow.max()), -float(self.narrow.min()))
            else:
                self._largest_error = float(np.abs(self._errors).max(initial=0.0))

    @cached_property
    def _errors(self) -> FloatArray:
        """Errors of the float32 values of the probed rows."""
        if self._parts is None:
            probed = self.narrow[self._probe]
        else:
            probed = self.kernel.gram(self._parts.take(self._probe), self._parts)
        true = self._layout.rows(self.kernel, self.points, self._probe)
        return np.asarray(true - self._shift - probed, dtype=np.float32)

    @cached_property
    def _largest(self) -> float:
        return float(np.abs(self.kernel.diagonal(self.points)).max(initial=0.0))

    @property
    def is_beyond_float32(self) -> bool:
        """True if compiled code, whose blocks are in float32, cannot work on the values."""
        return is_beyond_float32(self._largest)

    def can_hide_gap(self, bound: Any) -> Any:
        """True for bounds so large that rounding can leave a wide gap; a smaller tol narrows other gaps."""
        return can_hide_gap(self.kernel, self._largest, bound)

    def fill(self, out: AnyArray, rows: slice, columns: slice) -> None:
        """Fill ``out`` with the values between rows and columns."""
        if self._parts is None:
            out[:] = self.narrow[rows, columns]
        else:
            others = None if rows == columns else self._parts.take(columns)
            self.kernel.gram(self._parts.take(rows), others, out=out)

    @property
    def is_whole(self) -> bool:
        """False if values are computed when they are asked for."""
        return self._parts is None

    def values(self, rows: slice | IntArray, columns: IntArray) -> AnyArray:
        """Values between rows and columns; a slice of rows is read faster."""
        if self.is_whole:
            return np.ascontiguousarray(self.narrow[columns, rows].T)  # symmetric: whole runs of a row
        return self.kernel.gram(self._parts.take(rows), self._parts.take(columns))

    def too_coarse(self, rows: IntArray, weights: FloatArray, tol: float) -> bool:
        """True if float32 values cause an error above tol / 4 in the kernel sums with these weights.

        Weights have the shape (n_rows,), or (n_answers, n_rows) for several answers at once.
        """
        largest = float(np.abs(weights).sum(axis=-1).max())
        if self._largest_error * largest <= 0.25 * tol:
            return False
        used = np.flatnonzero(weights if weights.ndim == 1 else weights.any(axis=0))
        deviation = self._errors[:, rows[used]] @ weights[..., used].astype(np.float32).T
        return float(np.abs(deviation).max(initial=0.0)) > 0.25 * tol

    def n_fine(self, rows: IntArray, weights: FloatArray, tol: float) -> int:
        """How many answers come before the first that is `too_coarse`; weights (n_answers, n_rows)."""
        sizes = np.abs(weights).sum(axis=1)
        for k in np.flatnonzero(self._largest_error * sizes > 0.25 * tol):
            if self.too_coarse(rows, weights[k], tol):
                return int(k)
        return len(weights)

    def wide(self) -> AnyArray:
        """The matrix in float64."""
        with self._lock:
            if self._wide is None:
                self._wide = self._layout.gram(self.kernel, self.points, np.float64)
            return self._wide

    def exact_sums(self, rows: IntArray, weights: FloatArray) -> FloatArray:
        """Kernel sums of all points with the weights of some rows, in float64."""
        K = self.wide()
        used = np.flatnonzero(weights)
        with single_threaded_blas():
            if 4 * len(used) < len(K):
                return np.asarray(weights[used] @ K[rows[used]])
            full = np.zeros(len(K))
            full[rows] = weights
            return np.asarray(K @ full)

    def wide_part(self, rows: IntArray) -> AnyArray:
        """The values between some rows in float64."""
        if self._parts is None:
            return self.wide()[np.ix_(rows, rows)]
        return self.kernel.gram(self.points.take(rows).astype(np.float64))
