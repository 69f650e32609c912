"""A collection of pieces, and sums over it on one machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, Self
from zlib import crc32

import numpy as np

from maxmargin.base.threads import effective_threads, run, single_threaded_blas
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.pieces.piece import Piece, add, tree_sum

Loader = Callable[[], Piece]
Fingerprint = tuple[int, int, str]  # number of rows, checksum and source of a piece
Change = tuple[Callable[..., Any], tuple[Any, ...]]  # a function of X, and its other arguments
_CHECKED_ROWS = 16  # of an array in memory in a checksum; rows that are read anew are all checked


@dataclass(frozen=True, kw_only=True)
class Pieces:
    """A table that is read piece by piece: the interface for fits and predictions.

    Pieces can be read repeatedly, always in the same order; only a few are in memory at a time. Make
    them with `from_array`, `from_parquet`, `from_csv`, `from_iterable` or `from_dask`.

    >>> import numpy as np
    >>> from maxmargin.pieces import from_array
    >>> float(from_array(np.ones((3, 2)), rows=2).map_reduce(lambda piece: piece.X.sum()))
    6.0
    """

    changes: tuple[Change, ...] = ()  # applied to every piece
    first_pass: list[Fingerprint] = field(default_factory=list, compare=False, repr=False)

    def map(self, function: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """function(piece, *args) of every piece, in order, a few at a time."""
        raise NotImplementedError  # implemented by LocalPieces and DaskPieces

    def map_reduce(
        self, function: Callable[..., Any], *args: Any, combine: Callable[[Any, Any], Any] = add
    ) -> Any:
        """The sum over pieces of function(piece, *args), by a tree of ``combine(left, right)``.

        ``combine`` must be associative up to rounding and keep the order of its arguments; by default results
        are added, tuples entry by entry. The function must not keep or change the piece; on a cluster it is
        sent to the workers, so it must be importable there.
        """
        raise NotImplementedError  # implemented by LocalPieces and DaskPieces

    def mapped(self, function: Callable[..., Any], *args: Any) -> Self:
        """The same pieces with function(X, *args) in place of X, computed whenever a piece is read."""
        return replace(self, changes=(*self.changes, (function, args)))

    def some(self, step: int) -> Pieces | None:
        """Every ``step``-th piece, or None if skipping pieces would not save reading time."""
        raise NotImplementedError  # implemented by LocalPieces and DaskPieces

    def first(self) -> Piece:
        """The first piece, to learn names and types from."""
        raise NotImplementedError  # implemented by LocalPieces and DaskPieces

    def start_over(self) -> None:
        """Forget the checksums of earlier passes, because a new fit or prediction may read other rows."""
        self.first_pass.clear()

    def sample(self, n_rows: int, *, random_state: int = 0) -> Piece:
        """``n_rows`` rows drawn without replacement (all if there are fewer), in the order of the table.

        Every row gets a random number from the seed and the number of its piece, and the smallest are kept,
        so the sample does not depend on where it is computed. Cost: one pass.
        """
        _, X, y, weight = self.map_reduce(_draw, n_rows, random_state, combine=partial(_smallest, n_rows))
        return Piece(X, y, weight)

    def rows_at(self, numbers: IntArray) -> Piece:
        """The rows at these positions of the whole table, given in rising order. Cost: two passes."""
        lengths = list(self.map(len))
        starts = np.concatenate([[0], np.cumsum(lengths)])
        _, X, y, weight = self.map_reduce(_pick, numbers, starts, combine=_join)
        return Piece(X, y, weight)


@dataclass(frozen=True)
class LocalPieces(Pieces):
    """Pieces on one machine, read and processed on the thread pool.

    ``loaders`` is called for every pass and returns one function per piece that reads it. With ``streaming``
    the pieces are read one after another while the loaders are created.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> pieces = mm.pieces.from_array(np.arange(12.0).reshape(6, 2), [0, 0, 0, 1, 1, 1], rows=2)
    >>> type(pieces).__name__, list(pieces.map(lambda piece: len(piece.y)))
    ('LocalPieces', [2, 2, 2])
    """

    loaders: Callable[[], Iterator[Loader]]
    n_jobs: int | None = None
    streaming: bool = False

    def map(self, function: Callable[..., Any], *args: Any) -> Iterator[Any]:
        threads = effective_threads(self.n_jobs)
        numbered, seen = enumerate(self.loaders()), []
        while batch := list(islice(numbered, threads)):
            with single_threaded_blas():
                results = run([partial(self._use, load, i, function, args) for i, load in batch], threads)
            del batch
            for fingerprint, result in results:
                seen.append(fingerprint)
                yield result
        self._compare(seen)

    def _compare(self, seen: list[Fingerprint]) -> None:
        """Raise an error if a complete pass finds other rows than the first one after `start_over`."""
        if not self.first_pass:
            self.first_pass.extend(seen)
        before, now = (sum(rows for rows, _, _ in prints) for prints in (self.first_pass, seen))
        if len(self.first_pass) != len(seen):
            raise _changed_error(f"the first one found {before} rows, now there are {now}")

    def map_reduce(
        self, function: Callable[..., Any], *args: Any, combine: Callable[[Any, Any], Any] = add
    ) -> Any:
        return tree_sum(self.map(function, *args), combine)

    def some(self, step: int) -> LocalPieces | None:
        if self.streaming:
            return None
        first_pass = self.first_pass[::step]
        return replace(self, loaders=lambda: islice(self.loaders(), 0, None, step), first_pass=first_pass)

    def first(self) -> Piece:
        for load in self.loaders():
            return changed(load(), self.changes)
        raise ValueError("there are no pieces: the source holds no rows.")

    def _use(
        self, load: Loader, index: int, function: Callable[..., Any], args: tuple[Any, ...]
    ) -> tuple[Fingerprint, Any]:
        piece, known = replace(load(), index=index), len(self.first_pass)
        if 0 < known <= index:
            raise _changed_error(f"the first one found {known} pieces, now there are more")
        in_memory = piece.source == "X" and not isinstance(piece.X, np.memmap)
        found = compared(piece, self.first_pass[index] if known else None, sampled=in_memory)
        return found, function(changed(piece, self.changes), *args)


def compared(piece: Piece, first: Fingerprint | None, *, sampled: bool) -> Fingerprint:
    """The fingerprint of a piece; an error if the first pass found another. ``sampled``: from a few rows."""
    found = len(piece), _checksum(piece, _CHECKED_ROWS if sampled else len(piece)), piece.source
    if first not in (None, found):
        where = f"{found[2] or 'the source'} (piece {piece.index}) had {first[0]} rows"
        now = f"now {found[0]}" if first[0] != found[0] else "some with other values now"
        raise _changed_error(f"{where}, {now}")
    return found


def _changed_error(what: str) -> ValueError:
    return ValueError(
        f"the data changed between two passes: {what}. Every pass must read the same rows: copy the source, "
        "or seed the function that makes it."
    )


def _checksum(piece: Piece, n_rows: int) -> int:
    """A checksum of the targets, the weights and about ``n_rows`` rows of X."""
    total = 0
    for values in (*_columns(piece.X, max(1, len(piece) // max(1, n_rows))), piece.y, piece.weight):
        if values is not None:
            array = np.asarray(values)
            is_text = array.dtype == object
            total = crc32(b"".join(map(_text, array.ravel())) if is_text else array.tobytes(), total)
    return total


def _text(value: Any) -> bytes:
    """A cell and where it ends; an array of text would give all cells the width of the longest."""
    return f"{len(text := str(value))} {text}".encode(errors="surrogatepass")


def _columns(X: Any, step: int) -> list[Any]:
    """The arrays that hold every ``step``-th row of a table."""
    if hasattr(X, "iloc"):
        return [column.iloc[::step] for _, column in X.items()]
    return [X[::step]] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr]


def changed(piece: Piece, changes: tuple[Change, ...]) -> Piece:
    """A copy of the piece with another table."""
    for function, args in changes:
        piece = replace(piece, X=function(piece.X, *args))
    return piece


Draw = tuple[FloatArray, Any, Any, Any]


def _draw(piece: Piece, n_rows: int, seed: int) -> Draw:
    keys = np.random.default_rng([seed, piece.index]).random(len(piece))
    kept = np.sort(np.argsort(keys, kind="stable")[:n_rows])
    return keys[kept], *_parts(piece, kept)


def _pick(piece: Piece, numbers: IntArray, starts: IntArray) -> Draw:
    first, last = np.searchsorted(numbers, starts[piece.index : piece.index + 2])
    kept = numbers[first:last] - starts[piece.index]
    return kept, *_parts(piece, kept)


def _parts(piece: Piece, kept: IntArray) -> tuple[Any, Any, Any]:
    """X, y and weights of some rows of a piece."""
    y = None if piece.y is None else np.asarray(piece.y)[kept]
    weight = None if piece.weight is None else np.asarray(piece.weight)[kept]
    return _rows(piece.X, kept), y, weight


def _join(left: Draw, right: Draw) -> Draw:
    return _smallest(len(left[0]) + len(right[0]), left, right)


def _rows(X: Any, kept: Any) -> Any:
    return X.iloc[kept] if hasattr(X, "iloc") else X[kept]


def _smallest(n_rows: int, left: Draw, right: Draw) -> Draw:
    keys = np.concatenate([left[0], right[0]])
    kept = np.sort(np.argsort(keys, kind="stable")[:n_rows])
    X = _rows(_stack(left[1], right[1]), kept)
    y = None if left[2] is None else np.concatenate([left[2], right[2]])[kept]
    weight = None if left[3] is None else np.concatenate([left[3], right[3]])[kept]
    return keys[kept], X, y, weight


def _stack(above: Any, below: Any) -> Any:
    if hasattr(above, "iloc"):
        import pandas as pd

        return pd.concat([above, below], ignore_index=True)
    if isinstance(above, np.ndarray):
        return np.concatenate([above, below])
    from scipy import sparse

    return sparse.vstack([above, below], format="csr")
