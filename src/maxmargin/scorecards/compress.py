"""Columns in pieces, compressed to a few weighted rows that have the same bins as all rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.base.table_columns import Column, columns_of
from maxmargin.base.typing import AnyArray, FloatArray, LabelLike
from maxmargin.compute.columns.column_bins import assign_numbers, count_codes
from maxmargin.discretize import cuts_between
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.piece import Piece
from maxmargin.scorecards.bins import special_rows
from maxmargin.scorecards.cuts import nearest_places, width_cuts
from maxmargin.scorecards.grouping import BinSettings, EventLabels, EventRows, read_events
from maxmargin.scorecards.sketch import (
    DISTINCT,
    CategorySketch,
    NumberSketch,
    Sketch,
    merge_sketches,
    sketch_column,
)

_MOST_LEVELS = 12


@dataclass(frozen=True)
class Compressed:
    """A column as weighted rows; ``cuts`` are its pre-bins if there were too many values to keep."""

    column: Column
    rows: EventRows
    cuts: FloatArray | None = None


def event_of_pieces(estimator: BaseEstimator, pieces: Pieces, positive: LabelLike | None) -> EventLabels:
    """The labels of the rows of positive weight: one pass over the targets."""
    labels, masses = pieces.map_reduce(_labels, combine=_merge_labels)
    return read_events(estimator, labels, len(labels), positive, masses)[0]


def _labels(piece: Piece) -> tuple[AnyArray, FloatArray]:
    labels, codes = np.unique(piece.labels(), return_inverse=True)
    weights = piece.weights()
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"sample_weight of piece {piece.index} must be finite and not negative.")
    return labels, np.bincount(codes, weights, len(labels)).astype(np.float64, copy=False)


def _merge_labels(left: Any, right: Any) -> tuple[AnyArray, FloatArray]:
    labels, codes = np.unique(np.concatenate([left[0], right[0]]), return_inverse=True)
    masses = np.bincount(codes, np.concatenate([left[1], right[1]]), len(labels))
    return labels, masses.astype(np.float64, copy=False)


@dataclass(frozen=True)
class PieceReader:
    """Reads the columns, events and weights of a piece; rows of weight 0 are left out."""

    names: tuple[str, ...]
    categorical: Collection[Any]
    event: Any

    def __call__(self, piece: Piece) -> tuple[list[Column], Any, FloatArray]:
        columns = columns_of(piece.X, self.names, self.categorical)
        event, weight = piece.labels() == self.event, piece.weights()
        if not weight.all():
            keep = weight > 0
            columns, event, weight = [column.take(keep) for column in columns], event[keep], weight[keep]
        return columns, event, weight


def compress(pieces: Pieces, reader: PieceReader, settings: Sequence[BinSettings]) -> list[Compressed]:
    """Every column as weighted rows that have the bins of the whole table.

    A column of few distinct values (65536 or fewer) is kept as its values with their weights: one pass, exact
    for every method. For more values the exact quantiles are found by narrowing (see `_quantile_cuts`), and
    the pre-bins are counted in one more pass; "width" only needs the extremes; the other methods need all
    values and are refused.
    """
    # many times the number of cells that all quantiles need
    limit = max(DISTINCT, 8 * max(max(s.n_prebins, s.max_bins) for s in settings))
    everywhere: dict[int, Any] = dict.fromkeys(range(len(settings)))
    sketches = _sketch(pieces, reader, settings, everywhere, limit)
    large = {j: s for j, s in sketches.items() if isinstance(s, NumberSketch) and not s.exact}
    cuts = _cuts_of_large(pieces, reader, settings, large, limit)
    counts = pieces.map_reduce(_count_prebins, reader, settings, cuts) if cuts else {}
    return [
        _from_prebins(name, sketch, cuts[j], counts[j]) if j in cuts else _from_values(name, sketch)
        for j, (name, sketch) in enumerate(zip(reader.names, sketches.values(), strict=True))
    ]


def _sketch(
    pieces: Pieces, reader: PieceReader, settings: Sequence[BinSettings], within: dict[int, Any], limit: int
) -> dict[int, Any]:
    """Sketches of some columns inside some intervals. Cost: one pass and a sort of each piece."""
    return pieces.map_reduce(
        _sketch_piece, reader, settings, within, limit, combine=partial(_merge_all, reader.names, limit)
    )


def _sketch_piece(
    piece: Piece, reader: PieceReader, settings: Sequence[BinSettings], within: dict[int, Any], limit: int
) -> dict[int, Sketch]:
    columns, event, weight = reader(piece)
    return {
        j: sketch_column(columns[j], event, weight, settings[j].specials, intervals, limit)
        for j, intervals in within.items()
    }


def _merge_all(
    names: tuple[str, ...], limit: int, left: dict[int, Sketch], right: dict[int, Sketch]
) -> dict[int, Sketch]:
    return {j: merge_sketches(left[j], right[j], names[j], limit) for j in left}


def _from_values(name: str, sketch: Sketch) -> Compressed:
    if isinstance(sketch, CategorySketch):
        keys: list[Any] = [*sketch.counts, None]
        counts = np.array([*sketch.counts.values(), sketch.missing]).T
        objects = np.empty(len(keys), dtype=object)
        objects[:] = keys
        return _weighted(name, objects, counts, is_number=False)
    values = np.concatenate([sketch.values, list(sketch.odd), [np.nan]])
    return _weighted(name, values, _with_odd(sketch, sketch.counts), is_number=True)


def _from_prebins(name: str, sketch: Sketch, cuts: FloatArray, counts: FloatArray) -> Compressed:
    """One value per pre-bin represents all: its upper cut, or a value above all cuts."""
    assert isinstance(sketch, NumberSketch)  # only numbers have pre-bins
    values = np.concatenate([cuts, [sketch.high], list(sketch.odd), [np.nan]])
    compressed = _weighted(name, values, _with_odd(sketch, counts), is_number=True)
    return Compressed(compressed.column, compressed.rows, cuts)


def _with_odd(sketch: NumberSketch, counts: FloatArray) -> FloatArray:
    odd = np.array([*sketch.odd.values(), sketch.missing]).T
    return np.concatenate([counts, odd], axis=1)


def _weighted(name: str, values: AnyArray, counts: FloatArray, *, is_number: bool) -> Compressed:
    weight = counts.ravel()
    event = np.repeat([True, False], counts.shape[1])
    keep = weight > 0
    rows = EventRows(event[keep], weight[keep], weight[keep])
    return Compressed(Column(name, np.concatenate([values, values])[keep], is_number), rows)


def _cuts_of_large(
    pieces: Pieces,
    reader: PieceReader,
    settings: Sequence[BinSettings],
    large: dict[int, NumberSketch],
    limit: int,
) -> dict[int, FloatArray]:
    cuts: dict[int, FloatArray] = {}
    wanted: dict[int, tuple[NumberSketch, int]] = {}
    for j, sketch in large.items():
        s = settings[j]
        method, n_bins = (s.prebinning, s.n_prebins) if s.method == "optimal" else (s.method, s.max_bins)
        if s.edges is not None:
            cuts[j] = np.asarray(s.edges, dtype=np.float64)
        elif method == "width":
            cuts[j] = width_cuts(sketch.low, sketch.high, n_bins)
        elif method == "quantile":
            wanted[j] = sketch, n_bins
        else:
            raise ValueError(
                f"Column {reader.names[j]!r} holds more than {limit} distinct values, and {method!r} needs "
                "all of them in memory: use 'quantile' or 'width', round the column, or fit a sample."
            )
    return {**cuts, **_quantile_cuts(pieces, reader, settings, wanted, limit)}


@dataclass(frozen=True)
class _Narrowed:
    """Intervals (low, high] that contain the required quantiles.

    ``before`` is the weight below each interval, ``below`` and ``above`` the neighbouring values outside.
    """

    low: FloatArray
    high: FloatArray
    before: FloatArray
    below: FloatArray
    above: FloatArray
    total: float


def _quantile_cuts(
    pieces: Pieces,
    reader: PieceReader,
    settings: Sequence[BinSettings],
    wanted: dict[int, tuple[NumberSketch, int]],
    limit: int,
) -> dict[int, FloatArray]:
    """Exactly the cuts that sorting the whole column would give, by narrowing.

    The thinned values split the line into cells. One pass sums the weights of the cells, which shows which of
    them contain the required ranks; one more pass sketches the values in those cells only. That divides the
    number of candidates by about limit / n_bins, so the second sketch is almost always exact.
    """
    cuts: dict[int, FloatArray] = {}
    n_bins = {j: n for j, (_, n) in wanted.items()}
    sketches: dict[int, Any] = {j: sketch for j, (sketch, _) in wanted.items()}
    splitters = {j: sketch.values for j, sketch in sketches.items()}
    for _ in range(_MOST_LEVELS):
        if not sketches:
            return cuts
        cells = pieces.map_reduce(_weigh_cells, reader, settings, splitters, combine=_merge_cells)
        narrowed = {j: _narrow(splitters[j], cells[j], n_bins[j]) for j in sketches}
        within = {j: (n.low, n.high) for j, n in narrowed.items()}
        sketches = _sketch(pieces, reader, settings, within, limit)
        for j in [j for j, s in sketches.items() if s.exact]:
            cuts[j] = _read_cuts(narrowed[j], sketches.pop(j), n_bins[j])
        splitters = {
            j: np.unique(np.concatenate([s.values, narrowed[j].low, narrowed[j].high]))
            for j, s in sketches.items()
        }
    raise RuntimeError(f"the quantiles of {[reader.names[j] for j in sketches]} could not be narrowed down.")


Cells = tuple[FloatArray, FloatArray, FloatArray]  # weight, smallest and largest value of each cell


def _regular(column: Column, weight: FloatArray, specials: tuple[Any, ...]) -> tuple[FloatArray, FloatArray]:
    use = np.isfinite(column.values) & ~special_rows(column, specials)
    return column.values[use], weight[use]


def _weigh_cells(
    piece: Piece, reader: PieceReader, settings: Sequence[BinSettings], splitters: dict[int, FloatArray]
) -> dict[int, Cells]:
    columns, _, weight = reader(piece)
    return {j: _cells(*_regular(columns[j], weight, settings[j].specials), s) for j, s in splitters.items()}


def _cells(x: FloatArray, weight: FloatArray, splitters: FloatArray) -> Cells:
    """Cell i holds the values in (splitter i - 1, splitter i]; the last one those above all splitters."""
    order = np.argsort(x, kind="stable")
    x, cumulative = x[order], np.append(0.0, np.cumsum(weight[order]))
    stop = np.append(np.searchsorted(x, splitters, side="right"), len(x))
    start = np.append(0, stop[:-1])
    some = stop > start
    smallest, largest = np.full(len(stop), np.inf), np.full(len(stop), -np.inf)
    smallest[some], largest[some] = x[start[some]], x[stop[some] - 1]
    return cumulative[stop] - cumulative[start], smallest, largest


def _merge_cells(left: dict[int, Cells], right: dict[int, Cells]) -> dict[int, Cells]:
    return {
        j: (
            left[j][0] + right[j][0],
            np.minimum(left[j][1], right[j][1]),
            np.maximum(left[j][2], right[j][2]),
        )
        for j in left
    }


def _narrow(splitters: FloatArray, cells: Cells, n_bins: int) -> _Narrowed:
    """The cells that hold the ranks 1/n_bins, 2/n_bins, ... of the whole."""
    weight, smallest, largest = cells
    cumulative = np.cumsum(weight)
    total = float(cumulative[-1])
    held = np.unique(np.searchsorted(cumulative, total * np.arange(1, n_bins) / n_bins))
    low, high = np.append(-np.inf, splitters), np.append(splitters, np.inf)
    before = np.append(0.0, cumulative)
    # the largest value before and the smallest after each cell, skipping empty cells
    below = np.append(-np.inf, np.maximum.accumulate(largest))
    above = np.append(np.minimum.accumulate(smallest[::-1])[::-1], np.inf)
    return _Narrowed(low[held], high[held], before[held], below[held], above[held + 1], total)


def _read_cuts(narrowed: _Narrowed, sketch: NumberSketch, n_bins: int) -> FloatArray:
    """The cuts nearest to the ranks, from all values in the cells that hold them."""
    weight = sketch.counts.sum(axis=0)
    home = np.searchsorted(narrowed.low, sketch.values, side="left") - 1
    places, below, above = [], [], []
    for k, before in enumerate(narrowed.before):
        values = sketch.values[home == k]
        cumulative = before + np.cumsum(weight[home == k])
        places.append(np.append(before, cumulative))
        below.append(np.append(narrowed.below[k], values))
        above.append(np.append(values, narrowed.above[k]))
    place, left, right = (np.concatenate(part) for part in (places, below, above))
    gap = np.isfinite(left) & np.isfinite(right)
    place, first = np.unique(place[gap], return_index=True)
    targets = narrowed.total * np.arange(1, n_bins) / n_bins
    chosen = nearest_places(place, targets)
    return cuts_between(left[gap][first][chosen], right[gap][first][chosen])


def _count_prebins(
    piece: Piece, reader: PieceReader, settings: Sequence[BinSettings], cuts: dict[int, FloatArray]
) -> dict[int, FloatArray]:
    columns, event, weight = reader(piece)
    found = _Sums()
    for j, edges in cuts.items():
        x = columns[j].values
        regular = np.isfinite(x) & ~special_rows(columns[j], settings[j].specials)
        codes = assign_numbers(np.where(regular, x, np.nan), edges, len(edges) + 1)
        found[j] = count_codes(codes, event, weight, len(edges) + 2)[:, :-1]
    return found


class _Sums(dict[int, FloatArray]):
    """Arrays by column that can be added."""

    def __add__(self, other: _Sums) -> _Sums:
        return _Sums({j: values + other[j] for j, values in self.items()})
