"""A table X of n rows and p columns as a linear map, dense or CSR: the four products that solvers need.

All sums are in float64, whatever the type of X: blocks of a float32 table are widened while in cache.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from maxmargin.base.threads import effective_threads, portions, run, split
from maxmargin.base.typing import AnyArray, FloatArray, IntArray
from maxmargin.compute.tables import csr
from maxmargin.compute.tables.inner_products import squared_norms
from maxmargin.compute.tables.table_rows import rows_of

_BLOCK = 1 << 17  # numbers in a block: one megabyte of float64, which stays in the second-level cache
_SMALL = 4 * _BLOCK  # numbers in a table that is taken as one block, on one thread
_FEW = 0.15  # share of rows of non-zero weight below which they are gathered for a product
_THREADED_ENTRIES = 1_000_000  # numbers below which a product takes less time than starting a thread
_AT_ONCE = 1 << 26  # stored numbers, or products of two, in one compiled call, so that Ctrl-C is not delayed


class Design(Protocol):
    """The products with X that solvers use; ``X`` is the table itself."""

    X: Any
    shape: tuple[int, int]
    threads: int

    def scores(self, w: FloatArray) -> FloatArray:
        """X w, of shape (n_samples,)."""

    def adjoint(self, u: FloatArray) -> FloatArray:
        """X' u, of shape (n_features,); for u of shape (2, n_samples) both rows in one pass over X."""

    def gram(self, d: FloatArray) -> FloatArray:
        """X' diag(d) X of shape (n_features, n_features); rows with d = 0 cost nothing."""

    def hessian_product(self, d: FloatArray, v: FloatArray, bias: float) -> tuple[FloatArray, float]:
        """[X 1]' diag(d) [X 1] (v, bias), as its first n_features entries and its last one."""

    def take(self, rows: IntArray) -> Design:
        """The design of some rows."""

    def columns(self, chosen: IntArray) -> Design:
        """The design of some columns."""

    def squared_norms(self) -> FloatArray:
        """||x_i||^2, of shape (n_samples,)."""

    def dense(self) -> FloatArray:
        """X as a float64 array."""


def design(X: Any, n_jobs: int | None = None) -> Design:
    """The design of a validated table."""
    threads = effective_threads(n_jobs)
    if isinstance(X, np.ndarray):
        return DenseDesign(np.ascontiguousarray(X), threads)
    return SparseDesign(X.tocsr(), threads)


def small_and_dense(X: Design) -> bool:
    """Whether X is a float64 array that stays in the cache."""
    n, p = X.shape
    return isinstance(X, DenseDesign) and X.X.dtype == np.float64 and n * p <= _SMALL


def _total(results: list[FloatArray]) -> FloatArray:
    """The sum, in the first of the arrays."""
    total = results[0]
    for more in results[1:]:
        total += more
    return total


def _each(work: Callable[[slice], Any], parts: list[slice], threads: int) -> list[Any]:
    """The results of ``work`` on every part of the rows, on threads."""
    return run([partial(work, part) for part in parts], threads)


