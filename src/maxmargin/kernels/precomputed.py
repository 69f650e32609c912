"""Kernels that somebody else computes: a Gram matrix, or a Python function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.base.tables import checked_table
from maxmargin.base.typing import FloatArray
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.points import IndexedPoints, RawPoints


@dataclass(frozen=True, repr=False)
class Precomputed(Kernel):
    """Values of shape (n_samples, n_training_samples), given in place of X."""

    @property
    def psd(self) -> bool | None:
        return None

    def prepare(self, X: Any, like: Any = None) -> IndexedPoints:
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
    """A dear kernel whose values among the training rows are known: solver and certificate look them up."""

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
    """A Python function of two sets of rows that returns the matrix of values, as scikit-learn takes it."""

    function: Callable[[Any, Any], Any]

    @property
    def psd(self) -> None:
        return None

    def prepare(self, X: Any, like: Any = None) -> RawPoints:
        X = checked_table(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        return RawPoints(X, X.dtype)

    def evaluate(self, A: RawPoints, B: RawPoints, out: FloatArray) -> None:
        values = np.asarray(self.function(A.X, B.X))
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
