"""Pieces that are the blocks of Dask arrays or the partitions of Dask dataframes.

Dask is imported only when one of its collections is passed in.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np

from maxmargin.base.threads import single_threaded_blas
from maxmargin.base.typing import TableLike
from maxmargin.pieces.collection import Fingerprint, Pieces, changed, compared
from maxmargin.pieces.piece import Piece, add
from maxmargin.pieces.sources import split_frame

_FAN_IN = 8  # results that one task of the reduction combines
_AHEAD = 4  # pieces whose results are requested in advance
_PATIENCE = 5.0  # seconds without a result after which we check that there are workers left


def _dask() -> Any:
    """Dask as Any, because only some of its names have types."""
    return import_module("dask")


def is_dask(X: TableLike) -> bool:
    """True if X is a Dask collection; does not import Dask."""
    return "dask" in sys.modules and hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


@dataclass(frozen=True)
class Home:
    """A cluster: its client, and the address of its scheduler, which a closed client forgets."""

    client: Any
    address: str

    @classmethod
    def now(cls) -> Home | None:
        """The cluster in use; None on a single machine."""
        if "distributed" not in sys.modules:
            return None
        import distributed

        try:
            client: Any = distributed.get_client()
        except ValueError:
            return None
        return cls(client, client.scheduler.address)

    def compute(self, delayed: list[Any]) -> Any:
        """The values; an error if the cluster is closed, a warning if it has no workers."""
        import distributed

        if self.client.status != "running":
            raise self._closed()
        futures, warned = self.client.compute(delayed), False
        try:
            while True:
                try:
                    distributed.wait(futures, timeout=_PATIENCE)
                    return self.client.gather(futures)
                except distributed.TimeoutError:
                    warned = warned or self._warn_if_deserted()
        except (OSError, distributed.CancelledError) as error:
            if self.client.status == "running":
                raise
            raise self._closed() from error

    def _closed(self) -> RuntimeError:
        return RuntimeError(
            f"the Dask cluster at {self.address} is closed, and it holds these pieces: connect a client to "
            "a cluster that runs, and make the pieces again."
        )

    def _warn_if_deserted(self) -> bool:
        """True, after a warning, if the cluster has no workers."""
        if self.client.ncores():
            return False
        warnings.warn(
            f"the Dask cluster at {self.address} has no workers left: the fit waits for one. Start workers "
            "(cluster.scale), or stop with Ctrl-C.",
            stacklevel=2,
        )
        return True


@dataclass(frozen=True)
class DaskPieces(Pieces):
    """Pieces that stay on the workers: functions are sent to them, and only small sums are returned.

    ``blocks`` are delayed `Piece` objects; ``home`` is the cluster that keeps them, if any, and ``kept``
    says that they stay in memory. A block that is lost with its worker is recomputed from its graph, and
    the summation tree does not depend on the workers: the result is the same to the last bit.

    Examples
    --------
    >>> import dask.array as da
    >>> import maxmargin as mm
    >>> X, y = da.arange(12, chunks=4).reshape(6, 2), da.from_array([0, 0, 0, 1, 1, 1], chunks=2)
    >>> pieces = mm.pieces.from_dask(X, y)
    >>> type(pieces).__name__, list(pieces.map(lambda piece: len(piece.y)))
    ('DaskPieces', [2, 2, 2])
    """

    blocks: tuple[Any, ...]
    home: Home | None = field(default=None, compare=False, repr=False)
    kept: bool = False

    def map(self, function: Callable[..., Any], *args: Any) -> Iterator[Any]:
        tasks, seen = self._tasks(function, args), []
        for start in range(0, len(tasks), _AHEAD):
            for prints, result in self._computed(tasks[start : start + _AHEAD]):
                seen += prints
                yield result
        self._remember(seen)

    def map_reduce(
        self, function: Callable[..., Any], *args: Any, combine: Callable[[Any, Any], Any] = add
    ) -> Any:
        level = self._tasks(function, args)
        while len(level) > 1:
            level = [
                _dask().delayed(_combine)(combine, level[start : start + _FAN_IN])
                for start in range(0, len(level), _FAN_IN)
            ]
        prints, result = self._computed(level)[0]
        self._remember(prints)
        return result

    def _tasks(self, function: Callable[..., Any], args: tuple[Any, ...]) -> list[Any]:
        dask = _dask()
        # a single node of the graph holds the arguments
        given = dask.delayed((args, self.changes), traverse=False)
        known: Any = self.first_pass or [None] * len(self.blocks)
        return [
            dask.delayed(_apply)(function, block, given, first, self.kept)
            for block, first in zip(self.blocks, known, strict=True)
        ]

    def _remember(self, seen: list[Fingerprint]) -> None:
        if not self.first_pass:
            self.first_pass.extend(seen)

    def _computed(self, delayed: list[Any]) -> Any:
        return _computed(delayed, self.home or Home.now())

    def persisted(self) -> DaskPieces:
        """The same pieces, computed once and kept in the workers' memory."""
        return replace(self, blocks=tuple(_dask().persist(*self.blocks)), home=Home.now(), kept=True)

    def some(self, step: int) -> DaskPieces:
        return replace(self, blocks=self.blocks[::step], first_pass=self.first_pass[::step])

    def first(self) -> Piece:
        return changed(self._computed([_dask().delayed(_head)(self.blocks[0])])[0], self.changes)


