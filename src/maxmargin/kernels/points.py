"""Points: rows prepared for a kernel. Everything above the kernels only sees these.

A Points object knows its length, can be cut by rows and can change its precision. What it holds is between
it and the kernel that made it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp

from maxmargin.base.typing import AnyArray, FloatArray, IntArray
from maxmargin.compute.kernel_values.rbf_rows import panels_of
from maxmargin.compute.tables.inner_products import squared_norms

Rows = slice | IntArray

# A sparse matrix is kept dense for the engine's inner products while BLAS on all p columns is cheaper than
# sparse arithmetic on the stored ones, and the dense copy stays moderate.
_DENSE_COLUMNS_PER_ENTRY = 48
_DENSE_BYTES = 1 << 30


class Points(Protocol):
    """Rows prepared for a kernel."""

    def __len__(self) -> int: ...
    def take(self, rows: Rows) -> Self: ...
    def astype(self, dtype: Any) -> Self: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...


@dataclass(frozen=True)
class VectorPoints:
    """Rows of numbers, dense or CSR, already shifted by ``shift`` (None where nothing was shifted)."""

    X: Any
    norms: FloatArray
    shift: AnyArray | None = None

    @classmethod
    def make(cls, X: Any, shift: AnyArray | None = None) -> VectorPoints:
        if shift is not None:
            X = X - shift.astype(X.dtype)
        return cls(X, squared_norms(X).astype(X.dtype), shift)

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.X.dtype
        return dtype

    @cached_property
    def panels(self) -> FloatArray:
        """Dense rows packed as columns for `rbf_rows`."""
        return panels_of(self.X)

    def __getstate__(self) -> dict[str, Any]:
        """Without the panels, whose width is that of the processor."""
        return {name: value for name, value in self.__dict__.items() if name != "panels"}

    def take(self, rows: Rows) -> VectorPoints:
        return VectorPoints(self.X[rows], self.norms[rows], self.shift)

    def astype(self, dtype: Any) -> VectorPoints:
        if self.dtype == dtype:
            return self
        X = self.X.astype(dtype)
        return VectorPoints(X, squared_norms(X).astype(dtype), self.shift)

    def for_engine(self, dtype: Any) -> VectorPoints:
        """The same points in ``dtype`` and in the layout that is fastest for many inner products."""
        points = self
        if sp.issparse(self.X) and self._cheaper_dense():
            points = VectorPoints(self.X.toarray(), self.norms, self.shift)
        return points.astype(dtype)

    def _cheaper_dense(self) -> bool:
        n, p = self.X.shape
        return self.X.nnz * _DENSE_COLUMNS_PER_ENTRY >= n * p and n * p * 4 <= _DENSE_BYTES

    def first_equals(self) -> IntArray:
        """For every row the position of a row equal to it, the same for all that are found equal.

        Equal rows have equal norms and equal products with a random direction, so that two short sorts
        propose the pairs; each is then compared in full. Sparse rows count as different.
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
    """The rows whose key an earlier row has too, and that row."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    leader = rows[first[inverse]]
    later = leader != rows
    return rows[later], leader[later]


@dataclass(frozen=True)
class IndexedPoints:
    """Rows of a given Gram matrix: kernel values against all training rows, and own training positions."""

    matrix: AnyArray
    index: IntArray

    def __len__(self) -> int:
        return len(self.index)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.matrix.dtype

    def take(self, rows: Rows) -> IndexedPoints:
        return IndexedPoints(self.matrix[rows], self.index[rows])

    def astype(self, dtype: Any) -> IndexedPoints:
        return IndexedPoints(self.matrix.astype(dtype, copy=False), self.index)


@dataclass(frozen=True)
class RawPoints:
    """Rows handed unchanged to a Python function."""

    X: Any
    precision: Any = np.float64

    def __len__(self) -> int:
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.precision)

    def take(self, rows: Rows) -> RawPoints:
        return RawPoints(self.X[rows], self.precision)

    def astype(self, dtype: Any) -> RawPoints:
        return RawPoints(self.X, np.dtype(dtype))


@dataclass(frozen=True)
class CombinedPoints:
    """One Points object for each part of a composed kernel; parts that look alike share one object."""

    distinct: tuple[Any, ...]
    which: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.distinct[0])

    @cached_property
    def parts(self) -> tuple[Any, ...]:
        return tuple(self.distinct[k] for k in self.which)

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = np.result_type(*(points.dtype for points in self.distinct))
        return dtype

    def take(self, rows: Rows) -> CombinedPoints:
        return CombinedPoints(tuple(points.take(rows) for points in self.distinct), self.which)

    def astype(self, dtype: Any) -> CombinedPoints:
        return CombinedPoints(tuple(points.astype(dtype) for points in self.distinct), self.which)

    def for_engine(self, dtype: Any) -> CombinedPoints:
        return CombinedPoints(tuple(for_engine(points, dtype) for points in self.distinct), self.which)


@dataclass(frozen=True)
class WeightedPoints:
    """Points of an inner kernel and one factor for each row."""

    inner: Any
    factors: AnyArray

    def __len__(self) -> int:
        return len(self.factors)

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.inner.dtype
        return dtype

    def take(self, rows: Rows) -> WeightedPoints:
        return WeightedPoints(self.inner.take(rows), self.factors[rows])

    def astype(self, dtype: Any) -> WeightedPoints:
        return WeightedPoints(self.inner.astype(dtype), self.factors.astype(dtype))

    def for_engine(self, dtype: Any) -> WeightedPoints:
        return WeightedPoints(for_engine(self.inner, dtype), self.factors.astype(dtype))


def for_engine(points: Any, dtype: Any) -> Any:
    """Points in ``dtype``, laid out for many kernel evaluations."""
    faster = getattr(points, "for_engine", points.astype)
    return faster(dtype)


def work_order(points: Any) -> IntArray:
    """An order of the rows in which neighbours cost about the same: strings by their length."""
    if isinstance(points, WeightedPoints):
        return work_order(points.inner)
    if isinstance(points, CombinedPoints):
        uneven = [part for part in points.distinct if hasattr(part, "lengths")]
        return work_order((uneven or points.distinct)[0])
    lengths = getattr(points, "lengths", None)
    return np.arange(len(points)) if lengths is None else np.argsort(lengths, kind="stable")
