"""Prepared rows of a file: do they belong to their kernel, their columns and the rows they came from?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from maxmargin.base.typing import FloatArray
from maxmargin.compute.intrinsics.lanes import LANES
from maxmargin.io.container import require
from maxmargin.kernels import (
    Linear,
    Normalized,
    Periodic,
    Precomputed,
    Product,
    QuadraticForm,
    Spectrum,
    Subsequence,
    Sum,
)
from maxmargin.kernels.points import CombinedPoints, IndexedPoints, VectorPoints, WeightedPoints
from maxmargin.kernels.spectrum import CountPoints
from maxmargin.kernels.tokens import StringPoints
from maxmargin.kernels.vector_base import VectorKernel

_POINTS: dict[type, type] = {
    Sum: CombinedPoints,
    Product: CombinedPoints,
    Normalized: WeightedPoints,
    Precomputed: IndexedPoints,
    Subsequence: StringPoints,
    Spectrum: CountPoints,
}

_MOST_STEPS = 1e10
_LONGEST_WORDS = 100  # symbols, on average: a code of 4 bytes may stand for a word of any length


def agree(holds: Any, what: str) -> None:
    """Refuse a file of which one part contradicts another."""
    if not holds:
        raise ValueError(f"{what} do not agree with the rest of the model.")


def agree_closely(stored: Any, derived: Any, what: str) -> None:
    """As `agree`, but for rounding, which differs between processors."""
    agree(np.shape(stored) == np.shape(derived), what)
    tolerance = 1e-4 if np.asarray(stored).dtype == np.float32 else 1e-9
    size = float(np.abs(derived).max(initial=0.0))
    agree(np.allclose(stored, derived, rtol=tolerance, atol=tolerance * size), what)


@dataclass(frozen=True)
class Columns:
    """The columns of the table that a model was fitted on."""

    n: int | None
    names: list[str]

    @classmethod
    def of(cls, model: BaseEstimator) -> Columns:
        return cls(getattr(model, "n_features_in_", None), list(getattr(model, "feature_names_in_", ())))

    @cached_property
    def places(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.names)}

    def chosen(self, features: Any) -> list[int]:
        """Positions of the columns with these names or numbers."""
        n, found = self.n or 0, []
        for one in [features] if np.ndim(features) == 0 else features:
            there = one in self.places if isinstance(one, str) else -n <= one < n
            agree(there, "the columns of a kernel or step")
            found.append(self.places[one] if isinstance(one, str) else int(one) % n)
        return found


# -- each kind of Points by itself ---------------------------------------------------------------------------


def check_vectors(points: VectorPoints) -> None:
    X, kind = points.X, points.X.dtype
    agree(kind.kind == "f" and points.norms.dtype == kind, "prepared rows and their precision")
    agree(not sp.issparse(X) or X.format == "csr", "prepared sparse rows")
    agree_closely(points.norms, _squared_norms(X).astype(kind), "the norms of prepared rows")
    if points.shift is not None:
        agree(not sp.issparse(X), "the shift of prepared rows")  # a sum of both would be dense
        agree(np.isfinite(_squared_norms(X + points.shift)).all(), "the shift of prepared rows")


def _squared_norms(X: Any) -> FloatArray:
    if not sp.issparse(X):
        return np.einsum("ij,ij->i", X, X, dtype=np.float64)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.bincount(rows, weights=X.data.astype(np.float64) ** 2, minlength=X.shape[0]).astype(np.float64)


def check_strings(points: StringPoints) -> None:
    codes, starts = points.codes, points.starts
    agree(codes.dtype == np.int32 and starts.dtype == np.int64, "strings and their precision")
    agree(len(starts) == len(points.factors) + 1 and np.dtype(points.precision).kind == "f", "strings")
    ascending = (starts[1:] >= starts[:-1]).all()
    agree(ascending and starts[0] == 0 and starts[-1] == len(codes), "the offsets of strings")
    known = 0x110000 if points.vocabulary is None else len(points.vocabulary)
    agree(codes.min(initial=0) >= 0 and codes.max(initial=-1) < known, "the symbols of strings")
    _check_numbered(points.vocabulary or {}, str)


def _check_numbered(numbers: dict[Any, Any], kind: type) -> None:
    """Words or pieces of strings must be numbered 0, 1, 2, ... in their order."""
    agree(all(type(key) is kind for key in numbers), "the words or pieces of strings")
    agree([*numbers.values()] == [*range(len(numbers))], "the numbers of the words or pieces of strings")


def check_counts(points: CountPoints) -> None:
    X, pieces = points.X, points.columns
    agree(
        X.format == "csr" and X.dtype.kind == "f" and (X.data >= 0).all(), "the counts of pieces of strings"
    )
    agree(X.shape[1] == max(len(pieces), 1), "the counts of pieces of strings")
    _check_numbered(points.vocabulary or {}, str)
    _check_numbered(pieces, tuple)
    symbols = [*points.symbols, *(symbol for piece in pieces for symbol in piece)]
    agree(all(type(symbol) is int for symbol in symbols), "the symbols of strings")
    agree_closely(points.squares, _squared_norms(X).astype(points.squares.dtype), "the squares of counts")


def check_combined(points: CombinedPoints) -> None:
    agree(points.which in ((0, 0), (0, 1)), "the prepared rows of a composed kernel")
    agree(len(points.distinct) == 1 + points.which[1], "the prepared rows of a composed kernel")
    agree(len({len(part) for part in points.distinct}) == 1, "the prepared rows of a composed kernel")


def check_weighted(points: WeightedPoints) -> None:
    agree(len(points.inner) == len(points.factors), "the factors of prepared rows")


# -- Points and their kernel ---------------------------------------------------------------------------------


def check_points(kernel: Any, points: Any, columns: Columns) -> None:
    """Refuse Points that the kernel would not make from rows with these columns."""
    if type(kernel) not in _POINTS and not isinstance(kernel, VectorKernel):
        check_points(kernel.kernel, points, columns)  # a kernel times a number, to a power, in the exponent
        return
    agree(type(points) is _POINTS.get(type(kernel), VectorPoints), "prepared rows and their kernel")
    match kernel:
        case Sum() | Product():
            alike = kernel.k1.view_key() == kernel.k2.view_key()
            agree(points.which == (0, 0 if alike else 1), "the prepared rows of a composed kernel")
            check_points(kernel.k1, points.parts[0], columns)
            check_points(kernel.k2, points.parts[1], columns)
        case Normalized():
            check_points(kernel.kernel, points.inner, columns)
            squares = kernel.kernel.diagonal(points.inner)
            derived = np.divide(1.0, np.sqrt(squares), out=np.zeros_like(squares), where=squares > 0)
            agree_closely(points.factors, derived, "the factors of prepared rows")
        case Precomputed():
            agree(points.index.max(initial=-1) < (columns.n or 0), "the rows of kernel values")
        case Subsequence():
            columns.chosen(kernel.features or [])
            agree((points.vocabulary is None) == (kernel.tokens == "characters"), "the symbols of strings")
            _check_work(kernel, points)
            _compare(points, kernel.with_params(features=None).prepare(_texts(points), like=points))
        case Spectrum():
            columns.chosen(kernel.features or [])
            least = 1 if kernel.up_to else kernel.length
            right = all(least <= len(piece) <= kernel.length for piece in points.columns)
            agree(right, "the pieces of strings")
            ones = (points.squares > 0.5).astype(points.squares.dtype)
            agree_closely(
                points.squares, ones if kernel.normalize else points.squares, "the squares of counts"
            )
        case _:
            _check_vector_kernel(kernel, points, columns)


def _check_vector_kernel(kernel: Any, points: VectorPoints, columns: Columns) -> None:
    if hasattr(kernel, "number_gamma"):
        kernel.number_gamma()  # an error where it still depends on the data
    shifted = kernel.centred and not sp.issparse(points.X)
    may_differ = isinstance(kernel, Linear) and not sp.issparse(points.X)  # see `about_their_mean`
    agree(may_differ or (points.shift is not None) == shifted, "the shift of prepared rows")
    seen = columns.n if kernel.features is None else len(columns.chosen(kernel.features))
    twice = isinstance(kernel, Periodic) and kernel.form == "product"
    agree(seen is not None and points.X.shape[1] == seen * (1 + twice), "the columns of prepared rows")
    agree(not isinstance(kernel, QuadraticForm) or len(kernel.B) == seen, "the matrix of a kernel")


def _check_work(kernel: Subsequence, points: StringPoints) -> None:
    """The strings are prepared again to compare them: refuse those that would take more than some seconds."""
    longest = np.sort(points.lengths)[::-LANES].astype(float)  # of each group that is prepared together
    steps = LANES * kernel.length * float(longest @ longest)
    require(steps <= _MOST_STEPS, f"its strings are too long: to check them takes about {steps:.0e} steps.")


def _texts(points: StringPoints) -> list[str]:
    """The strings again, with spaces between words."""
    parts = [points.codes[start:stop].tolist() for start, stop in pairwise(points.starts.tolist())]
    if points.vocabulary is None:
        return ["".join(map(chr, part)) for part in parts]
    words: list[Any] = list(points.vocabulary)
    length = np.array([len(word) for word in words])[points.codes].sum()
    agree(length <= _LONGEST_WORDS * len(points.codes) + (1 << 20), "the words of strings")
    return [" ".join(words[code] for code in part) for part in parts]


# -- Points and the rows that they were made from ------------------------------------------------------------


def check_rows(kernel: Any, rows: Any, points: Any, columns: Columns) -> None:
    """Refuse Points, which were found to fit the kernel, that were not made from these rows."""
    agree((rows.shape[0] if hasattr(rows, "shape") else len(rows)) == len(points), "support vectors")
    if columns.names and isinstance(rows, np.ndarray):
        rows = pd.DataFrame(rows, columns=columns.names)
    _compare(points, kernel.prepare(rows, like=points))


def _compare(stored: Any, derived: Any) -> None:
    match stored:
        case VectorPoints():
            _compare_matrices(stored.X, derived.X)
        case CombinedPoints():
            for part, other in zip(stored.distinct, derived.distinct, strict=True):
                _compare(part, other)
        case WeightedPoints():
            _compare(stored.inner, derived.inner)
        case StringPoints():
            agree(stored.vocabulary == derived.vocabulary, "the words of strings")
            agree(np.array_equal(stored.codes, derived.codes), "the symbols of strings")
            agree(np.array_equal(stored.starts, derived.starts), "the symbols of strings")
            agree_closely(stored.factors, derived.factors, "the factors of strings")
        case CountPoints():
            agree(stored.columns == derived.columns, "the pieces of strings")
            _compare_matrices(stored.X, derived.X)


def _compare_matrices(stored: Any, derived: Any) -> None:
    parts = [(stored, derived)]
    if sp.issparse(stored):
        derived = sp.csr_array(derived)
        derived.sum_duplicates()
        parts = [
            (stored.indptr, derived.indptr),
            (stored.indices, derived.indices),
            (stored.data, derived.data),
        ]
    for part, other in parts:
        agree_closely(part, other, "support vectors and prepared rows")
