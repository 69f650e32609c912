"""Rows and their feature map: sampling, mapping within a memory limit, no copy of the whole table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil, sqrt
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing, check_array, check_random_state
from sklearn.utils.validation import _num_samples

from maxmargin.base.memory import cache_bytes
from maxmargin.base.parameters import check_count, check_positive
from maxmargin.base.tables import known_columns
from maxmargin.base.threads import run, single_threaded_blas
from maxmargin.base.typing import FloatArray, IntArray, RandomStateLike, TableLike
from maxmargin.compute.tables.design import DenseDesign, Design, weighted_gram
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.feature_maps import FeatureMap, block_rows, blocks, cut, nystrom_map
from maxmargin.kernels.precomputed import Precomputed
from maxmargin.kernels.random_fourier import FourierMap

_SAMPLE = 10_000
_SAMPLE_PER_COMPONENT = 20
_MEGABYTE = 1 << 20
_FEWEST = 200
_MOST = 1500  # components up to which the primal solver forms its Hessian
_VECTORS = 10  # float64 vectors of length n in a solve
_MATRICES = 4  # float64 matrices of the size of the Hessian
_BLOCKS = 24 * _MEGABYTE  # features, kernel values and rows of the current blocks
_PIECE_BYTES = 1 << 26  # a piece with at most this many bytes of features computes them once per pass

Work = Callable[[slice, FloatArray], Any]


@dataclass(frozen=True)
class TableRows:
    """A table, array, CSR matrix or list of n rows; ``numbers`` are their positions in the whole."""

    X: Any
    n: int
    dtype: Any
    numbers: IntArray

    def drawn(self, sample: int | None, m: int, rng: np.random.Generator) -> TableRows:
        """The rows from which a map is learned: all, or a sample without replacement in their order."""
        chosen = sample_numbers(self.n, sample, m, rng)
        if len(chosen) == self.n:
            return self
        return TableRows(_safe_indexing(self.X, chosen), len(chosen), self.dtype, chosen)


def sample_size(n: int, sample: int | None, m: int) -> int:
    if sample is None:
        return min(n, max(_SAMPLE, _SAMPLE_PER_COMPONENT * m))
    return min(n, max(check_count("sample", sample), m))


def sample_numbers(n: int, sample: int | None, m: int, rng: np.random.Generator) -> IntArray:
    """Positions of the sample: they depend on n and the seed, not on how the rows are stored."""
    size = sample_size(n, sample, m)
    return np.arange(n) if size == n else np.sort(rng.choice(n, size=size, replace=False))


def opened(estimator: Any, X: Any, *, reset: bool = True) -> TableRows:
    """The rows of X after the checks that need no pass over the data; values are checked by blocks."""
    if isinstance(X, np.ndarray) and X.ndim != 2 and X.dtype.kind in "fiubc":
        check_array(X)  # raises scikit-learn's error that advises to reshape
    known_columns(estimator, X, reset=reset)
    if sp.issparse(X):
        X = X.tocsr()
    elif not isinstance(X, np.ndarray) and not hasattr(X, "columns") and not _texts(X):
        X = np.asarray(X)
    n = _num_samples(X)
    if n < 1:
        check_array(X)
        raise ValueError("Found array with 0 sample(s): X has no rows.")
    return TableRows(X, n, precision(X), np.arange(n))


def _texts(X: Any) -> bool:
    """True if X is a list of strings, or a column of them."""
    return hasattr(X, "iloc") or (isinstance(X, (list, tuple)) and len(X) > 0 and isinstance(X[0], str))


def precision(X: TableLike) -> Any:
    """float32 if all columns are, else float64."""
    if hasattr(X, "dtypes") and not hasattr(X, "dtype"):
        kinds = {str(kind) for kind in X.dtypes}
        return np.dtype(np.float32 if kinds == {"float32"} else np.float64)
    return np.dtype(np.float32 if str(getattr(X, "dtype", "")) == "float32" else np.float64)


def generator(random_state: RandomStateLike | None) -> np.random.Generator:
    """A generator from scikit-learn's random_state."""
    seed = check_random_state(random_state).randint(2**31 - 1)
    return np.random.default_rng(seed)


def feature_map(
    kernel: Kernel, X: TableLike, m: int, method: str, rng: np.random.Generator, n_threads: int
) -> FeatureMap:
    """The map learned from the rows X: landmarks by ``method``, or random features for "fourier"."""
    if isinstance(kernel, Precomputed):
        raise ValueError(
            "kernel='precomputed' already needs the whole matrix: a low-rank map saves nothing. Give rows "
            "and a Kernel, or use SVC(kernel='precomputed')."
        )
    bound = kernel.bind(X)
    if method == "fourier":
        return FourierMap.draw(bound, X, m, rng)
    points = bound.prepare(X)
    bound.check_values(points)
    return nystrom_map(bound, X, points, m, method, rng, n_threads)


# -- sizes --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MapSize:
    """n_components and whether the features of all rows are stored; otherwise each pass maps rows again."""

    n_components: int
    stored: bool


