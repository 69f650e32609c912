"""Kernels whose values the user supplies: a Gram matrix, or a Python function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.base.tables import as_dense, checked_table
from maxmargin.base.typing import FloatArray, TableLike
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.points import IndexedPoints, Points, RawPoints


@dataclass(frozen=True, repr=False)
class Precomputed(Kernel):
    """Values of shape (n_samples, n_training_samples), given in place of X.

    >>> import maxmargin as mm
    >>> K = mm.kernels.Linear()([[0.0], [1.0], [3.0], [4.0]])
    >>> mm.SVC(kernel="precomputed").fit(K, [0, 0, 1, 1]).predict(K).tolist()
    [0, 0, 1, 1]
    """

    @property
    def psd(self) -> bool | None:
        return None

    def prepare(self, X: TableLike, like: Points | None = None) -> IndexedPoints:
        if sp.issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported: give X.toarray().")
        K = checked_table(X, dtype=[np.float64, np.float32])
        if like is None and K.shape[0] != K.shape[1]:
            raise ValueError(
                f"Precomputed matrix must be a square matrix. Input is a {K.shape[0]}x{K.shape[1]} matrix."
            )
        return IndexedPoints(K, np.arange(K.shape[0]))

    def evaluate(self, A: IndexedPoints, B: IndexedPoints, out: FloatArray) -> None:
        np.take(A.matrix, B.index, axis=1, out=out, mode="clip")

    def diagonal(self, A: IndexedPoints) -> FloatArray:
        return A.matrix[np.arange(len(A)), A.index].copy()


@dataclass(frozen=True, repr=False)
class Tabulated(Precomputed):
    """An expensive kernel whose values between training rows are stored for solver and certificate."""

    kernel: Kernel

    @property
    def psd(self) -> bool | None:
        return self.kernel.psd

    @property
    def whole(self) -> bool:
        return True

    def gram(self, A: Any, B: Any = None, *, out: FloatArray | None = None, n_threads: int = 1) -> FloatArray:
        columns = A if B is None else B
        if out is None:
            out = np.empty((len(A), len(columns)), dtype=A.dtype)
        self.evaluate(A, columns, out)
        return out


@dataclass(frozen=True, repr=False)
class Function(Kernel):
    """A Python function of two sets of rows that returns the matrix of kernel values, as in scikit-learn.

    Rows that are not numbers, such as texts, are passed to it as a one-dimensional array. A function that
    gives a single number is called with every pair of rows instead, as in scikit-learn's KernelRidge.

    >>> import numpy as np
    >>> import maxmargin as mm
    >>> kernel = mm.kernels.Function(lambda A, B: (1 + A @ B.T) ** 2)
    >>> kernel(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])).tolist()
    [[144.0]]
    >>> mm.kernels.Function(lambda a, b: len(set(a) & set(b)))(["cat"], ["car", "dog"]).tolist()
    [[2.0, 0.0]]
    """

    function: Callable[[Any, Any], Any]

    @property
    def psd(self) -> None:
        return None

    def prepare(self, X: TableLike, like: Points | None = None) -> RawPoints:
        if _are_objects(X):
            rows: Any = X
            return RawPoints(np.array([*rows, None], dtype=object)[:-1], np.float64)
        X = checked_table(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        return RawPoints(X, X.dtype)

    def evaluate(self, A: RawPoints, B: RawPoints, out: FloatArray) -> None:
        values = as_dense(self.function(A.X, B.X))
        if values.ndim == 0:
            values = np.array([[self.function(a, b) for b in _each(B.X)] for a in _each(A.X)])
        if values.shape != out.shape:
            raise ValueError(f"the kernel function gave shape {values.shape}, but {out.shape} was needed.")
        if not np.isfinite(values).all():
            raise ValueError("the kernel function gave NaN or infinity on some rows: it must be finite.")
        out[...] = values

    def diagonal(self, A: RawPoints) -> FloatArray:
        one = np.empty((1, 1), dtype=A.dtype)
        values = np.empty(len(A), dtype=A.dtype)
        for i in range(len(A)):
            row = A.take(slice(i, i + 1))
            self.evaluate(row, row, one)
            values[i] = one[0, 0]
        return values


def _each(rows: Any) -> list[Any]:
    """Single rows: one-dimensional, or tables of one row where they are sparse."""
    return [rows[[i]] for i in range(rows.shape[0])] if sp.issparse(rows) else list(rows)


def _are_objects(X: Any) -> bool:
    """True if X is a sequence of texts or other objects, not a table."""
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and isinstance(X[0], str)
    return len(getattr(X, "shape", ())) == 1 and np.asarray(X).dtype.kind in "OUT"
