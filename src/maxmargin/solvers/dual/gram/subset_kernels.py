"""Kernels whose Gram matrix on a subset of columns is an update of the one on a neighbouring subset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.kernel_values import elementwise
from maxmargin.compute.kernel_values.subset_gram import MODULI, PRODUCTS, SQUARES, moved
from maxmargin.kernels import RBF, Exponential, Kernel, Laplacian, Linear, Polynomial, Sigmoid

_KINDS: dict[type[Kernel], str] = {
    RBF: SQUARES,
    Exponential: SQUARES,
    Laplacian: MODULI,
    Linear: PRODUCTS,
    Polynomial: PRODUCTS,
    Sigmoid: PRODUCTS,
}
_NO_COLUMN = np.empty((0, 0))


@dataclass(frozen=True)
class SubsetKernel:
    """A kernel of one statistic (squared or absolute differences, or products) summed over columns.

    Columns are rows of an array of shape (n_columns, n_samples); a statistic has shape (n_samples,
    n_samples).
    """

    kernel: Any
    kind: str

    @classmethod
    def of(cls, kernel: Kernel) -> SubsetKernel | None:
        """None for kernels that are not of this form, or that only use named columns."""
        kind = _KINDS.get(type(kernel))
        if kind is None or getattr(kernel, "features", None) is not None:
            return None
        return cls(kernel, kind)

    @property
    def open_gamma(self) -> Literal["scale", "auto"] | None:
        """ "scale" or "auto" where the kernel's gamma depends on the data, else None."""
        gamma = getattr(self.kernel, "gamma", None)
        fixed = not isinstance(gamma, str) or getattr(self.kernel, "length_scale", None) is not None
        return None if fixed else gamma

    def with_gamma(self, gamma: float) -> SubsetKernel:
        return SubsetKernel(self.kernel.with_params(gamma=gamma), self.kind)

    def largest(self, columns: FloatArray) -> float:
        """The largest K(x, x) on all ``columns``."""
        if self.kind != PRODUCTS:
            return float(getattr(self.kernel, "variance", 1.0))
        norms: FloatArray = (columns**2).sum(axis=0)
        self.kernel.map_norms(norms)
        return float(np.abs(norms).max(initial=0.0))

    def statistic(self, columns: FloatArray) -> FloatArray:
        """Sums over all ``columns``; O(n^2) for each."""
        if self.kind == PRODUCTS:
            return columns.T @ columns
        total = np.zeros((columns.shape[1], columns.shape[1]))
        self.change(total, columns, np.ones(len(columns)))
        return total

    def change(self, total: FloatArray, columns: FloatArray, factors: FloatArray) -> None:
        """Add (factor 1) or remove (factor -1) columns in a statistic, in place."""
        moved(self.kind, total, np.arange(len(total)), columns, factors, 1.0, total)

    def gram(
        self,
        total: FloatArray,
        columns: FloatArray = _NO_COLUMN,
        factors: Any = (),
        *,
        rows: IntArray | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Kernel values of a statistic after adding or removing ``columns``; ``total`` is not changed.

        For some ``rows`` of it, ``columns`` has shape (n_columns, n_rows). ``out`` takes the values.
        """
        kernel = self.kernel
        if isinstance(kernel, RBF):
            K = self.log_gram(total, columns, factors, rows=rows, out=out)
            exponentiate(K, kernel.variance)
            return K
        K = self._statistic_of(total, columns, factors, 1.0, rows, out)
        if self.kind == PRODUCTS:
            kernel.map_norms(K)
        else:
            _of_distances(K, kernel)
        return K

    def log_gram(
        self,
        total: FloatArray,
        columns: FloatArray = _NO_COLUMN,
        factors: Any = (),
        *,
        rows: IntArray | None = None,
        out: FloatArray | None = None,
        gamma: float | None = None,
    ) -> FloatArray:
        """-gamma ||x - z||^2 of an RBF kernel, whose gamma may be replaced; as `gram`."""
        scale = -(self.kernel.number_gamma() if gamma is None else gamma)
        return self._statistic_of(total, columns, factors, scale, rows, out)

    def _statistic_of(
        self,
        total: FloatArray,
        columns: FloatArray,
        factors: Any,
        scale: float,
        rows: IntArray | None,
        out: FloatArray | None,
    ) -> FloatArray:
        if rows is None:
            rows = np.arange(len(total))
        if out is None:
            out = np.empty((len(rows), len(rows)))
        moved(self.kind, total, rows, columns, np.asarray(factors, dtype=np.float64), scale, out)
        return out


def exponentiate(K: FloatArray, variance: float) -> None:
    """K = variance exp(K) in place, for K <= 0, by the vectorised exponential of the RBF kernel."""
    zeros = np.zeros(len(K), dtype=K.dtype)
    # seen as inner products of rows of norm 0, whose squared distance is -2 K: gamma = 1/2 leaves exp(K)
    elementwise.rbf(K, zeros, zeros, 0.5, variance)


def _of_distances(K: FloatArray, kernel: Any) -> None:
    np.maximum(K, 0.0, out=K)
    if isinstance(kernel, Exponential):
        np.sqrt(K, out=K)
    K *= K.dtype.type(-kernel.number_gamma())
    np.exp(K, out=K)
