"""From a column of text to integer-coded strings."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from maxmargin.base.typing import AnyArray, ColumnsLike, FloatArray, IntArray, TableLike
from maxmargin.kernels.base import choose_columns
from maxmargin.kernels.points import Rows

Tokens = Literal["characters", "words"] | Callable[[str], Iterable[Hashable]]
Vocabulary = dict[Hashable, int]

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class StringPoints:
    """Strings as one flat array of symbol codes; string i is codes[starts[i]:starts[i + 1]].

    Kernel values are multiplied by the ``factors`` of both strings (1 / sqrt K(s, s) for a normalised
    kernel). ``vocabulary`` numbers the tokens; None for characters, which are their own code points.
    Strings of a model file can have `late_factors`, which their first use computes.
    """

    codes: IntArray
    starts: IntArray
    factors: FloatArray
    vocabulary: Vocabulary | None = None
    precision: Any = np.float64

    def __len__(self) -> int:
        return len(self.starts) - 1

    def late_factors(self, compute: Callable[[StringPoints], FloatArray]) -> None:
        """Forget the factors: their first use computes them."""
        state = vars(self)
        state["compute"] = compute
        del state["factors"]

    def __getattr__(self, name: str) -> Any:
        state = vars(self)
        if name == "factors" and (compute := state.get("compute")) is not None:
            state["factors"] = compute(self)
            state.pop("compute", None)
        if name == "factors" and name in state:  # perhaps from another thread
            return state[name]
        raise AttributeError(f"StringPoints has no attribute {name!r}.")

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.precision)

    @property
    def lengths(self) -> IntArray:
        """Number of symbols of every string."""
        return np.diff(self.starts)

    def take(self, rows: Rows) -> StringPoints:
        if isinstance(rows, slice) and rows.step in (None, 1):
            begin, end, _ = rows.indices(len(self))
            return self._with(self.codes, self.starts[begin : max(begin, end) + 1], self.factors[begin:end])
        chosen = np.arange(len(self))[rows]
        lengths = self.lengths[chosen]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        within = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
        codes = self.codes[np.repeat(self.starts[chosen], lengths) + within]
        return self._with(codes, starts, self.factors[chosen])

    def _with(self, codes: IntArray, starts: IntArray, factors: FloatArray) -> StringPoints:
        return StringPoints(codes, starts, factors, self.vocabulary, self.precision)

    def astype(self, dtype: DTypeLike) -> StringPoints:
        return StringPoints(self.codes, self.starts, self.factors, self.vocabulary, np.dtype(dtype))


def check_tokens(owner: str, tokens: Any) -> None:
    if tokens not in ("characters", "words") and not callable(tokens):
        raise ValueError(
            f"{owner}: tokens={tokens!r} is unknown: use 'characters', 'words' or a function from a string "
            "to tokens."
        )


def text_column(X: TableLike, features: ColumnsLike | None) -> list[str]:
    """The strings in ``X``: a list, an array, a series, or the column ``features`` of a dataframe."""
    if isinstance(X, (str, bytes)):
        raise ValueError("X is one string: pass a list of strings, [text] for a single one.")
    if features is not None:
        X = choose_columns(X, features)
    column = np.asarray(X, dtype=object)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise ValueError(
            f"a string kernel needs one column of text, got shape {column.shape}: "
            "choose it with features='its name', or pass a list of strings."
        )
    for row, value in enumerate(column):
        if not isinstance(value, str):
            raise ValueError(
                f"a string kernel needs strings, but row {row} is {value!r} of type {type(value).__name__}: "
                "fill missing values with '' and turn other values into str."
            )
    return [str(value) for value in column]


def encode(
    texts: list[str], tokens: Tokens, known: Vocabulary | None
) -> tuple[IntArray, IntArray, Vocabulary | None]:
    """Codes, starts and vocabulary of the texts; tokens that are not in ``known`` get new numbers."""
    if tokens == "characters":
        # fixed width, so that a code is a code point; lone surrogates are symbols like any other
        points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<i4")
        return points.astype(np.int32), _starts([len(text) for text in texts]), None
    split: Callable[[str], Iterable[Hashable]] = _WORD.findall if tokens == "words" else tokens
    numbers: Vocabulary = dict(known or {})
    rows = [[numbers.setdefault(token, len(numbers)) for token in split(text)] for text in texts]
    codes = np.fromiter((code for row in rows for code in row), dtype=np.int32)
    return codes, _starts([len(row) for row in rows]), numbers


def _starts(lengths: list[int]) -> IntArray:
    starts: IntArray = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def inverse_roots(squares: AnyArray) -> FloatArray:
    """1 / sqrt K(s, s), and 0 where K(s, s) = 0: such a string is the zero vector of feature space."""
    factors = np.zeros(len(squares))
    np.divide(1.0, np.sqrt(squares), out=factors, where=squares > 0)
    return factors
