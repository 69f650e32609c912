"""Points: rows prepared for a kernel, the only form in which solvers and machines see them.

Points have a length, can be indexed by rows and converted to another precision. Their contents are private to
the kernel that made them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from maxmargin.base.shown import short_repr
from maxmargin.base.tables import entries_inside, indices_inside
from maxmargin.base.threads import in_parts
from maxmargin.base.typing import AnyArray, FloatArray, IntArray
from maxmargin.compute.kernel_values.rbf_rows import panels_of
from maxmargin.compute.tables.inner_products import squared_norms

Rows = slice | IntArray

# A sparse matrix is made dense for the engine if BLAS on all p columns is cheaper than sparse arithmetic on
# the stored entries, and the copy is not too large.
_DENSE_COLUMNS_PER_ENTRY = 48
_DENSE_BYTES = 1 << 30


class Points(Protocol):
    """Rows prepared for a kernel."""

    def __len__(self) -> int: ...
    def take(self, rows: Rows) -> Self: ...
    def astype(self, dtype: DTypeLike) -> Self: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...


@dataclass(frozen=True)
class VectorPoints:
    """Rows of numbers, dense or CSR, already shifted by ``shift`` (None: not shifted)."""

    X: Any
    norms: FloatArray
    shift: AnyArray | None = None

    __repr__ = short_repr

    @classmethod
    def make(cls, X: Any, shift: AnyArray | None = None) -> VectorPoints:
        with np.errstate(over="ignore"):  # float32 rows that overflow are shifted again, in float64
            rows = X if shift is None or not shift.any() else X - shift.astype(X.dtype)
            norms = squared_norms(rows)
        if rows.dtype == np.float32 and _beyond_float32(norms):
            return cls.make(X.astype(np.float64), shift)
        return cls(rows, norms.astype(rows.dtype), shift)

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.X.dtype

    @cached_property
    def panels(self) -> FloatArray:
        """Dense rows packed as columns for `rbf_rows`."""
        return panels_of(self.X, self.norms)

    def pack(self, n_threads: int) -> None:
        """Make `panels` on several threads."""
        if "panels" not in self.__dict__:
            self.__dict__["panels"] = panels_of(self.X, self.norms, n_threads)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the panels: their width depends on the processor."""
        return {name: value for name, value in self.__dict__.items() if name != "panels"}

    def take(self, rows: Rows) -> VectorPoints:
        return VectorPoints(self.X[rows], self.norms[rows], self.shift)

    def astype(self, dtype: DTypeLike) -> VectorPoints:
        if self.dtype == dtype:
            return self
        X = self.X.astype(dtype)
        return VectorPoints(X, squared_norms(X).astype(dtype), self.shift)

    def for_engine(self, dtype: DTypeLike, n_threads: int = 1) -> VectorPoints:
        """The same points in ``dtype`` and in the layout that is fastest for many inner products."""
        points = self
        if sp.issparse(self.X) and self._cheaper_dense():
            points = VectorPoints(self.X.toarray(), self.norms, self.shift)
        if sp.issparse(points.X) or self.dtype == dtype:
            return points.astype(dtype)
        X, norms = np.empty(points.X.shape, dtype), np.empty(len(self), dtype)

        def convert(part: slice) -> None:
            X[part] = points.X[part]
            norms[part] = squared_norms(X[part])

        in_parts(convert, len(X), X.shape[1], n_threads)
        return VectorPoints(X, norms, self.shift)

    def _cheaper_dense(self) -> bool:
        n, p = self.X.shape
        return self.X.nnz * _DENSE_COLUMNS_PER_ENTRY >= n * p and n * p * 4 <= _DENSE_BYTES

    def first_equals(self) -> IntArray:
        """For every row the position of the first row equal to it.

        Equal rows have equal norms and equal inner products with a random direction, so two short sorts
        find the candidates, which are then compared in full. Sparse rows count as different.
        """
        first = np.arange(len(self))
        if sp.issparse(self.X):
            return first
        rows = _sharing(self.norms, first)
        direction = np.random.default_rng(0).normal(size=self.X.shape[1]).astype(self.dtype)
        rows, leader = _leaders(self.X[rows] @ direction, rows)
        equal = (self.X[rows] == self.X[leader]).all(axis=1)
        first[rows[equal]] = leader[equal]
        return first


def _sharing(keys: FloatArray, rows: IntArray) -> IntArray:
    """The rows whose key occurs more than once."""
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return rows[counts[inverse] > 1]


