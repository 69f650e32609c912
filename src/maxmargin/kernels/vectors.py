"""Kernels on rows of numbers. Each defines how rows are prepared and how inner products become values."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import combinations_with_replacement
from math import comb, factorial
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp

from maxmargin.base.parameters import check_count, check_not_negative, check_positive
from maxmargin.base.tables import checked_table
from maxmargin.base.threads import portions, run, run_short, split
from maxmargin.base.typing import AnyArray, FloatArray, TableLike
from maxmargin.compute.intrinsics.panel_tile import ROWS, WIDTH
from maxmargin.compute.kernel_values import elementwise
from maxmargin.compute.kernel_values.rbf_rows import add_rbf_rows, rbf_rows, width_of
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.points import VectorPoints
from maxmargin.kernels.vector_base import (
    Features,
    Gamma,
    ScaledByGamma,
    VectorKernel,
    check_degree,
    integer_power,
    number,
    values_of,
)

_FAR = 1e-4  # share of the mean squared norm that is left around a mean that counts as far away
_LARGE = 1e8  # squared norms from which a nearer mean counts too
_MOST_MONOMIALS = 50_000_000  # numbers in the result of polynomial_map, at most
_FEW_MONOMIALS = 5_000_000  # ... and in that of `columns_of`


@dataclass(frozen=True, repr=False)
class Linear(VectorKernel):
    """K(x, z) = <x, z>.

    >>> from maxmargin.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[11.0]]
    """

    features: Features = field(default=None, kw_only=True)


def about_their_mean(kernel: Kernel, points: Any) -> Any:
    """The points of a linear kernel relative to their mean if that is far away; otherwise the points.

    Only for estimators that do not change when all rows are shifted. Inner products of columns with an offset
    of 1e8 have errors of 1, which no solver can correct.
    """
    if not isinstance(kernel, Linear) or sp.issparse(points.X):
        return points
    mean = points.X.mean(axis=0, dtype=np.float64)
    square, norm = float(mean @ mean), float(points.norms.mean(dtype=np.float64))
    share = 0.1 if norm > _LARGE else 1.0 - _FAR
    return VectorPoints.make(points.X, mean) if 0.0 < share * norm <= square < np.inf else points


def lost_by_shift(kernel: Kernel, points: Any) -> FloatArray:
    """What the shift of `about_their_mean` took from <x_j, x>, the same for all x, up to a constant in j."""
    if not isinstance(kernel, Linear) or points.shift is None:
        return np.zeros(len(points))
    return np.asarray(points.X @ points.shift, dtype=np.float64)


@dataclass(frozen=True, repr=False)
class Polynomial(ScaledByGamma):
    """K(x, z) = (coef0 + gamma <x, z>) ** degree. Positive semidefinite for coef0 >= 0; warns otherwise.

    >>> import maxmargin as mm
    >>> float(mm.kernels.Polynomial(gamma=1, coef0=1, degree=2)([[1.0, 2.0]], [[3.0, 4.0]])[0, 0])
    144.0
    """

    gamma: Gamma = "scale"
    coef0: float = 0.0
    degree: int = 3
    features: Features = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        number("coef0", self.coef0, positive=False, owner="Polynomial")
        check_degree("Polynomial", self.degree)
        if self.coef0 < 0:
            warnings.warn(
                f"Polynomial with coef0={self.coef0} < 0 may fail to be positive semidefinite: "
                "the machine then reports a stationary point.",
                stacklevel=3,
            )

    @property
    def psd(self) -> bool:
        return self.coef0 >= 0

    def map_norms(self, norms: FloatArray) -> None:
        norms *= self.number_gamma()
        norms += self.coef0
        integer_power(norms, self.degree)


def polynomial_map(X: TableLike, *, degree: int = 2, gamma: float = 1.0, coef0: float = 1.0) -> FloatArray:
    """phi(X) with <phi(x), phi(z)> = (coef0 + gamma <x, z>)^degree, of shape (n_samples, n_monomials).

    For two columns, degree 2 and gamma = coef0 = 1 the columns are 1, sqrt(2) x1, sqrt(2) x2, x1^2,
    sqrt(2) x1 x2, x2^2: by degree, then in the order of itertools.combinations_with_replacement.

    >>> import maxmargin as mm
    >>> mm.kernels.polynomial_map([[1.0, 2.0]]).round(3).tolist()
    [[1.0, 1.414, 2.828, 1.0, 2.828, 4.0]]
    """
    check_count("degree", degree)
    check_positive("gamma", gamma)
    check_not_negative("coef0", coef0)
    X = checked_table(X, dtype=[np.float64, np.float32])
    lowest = degree if coef0 == 0 else 0
    columns = []
    for total in range(lowest, degree + 1):
        outer = factorial(degree) // (factorial(total) * factorial(degree - total))
        for chosen in combinations_with_replacement(range(X.shape[1]), total):
            inner = factorial(total)
            for k in set(chosen):
                inner //= factorial(chosen.count(k))
            weight = np.sqrt(outer * inner * coef0 ** (degree - total) * gamma**total)
            columns.append(weight * X[:, list(chosen)].prod(axis=1))
            if len(columns) * len(X) > _MOST_MONOMIALS:
                raise ValueError(
                    f"the map of degree {degree} on {X.shape[1]} columns is too large: use the kernel."
                )
    return np.column_stack(columns)


def columns_of(kernel: Kernel, points: Any) -> Any:
    """Columns whose inner products are the values of a linear or polynomial kernel.

    None for other kernels, and where the columns are too many or too large.
    """
    if isinstance(kernel, Linear):
        return points.X.astype(np.float64)
    if not isinstance(kernel, Polynomial) or sp.issparse(points.X):
        return None
    n, p = points.X.shape
    if kernel.coef0 < 0 or n * comb(p + kernel.degree, kernel.degree) > _FEW_MONOMIALS:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        rows = np.sqrt(kernel.number_gamma()) * points.X.astype(np.float64)  # powers of gamma could overflow
        columns = polynomial_map(rows, degree=kernel.degree, coef0=kernel.coef0)
    return columns if np.isfinite(columns).all() else None


@dataclass(frozen=True, repr=False)
class Sigmoid(ScaledByGamma):
    """K(x, z) = tanh(gamma <x, z> + coef0). Not positive semidefinite in general, so it warns.

    >>> import warnings
    >>> from maxmargin.kernels import Sigmoid
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", UserWarning)
    ...     Sigmoid(gamma=1.0, coef0=-11.0)([[1.0, 2.0]], [[3.0, 4.0]]).tolist()  # tanh(11 - 11)
    [[0.0]]
    """

    gamma: Gamma = "scale"
    coef0: float = 0.0
    features: Features = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        number("coef0", self.coef0, positive=False, owner="Sigmoid")
        warnings.warn(
            "the sigmoid kernel is not positive semidefinite in general: "
            "the machine reports a stationary point, and no duality gap exists.",
            stacklevel=3,
        )

    @property
    def psd(self) -> bool:
        return False

    def map_norms(self, norms: FloatArray) -> None:
        norms *= self.number_gamma()
        norms += self.coef0
        np.tanh(norms, out=norms)


_MIRRORED = 256  # columns from which computing half of a symmetric matrix and mirroring it is faster
_STRIPS, _LEAST_STRIP = 8, 128
_SHORT = 1 << 31  # multiplications that take far less than a second
_LONG = 1e4  # gamma ||x||^2 from which on neighbours of x get their distance from x - z
_LOST = 1e14  # ... and of all other rows too, because not even the first digit of their distance is right
_NEGLIGIBLE = 1e-30
_NARROW = 1024  # columns up to which our tiles of float64 are faster than BLAS and a pass over its products
_MANY_VALUES = 1 << 21  # kernel values from which on that is worth the time to compile them
_PAIRS = 1 << 14  # of rows whose differences are in memory together
_AT_ONCE = 1 << 31  # multiplications in one compiled call: about 50 ms, so that Ctrl-C is not delayed
_PER_VALUE = 16  # multiplications that cost as much as an exponential and its place in memory


def _fit_for_panels(A: VectorPoints, B: VectorPoints, out: FloatArray) -> bool:
    """True if both sides are dense float32."""
    dense = not sp.issparse(A.X) and not sp.issparse(B.X)
    return dense and bool(A.dtype == B.dtype == out.dtype == np.float32)


def _at_once(B: VectorPoints) -> int:
    """Rows whose kernel values with all of ``B`` one compiled call computes."""
    return _AT_ONCE // (max(len(B), 1) * (B.X.shape[1] + _PER_VALUE))


def _run_for(A: VectorPoints, B: VectorPoints) -> Callable[..., Any]:
    """How to run the tasks that compute the values between A and B."""
    return run_short if len(A) * len(B) * A.X.shape[1] < _SHORT else run


@dataclass(frozen=True, repr=False)
class RBF(ScaledByGamma):
    """K(x, z) = variance exp(-gamma ||x - z||^2), with gamma = 1 / (2 length_scale^2) if that is given.

    >>> import maxmargin as mm
    >>> mm.kernels.RBF(gamma=0.5) == mm.kernels.RBF(0.5)
    True
    >>> 2.0 * mm.kernels.RBF(gamma=0.5) + mm.kernels.Linear()
    2.0 * RBF(gamma=0.5) + Linear()
    """

    gamma: Gamma = "scale"
    length_scale: float | None = None
    variance: float = 1.0
    features: Features = field(default=None, kw_only=True)
    centred = True

    def __post_init__(self) -> None:
        number("variance", self.variance, owner="RBF")
        if self.length_scale is None:
            super().__post_init__()
            return
        number("length_scale", self.length_scale, owner="RBF")
        if self.gamma != "scale":
            raise ValueError("RBF: give gamma or length_scale, not both (gamma = 1 / (2 length_scale^2)).")

    def bind(self, X: TableLike) -> Self:
        return super().bind(X) if self.length_scale is None else self

    def number_gamma(self) -> float:
        return super().number_gamma() if self.length_scale is None else 0.5 / self.length_scale**2

    def gram(self, A: Any, B: Any = None, *, out: FloatArray | None = None, n_threads: int = 1) -> FloatArray:
        columns = A if B is None else B
        if out is None:
            out = np.empty((len(A), len(columns)), dtype=np.result_type(A.dtype, columns.dtype))
        if not _fit_for_panels(A, columns, out):
            return super().gram(A, B, out=out, n_threads=n_threads)
        fill = self._fill_symmetric if B is None and A.X.shape[1] >= _MIRRORED else self._fill_all
        fill(A, columns, out, n_threads)
        if B is None:
            np.fill_diagonal(out, self.variance)
        return out

    def _fill_all(self, A: VectorPoints, B: VectorPoints, out: FloatArray, n_threads: int) -> None:
        B.pack(n_threads)
        fill = partial(rbf_rows, **self._tiles_of(A, B), out=out)
        parts = split(len(B), max(n_threads, len(B) // max(_at_once(A), 1)), multiple=WIDTH)
        _run_for(A, B)([partial(fill, columns=part) for part in parts], n_threads)

    def _fill_symmetric(self, A: VectorPoints, B: VectorPoints, out: FloatArray, n_threads: int) -> None:
        """Compute strips of rows up to the diagonal and mirror them: little more than half of the products.

        Writing columns takes as long as a product of 200 columns.
        """

        def fill(strip: slice) -> None:
            rows = A.take(strip)
            rbf_rows(**self._tiles_of(rows, B), columns=slice(0, strip.stop), out=out[strip])
            out[: strip.start, strip] = out[strip, : strip.start].T

        n_strips = max(min(_STRIPS, len(A) // _LEAST_STRIP), len(A) // max(_at_once(A), 1), 1)
        strips = split(len(A), n_strips, multiple=WIDTH)
        B.pack(n_threads)
        half = len(strips) // 2  # the longest with the shortest: every second task is half of the work
        order = [*reversed(strips[half:]), *strips[:half]]
        _run_for(A, B)([partial(fill, strip) for strip in order], n_threads)

    def evaluate(self, A: VectorPoints, B: VectorPoints, out: FloatArray) -> None:
        if len(A) >= ROWS and _fit_for_panels(A, B, out):  # packing does not pay for a few rows
            rbf_rows(**self._tiles_of(A, B), columns=slice(0, len(B)), out=out)
        else:
            super().evaluate(A, B, out)

    def adds(self, A: Any, B: Any) -> bool:
        return _fit_for_panels(A, B, A.norms) or self._adds_doubles(A, B)

    def _adds_doubles(self, A: Any, B: Any) -> bool:
        """True if BLAS is slow on products this narrow in float64, and they are worth the time to compile."""
        dense = not sp.issparse(A.X) and not sp.issparse(B.X)
        narrow = dense and A.X.shape[1] <= _NARROW and bool(A.dtype == B.dtype == np.float64)
        return narrow and len(A) * len(B) >= _MANY_VALUES and not self._has_long_rows(A, B)

    def _has_long_rows(self, A: VectorPoints, B: VectorPoints) -> bool:
        """True if some distances must come from differences of rows; see `_correct_neighbours`."""
        shorter = min(float(A.norms.max()), float(B.norms.max()))
        return float(self.number_gamma()) * shorter > _LONG

    def add_products(
        self, v: FloatArray, A: VectorPoints, B: VectorPoints, weights: FloatArray, n_threads: int
    ) -> None:
        A.pack(n_threads)
        parts = split(len(A), max(n_threads, len(A) // max(_at_once(B), 1)), multiple=width_of(A.dtype))
        add = partial(add_rbf_rows, **self._tiles_of(B, A), weights=weights, v=v)
        _run_for(A, B)([partial(add, columns=part) for part in parts], n_threads)

    def _tiles_of(self, A: VectorPoints, B: VectorPoints) -> dict[str, Any]:
        return {
            "A": A.X, "row_norms": A.norms, "panels": B.panels,
            "gamma": self.number_gamma(), "variance": self.variance,
        }  # fmt: skip

    def map_products(self, K: FloatArray, A: VectorPoints, B: VectorPoints) -> None:
        elementwise.rbf(K, A.norms, B.norms, self.number_gamma(), self.variance)
        if K.dtype == np.float64 and not (sp.issparse(A.X) or sp.issparse(B.X)):
            self._correct_neighbours(K, A, B)

    def _correct_neighbours(self, K: FloatArray, A: VectorPoints, B: VectorPoints) -> None:
        """Correct values of close rows far from the centre, where differences of squares lose digits."""
        gamma = self.number_gamma()
        if not gamma:  # of columns whose variance overflows: all values are alike
            return
        columns = np.flatnonzero(B.norms > _LONG / gamma)
        rows = np.flatnonzero(A.norms > _LONG / gamma) if len(columns) else columns
        near = K[np.ix_(rows, columns)] > _NEGLIGIBLE * self.variance
        i, j = np.nonzero(near | (B.norms[columns] > _LOST / gamma))
        for start in range(0, len(i), _PAIRS):
            left, right = rows[i[start : start + _PAIRS]], columns[j[start : start + _PAIRS]]
            difference = A.X[left] - B.X[right]
            K[left, right] = self.variance * np.exp(-gamma * np.einsum("ij,ij->i", difference, difference))

    def map_norms(self, norms: FloatArray) -> None:
        norms[:] = self.variance


@dataclass(frozen=True, repr=False)
class Exponential(ScaledByGamma):
    """K(x, z) = exp(-gamma ||x - z||), with the Euclidean distance.

    >>> from maxmargin.kernels import Exponential
    >>> Exponential(gamma=1.0)([[0.0, 0.0]], [[3.0, 4.0]]).round(4).tolist()  # e^-5
    [[0.0067]]
    """

    gamma: Gamma = "scale"
    features: Features = field(default=None, kw_only=True)
    centred = True

    def map_products(self, K: FloatArray, A: VectorPoints, B: VectorPoints) -> None:
        elementwise.squared_distances(K, A.norms, B.norms)
        np.sqrt(K, out=K)
        K *= -self.number_gamma()
        np.exp(K, out=K)

    def map_norms(self, norms: FloatArray) -> None:
        norms[:] = 1.0


@dataclass(frozen=True, repr=False)
class Laplacian(ScaledByGamma):
    """K(x, z) = exp(-gamma ||x - z||_1), with the sum of absolute differences. Sparse rows are made dense.

    >>> from maxmargin.kernels import Laplacian
    >>> Laplacian(gamma=1.0)([[0.0, 0.0]], [[1.0, 2.0]]).round(4).tolist()  # e^-3
    [[0.0498]]
    """

    gamma: Gamma = "scale"
    features: Features = field(default=None, kw_only=True)
    centred = True

    def embed(self, X: Any) -> Any:
        return X.toarray() if sp.issparse(X) else X

    def embedding_key(self) -> Any:
        return "dense"

    def evaluate(self, A: VectorPoints, B: VectorPoints, out: FloatArray) -> None:
        for rows in portions(slice(0, len(A)), _at_once(B) // 8):  # differences are slower
            elementwise.laplacian_distances(out[rows], A.X[rows], B.X)
        out *= -self.number_gamma()
        np.exp(out, out=out)

    def map_norms(self, norms: FloatArray) -> None:
        norms[:] = 1.0


@dataclass(frozen=True, repr=False)
class Periodic(VectorKernel):
    """K(x, z) = variance prod_k exp(-2 sin^2(pi (x_k - z_k) / period) / length_scale^2).

    ``form="distance"`` puts ||x - z|| in the sine instead; for more than one column that is not positive
    semidefinite in general, and it warns. The product form is an RBF kernel of points on circles, because
    4 sin^2(pi d / T) is the squared distance of two points on the unit circle, and is computed that way.

    >>> from maxmargin.kernels import Periodic
    >>> Periodic(period=2.0)([[0.0]], [[2.0], [1.0]]).round(4).tolist()  # a whole period, half of one: e^-2
    [[1.0, 0.1353]]
    """

    period: float = 1.0
    length_scale: float = 1.0
    variance: float = 1.0
    form: Literal["product", "distance"] = "product"
    features: Features = field(default=None, kw_only=True)
    centred = True

    def __post_init__(self) -> None:
        for name in ("period", "length_scale", "variance"):
            number(name, getattr(self, name), owner="Periodic")
        if self.form not in ("product", "distance"):
            raise ValueError(f"Periodic: form={self.form!r} is unknown: use 'product' or 'distance'.")

    @property
    def psd(self) -> bool | None:
        return True if self.form == "product" else None

    def embed(self, X: Any) -> Any:
        X = X.toarray() if sp.issparse(X) else X
        if self.form == "product":
            angle = X * (2 * np.pi / self.period)
            return np.hstack([np.cos(angle), np.sin(angle)])
        if X.shape[1] > 1:
            warnings.warn(
                "Periodic(form='distance') on more than one column may fail to be positive semidefinite: "
                "form='product' never does.",
                stacklevel=4,
            )
        return X

    def embedding_key(self) -> Any:
        return ("periodic", self.form, self.period)

    def map_products(self, K: FloatArray, A: VectorPoints, B: VectorPoints) -> None:
        if self.form == "product":
            elementwise.rbf(K, A.norms, B.norms, 0.5 / self.length_scale**2, self.variance)
            return
        elementwise.squared_distances(K, A.norms, B.norms)
        np.sqrt(K, out=K)
        K *= np.pi / self.period
        np.sin(K, out=K)
        K *= K
        K *= -2.0 / self.length_scale**2
        np.exp(K, out=K)
        K *= self.variance

    def map_norms(self, norms: FloatArray) -> None:
        norms[:] = self.variance


@dataclass(frozen=True, repr=False)
class Constant(VectorKernel):
    """K(x, z) = value.

    >>> from maxmargin.kernels import Constant
    >>> Constant(2.0)([[0.0]], [[1.0], [5.0]]).tolist()
    [[2.0, 2.0]]
    """

    value: float = 1.0
    features: Features = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        number("value", self.value, owner="Constant")

    def evaluate(self, A: VectorPoints, B: VectorPoints, out: FloatArray) -> None:
        out[...] = self.value

    def map_norms(self, norms: FloatArray) -> None:
        norms[:] = self.value


@dataclass(frozen=True, repr=False, eq=False)
class QuadraticForm(VectorKernel):
    """K(x, z) = x' B z for a symmetric positive semidefinite matrix B of shape (n_features, n_features).

    >>> import numpy as np
    >>> from maxmargin.kernels import QuadraticForm
    >>> QuadraticForm(np.diag([1.0, 3.0]))([[1.0, 2.0]], [[3.0, 4.0]]).round(9).tolist()  # 1*3 + 3*2*4
    [[27.0]]
    """

    B: AnyArray
    features: Features = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        B = np.asarray(self.B, dtype=float)
        if B.ndim != 2 or B.shape[0] != B.shape[1] or not np.isfinite(B).all():
            raise ValueError(f"QuadraticForm: B must be a finite square matrix, got shape {B.shape}.")
        if not np.allclose(B, B.T, rtol=1e-10, atol=1e-12 * max(1.0, float(np.abs(B).max()))):
            raise ValueError("QuadraticForm: B must be symmetric.")
        smallest = float(np.linalg.eigvalsh(B)[0])
        if smallest < -1e-10 * max(1.0, float(np.abs(B).max())):
            raise ValueError(
                "QuadraticForm: B must be positive semidefinite, but its smallest eigenvalue is "
                f"{smallest:.3g}."
            )

    @cached_property
    def _root(self) -> AnyArray:
        values, vectors = np.linalg.eigh(np.asarray(self.B, dtype=float))
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))

    def embed(self, X: Any) -> Any:
        if X.shape[1] != len(self._root):
            raise ValueError(f"QuadraticForm: B has {len(self._root)} rows, but X has {X.shape[1]} columns.")
        return np.ascontiguousarray(X @ self._root.astype(X.dtype))

    def embedding_key(self) -> Any:
        return id(self)


@dataclass(frozen=True, repr=False)
class Rank1(VectorKernel):
    """K(x, z) = f(x) f(z), for a function from rows of shape (n, n_features) to numbers of shape (n,).

    >>> import numpy as np
    >>> from maxmargin.kernels import Rank1
    >>> Rank1(lambda rows: np.sum(rows, axis=1))([[1.0, 2.0]], [[3.0, 4.0]]).tolist()  # 3 * 7
    [[21.0]]
    """

    f: Callable[[Any], Any]
    features: Features = field(default=None, kw_only=True)

    def embed(self, X: TableLike) -> Any:
        return values_of(self.f, X).reshape(-1, 1)

    def embedding_key(self) -> Any:
        return id(self)
