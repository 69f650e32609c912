"""Kernels on strings: gap-weighted subsequences."""

from __future__ import annotations

import math
import numbers
import warnings
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from maxmargin.base.threads import effective_threads, portions, run
from maxmargin.base.typing import FloatArray, IntArray, TableLike
from maxmargin.compute.intrinsics.lanes import LANES
from maxmargin.compute.kernel_values import subsequence_recursion as compute
from maxmargin.compute.kernel_values.tiles import fill_expensive
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.points import work_order
from maxmargin.kernels.tokens import StringPoints, Tokens, check_tokens, encode, inverse_roots, text_column
from maxmargin.kernels.vector_base import Features

_AT_ONCE = 1 << 27  # steps of the recursion in one compiled call, so that Ctrl-C is not delayed
_LONG_WORK = 1e12  # steps of the recursion for a Gram matrix, some ten minutes on two cores


class StringKernel(Kernel):
    """A kernel of one column of text. Values are expensive: machines compute the Gram matrix once."""

    features: Any

    @property
    def whole(self) -> bool:
        return True

    def view_key(self) -> Any:
        return self  # the points hold normalising factors of this kernel


def check_length(owner: str, length: Any) -> None:
    is_whole = isinstance(length, numbers.Integral) and not isinstance(length, bool)
    if not (is_whole and 1 <= length <= 1000):
        raise ValueError(f"{owner}: length={length!r} must be a whole number from 1 to 1000.")


