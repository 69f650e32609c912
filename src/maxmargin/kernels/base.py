"""The Kernel interface: immutable objects that print as written, composed with +, *, ** and exp()."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import MISSING, fields, replace
from typing import Any, Self

import numpy as np
from sklearn.utils import _safe_indexing

from maxmargin.base.tables import checked_table, is_plain
from maxmargin.base.threads import effective_threads
from maxmargin.base.typing import ColumnsLike, FloatArray, IntArray, TableLike
from maxmargin.compute.kernel_values.tiles import fill_by_tiles, fill_expensive
from maxmargin.kernels.points import Points, work_order


class Kernel(ABC):
    """A function K(x, z) of two rows, positive semidefinite or intended to be.

    ``kernel(X, Z)`` gives the matrix of values and ``kernel.diag(X)`` its diagonal. Machines call `bind` (to
    replace data-dependent parameters by numbers), `prepare` (to turn rows into Points) and `gram` (to compute
    the values between Points). Subclasses are frozen dataclasses whose fields are the parameters.

    >>> import maxmargin as mm
    >>> kernel = 2.0 * mm.kernels.Linear() + 1.0
    >>> kernel([[1.0, 2.0]], [[3.0, 4.0]]), kernel.diag([[1.0, 2.0]])
    (array([[23.]]), array([11.]))
    """

    precedence = 4  # of the printed form: 1 sum, 2 product, 3 power, 4 atom

    @property
    def whole(self) -> bool:
        """True if values are so expensive that an estimator should compute the whole Gram matrix once."""
        return False

    # -- implemented by subclasses -------------------------------------------------------------------

    @abstractmethod
    def prepare(self, X: TableLike, like: Points | None = None) -> Any:
        """The rows of ``X``, validated, as Points that can be combined with the Points ``like``."""

    @abstractmethod
    def evaluate(self, A: Any, B: Any, out: FloatArray) -> None:
        """Fill ``out`` of shape (len(A), len(B)) with kernel values; one thread, one tile."""

    @abstractmethod
    def diagonal(self, A: Any) -> FloatArray:
        """K(x, x) for every point, of shape (len(A),)."""

    @property
    def psd(self) -> bool | None:
        """True if positive semidefinite for all data, False if it may fail, None if nothing is known."""
        return True

    def bind(self, X: TableLike) -> Self:
        """The same kernel with numbers in place of the parameters that depend on the data."""
        return self

    def view_key(self) -> Any:
        """Kernels with equal keys prepare the same Points, which a composed kernel then shares."""
        return object()

    # -- evaluation ----------------------------------------------------------------------------------

    def __call__(self, X: TableLike, Z: TableLike | None = None, *, n_jobs: int | None = None) -> FloatArray:
        """Matrix of K(x_i, z_j) of shape (n_samples_X, n_samples_Z); ``Z`` defaults to ``X``."""
        bound = self.bind(X)
        A = bound.prepare(X)
        B = None if Z is None else bound.prepare(Z, like=A)
        return bound.gram(A, B, n_threads=effective_threads(n_jobs))

    def diag(self, X: TableLike) -> FloatArray:
        """K(x_i, x_i) of shape (n_samples,)."""
        bound = self.bind(X)
        return bound.diagonal(bound.prepare(X))

    def gram(self, A: Any, B: Any = None, *, out: FloatArray | None = None, n_threads: int = 1) -> FloatArray:
        """Kernel values between Points, tiled and threaded; ``B`` defaults to ``A``."""
        columns = A if B is None else B
        if out is None:
            out = np.empty((len(A), len(columns)), dtype=np.result_type(A.dtype, columns.dtype))
        if self.whole:
            self._fill_expensive(A, B, out, n_threads)
            return out

        def fill(rows: slice, cols: slice, tile: FloatArray) -> None:
            self.evaluate(A.take(rows), columns.take(cols), tile)

        fill_by_tiles(fill, out, n_threads)
        if B is None:
            np.fill_diagonal(out, self.diagonal(A))
        return out

    def adds(self, A: Any, B: Any) -> bool:
        """True if `add_products` can add K(A, B) w to a vector without storing kernel values."""
        return False

    def add_products(self, v: FloatArray, A: Any, B: Any, weights: FloatArray, n_threads: int) -> None:
        """v += K(A, B) weights; only for kernels whose `adds` is True."""
        raise NotImplementedError(f"{self!r} has no fused product with a vector: use kernel_times.")

    def _fill_expensive(self, A: Any, B: Any, out: FloatArray, n_threads: int) -> None:
        columns = A if B is None else B

        def compute(rows: IntArray, cols: IntArray) -> FloatArray:
            tile = np.empty((len(rows), len(cols)), dtype=out.dtype)
            self.evaluate(A.take(rows), columns.take(cols), tile)
            return tile

        fill_expensive(compute, out, work_order(A), None if B is None else work_order(B), n_threads)
        if B is None:
            np.fill_diagonal(out, self.diagonal(A))

    def check_values(self, A: TableLike) -> None:
        """Refuse Points on which values overflow. It suffices to check K(x, x), the largest values."""
        if self.whole:  # strings: values are too expensive for a check and do not overflow
            return
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(self.diagonal(A)).all()
        if not finite:
            raise ValueError(
                f"the values of {self!r} are too large for floating-point numbers on these rows: scale the "
                "columns of X, or lower the degree or the scale of the kernel."
            )

    # -- parameters ----------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with ``deep`` also those of inner kernels, as ``k1__gamma``."""
        params: dict[str, Any] = {}
        for field in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value = getattr(self, field.name)
            params[field.name] = value
            if deep and isinstance(value, Kernel):
                params.update({f"{field.name}__{k}": v for k, v in value.get_params().items()})
        return params

    def with_params(self, **params: Any) -> Self:
        """A copy with other parameters; nested ones as ``k1__gamma=0.1``."""
        nested: dict[str, dict[str, Any]] = {}
        changes: dict[str, Any] = {}
        known = self.get_params(deep=False)
        for name, value in params.items():
            head, _, rest = name.partition("__")
            if head not in known:
                raise ValueError(
                    f"{head!r} is not a parameter of {type(self).__name__}: {', '.join(known) or 'none'}."
                )
            if rest:
                nested.setdefault(head, {})[rest] = value
            else:
                changes[head] = value
        for head, inner in nested.items():
            kernel = changes.get(head, known[head])
            if not isinstance(kernel, Kernel):
                raise ValueError(
                    f"{head}={kernel!r} is not a kernel and has no parameter {next(iter(inner))!r}."
                )
            changes[head] = kernel.with_params(**inner)
        return replace(self, **changes)  # type: ignore[type-var]  # every subclass is a dataclass

    def __sklearn_clone__(self) -> Self:
        return self  # immutable, so a clone is the kernel itself

    def _copy(self, **changes: Any) -> Self:
        """A copy without the checks of the constructor, for values that were checked already."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__ | changes)
        return twin

    # -- algebra -------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Kernel:
        from maxmargin.kernels.algebra import Sum, as_term

        return Sum(self, as_term(other))

    def __radd__(self, other: Any) -> Kernel:
        from maxmargin.kernels.algebra import Sum, as_term

        return Sum(as_term(other), self)

    def __mul__(self, other: Any) -> Kernel:
        from maxmargin.kernels.algebra import Product, Scaled

        return Product(self, other) if isinstance(other, Kernel) else Scaled(other, self)

    def __rmul__(self, other: Any) -> Kernel:
        from maxmargin.kernels.algebra import Scaled

        return Scaled(other, self)

    def __pow__(self, degree: Any) -> Kernel:
        from maxmargin.kernels.algebra import Power

        return Power(self, degree)

    def exp(self) -> Kernel:
        """exp(K(x, z)), which is a kernel if K is one."""
        from maxmargin.kernels.algebra import Exp

        return Exp(self)

    def normalized(self) -> Kernel:
        """K(x, z) / sqrt(K(x, x) K(z, z)): the cosine in feature space."""
        from maxmargin.kernels.algebra import Normalized

        return Normalized(self)

    # -- printing ------------------------------------------------------------------------------------

    def _shown(self) -> Iterator[str]:
        for field in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value = getattr(self, field.name)
            if field.default is MISSING or not _same(value, field.default):
                yield f"{field.name}={value!r}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._shown())})"

    def _inside(self, precedence: int) -> str:
        """The printed form, in parentheses if the surrounding operator binds more tightly."""
        text = repr(self)
        return f"({text})" if self.precedence < precedence else text


def _same(a: Any, b: Any) -> bool:
    return a is b or (np.isscalar(a) and np.isscalar(b) and bool(a == b))


def validated_columns(X: TableLike, features: ColumnsLike | None) -> Any:
    """The chosen columns of a table, array or sparse matrix as finite floats (float32 is kept)."""
    if features is not None:
        X = choose_columns(X, features)
    if is_plain(X):
        return X
    return checked_table(X, accept_sparse="csr", dtype=[np.float64, np.float32])


def choose_columns(X: Any, features: Any) -> Any:
    names = [features] if np.ndim(features) == 0 else list(features)
    if not all(isinstance(name, (str, int, np.integer)) and not isinstance(name, bool) for name in names):
        raise ValueError(f"the kernel's features={features!r} must be names or positions of columns.")
    if any(isinstance(name, str) for name in names):
        columns = getattr(X, "columns", None)
        if columns is None:
            raise ValueError(
                f"the kernel's features={names!r} are names, but X is a {type(X).__name__} without column "
                "names: pass a dataframe, or give positions."
            )
        missing = [name for name in names if name not in list(columns)]
        if missing:
            raise ValueError(f"X has no column {missing[0]!r}: its columns are {list(columns)}.")
    elif names and not -np.shape(X)[1] <= min(names) <= max(names) < np.shape(X)[1]:
        raise ValueError(f"the kernel's features={names!r} are out of range: X has {np.shape(X)[1]} columns.")
    return _safe_indexing(X, names, axis=1)
