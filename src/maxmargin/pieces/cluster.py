"""Pieces that are the blocks of Dask arrays or the partitions of Dask dataframes.

Dask is imported only when one of its collections is passed in.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from maxmargin.base.threads import single_threaded_blas
from maxmargin.pieces.collection import Pieces, changed
from maxmargin.pieces.piece import Piece, add
from maxmargin.pieces.sources import split_frame

_FAN_IN = 8  # results that one task of the reduction combines
_AHEAD = 4  # pieces whose results are asked for before they are needed


def _dask() -> Any:
    """Dask, without the types that it has for some of its names."""
    return import_module("dask")


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection, without importing Dask."""
    return "dask" in sys.modules and hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


@dataclass(frozen=True)
class DaskPieces(Pieces):
    """Pieces that stay where the workers hold them; functions travel to them and small sums come back.

    ``blocks`` are delayed `Piece` objects. A block that is lost with its worker is computed again from the
    graph that made it, and the tree of a sum does not depend on which worker computed what: the answer is
    the same to the last bit.
    """

    blocks: tuple[Any, ...]

    def map(self, function: Callable[..., Any], *args: Any) -> Iterator[Any]:
        dask = _dask()
        given = dask.delayed(args, traverse=False)
        for start in range(0, len(self.blocks), _AHEAD):
            batch = self.blocks[start : start + _AHEAD]
            with single_threaded_blas():
                results = dask.compute(*[dask.delayed(_apply)(function, block, given) for block in batch])
            yield from results

    def map_reduce(
        self, function: Callable[..., Any], *args: Any, combine: Callable[[Any, Any], Any] = add
    ) -> Any:
        dask = _dask()
        # one node of the graph holds the arguments, however many pieces there are
        given = dask.delayed(args, traverse=False)
        level = [dask.delayed(_apply)(function, block, given) for block in self.blocks]
        while len(level) > 1:
            level = [
                dask.delayed(_combine)(combine, level[start : start + _FAN_IN])
                for start in range(0, len(level), _FAN_IN)
            ]
        with single_threaded_blas():
            return level[0].compute()

    def mapped(self, function: Callable[..., Any], *args: Any) -> DaskPieces:
        dask = _dask()
        given = dask.delayed(args, traverse=False)
        return DaskPieces(tuple(dask.delayed(changed)(block, function, given) for block in self.blocks))

    def persisted(self) -> DaskPieces:
        """The same pieces, computed once and kept in the memory of the workers."""
        dask = _dask()
        return DaskPieces(tuple(dask.persist(*self.blocks)))

    def some(self, step: int) -> DaskPieces:
        return DaskPieces(self.blocks[::step])

    def first(self) -> Piece:
        dask = _dask()
        piece: Piece = dask.delayed(_head)(self.blocks[0]).compute()
        return piece


def _apply(function: Callable[..., Any], piece: Piece, args: tuple[Any, ...]) -> Any:
    return function(piece, *args)


def _combine(combine: Callable[[Any, Any], Any], results: list[Any]) -> Any:
    total = results[0]
    for result in results[1:]:
        total = combine(total, result)
    return total


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
    persist : whether the pieces are kept in the memory of the workers for the passes to come; by default
        yes on a cluster (an active ``distributed.Client``) and no on one machine, where they would all have
        to fit into memory.

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
    return pieces.persisted() if (_on_cluster() if persist is None else persist) else pieces


def _on_cluster() -> bool:
    if "distributed" not in sys.modules:
        return False
    import distributed

    try:
        distributed.get_client()
    except ValueError:
        return False
    return True


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
        if sum(known) != len(values):
            raise ValueError(
                f"X has {sum(known)} rows and {name} has {len(values)}: give the same number of both."
            )
        values = da.from_array(np.asarray(values), chunks=(known,))
    elif hasattr(values, "chunks"):
        values = values.ravel() if values.ndim > 1 else values
        if sizes is not None and values.chunks[0] != sizes and not np.isnan(np.sum(sizes)):
            values = values.rechunk((sizes,))
    parts = list(np.ravel(values.to_delayed()))
    if len(parts) != n_blocks:
        raise ValueError(
            f"X comes in {n_blocks} blocks and {name} in {len(parts)}: cut both at the same rows "
            "(rechunk or repartition one of them)."
        )
    return parts


def _known_sizes(sizes: Any, X: Any) -> tuple[int, ...]:
    if sizes is None or np.isnan(np.sum(sizes)):
        dask = _dask()
        lengths = dask.compute(*[dask.delayed(len)(part) for part in np.ravel(X.to_delayed())])
        return tuple(int(length) for length in lengths)
    return tuple(int(size) for size in sizes)