@dataclass(frozen=True, repr=False)
class Subsequence(StringKernel):
    """Common subsequences, contiguous or not, discounted by the length they span.

    K_m(s, t) = sum over u of length m, over its occurrences i in s and j in t, of decay^(span(i) + span(j)),
    where span(i) = i_m - i_1 + 1. With ``up_to`` the sum K_1 + ... + K_m. Lodhi, Saunders, Shawe-Taylor,
    Cristianini & Watkins (2002), definition 1 and the recursion of section 4: O(m |s| |t|) for a pair, memory
    O(m |t|).

    Parameters
    ----------
    length : m, the number of symbols of a subsequence, at most 1000.
    decay : in (0, 1); small values penalise gaps.
    normalize : divide by sqrt(K(s, s) K(t, t)). A string without any subsequence of that length (shorter than
        m, or empty) is the zero vector: its value is 0 with every string, itself included.
    up_to : all lengths from 1 to m instead of m alone.
    tokens : "characters" (code points: "e" with a combining accent is two symbols, so convert texts to one
        Unicode normal form first), "words" (runs of letters, digits and underscores, case kept) or a function
        from a string to hashable tokens.
    features : the column of a dataframe that holds the text.

    Without ``normalize``, values below 1e-308, such as decay^(2m), underflow to 0. Normalised values do not:
    the recursion is scaled so that they stay in range.

    Examples
    --------
    >>> import maxmargin as mm
    >>> K = mm.kernels.Subsequence(length=2, decay=0.5)
    >>> K(["SVM"], ["SVA"]).round(4).tolist()  # 1 / (2 + decay^2)
    [[0.4444]]
    >>> texts, y = ["free prize now", "win a prize", "see you at home", "home by six"], [1, 1, 0, 0]
    >>> mm.SVC(kernel=mm.kernels.Subsequence(length=3)).fit(texts, y).predict(["prizes to win"]).tolist()
    [1]
    """

    length: int = 4
    decay: float = 0.5
    normalize: bool = True
    up_to: bool = False
    tokens: Tokens = "characters"
    features: Features = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_length("Subsequence", self.length)
        if not isinstance(self.decay, numbers.Real) or not 0 < self.decay < 1:
            raise ValueError(f"Subsequence: decay={self.decay!r} must be strictly between 0 and 1.")
        check_tokens("Subsequence", self.tokens)

    # -- points --------------------------------------------------------------------------------------

    def prepare(self, X: TableLike, like: Any = None) -> StringPoints:
        texts = text_column(X, self.features)
        codes, starts, vocabulary = encode(texts, self.tokens, None if like is None else like.vocabulary)
        points = StringPoints(codes, starts, np.ones(len(texts)), vocabulary)
        if like is None:
            self._warn_if_long(points)
        return StringPoints(codes, starts, self.factors(points), vocabulary) if self.normalize else points

    def factors(self, points: StringPoints) -> FloatArray:
        """1 / sqrt K(s, s) of every string; ones where the kernel is not normalised."""
        if not self.normalize:
            return np.ones(len(points))
        squares = self._combined(self._self_sums(points))[-1]
        self._check_range(points, squares)
        return inverse_roots(squares)

    def _warn_if_long(self, points: StringPoints) -> None:
        steps = 0.5 * self.length * float(points.lengths.sum()) ** 2
        if steps > _LONG_WORK:
            warnings.warn(
                f"the Gram matrix of {len(points)} strings with {int(points.lengths.sum())} symbols needs "
                f"about {steps:.0e} steps, minutes or more: use tokens='words', a shorter length, fewer "
                "rows, or Spectrum.",
                stacklevel=4,
            )

    def _check_range(self, points: StringPoints, squares: FloatArray) -> None:
        """Refuse lengths at which values overflow; K(s, t) <= sqrt(K(s, s) K(t, t)) bounds them all."""
        shortest = 1 if self.up_to else self.length
        if np.isfinite(squares).all() and (squares > 0)[points.lengths >= shortest].all():
            return
        raise ValueError(f"{self!r} overflows on these strings: use a shorter length.")

    # -- values --------------------------------------------------------------------------------------

    @property
    def _unit(self) -> float:
        """The weight of a common symbol inside the recursion, in place of decay^2.

        Each level grows by a factor between unit and unit / (1 - decay)^2, so unit = 1 - decay stays in the
        middle of the range. It is rounded to a power of two, which causes no rounding error.
        """
        return 2.0 ** round(math.log2(max(1.0 - self.decay, 1e-3)))

    def _sums(self, A: StringPoints, B: StringPoints) -> FloatArray:
        sums = np.empty((self.length, len(A), len(B)))
        if not sums.size:
            return sums
        steps = self.length * int(A.lengths.max()) * int(B.lengths.max()) * (1 + len(B) // LANES)
        for rows in portions(slice(0, len(A)), _AT_ONCE // max(steps, 1)):
            part = np.empty((self.length, rows.stop - rows.start, len(B)))
            compute.subsequence_tile(
                A.codes, A.starts[rows.start : rows.stop + 1], B.codes, B.starts,
                compute.by_length(B.starts), float(self.decay), self._unit, part,
            )  # fmt: skip
            sums[:, rows] = part
        return sums

    def _self_sums(self, A: StringPoints) -> FloatArray:
        sums = np.empty((self.length, len(A)))
        order = compute.by_length(A.starts)

        def fill(begin: int) -> None:
            rows = order[begin : begin + LANES]
            compute.subsequence_self(A.codes, A.starts, rows, float(self.decay), self._unit, sums)

        n_threads = effective_threads(None)
        run([partial(fill, begin) for begin in range(0, len(A), LANES)], n_threads)
        return sums

    def _combined(self, sums: FloatArray) -> FloatArray:
        """K_1, ..., K_m (or their running sums) from the sums of the recursion, in place.

        A normalised K_m needs no factor (decay^2 / unit)^m: it would cancel, or underflow first.
        """
        if self.up_to or not self.normalize:
            factors = (self.decay * self.decay / self._unit) ** np.arange(1.0, self.length + 1)
            sums *= factors.reshape(-1, *[1] * (sums.ndim - 1))
        if self.up_to:
            np.cumsum(sums, axis=0, out=sums)
        return sums

    def evaluate(self, A: StringPoints, B: StringPoints, out: FloatArray) -> None:
        values = self._combined(self._sums(A, B))[-1]
        values *= A.factors[:, None]
        values *= B.factors
        out[...] = values

    def diagonal(self, A: StringPoints) -> FloatArray:
        if self.normalize:
            return (A.factors > 0).astype(A.dtype)
        return self._combined(self._self_sums(A))[-1].astype(A.dtype)

    def by_length(self, X: TableLike, Z: TableLike | None = None, *, n_jobs: int | None = None) -> FloatArray:
        """Matrices of all lengths 1, ..., m in one pass, of shape (length, n_samples_X, n_samples_Z).

        Entry l - 1 is the matrix of the kernel with ``length=l``. All of them together cost as much as the
        longest alone, so tuning the length is free.

        >>> from maxmargin.kernels import Subsequence
        >>> Subsequence(length=3).by_length(["margin", "marginal"]).shape
        (3, 2, 2)
        """
        plain = self._copy(normalize=False)
        A = plain.prepare(X)
        B = None if Z is None else plain.prepare(Z, like=A)
        return self.gram_by_length(A, B, n_threads=effective_threads(n_jobs))

    def feature(self, u: str, X: Any) -> FloatArray:
        """Phi_u(s) of every string s in ``X``: the sum over the occurrences i of u in s of decay^span(i).

        The coordinate of s for the subsequence u of any length, not normalised. K_m(s, t)
        is the sum over all u of length m of Phi_u(s) Phi_u(t) (Valera, equations 7.1 and 7.2). Of shape
        (n_samples,); costs O(|u| |s|).

        >>> from maxmargin.kernels import Subsequence
        >>> Subsequence(decay=0.5).feature("SM", ["SVM", "SVA", "SM"]).tolist()  # decay^3, none, decay^2
        [0.125, 0.0, 0.25]
        """
        if not isinstance(u, str):
            raise TypeError(f"feature: u must be a string, not {u!r}.")
        codes, starts, _ = encode([u, *text_column(X, self.features)], self.tokens, None)
        wanted, *strings = [codes[i:j] for i, j in pairwise(starts)]
        return np.array([self._weighted_occurrences(wanted, string) for string in strings])

    def _weighted_occurrences(self, u: IntArray, s: IntArray) -> float:
        """After each symbol of s, ``begun[k]`` is the weight of the occurrences of u[:k] up to here."""
        if not len(u):
            raise ValueError("feature: u is empty; Phi_u needs at least one symbol.")
        begun, total = np.zeros(len(u)), 0.0
        for symbol in s:
            ends = self.decay * np.where(u == symbol, np.append(1.0, begun[:-1]), 0.0)
            total += float(ends[-1])
            begun = self.decay * begun + ends
        return total

    def gram_by_length(
        self, A: StringPoints, B: StringPoints | None = None, *, n_threads: int = 1
    ) -> FloatArray:
        """`by_length` between Points, prepared by this kernel with any length."""
        columns = A if B is None else B
        values = np.empty((self.length, len(A), len(columns)))

        def tile(rows: IntArray, cols: IntArray) -> FloatArray:
            return self._combined(self._sums(A.take(rows), columns.take(cols)))

        fill_expensive(tile, values, work_order(A), None if B is None else work_order(B), n_threads)
        if self.normalize:
            left = self._factors_by_length(A)
            values *= left[:, :, None]
            values *= (left if B is None else self._factors_by_length(B))[:, None, :]
        return values

    def _factors_by_length(self, points: StringPoints) -> FloatArray:
        squares = self._combined(self._self_sums(points))
        self._check_range(points, squares[-1])
        return inverse_roots(squares.ravel()).reshape(squares.shape)
