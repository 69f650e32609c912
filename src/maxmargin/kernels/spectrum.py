"""The spectrum kernel: how many substrings of a given length two strings share."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise, product
from math import comb
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from maxmargin.base.typing import AnyArray, FloatArray, TableLike
from maxmargin.compute.tables.inner_products import squared_norms
from maxmargin.kernels.points import Rows
from maxmargin.kernels.subsequence import StringKernel, check_length
from maxmargin.kernels.tokens import Tokens, Vocabulary, check_tokens, encode, inverse_roots, text_column
from maxmargin.kernels.vector_base import Features

Piece = tuple[int, ...]
_MOST_NEIGHBOURS = 100_000


@dataclass(frozen=True)
class CountPoints:
    """Counts of pieces (substrings), of shape (n, n_pieces), normalised if the kernel is; their columns."""

    X: Any
    squares: AnyArray
    vocabulary: Vocabulary | None
    columns: dict[Piece, int]
    symbols: tuple[int, ...]

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.X.dtype

    def take(self, rows: Rows) -> CountPoints:
        return replace(self, X=self.X[rows], squares=self.squares[rows])

    def astype(self, dtype: DTypeLike) -> CountPoints:
        return replace(self, X=self.X.astype(dtype), squares=self.squares.astype(dtype))


@dataclass(frozen=True, repr=False)
class Spectrum(StringKernel):
    """Common pieces (substrings) of ``length`` symbols: K(s, t) = sum over pieces u of count_u(s) count_u(t).

    Leslie, Eskin & Noble (2002). With ``mismatches`` = k a piece also counts for every piece that differs
    from it in at most k places (Leslie, Eskin, Cohen, Weston & Noble 2004); only symbols of the training
    strings are substituted. With ``up_to`` pieces of all lengths 1, ..., ``length`` count (the bounded range
    kernel). Cost O(|s|) to count, O(|s| + |t|) for a pair; with mismatches times the number of neighbours,
    C(length, k) (n_symbols - 1)^k and less.

    Parameters
    ----------
    length, mismatches, up_to : as above.
    normalize, tokens, features : as in `Subsequence`; a string shorter than ``length`` has the value 0 with
        every string.

    Examples
    --------
    >>> from maxmargin.kernels import Spectrum
    >>> Spectrum(length=2, normalize=False)(["abab"], ["abba"]).tolist()  # ab: 2 * 1, ba: 1 * 1
    [[3.0]]
    """

    length: int = 3
    mismatches: int = 0
    normalize: bool = True
    up_to: bool = False
    tokens: Tokens = "characters"
    features: Features = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_length("Spectrum", self.length)
        check_tokens("Spectrum", self.tokens)
        k = self.mismatches
        if not isinstance(k, numbers.Integral) or not 0 <= k < self.length:
            raise ValueError(f"Spectrum: mismatches={k!r} must be a whole number from 0 to length - 1.")

    def prepare(self, X: TableLike, like: Any = None) -> CountPoints:
        texts = text_column(X, self.features)
        codes, starts, vocabulary = encode(texts, self.tokens, None if like is None else like.vocabulary)
        columns: dict[Piece, int] = {} if like is None else dict(like.columns)
        symbols = tuple(np.unique(codes).tolist()) if like is None else like.symbols
        self._check_work(len(symbols))
        X = self._counts(codes.tolist(), starts.tolist(), columns, symbols)
        squares = squared_norms(X)
        if self.normalize:
            X = sp.csr_array(sp.diags_array(inverse_roots(squares)) @ X)
            squares = (squares > 0).astype(np.float64)
        return CountPoints(X, squares, vocabulary, columns, symbols)

    def _check_work(self, n_symbols: int) -> None:
        k = self.mismatches
        neighbours = comb(self.length, k) * max(n_symbols - 1, 1) ** k
        if neighbours > _MOST_NEIGHBOURS:
            raise ValueError(
                f"Spectrum: with {n_symbols} symbols a piece of length {self.length} has about "
                f"{neighbours:.0e} neighbours within {k} mismatches: use fewer mismatches, or Subsequence."
            )

    def _counts(
        self, codes: list[int], starts: list[int], columns: dict[Piece, int], symbols: tuple[int, ...]
    ) -> sp.csr_array:
        """How often each string contains each piece; new pieces get new columns."""
        where: dict[Piece, list[int]] = {}
        lengths = range(1, self.length + 1) if self.up_to else (self.length,)
        indices: list[int] = []
        ends = [0]
        for begin, end in pairwise(starts):
            for length in lengths:
                for i in range(begin, end - length + 1):
                    piece = tuple(codes[i : i + length])
                    found = where.get(piece)
                    if found is None:
                        near = _neighbours(piece, min(self.mismatches, length - 1), symbols)
                        found = where[piece] = [columns.setdefault(u, len(columns)) for u in near]
                    indices += found
            ends.append(len(indices))
        X = sp.csr_array(
            (np.ones(len(indices)), indices, ends), shape=(len(starts) - 1, max(len(columns), 1))
        )
        X.sum_duplicates()
        return X

    def evaluate(self, A: CountPoints, B: CountPoints, out: FloatArray) -> None:
        shared = min(A.X.shape[1], B.X.shape[1])  # pieces that only occur in later strings come last
        left, right = (P.X if P.X.shape[1] == shared else P.X[:, :shared] for P in (A, B))
        out[...] = (left @ right.T).toarray()

    def diagonal(self, A: CountPoints) -> FloatArray:
        return A.squares.astype(A.dtype)


def _neighbours(piece: Piece, mismatches: int, symbols: tuple[int, ...]) -> set[Piece]:
    """The piece and all pieces that differ from it in at most ``mismatches`` places."""
    near = {piece}
    for places in combinations(range(len(piece)), mismatches):
        for put in product(symbols, repeat=mismatches):
            changed = list(piece)
            for place, symbol in zip(places, put, strict=True):
                changed[place] = symbol
            near.add(tuple(changed))
    return near
