"""Checks that the prepared rows of a file belong to their kernel, their columns and their original rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from math import comb
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
from maxmargin.kernels.tokens import StringPoints, encode, text_column
from maxmargin.kernels.vector_base import VectorKernel

_POINTS: dict[type, type] = {
    Sum: CombinedPoints,
    Product: CombinedPoints,
    Normalized: WeightedPoints,
    Precomputed: IndexedPoints,
    Subsequence: StringPoints,
    Spectrum: CountPoints,
}

_FEW_STEPS = 1e8  # of a string with itself: 0.1 s
_FEW_SYMBOLS = 10_000_000  # of all pieces of strings together: 0.1 s
_FEW_NEIGHBOURS = 100_000  # of all pieces of strings: 0.1 s
_LONGEST_WORDS = 100  # symbols, on average: a code of 4 bytes may stand for a word of any length


def agree(holds: Any, what: str) -> None:
    """Refuse a file of which one part contradicts another."""
    if not holds:
        raise ValueError(f"{what} do not agree with the rest of the model.")


def agree_closely(stored: Any, derived: Any, what: str) -> None:
    """As `agree`, up to rounding, which differs between processors."""
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
    kernel = _unwrapped(kernel)
    agree(type(points) is _POINTS.get(type(kernel), VectorPoints), "prepared rows and their kernel")
    match kernel:
        case Sum() | Product():
            alike = kernel.k1.view_key() == kernel.k2.view_key()
            agree(points.which == (0, 0 if alike else 1), "the prepared rows of a composed kernel")
            check_points(kernel.k1, points.parts[0], columns)
            check_points(kernel.k2, points.parts[1], columns)
        case Normalized():
            check_points(kernel.kernel, points.inner, columns)
            require(
                not _has_late_factors(points.inner),
                "leave out normalized() around strings this long: Subsequence can normalise itself.",
            )
            squares = kernel.kernel.diagonal(points.inner)
            derived = np.divide(1.0, np.sqrt(squares), out=np.zeros_like(squares), where=squares > 0)
            agree_closely(points.factors, derived, "the factors of prepared rows")
        case Precomputed():
            agree(points.index.max(initial=-1) < (columns.n or 0), "the rows of kernel values")
        case Subsequence():
            columns.chosen(kernel.features or [])
            agree((points.vocabulary is None) == (kernel.tokens == "characters"), "the symbols of strings")
            check_rows(kernel.with_params(features=None), _texts(points), points, columns)
            _check_factors(kernel, points)
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


def _unwrapped(kernel: Any) -> Any:
    """The kernel that makes the Points: without a factor, a power or an exponential around it."""
    while type(kernel) not in _POINTS and not isinstance(kernel, VectorKernel):
        kernel = kernel.kernel
    return kernel


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


def _check_factors(kernel: Subsequence, points: StringPoints) -> None:
    """Compare the factors of short strings; if some are long, the first prediction computes all.

    A factor takes as many steps as a prediction with its string. A file of long strings therefore opens at
    once, and its model predicts the same, whatever factors are in the file.
    """
    if _has_late_factors(points):  # two models share these strings
        agree(points.compute.__self__ == kernel, "the factors of strings")
        return
    order = np.argsort(points.lengths, kind="stable")
    ends = np.minimum(np.arange(LANES, len(order) + LANES, LANES), len(order))  # groups computed together
    steps = np.cumsum(LANES * kernel.length * points.lengths[order][ends - 1].astype(float) ** 2)
    short = points.take(order[: ends[steps <= _FEW_STEPS].max(initial=0)])
    agree_closely(short.factors, kernel.factors(short), "the factors of strings")
    if len(short) < len(points):
        points.late_factors(kernel.factors)


def _has_late_factors(points: Any) -> bool:
    inner = [*getattr(points, "distinct", ()), *([points.inner] if hasattr(points, "inner") else [])]
    return "compute" in vars(points) or any(map(_has_late_factors, inner))


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
    """Refuse Points that fit the kernel but were not made from these rows."""
    agree((rows.shape[0] if hasattr(rows, "shape") else len(rows)) == len(points), "support vectors")
    if columns.names and isinstance(rows, np.ndarray):
        rows = pd.DataFrame(rows, columns=columns.names)
    _compare(kernel, rows, points)


def _compare(kernel: Any, rows: Any, points: Any) -> None:
    kernel = _unwrapped(kernel)
    match points:
        case CombinedPoints():
            _compare(kernel.k1, rows, points.parts[0])
            _compare(kernel.k2, rows, points.parts[1])
        case WeightedPoints():
            _compare(kernel.kernel, rows, points.inner)
        case StringPoints():  # `check_points` knows the factors
            derived = kernel.with_params(normalize=False).prepare(rows, like=points)
            agree(points.vocabulary == derived.vocabulary, "the words of strings")
            agree(np.array_equal(points.codes, derived.codes), "the symbols of strings")
            agree(np.array_equal(points.starts, derived.starts), "the symbols of strings")
        case CountPoints():
            _check_pieces(kernel, rows, points)
            derived = kernel.prepare(rows, like=points)
            agree(points.columns == derived.columns, "the pieces of strings")
            _compare_matrices(points.X, derived.X)
        case VectorPoints():
            _compare_matrices(points.X, kernel.prepare(rows, like=points).X)


def _check_pieces(kernel: Spectrum, rows: Any, points: CountPoints) -> None:
    """Refuse pieces that take too long to count for the size of the file or are unknown to the model."""
    codes, starts, _ = encode(text_column(rows, kernel.features), kernel.tokens, points.vocabulary)
    lengths = range(1 if kernel.up_to else kernel.length, kernel.length + 1)
    windows = [int(np.maximum(np.diff(starts) - length + 1, 0).sum()) for length in lengths]
    steps = sum(length * count for length, count in zip(lengths, windows, strict=True))
    near = comb(kernel.length, kernel.mismatches) * len(points.symbols) ** kernel.mismatches
    neighbours = min(sum(windows), len(points.columns)) * (near if kernel.mismatches else 0)
    few = steps <= _FEW_SYMBOLS + 100 * (len(codes) + points.X.nnz)
    require(
        few and neighbours <= _FEW_NEIGHBOURS + 10 * points.X.nnz,
        "its strings have too many pieces: give Spectrum a smaller length or fewer mismatches.",
    )
    for begin, end in pairwise(starts.tolist()):
        string = codes[begin:end].tolist()
        for length in range(lengths.start, min(kernel.length, len(string)) + 1):
            pieces = zip(*(islice(string, k, None) for k in range(length)), strict=False)
            agree(all(map(points.columns.__contains__, pieces)), "the pieces of strings")


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