class DenseDesign:
    """A C-contiguous array."""

    def __init__(self, X: AnyArray, threads: int) -> None:
        self.X = X
        self.threads = threads
        self.shape: tuple[int, int] = (X.shape[0], X.shape[1])
        self._is_one_block = X.size <= _SMALL

    def _block(self, rows: slice | IntArray) -> FloatArray:
        return self.X[rows].astype(np.float64, copy=False)

    def _rows_per_block(self) -> int:
        n, p = self.shape
        return max(1, n) if self._is_one_block else max(32, _BLOCK // p)

    def _each_block(self, part: slice) -> list[slice]:
        step = self._rows_per_block()
        return [slice(s, min(s + step, part.stop)) for s in range(part.start, part.stop, step)]

    def _parts(self) -> list[slice]:
        n = self.shape[0]
        return [slice(0, n)] if self._is_one_block else split(n, self.threads)

    def scores(self, w: FloatArray) -> FloatArray:
        if self._is_one_block:
            return np.asarray(self.dense() @ w)
        out = np.empty(self.shape[0])

        def work(part: slice) -> None:
            for rows in self._each_block(part):
                np.dot(self._block(rows), w, out=out[rows])

        _each(work, self._parts(), self.threads)
        return out

    def adjoint(self, u: FloatArray) -> FloatArray:
        if self._is_one_block:
            return np.asarray(u @ self.dense())

        def work(part: slice) -> FloatArray:
            total = np.zeros((*u.shape[:-1], self.shape[1]))
            for rows in self._each_block(part):
                total += u[..., rows] @ self._block(rows)
            return total

        return self._sum(work)

    def gram(self, d: FloatArray) -> FloatArray:
        if self._is_one_block:
            return weighted_gram(self.dense(), d)
        n, p = self.shape
        kept = np.flatnonzero(d)
        few = len(kept) < _FEW * n
        step = max(2 * p, self._rows_per_block())  # adding p^2 numbers costs too

        def work(part: slice) -> FloatArray:
            total = np.zeros((p, p))
            for numbers in portions(part, step):
                rows = kept[numbers] if few else numbers
                total += weighted_gram(self._block(rows), d[rows])
            return total

        parts = split(len(kept) if few else n, self.threads) or [slice(0, 0)]
        return _total(_each(work, parts, self.threads))

    def hessian_product(self, d: FloatArray, v: FloatArray, bias: float) -> tuple[FloatArray, float]:
        def work(part: slice) -> FloatArray:
            total = np.zeros(self.shape[1] + 1)
            for rows in self._each_block(part):
                block = self._block(rows)
                u = d[rows] * (block @ v + bias)
                total[:-1] += u @ block
                total[-1] += u.sum()
            return total

        total = self._sum(work)
        return total[:-1], float(total[-1])

    def _sum(self, work: Any) -> FloatArray:
        return _total(_each(work, self._parts(), self.threads))

    def take(self, rows: IntArray) -> DenseDesign:
        return DenseDesign(self.X[rows], self.threads)

    def columns(self, chosen: IntArray) -> DenseDesign:
        return DenseDesign(np.ascontiguousarray(self.X[:, chosen]), self.threads)

    def squared_norms(self) -> FloatArray:
        return squared_norms(self.X)

    def dense(self) -> FloatArray:
        return self.X.astype(np.float64, copy=False)


def weighted_gram(block: FloatArray, weights: FloatArray) -> FloatArray:
    """block' diag(weights) block; weights may have both signs, and rows without a weight cost nothing."""
    kept = np.flatnonzero(weights)
    if len(kept) < len(weights):
        block, weights = block[kept], weights[kept]
    lowest, highest = (weights.min(), weights.max()) if len(kept) else (1.0, 1.0)
    if lowest == highest and lowest >= 0.0:
        gram = np.asarray(block.T @ block)
        return gram if highest == 1.0 else gram * highest
    if lowest >= 0.0:  # a symmetric product costs half
        scaled = block * np.sqrt(weights)[:, None]
        return np.asarray(scaled.T @ scaled)
    return np.asarray((block * weights[:, None]).T @ block)


class SparseDesign:
    """A CSR matrix."""

    def __init__(self, X: sparse.csr_matrix, threads: int) -> None:
        self.X = X
        self.threads = threads if X.nnz > _THREADED_ENTRIES else 1
        self.shape: tuple[int, int] = (X.shape[0], X.shape[1])
        self._csc: Any = None  # made when columns are first needed
        self._csr = rows_of(X)[:3]
        self._per_row = 1 + X.nnz // max(1, X.shape[0])

    def _parts(self) -> list[slice]:
        return split(self.shape[0], self.threads) or [slice(0, 0)]

    def scores(self, w: FloatArray) -> FloatArray:
        out = np.empty(self.shape[0])
        w = np.ascontiguousarray(w, dtype=np.float64)

        def work(part: slice) -> None:
            for rows in portions(part, _AT_ONCE // self._per_row):
                csr.csr_scores(*self._csr, w, out, rows.start, rows.stop)

        _each(work, self._parts(), self.threads)
        return out

    def _accumulate(self, function: Any, vector: FloatArray, shape: Any, per_row: int) -> FloatArray:
        vector = np.ascontiguousarray(vector, dtype=np.float64)

        def work(part: slice) -> FloatArray:
            out = np.zeros(shape)
            for rows in portions(part, _AT_ONCE // per_row):
                function(*self._csr, vector, out, rows.start, rows.stop)
            return out

        results = _each(work, self._parts(), self.threads)
        return sum(results[1:], start=results[0])

    def adjoint(self, u: FloatArray) -> FloatArray:
        if u.ndim == 2:
            return self._accumulate(csr.csr_two_adjoints, u, (2, self.shape[1]), 2 * self._per_row)
        return self._accumulate(csr.csr_adjoint, u, self.shape[1], self._per_row)

    def gram(self, d: FloatArray) -> FloatArray:
        half = self._accumulate(csr.csr_gram, d, (self.shape[1], self.shape[1]), self._per_row**2)
        full = half + half.T
        np.fill_diagonal(full, np.diag(half))
        return full

    def hessian_product(self, d: FloatArray, v: FloatArray, bias: float) -> tuple[FloatArray, float]:
        d, v = np.ascontiguousarray(d, dtype=np.float64), np.ascontiguousarray(v, dtype=np.float64)

        def work(part: slice) -> tuple[FloatArray, float]:
            out = np.zeros(self.shape[1])
            last = 0.0
            for rows in portions(part, _AT_ONCE // self._per_row):
                last += csr.csr_hessian_product(*self._csr, d, v, float(bias), out, rows.start, rows.stop)
            return out, last

        results = _each(work, self._parts(), self.threads)
        return sum((r[0] for r in results[1:]), start=results[0][0]), float(sum(r[1] for r in results))

    def take(self, rows: IntArray) -> SparseDesign:
        return SparseDesign(self.X[rows], self.threads)

    def columns(self, chosen: IntArray) -> SparseDesign:
        if self._csc is None:
            self._csc = self.X.tocsc()
        return SparseDesign(self._csc[:, chosen].tocsr(), self.threads)

    def squared_norms(self) -> FloatArray:
        return squared_norms(self.X)

    def dense(self) -> FloatArray:
        return self.X.toarray().astype(np.float64, copy=False)
