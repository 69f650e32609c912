"""Sketches of columns from one pass over the pieces: values and their events, exact or thinned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from maxmargin.base.table_columns import Column
from maxmargin.base.typing import AnyArray, BoolArray, FloatArray
from maxmargin.scorecards.bins import special_rows

DISTINCT = 1 << 16  # distinct numbers of a column that are kept before they are thinned


@dataclass(frozen=True)
class CategorySketch:
    """Sums of weights of events and non-events by category; ``missing`` those of rows without one."""

    counts: dict[Any, FloatArray]
    missing: FloatArray


@dataclass(frozen=True)
class NumberSketch:
    """Distinct values, ascending, and sums of weights of events and non-events, of shape (2, n_values).

    If ``exact``, all values are kept. Otherwise each value represents those between the previous value and
    itself. ``odd`` holds infinite and special values, which no cut may use, ``missing`` the rows without a
    number; ``low`` and ``high`` are the extreme values.
    """

    values: FloatArray
    counts: FloatArray
    exact: bool
    odd: dict[float, FloatArray]
    missing: FloatArray
    low: float
    high: float


Sketch = CategorySketch | NumberSketch


def sketch_column(
    column: Column,
    event: BoolArray,
    weight: FloatArray,
    specials: tuple[Any, ...],
    within: tuple[FloatArray, FloatArray] | None,
    limit: int,
) -> Sketch:
    """The sketch of the rows of one piece; of numbers only those in the intervals (low, high] ``within``."""
    if not column.is_number:
        return _sketch_categories(column.values, event, weight)
    x = column.values
    missing = np.isnan(x)
    odd = np.isinf(x) | special_rows(column, specials)
    use = ~(missing | odd)
    if within is not None:
        place = np.searchsorted(within[0], x[use], side="left") - 1
        use[use] = (place >= 0) & (x[use] <= within[1][place])
    values, counts = _by_value(x[use], event[use], weight[use])
    low, high = (values[0], values[-1]) if len(values) else (np.inf, -np.inf)
    strange = dict(zip(*_columns_of(*_by_value(x[odd], event[odd], weight[odd])), strict=True))
    whole = NumberSketch(
        values, counts, True, strange, _split(event[missing], weight[missing]), float(low), float(high)
    )
    return thinned(whole, limit)


def _columns_of(values: AnyArray, counts: FloatArray) -> tuple[list[Any], list[FloatArray]]:
    return values.tolist(), list(counts.T)


def _split(event: BoolArray, weight: FloatArray) -> FloatArray:
    inside = float(weight[event].sum())
    return np.array([inside, float(weight.sum()) - inside])


def _by_value(x: AnyArray, event: BoolArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    values, codes = np.unique(x, return_inverse=True)
    return values, _sums(codes, np.where(event, weight, 0.0), np.where(event, 0.0, weight), len(values))


def _sums(codes: AnyArray, events: FloatArray, nonevents: FloatArray, n: int) -> FloatArray:
    return np.stack([np.bincount(codes, weights=part, minlength=n) for part in (events, nonevents)])


def _sketch_categories(values: AnyArray, event: BoolArray, weight: FloatArray) -> CategorySketch:
    codes, found = pd.factorize(values)
    known = codes >= 0
    sums = _sums(
        codes[known], np.where(event, weight, 0.0)[known], np.where(event, 0.0, weight)[known], len(found)
    )
    return CategorySketch(
        dict(zip(list(found), list(sums.T), strict=True)), _split(event[~known], weight[~known])
    )


def thinned(sketch: NumberSketch, limit: int) -> NumberSketch:
    """Reduce to at most ``limit`` values of about equal weight."""
    if len(sketch.values) <= limit:
        return sketch
    cumulative = np.cumsum(sketch.counts.sum(axis=0))
    targets = cumulative[-1] * np.arange(1, limit + 1) / limit
    ends = np.unique(np.searchsorted(cumulative, targets).clip(0, len(cumulative) - 1))
    ends[-1] = len(cumulative) - 1
    starts = np.r_[0, ends[:-1] + 1]
    counts = np.add.reduceat(sketch.counts, starts, axis=1)
    return NumberSketch(
        sketch.values[ends], counts, False, sketch.odd, sketch.missing, sketch.low, sketch.high
    )


def merge_sketches(left: Sketch, right: Sketch, name: str, limit: int) -> Sketch:
    """Combine two sketches."""
    if isinstance(left, NumberSketch) and isinstance(right, NumberSketch):
        return thinned(_merge_numbers(left, right), limit)
    counts = dict(_as_categories(left, name).counts)
    for value, more in _as_categories(right, name).counts.items():
        counts[value] = counts[value] + more if value in counts else more
    return CategorySketch(counts, left.missing + right.missing)


def _merge_numbers(left: NumberSketch, right: NumberSketch) -> NumberSketch:
    values, codes = np.unique(np.concatenate([left.values, right.values]), return_inverse=True)
    both = np.concatenate([left.counts, right.counts], axis=1)
    odd = dict(left.odd)
    for value, more in right.odd.items():
        odd[value] = odd[value] + more if value in odd else more
    return NumberSketch(
        values,
        _sums(codes, both[0], both[1], len(values)),
        left.exact and right.exact,
        odd,
        left.missing + right.missing,
        min(left.low, right.low),
        max(left.high, right.high),
    )


def _as_categories(sketch: Sketch, name: str) -> CategorySketch:
    if isinstance(sketch, CategorySketch):
        return sketch
    if len(sketch.values) or sketch.odd:
        raise ValueError(
            f"Column {name!r} has numbers in one piece and categories in another: convert it first, or "
            "name it in categorical_features."
        )
    return CategorySketch({}, sketch.missing)