def map_size(
    n: int, p: int, itemsize: int, n_components: Any, memory: float | None, *, in_pieces: bool = False
) -> MapSize:
    """Sizes for n rows of p columns within ``memory`` MB (None: half of what is free).

    Besides X a fit holds n m features (if stored), ten vectors of length n, four m x m matrices, m p numbers
    for the landmarks, and the current blocks. "auto" aims at m = max(200, sqrt(n)), at most 1500 (about
    sqrt(n) landmarks keep the rates of kernel ridge regression: Rudi, Camoriano & Rosasco 2015, theorem 1).
    It uses fewer if at least half of that fits in memory, and otherwise does not store the features. Rows in
    pieces are never stored.
    """
    limit = memory_bytes(memory)
    vectors = 0 if in_pieces else 8 * _VECTORS * n

    def needed(m: int, stored: bool) -> int:
        features = itemsize * n * m if stored else 0
        return features + vectors + 8 * _MATRICES * (m + 1) ** 2 + 8 * m * p + _BLOCKS

    if n_components != "auto":
        m = min(n, check_count("n_components", n_components))
        _refuse_beyond(needed(m, False), limit, m)
        return MapSize(m, not in_pieces and needed(m, True) <= limit)
    wanted = min(n, _MOST, max(_FEWEST, ceil(sqrt(n))))
    storable = 0 if in_pieces else _largest(lambda m: needed(m, True) <= limit, wanted)
    if 2 * storable >= wanted:
        return MapSize(storable, True)
    m = _largest(lambda m: needed(m, False) <= limit, wanted)
    _refuse_beyond(needed(max(m, min(wanted, 10)), False), limit, min(wanted, 10))
    return MapSize(m, False)


def memory_bytes(memory: float | None) -> int:
    if memory is not None:
        check_positive("memory", memory)
    return cache_bytes(memory)


def _refuse_beyond(needed: int, limit: int, m: int) -> None:
    if needed > limit:
        raise MemoryError(
            f"{m} components need {needed / _MEGABYTE:.0f} MB, but memory={limit / _MEGABYTE:.3g} MB: "
            "raise memory, lower n_components, or give the rows in pieces."
        )


def _largest(fits: Any, most: int) -> int:
    """The largest m <= most that fits; 0 if none does."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


# -- mapped rows as a linear map ----------------------------------------------------------------------------


class MappedDesign:
    """phi(X) of n rows as a `Design`; only the current blocks are in memory."""

    def __init__(self, map_: FeatureMap, X: TableLike, n: int, threads: int) -> None:
        self.map = map_
        self.X = X
        self.threads = threads
        self.shape: tuple[int, int] = (n, map_.n_components)

    def _each(self, work: Work, shape: Any = None) -> FloatArray:
        """The sum of ``work(rows, features)`` over blocks; nothing is summed without a shape."""
        parts = list(blocks(self.shape[0], block_rows(self.map)))

        def share(first: int) -> FloatArray:
            total = np.zeros(shape or 1)
            for rows in parts[first :: self.threads]:
                features = self.map.of_points(self.map.points(cut(self.X, rows)))
                result = work(rows, features.astype(np.float64, copy=False))
                if shape is not None:
                    total += result
            return total

        with single_threaded_blas():
            totals = run(
                [partial(share, first) for first in range(min(self.threads, len(parts)))], self.threads
            )
        return np.asarray(sum(totals[1:], start=totals[0]))

    def scores(self, w: FloatArray) -> FloatArray:
        out = np.empty(self.shape[0])

        def work(rows: slice, features: FloatArray) -> None:
            np.dot(features, w, out=out[rows])

        self._each(work)
        return out

    def adjoint(self, u: FloatArray) -> FloatArray:
        shape = (*u.shape[:-1], self.shape[1])
        return self._each(lambda rows, features: u[..., rows] @ features, shape)

    def gram(self, d: FloatArray) -> FloatArray:
        def work(rows: slice, features: FloatArray) -> FloatArray:
            return weighted_gram(features, d[rows])

        return self._each(work, (self.shape[1], self.shape[1]))

    def hessian_product(self, d: FloatArray, v: FloatArray, bias: float) -> tuple[FloatArray, float]:
        def work(rows: slice, features: FloatArray) -> FloatArray:
            u = d[rows] * (features @ v + bias)
            return np.append(u @ features, u.sum())

        total = self._each(work, self.shape[1] + 1)
        return total[:-1], float(total[-1])

    def take(self, rows: IntArray) -> MappedDesign:
        return MappedDesign(self.map, _safe_indexing(self.X, rows), len(rows), self.threads)

    def columns(self, chosen: IntArray) -> Any:
        raise NotImplementedError("solvers with an l2 penalty do not use columns")

    def squared_norms(self) -> FloatArray:
        out = np.empty(self.shape[0])

        def work(rows: slice, features: FloatArray) -> None:
            out[rows] = np.einsum("ij,ij->i", features, features)

        self._each(work)
        return out

    def dense(self) -> FloatArray:
        raise MemoryError(
            f"this solver needs all {self.shape[0]} x {self.shape[1]} features at once, and `memory` "
            "does not hold them: use a squared loss, fewer components or more memory."
        )


def piece_design(X: Any, map_: FeatureMap) -> Design:
    """phi of the rows of a piece, on one thread; kept while the piece is in use if they are few."""
    n = int(X.shape[0])
    if 8 * n * map_.n_components > _PIECE_BYTES:
        return MappedDesign(map_, X, n, 1)
    return DenseDesign(map_.of_points(map_.points(X)) if n else np.empty((0, map_.n_components)), 1)
