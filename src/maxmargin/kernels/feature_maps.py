"""Explicit feature maps phi with <phi(x), phi(z)> close to K(x, z), and their approximation error."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import nan
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from maxmargin.base.parameters import check_choice
from maxmargin.base.shown import short_repr
from maxmargin.base.threads import interruptible, run, single_threaded_blas
from maxmargin.base.typing import FloatArray, IntArray, TableLike
from maxmargin.compute.tables.inner_products import squared_norms
from maxmargin.kernels.base import Kernel, validated_columns
from maxmargin.kernels.landmarks import CHOOSERS, METHODS
from maxmargin.kernels.points import check_inside

_BLOCK_BYTES = 1 << 22  # of kernel values that a thread holds at a time
_PAIRED_ROWS = 500  # rows among which all pairs are compared


class FeatureMap(Protocol):
    """A map phi from rows to vectors. It is self-contained, so it can be pickled."""

    @property
    def kernel(self) -> Kernel: ...
    @property
    def n_components(self) -> int: ...
    def points(self, X: TableLike) -> Any: ...
    def of_points(self, points: Any) -> FloatArray: ...
    def exact_points(self, X: TableLike) -> Any:
        """Points of the kernel itself, to compare with."""


@dataclass(frozen=True, kw_only=True)
class MapError:
    """Approximation error of <phi(x), phi(z)> against K(x, z), measured on some rows.

    Attributes
    ----------
    trace : sum over those rows of K(x, x) - |phi(x)|^2; for landmarks never negative, and a bound on the
        largest eigenvalue of what the approximation misses.
    relative_trace : trace / sum of K(x, x): the share of the kernel that is missing.
    rms : root mean square of K(x, z) - <phi(x), phi(z)> over pairs of at most 500 of the rows.
    n_rows : rows behind ``trace``; complete : whether these were all training rows.
    """

    trace: float = nan
    relative_trace: float = nan
    rms: float = nan
    n_rows: int = 0
    complete: bool = False

    __repr__ = short_repr

    def over_all(self, norms: FloatArray, missing: FloatArray) -> MapError:
        """The same with the trace of all rows, from their |phi(x)|^2 and K(x, x) - |phi(x)|^2."""
        trace = float(missing.sum())
        relative = trace / max(trace + float(norms.sum()), 1e-300)
        return replace(self, trace=trace, relative_trace=relative, n_rows=len(missing), complete=True)

    def __str__(self) -> str:
        rows = f"all {self.n_rows} rows" if self.complete else f"a sample of {self.n_rows} rows"
        return (
            f"the map misses {100 * self.relative_trace:.3g} % of the kernel's trace over {rows}; "
            f"root mean square error of a kernel value {self.rms:.3g}"
        )


@dataclass(frozen=True)
class NystromMap:
    """phi(x) = S^-1/2 U' k(x), with k(x)_j = K(z_j, x) and K(Z, Z) = U S U' over the landmarks z_j.

    <phi(x), phi(z)> = k(x)' K(Z, Z)^-1 k(z) is the inner product of the projections of x and z onto the span
    of the landmarks in feature space (Williams & Seeger 2001), so a function <w, phi(x)> is the function
    sum_j (U S^-1/2 w)_j K(z_j, x) of the exact kernel's space with the same norm |w|. Eigenvalues below the
    rounding error of the kernel values are left out. Cost m p + m^2 per row.
    """

    kernel: Kernel
    landmarks: Any
    root: FloatArray
    rows: Any = None  # positions of the landmarks among the training rows; None for centres

    __repr__ = short_repr

    @classmethod
    def on(
        cls, kernel: Kernel, landmarks: Any, rows: IntArray | None = None, n_threads: int = 1
    ) -> NystromMap:
        K = np.asarray(kernel.gram(landmarks.astype(np.float64), n_threads=n_threads))
        values, vectors = interruptible(lambda: np.linalg.eigh(0.5 * (K + K.T)), K.size)
        largest = float(values.max(initial=0.0))
        rounding = 10.0 * float(np.finfo(landmarks.dtype).eps) * largest
        kept = values > max(rounding, 1e-300)
        if not kept.any():
            raise ValueError(f"{kernel!r} is zero on all landmarks: there is nothing to approximate.")
        vectors = vectors[:, kept]
        largest_entry = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
        vectors = vectors * np.sign(largest_entry)  # signs that do not depend on rounding
        root = (vectors / np.sqrt(values[kept]))[:, ::-1]  # leading component first
        return cls(kernel, landmarks, np.ascontiguousarray(root), rows)

    @property
    def n_components(self) -> int:
        return int(self.root.shape[1])

    def points(self, X: TableLike) -> Any:
        check_inside(self.landmarks)
        return self.kernel.prepare(X, like=self.landmarks)

    def exact_points(self, X: TableLike) -> Any:
        return self.points(X)

    def of_points(self, points: Any) -> FloatArray:
        values = self.kernel.gram(points, self.landmarks.astype(points.dtype))
        return values @ self.root.astype(values.dtype)


def nystrom_map(
    kernel: Kernel, X: TableLike, points: Any, m: int, method: str, rng: np.random.Generator, n_threads: int
) -> NystromMap:
    """The map on m landmarks chosen among the rows X, given also as Points of the bound kernel."""
    check_choice("method", method, METHODS)
    if method == "kmeans":
        return NystromMap.on(kernel, _centres(kernel, X, points, m, rng), None, n_threads)
    rows = CHOOSERS[method](kernel, points, m, rng, n_threads)
    return NystromMap.on(kernel, points.take(rows), rows, n_threads)


def _centres(kernel: Kernel, X: Any, points: Any, m: int, rng: np.random.Generator) -> Any:
    """Centres of k-means as landmarks. The distances of the rows to their centres bound the error.

    Zhang, Tsang & Kwok (2008).
    """
    if kernel.whole:
        raise ValueError(
            f"method='kmeans' needs rows of numbers, and {kernel!r} takes others: use 'pivoted_cholesky'."
        )
    table = validated_columns(X, None)
    centres: Any = kmeans_centres(table, m, rng).astype(table.dtype, copy=False)
    if hasattr(X, "columns"):
        import pandas as pd

        centres = pd.DataFrame(centres, columns=list(X.columns))
    return kernel.prepare(centres, like=points)


def kmeans_centres(table: Any, k: int, rng: np.random.Generator) -> FloatArray:
    """Centres of k-means after a few passes; some are equal if fewer than k rows are distinct."""
    seed = int(rng.integers(2**31 - 1))
    means = KMeans(min(k, table.shape[0]), n_init=1, max_iter=10, random_state=seed)
    with single_threaded_blas(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than centres
        centres: FloatArray = means.fit(table).cluster_centers_
    return centres


# -- rows in blocks --------------------------------------------------------------------------------------


def block_rows(map_: FeatureMap, itemsize: int = 8) -> int:
    """Rows whose features fill a block."""
    return max(64, _BLOCK_BYTES // (itemsize * max(1, map_.n_components)))


def cut(X: Any, rows: slice) -> Any:
    """Some rows of a table, array, CSR matrix or list, as a view where that is possible."""
    if isinstance(X, (list, tuple, np.ndarray)) or sp.issparse(X):
        return X[rows]
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return _safe_indexing(X, np.arange(rows.start, rows.stop))


def blocks(n: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def transform(
    map_: FeatureMap,
    X: TableLike,
    n: int,
    dtype: DTypeLike,
    *,
    n_threads: int = 1,
    missing: FloatArray | None = None,
) -> FloatArray:
    """phi of n rows, of shape (n, n_components), by blocks over threads, with little extra memory.

    ``missing``, of shape (n,), is filled with K(x, x) - |phi(x)|^2 where it is given.
    """
    out = np.empty((n, map_.n_components), dtype=dtype)
    parts = list(blocks(n, block_rows(map_, out.itemsize)))

    def share(first: int) -> None:
        for rows in parts[first::n_threads]:
            points = map_.points(cut(X, rows))
            with np.errstate(over="ignore", invalid="ignore"):
                out[rows] = map_.of_points(points)
                finite = np.isfinite(out[rows].sum()) or np.isfinite(out[rows]).all()
            if not finite:
                raise ValueError(
                    f"the features of {map_.kernel!r} are too large for {out.dtype}: scale the columns."
                )
            if missing is not None:
                missing[rows] = residuals(map_, points, out[rows])

    with single_threaded_blas():
        run([partial(share, first) for first in range(min(n_threads, max(1, len(parts))))], n_threads)
    return out


def residuals(map_: FeatureMap, points: Any, features: FloatArray) -> FloatArray:
    """K(x, x) - |phi(x)|^2 of shape (n,), in float64."""
    return np.asarray(map_.kernel.diagonal(points), dtype=np.float64) - squared_norms(features)


def measure(map_: FeatureMap, X: TableLike, n: int, *, complete: bool) -> MapError:
    """The error on n rows."""
    missing = total = 0.0
    for rows in blocks(n, block_rows(map_)):
        some = cut(X, rows)
        exact = map_.exact_points(some)
        missing += float(residuals(map_, exact, map_.of_points(map_.points(some))).sum())
        total += float(np.sum(map_.kernel.diagonal(exact), dtype=np.float64))
    return MapError(
        trace=missing,
        relative_trace=missing / max(total, 1e-300),
        rms=pair_error(map_, cut(X, slice(0, min(n, _PAIRED_ROWS)))),
        n_rows=n,
        complete=complete,
    )


def pair_error(map_: FeatureMap, X: TableLike) -> float:
    """Root mean square of K - phi phi' over all pairs of rows."""
    features = np.asarray(map_.of_points(map_.points(X)), dtype=np.float64)
    exact = map_.exact_points(X).astype(np.float64)
    difference = np.asarray(map_.kernel.gram(exact)) - features @ features.T
    largest = max(float(np.abs(difference).max()), 1e-300)  # its square may overflow
    return largest * float(np.sqrt(np.mean((difference / largest) ** 2)))