def _leaders(keys: FloatArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """The rows whose key occurs in an earlier row, and that row."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    leader = rows[first[inverse]]
    later = leader != rows
    return rows[later], leader[later]


@dataclass(frozen=True)
class IndexedPoints:
    """Rows of a given Gram matrix: kernel values with all training rows, and their positions among these."""

    matrix: AnyArray
    index: IntArray

    __repr__ = short_repr

    def __len__(self) -> int:
        return len(self.index)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.matrix.dtype

    def take(self, rows: Rows) -> IndexedPoints:
        return IndexedPoints(self.matrix[rows], self.index[rows])

    def astype(self, dtype: DTypeLike) -> IndexedPoints:
        return IndexedPoints(self.matrix.astype(dtype, copy=False), self.index)


@dataclass(frozen=True)
class RawPoints:
    """Rows that are passed unchanged to a Python function."""

    X: Any
    precision: Any = np.float64

    __repr__ = short_repr

    def __len__(self) -> int:
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.precision)

    def take(self, rows: Rows) -> RawPoints:
        return RawPoints(self.X[rows], self.precision)

    def astype(self, dtype: DTypeLike) -> RawPoints:
        return RawPoints(self.X, np.dtype(dtype))


@dataclass(frozen=True)
class CombinedPoints:
    """One Points object for each part of a composed kernel; parts with the same preparation share one."""

    distinct: tuple[Any, ...]
    which: tuple[int, ...]

    __repr__ = short_repr

    def __len__(self) -> int:
        return len(self.distinct[0])

    @cached_property
    def parts(self) -> tuple[Any, ...]:
        return tuple(self.distinct[k] for k in self.which)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(*(points.dtype for points in self.distinct))

    def take(self, rows: Rows) -> CombinedPoints:
        return CombinedPoints(tuple(points.take(rows) for points in self.distinct), self.which)

    def astype(self, dtype: DTypeLike) -> CombinedPoints:
        return CombinedPoints(tuple(points.astype(dtype) for points in self.distinct), self.which)

    def for_engine(self, dtype: DTypeLike, n_threads: int = 1) -> CombinedPoints:
        parts = tuple(for_engine(points, dtype, n_threads) for points in self.distinct)
        return CombinedPoints(parts, self.which)


@dataclass(frozen=True)
class WeightedPoints:
    """Points of an inner kernel and one factor for each row."""

    inner: Any
    factors: AnyArray

    __repr__ = short_repr

    def __len__(self) -> int:
        return len(self.factors)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.inner.dtype

    def take(self, rows: Rows) -> WeightedPoints:
        return WeightedPoints(self.inner.take(rows), self.factors[rows])

    def astype(self, dtype: DTypeLike) -> WeightedPoints:
        return WeightedPoints(self.inner.astype(dtype), self.factors.astype(dtype))

    def for_engine(self, dtype: DTypeLike, n_threads: int = 1) -> WeightedPoints:
        return WeightedPoints(for_engine(self.inner, dtype, n_threads), self.factors.astype(dtype))


def for_engine(points: Any, dtype: DTypeLike, n_threads: int = 1) -> Any:
    """Points in ``dtype``, laid out for many kernel evaluations."""
    if hasattr(points, "for_engine"):
        return points.for_engine(dtype, n_threads)
    return points.astype(dtype)


def beyond_float32(points: Any, diagonal: FloatArray) -> bool:
    """True if the squares of the rows, or their values K(x, x), overflow or all vanish in float32."""
    if isinstance(points, WeightedPoints):
        return beyond_float32(points.inner, diagonal)
    if isinstance(points, CombinedPoints):
        return any(beyond_float32(part, diagonal) for part in points.distinct)
    rows = isinstance(points, VectorPoints) and _beyond_float32(points.norms)
    return rows or _beyond_float32(np.abs(diagonal))


def _beyond_float32(norms: FloatArray) -> bool:
    return is_beyond_float32(float(norms.max(initial=0.0)))


def is_beyond_float32(largest: float) -> bool:
    """True if the largest number is too large or too small for sums of products in float32."""
    return largest > 0 and not 1e-25 < largest < 1e25


def work_order(points: Any) -> IntArray:
    """An order in which neighbouring rows cost about the same: strings sorted by their length."""
    if isinstance(points, WeightedPoints):
        return work_order(points.inner)
    if isinstance(points, CombinedPoints):
        uneven = [part for part in points.distinct if hasattr(part, "lengths")]
        return work_order((uneven or points.distinct)[0])
    lengths = getattr(points, "lengths", None)
    return np.arange(len(points)) if lengths is None else np.argsort(lengths, kind="stable")


def check_inside(points: Any) -> None:
    """Refuse Points with an index outside its array, because compiled code does not check bounds.

    A fit never makes such Points and `load` refuses them, but users can change the attributes of a model.
    """
    if isinstance(points, CombinedPoints):
        for part in points.distinct:
            check_inside(part)
        return
    if isinstance(points, WeightedPoints):
        check_inside(points.inner)
    X = getattr(points, "X", None)
    inside = not sp.issparse(X) or entries_inside(X)
    for name in ("norms", "squares", "factors"):
        values = getattr(points, name, None)
        inside = inside and (values is None or np.shape(values) == (len(points),))
    if isinstance(points, IndexedPoints):
        inside = inside and indices_inside(points.index, points.matrix.shape[1])
    starts = getattr(points, "starts", None)
    if starts is not None:
        inside = (
            inside and indices_inside(starts, len(points.codes) + 1) and bool((np.diff(starts) >= 0).all())
        )
    if not inside:
        raise ValueError(
            "the support vectors of this model are inconsistent: an index or a length does not match. Fit it "
            "again, and do not change the attributes that a fit sets."
        )
