"""Kernels made of kernels. Leaves fill a tile, the algebra combines tiles in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from maxmargin.base.typing import FloatArray, TableLike
from maxmargin.kernels.base import Kernel, validated_columns
from maxmargin.kernels.points import CombinedPoints, Points, WeightedPoints
from maxmargin.kernels.vector_base import check_degree, integer_power, number, values_of
from maxmargin.kernels.vectors import Constant


def as_term(value: Any) -> Kernel:
    """A kernel, or a positive number as a constant kernel."""
    return value if isinstance(value, Kernel) else Constant(value)


def _check_kernels(owner: str, *kernels: Any) -> None:
    for kernel in kernels:
        if not isinstance(kernel, Kernel):
            raise ValueError(f"{owner} combines kernels, got {kernel!r}.")


def _all_psd(*kernels: Kernel) -> bool | None:
    verdicts = [kernel.psd for kernel in kernels]
    if all(verdicts):
        return True
    return None if None in verdicts and False not in verdicts else False


@dataclass(frozen=True, repr=False)
class _Pair(Kernel):
    """Two kernels evaluated on the same rows."""

    k1: Kernel
    k2: Kernel

    def __post_init__(self) -> None:
        _check_kernels(type(self).__name__, self.k1, self.k2)

    @property
    def psd(self) -> bool | None:
        return _all_psd(self.k1, self.k2)

    @property
    def whole(self) -> bool:
        return self.k1.whole or self.k2.whole

    def bind(self, X: Any) -> Self:
        return self._copy(k1=self.k1.bind(X), k2=self.k2.bind(X))

    def prepare(self, X: Any, like: Any = None) -> CombinedPoints:
        if self.k1.view_key() == self.k2.view_key():
            shared = self.k1.prepare(X, None if like is None else like.parts[0])
            return CombinedPoints((shared,), (0, 0))
        parts = [
            kernel.prepare(X, None if like is None else like.parts[k])
            for k, kernel in enumerate((self.k1, self.k2))
        ]
        return CombinedPoints(tuple(parts), (0, 1))

    def evaluate(self, A: CombinedPoints, B: CombinedPoints, out: FloatArray) -> None:
        self.k1.evaluate(A.parts[0], B.parts[0], out)
        second = np.empty_like(out)
        self.k2.evaluate(A.parts[1], B.parts[1], second)
        self.combine(out, second)

    def diagonal(self, A: CombinedPoints) -> FloatArray:
        values = self.k1.diagonal(A.parts[0])
        self.combine(values, self.k2.diagonal(A.parts[1]))
        return values

    @staticmethod
    def combine(first: FloatArray, second: FloatArray) -> None:
        raise NotImplementedError  # Sum and Product implement it


class Sum(_Pair):
    """K1 + K2.

    >>> from maxmargin.kernels import Constant, Linear
    >>> (Linear() + Constant(2.0))([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[13.0]]
    """

    precedence = 1

    @staticmethod
    def combine(first: FloatArray, second: FloatArray) -> None:
        first += second

    def __repr__(self) -> str:
        return f"{self.k1._inside(1)} + {self.k2._inside(2)}"


class Product(_Pair):
    """K1 * K2, element by element (Schur's theorem makes it a kernel).

    >>> from maxmargin.kernels import Constant, Linear
    >>> (Linear() * Linear())([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[121.0]]
    """

    precedence = 2

    @staticmethod
    def combine(first: FloatArray, second: FloatArray) -> None:
        first *= second

    def __repr__(self) -> str:
        return f"{self.k1._inside(2)} * {self.k2._inside(3)}"


class _Wrapper(Kernel):
    """A kernel that changes the values of one inner kernel."""

    kernel: Kernel

    def __post_init__(self) -> None:
        _check_kernels(type(self).__name__, self.kernel)

    @property
    def psd(self) -> bool | None:
        return self.kernel.psd

    @property
    def whole(self) -> bool:
        return self.kernel.whole

    def bind(self, X: Any) -> Self:
        return self._copy(kernel=self.kernel.bind(X))

    def prepare(self, X: Any, like: Any = None) -> Any:
        return self.kernel.prepare(X, like)

    def evaluate(self, A: Any, B: Any, out: FloatArray) -> None:
        self.kernel.evaluate(A, B, out)
        self.change(out)

    def diagonal(self, A: Any) -> FloatArray:
        values = self.kernel.diagonal(A)
        self.change(values)
        return values

    def change(self, values: FloatArray) -> None:
        """Change kernel values in place."""

    def view_key(self) -> Any:
        return self.kernel.view_key()


@dataclass(frozen=True, repr=False)
class Scaled(_Wrapper):
    """scale * K for a number scale > 0.

    >>> from maxmargin.kernels import Linear
    >>> (2.0 * Linear())([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[22.0]]
    """

    scale: float
    kernel: Kernel
    precedence = 2

    def __post_init__(self) -> None:
        number("the coefficient of a kernel", self.scale, owner=type(self).__name__)
        super().__post_init__()

    def change(self, values: FloatArray) -> None:
        values *= self.scale

    def __repr__(self) -> str:
        return f"{self.scale!r} * {self.kernel._inside(3)}"


@dataclass(frozen=True, repr=False)
class Power(_Wrapper):
    """K ** degree for a whole number degree >= 1.

    >>> from maxmargin.kernels import Linear
    >>> ((Linear() + 1.0) ** 2)([[1.0, 2.0]], [[3.0, 4.0]]).tolist()  # Polynomial(2, 1, 1)
    [[144.0]]
    """

    kernel: Kernel
    degree: int
    precedence = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_degree("Power", self.degree)

    def change(self, values: FloatArray) -> None:
        integer_power(values, self.degree)

    def __repr__(self) -> str:
        return f"{self.kernel._inside(4)} ** {self.degree}"


@dataclass(frozen=True, repr=False)
class Exp(_Wrapper):
    """exp(K).

    >>> from maxmargin.kernels import Exp, Linear
    >>> Exp(Linear())([[1.0]], [[0.0], [1.0]]).round(4).tolist()
    [[1.0, 2.7183]]
    """

    kernel: Kernel

    def change(self, values: FloatArray) -> None:
        np.exp(values, out=values)

    def __repr__(self) -> str:
        return f"{self.kernel._inside(4)}.exp()"


class _Weighted(_Wrapper):
    """A kernel multiplied by one factor for each of its two rows."""

    def evaluate(self, A: WeightedPoints, B: WeightedPoints, out: FloatArray) -> None:
        self.kernel.evaluate(A.inner, B.inner, out)
        out *= A.factors[:, None]
        out *= B.factors

    def diagonal(self, A: WeightedPoints) -> FloatArray:
        values = self.kernel.diagonal(A.inner)
        values *= A.factors * A.factors
        return values

    def view_key(self) -> Any:
        return object()


@dataclass(frozen=True, repr=False)
class Normalized(_Weighted):
    """K(x, z) / sqrt(K(x, x) K(z, z)). A row with K(x, x) = 0 has the value 0 with every other row.

    >>> from maxmargin.kernels import Linear, Normalized
    >>> Normalized(Linear())([[1.0, 0.0]], [[3.0, 4.0]]).round(4).tolist()  # the cosine of the angle
    [[0.6]]
    """

    kernel: Kernel

    def prepare(self, X: TableLike, like: Any = None) -> WeightedPoints:
        inner = self.kernel.prepare(X, None if like is None else like.inner)
        squares = self.kernel.diagonal(inner)
        if squares.min(initial=0.0) < 0:
            raise ValueError(f"{self.kernel!r} has K(x, x) < 0 on some row, so it cannot be normalised.")
        factors = np.zeros_like(squares)
        np.divide(1.0, np.sqrt(squares), out=factors, where=squares > 0)
        return WeightedPoints(inner, factors)

    def __repr__(self) -> str:
        return f"{self.kernel._inside(4)}.normalized()"


@dataclass(frozen=True, repr=False)
class Modulated(_Weighted):
    """f(x) K(x, z) f(z), for a function from rows of shape (n, n_features) to numbers of shape (n,).

    >>> from maxmargin.kernels import Linear, Modulated
    >>> Modulated(lambda rows: rows[:, 0], Linear())([[1.0, 2.0]], [[3.0, 4.0]]).tolist()  # 1 * 11 * 3
    [[33.0]]
    """

    f: Callable[[Any], Any]
    kernel: Kernel

    def prepare(self, X: TableLike, like: Any = None) -> WeightedPoints:
        inner = self.kernel.prepare(X, None if like is None else like.inner)
        return WeightedPoints(inner, values_of(self.f, validated_columns(X, None)).astype(inner.dtype))


@dataclass(frozen=True, repr=False)
class Mapped(_Wrapper):
    """K(h(x), h(z)), for a function from rows of shape (n, n_features) to rows of shape (n, any).

    >>> from maxmargin.kernels import Linear, Mapped
    >>> Mapped(lambda rows: rows**2, Linear())([[1.0, 2.0]], [[3.0, 4.0]]).tolist()  # 1*9 + 4*16
    [[73.0]]
    """

    h: Callable[[Any], Any]
    kernel: Kernel

    def _map(self, X: Any) -> Any:
        rows = validated_columns(X, None)
        mapped = self.h(rows)
        if len(mapped) != rows.shape[0]:
            raise ValueError(
                f"Mapped: h must return a row for every row: it got {rows.shape[0]} and gave {len(mapped)}."
            )
        return mapped

    def bind(self, X: TableLike) -> Self:
        return self._copy(kernel=self.kernel.bind(self._map(X)))

    def prepare(self, X: TableLike, like: Points | None = None) -> Any:
        return self.kernel.prepare(self._map(X), like)

    def view_key(self) -> Any:
        return object()