def _computed(delayed: list[Any], home: Home | None) -> Any:
    if home is not None:
        return home.compute(delayed)
    with single_threaded_blas():
        return _dask().compute(*delayed)


def _apply(
    function: Callable[..., Any], piece: Piece, given: Any, first: Fingerprint | None, kept: bool
) -> tuple[list[Fingerprint], Any]:
    args, changes = given
    found = compared(piece, first, sampled=kept)
    return [found], function(changed(piece, changes), *args)


def _combine(combine: Callable[[Any, Any], Any], parts: list[tuple[list[Fingerprint], Any]]) -> Any:
    prints, total = parts[0]
    for more, result in parts[1:]:
        prints, total = prints + more, combine(total, result)
    return prints, total


def _head(piece: Piece) -> Piece:
    """A few rows of a piece: names and types without moving the data."""
    part = slice(0, 100)
    X = piece.X.iloc[part] if hasattr(piece.X, "iloc") else piece.X[part]
    y = None if piece.y is None else piece.y[part]
    return Piece(X, y, None if piece.weight is None else piece.weight[part])


def from_dask(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    target: str | None = None,
    weight: str | None = None,
    persist: bool | None = None,
) -> DaskPieces:
    """Pieces of a Dask array or dataframe: its blocks of rows or its partitions.

    Parameters
    ----------
    X : Dask array of shape (n_samples, n_features), or Dask dataframe.
    y, sample_weight : Dask arrays or series cut at the same rows, or arrays in memory.
    target, weight : columns of a Dask dataframe that hold y and sample_weight, instead.
    persist : whether the pieces are kept in the workers' memory for later passes; by default True on a
        cluster (an active ``distributed.Client``) and False on one machine, where they would all have to
        fit in memory.

    Examples
    --------
    >>> import dask.array as da, maxmargin as mm
    >>> X = da.random.default_rng(0).normal(size=(1000, 2), chunks=(250, 2))
    >>> model = mm.LinearSVC().fit(X, X[:, 0] > 0)          # the same as fit(mm.pieces.from_dask(X, y))
    >>> model.predict([[1.0, 0.0], [-1.0, 0.0]]).tolist()
    [True, False]
    """
    dask = _dask()
    if hasattr(X, "columns"):
        tables, sizes = X.to_delayed(), None
    else:
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        tables, sizes = X.to_delayed().ravel(), X.chunks[0]
    if target is not None or weight is not None:
        if y is not None or sample_weight is not None or sizes is not None:
            raise ValueError("target= and weight= name columns of a Dask dataframe that holds them: drop y.")
        blocks = [dask.delayed(_frame_piece)(i, table, target, weight) for i, table in enumerate(tables)]
    else:
        targets = _vector("y", y, len(tables), sizes, X)
        weights = _vector("sample_weight", sample_weight, len(tables), sizes, X)
        blocks = [
            dask.delayed(_make_piece)(i, *parts)
            for i, parts in enumerate(zip(tables, targets, weights, strict=True))
        ]
    pieces = DaskPieces(tuple(blocks))
    return pieces.persisted() if (Home.now() is not None if persist is None else persist) else pieces


def _make_piece(index: int, X: Any, y: Any, weight: Any) -> Piece:
    return Piece(
        X, None if y is None else np.asarray(y), None if weight is None else np.asarray(weight), index
    )


def _frame_piece(index: int, frame: Any, target: str | None, weight: str | None) -> Piece:
    piece = split_frame(frame, target, weight)
    return _make_piece(index, piece.X, piece.y, piece.weight)


def _vector(name: str, values: Any, n_blocks: int, sizes: Any, X: Any) -> list[Any]:
    """One delayed part of y or of the weights for every block of X."""
    if values is None:
        return [None] * n_blocks
    if not is_dask(values):
        import dask.array as da

        known = _known_sizes(sizes, X)
        _check_lengths(name, known, len(values))
        values = da.from_array(np.asarray(values), chunks=(known,))
    elif hasattr(values, "chunks"):
        values = values.ravel() if values.ndim > 1 else values
        if sizes is not None and values.chunks[0] != sizes and not np.isnan(np.sum(sizes)):
            _check_lengths(name, sizes, values.shape[0])
            values = values.rechunk((sizes,))
    parts = list(np.ravel(values.to_delayed()))
    if len(parts) != n_blocks:
        raise ValueError(
            f"X comes in {n_blocks} blocks and {name} in {len(parts)}: cut both at the same rows "
            "(rechunk or repartition one of them)."
        )
    return parts


def _check_lengths(name: str, sizes: tuple[int, ...], length: float) -> None:
    if sum(sizes) != length and not np.isnan(length):  # Dask does not always know it
        raise ValueError(f"X has {sum(sizes)} rows and {name} has {length}: give the same number of both.")


def _known_sizes(sizes: Any, X: Any) -> tuple[int, ...]:
    if sizes is None or np.isnan(np.sum(sizes)):
        lengths = _computed([_dask().delayed(len)(part) for part in np.ravel(X.to_delayed())], Home.now())
        return tuple(int(length) for length in lengths)
    return tuple(int(size) for size in sizes)
