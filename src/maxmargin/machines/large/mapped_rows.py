"""Rows in memory as the large machines see them: counted, drawn from, never copied as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing, check_array, check_random_state
from sklearn.utils.validation import _num_samples

from maxmargin.base.parameters import check_count
from maxmargin.base.tables import known_columns
from maxmargin.base.typing import IntArray
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.feature_maps import FeatureMap, nystrom_map
from maxmargin.kernels.precomputed import Precomputed
from maxmargin.kernels.random_fourier import FourierMap

_SAMPLE = 10_000
_SAMPLE_PER_COMPONENT = 20


@dataclass(frozen=True)
class Rows:
    """A table, array, CSR matrix or list of n rows; ``numbers`` are their positions in the whole."""

    X: Any
    n: int
    dtype: Any
    numbers: IntArray

    def drawn(self, sample: int | None, m: int, rng: np.random.Generator) -> Rows:
        """The rows that a map is learned from: all, or a sample without replacement in their order."""
        chosen = sample_numbers(self.n, sample, m, rng)
        if len(chosen) == self.n:
            return self
        return Rows(_safe_indexing(self.X, chosen), len(chosen), self.dtype, chosen)


def sample_size(n: int, sample: int | None, m: int) -> int:
    if sample is None:
        return min(n, max(_SAMPLE, _SAMPLE_PER_COMPONENT * m))
    return min(n, max(check_count("sample", sample), m))


def sample_numbers(n: int, sample: int | None, m: int, rng: np.random.Generator) -> IntArray:
    """Positions of the sample: they depend on n and the seed, not on how the rows are stored."""
    size = sample_size(n, sample, m)
    return np.arange(n) if size == n else np.sort(rng.choice(n, size=size, replace=False))


def opened(estimator: Any, X: Any, *, reset: bool = True) -> Rows:
    """The rows of X after the checks that need no pass over them; values are checked block by block."""
    if isinstance(X, np.ndarray) and X.ndim != 2 and X.dtype.kind in "fiubc":
        check_array(X)  # scikit-learn's own advice to reshape it
    known_columns(estimator, X, reset=reset)
    if sp.issparse(X):
        X = X.tocsr()
    elif not isinstance(X, np.ndarray) and not hasattr(X, "columns") and not _texts(X):
        X = np.asarray(X)
    n = _num_samples(X)
    if n < 1:
        check_array(X)
        raise ValueError("Found array with 0 sample(s): X has no rows.")
    return Rows(X, n, precision(X), np.arange(n))


def _texts(X: Any) -> bool:
    """Whether X is a list of strings, or a column of them."""
    return hasattr(X, "iloc") or (isinstance(X, (list, tuple)) and len(X) > 0 and isinstance(X[0], str))


def precision(X: Any) -> Any:
    """float32 where all columns are, else float64."""
    if hasattr(X, "dtypes") and not hasattr(X, "dtype"):
        kinds = {str(kind) for kind in X.dtypes}
        return np.dtype(np.float32 if kinds == {"float32"} else np.float64)
    return np.dtype(np.float32 if str(getattr(X, "dtype", "")) == "float32" else np.float64)


def generator(random_state: Any) -> np.random.Generator:
    """A generator from scikit-learn's random_state."""
    seed = check_random_state(random_state).randint(2**31 - 1)
    return np.random.default_rng(seed)


def feature_map(
    kernel: Kernel, X: Any, m: int, method: str, rng: np.random.Generator, n_threads: int
) -> FeatureMap:
    """The map learned from the rows X: landmarks by ``method``, or random features for "fourier"."""
    if isinstance(kernel, Precomputed):
        raise ValueError(
            "kernel='precomputed' already has its whole matrix: a low-rank map saves nothing. Give rows and "
            "a Kernel, or use SVC(kernel='precomputed')."
        )
    bound = kernel.bind(X)
    if method == "fourier":
        return FourierMap.draw(bound, X, m, rng)
    points = bound.prepare(X)
    bound.check_values(points)
    return nystrom_map(bound, X, points, m, method, rng, n_threads)
