"""Base classes of kernels on rows of numbers: choice of columns, inner products, gamma from the data."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp

from maxmargin.base.tables import SQUARES_TOO_LARGE
from maxmargin.base.typing import FloatArray, TableLike
from maxmargin.compute.tables.inner_products import inner_products, squared_norms
from maxmargin.kernels.base import Kernel, validated_columns
from maxmargin.kernels.points import VectorPoints

Features = Sequence[str] | Sequence[int] | str | int | None
Gamma = float | Literal["scale", "auto"]

_SAMPLE = 1000  # rows whose lengths are compared with that of the mean


class VectorKernel(Kernel):
    """A kernel of inner products of rows, after an optional embedding of the rows."""

    features: Features
    centred = False  # True for kernels of x - z: subtracting the mean saves digits in float32

    def embed(self, X: TableLike) -> Any:
        """Transform the rows before inner products are taken; the identity by default."""
        return X

    def map_products(self, K: FloatArray, A: VectorPoints, B: VectorPoints) -> None:
        """Turn inner products into kernel values, in place; by default the same map as on the diagonal."""
        self.map_norms(K)

    def prepare(self, X: TableLike, like: Any = None) -> VectorPoints:
        X = self.embed(validated_columns(X, self.features))
        if like is None:
            shift = _centre(X) if self.centred and not sp.issparse(X) else None
            points = VectorPoints.make(X, shift)
            if not np.isfinite(points.norms).all():
                raise ValueError(SQUARES_TOO_LARGE)
            return points
        if X.shape[1] != like.X.shape[1]:
            raise ValueError(f"{self!r} got rows of {like.X.shape[1]} and of {X.shape[1]} columns.")
        if sp.issparse(X) != sp.issparse(like.X):
            X = sp.csr_array(X) if sp.issparse(like.X) else X.toarray()
        return VectorPoints.make(X, like.shift)

    def evaluate(self, A: VectorPoints, B: VectorPoints, out: FloatArray) -> None:
        inner_products(A.X, B.X, out)
        self.map_products(out, A, B)

    def diagonal(self, A: VectorPoints) -> FloatArray:
        values = A.norms.copy()
        self.map_norms(values)
        return values

    def map_norms(self, norms: FloatArray) -> None:
        """Turn squared norms into values on the diagonal, in place."""

    def view_key(self) -> Any:
        features = self.features
        key = tuple(features) if isinstance(features, (list, tuple)) else features
        return (self.centred, str(key), self.embedding_key())

    def embedding_key(self) -> Any:
        return None


def _centre(X: FloatArray) -> FloatArray:
    """The mean row, to be subtracted; zeros if it is so short that subtracting it would save no digits."""
    mean = X.mean(axis=0, dtype=np.float64)
    lengths = squared_norms(X[:: 1 + len(X) // _SAMPLE])
    return np.zeros_like(mean) if 2.0 * (mean @ mean) <= np.median(lengths) else mean


def number(name: str, value: Any, *, positive: bool = True, owner: str) -> None:
    """Refuse what is not a finite number or, with ``positive``, not > 0."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not np.isfinite(float(value)):
        raise ValueError(f"{owner}: {name}={value!r} must be a finite number.")
    if positive and value <= 0:
        raise ValueError(f"{owner}: {name}={value!r} must be > 0.")


class ScaledByGamma(VectorKernel):
    """A kernel with a gamma, which may be "scale" (1 / (p var X)) or "auto" (1 / p)."""

    gamma: Gamma

    def __post_init__(self) -> None:
        if isinstance(self.gamma, str):
            if self.gamma not in ("scale", "auto"):
                raise ValueError(
                    f"{type(self).__name__}: gamma={self.gamma!r} is unknown: "
                    "use a number > 0, 'scale' or 'auto'."
                )
        else:
            number("gamma", self.gamma, owner=type(self).__name__)

    def bind(self, X: TableLike) -> Self:
        if not isinstance(self.gamma, str):
            return self
        columns = self.embed(validated_columns(X, self.features))
        return self._copy(gamma=resolve_gamma(self.gamma, columns))

    def number_gamma(self) -> float:
        if isinstance(self.gamma, str):
            raise ValueError(f"gamma={self.gamma!r} depends on the data: call bind(X) first.")
        return float(self.gamma)


def resolve_gamma(gamma: Gamma, X: Any) -> float:
    """The value of "scale" and "auto", as scikit-learn defines them."""
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma != "scale":
        return float(gamma)
    if sp.issparse(X):
        X = X.astype(np.float64)  # squares and sums of float32 values may overflow
        variance = float(X.multiply(X).mean() - X.mean() ** 2)
    else:
        variance = float(X.var(dtype=np.float64))
    scale = 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
    if np.isinf(scale):
        raise ValueError(
            f"the variance of X, {variance:.1e}, is too small for gamma='scale': scale its columns or give a "
            "number for gamma."
        )
    return scale


def values_of(f: Callable[[Any], Any], X: Any) -> FloatArray:
    """One finite number per row from a user's function."""
    values: FloatArray = np.asarray(f(X), dtype=X.dtype).ravel()
    if values.shape != (X.shape[0],):
        raise ValueError(
            f"the function must give one number per row: {X.shape[0]} rows, {values.size} numbers."
        )
    if not np.isfinite(values).all():
        raise ValueError("the function gave NaN or infinity on some row.")
    return values


def check_degree(owner: str, degree: Any) -> None:
    if not isinstance(degree, numbers.Integral) or isinstance(degree, bool) or degree < 1:
        raise ValueError(f"{owner}: degree={degree!r} must be a whole number >= 1.")


def integer_power(values: FloatArray, degree: int) -> None:
    """values **= degree in place, by repeated squaring (numpy's power is a slow scalar call)."""
    if degree == 1:
        return
    base = values.copy()
    remaining = degree - 1
    while remaining:
        if remaining & 1:
            values *= base
        remaining >>= 1
        if remaining:
            base *= base
