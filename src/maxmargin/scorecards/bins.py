"""The bins of one variable: assignment of values, and names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from maxmargin.base.table_columns import Column
from maxmargin.base.typing import AnyArray, BoolArray, FloatArray, IntArray
from maxmargin.compute.columns.column_bins import assign_numbers

MISSING = "missing"
UNSEEN = -1


@dataclass(frozen=True, kw_only=True)
class Bins:
    """Bins of a variable, numbered: regular ones from 0, then one per special value, then missing.

    A category not seen in fit has number -1.

    Examples
    --------
    >>> import maxmargin as mm
    >>> age, default = [[20], [25], [40], [45], [60], [70]], [1, 1, 0, 0, 0, 0]
    >>> bins = mm.scorecards.Binning(max_bins=2).fit(age, default).bins_[0]
    >>> bins.n_regular, bins.labels()
    (2, ['(-inf, 32.5]', '(32.5, inf)', 'missing'])
    """

    name: str
    specials: tuple[Any, ...] = ()

    @property
    def n_regular(self) -> int:
        raise NotImplementedError  # implemented by NumberBins and CategoryBins

    @property
    def n_bins(self) -> int:
        return self.n_regular + len(self.specials) + 1

    @property
    def missing(self) -> int:
        return self.n_bins - 1

    def labels(self) -> list[str]:
        return [*self._regular_labels(), *(f"special {v}" for v in self.specials), MISSING]

    def assign(self, column: Column) -> IntArray:
        """Bin numbers of shape (n_samples,)."""
        codes = self._assign_regular(column)
        for k, special in enumerate(self.specials):
            codes[column.values == special] = self.n_regular + k
        return codes

    def _regular_labels(self) -> list[str]:
        raise NotImplementedError  # implemented by NumberBins and CategoryBins

    def _assign_regular(self, column: Column) -> IntArray:
        raise NotImplementedError  # implemented by NumberBins and CategoryBins


@dataclass(frozen=True, kw_only=True)
class NumberBins(Bins):
    """Intervals (edge, next edge] of a number; the outer two extend to infinity.

    >>> import numpy as np
    >>> NumberBins(name="age", edges=np.array([25.0, 40.0])).n_regular
    3
    """

    edges: FloatArray

    @property
    def n_regular(self) -> int:
        return len(self.edges) + 1

    def _regular_labels(self) -> list[str]:
        shown = [f"{edge:.6g}" for edge in self.edges]
        if len(set(shown)) < len(shown):
            shown = [repr(float(edge)) for edge in self.edges]
        low, high = ["-inf", *shown], [*shown, "inf"]
        closing = ["]"] * len(shown) + [")"]
        return [f"({a}, {b}{end}" for a, b, end in zip(low, high, closing, strict=True)]

    def _assign_regular(self, column: Column) -> IntArray:
        if not column.is_number:
            example = next((v for v in column.values if isinstance(v, str)), column.values[0])
            raise ValueError(
                f"Column {self.name!r} had numbers in fit and now has {example!r}: "
                "convert it to numbers first."
            )
        return assign_numbers(column.values, self.edges, self.missing)


@dataclass(frozen=True, kw_only=True)
class CategoryBins(Bins):
    """Groups of categories.

    >>> CategoryBins(name="home", groups=(("own",), ("rent", "other"))).n_regular
    2
    """

    groups: tuple[tuple[Any, ...], ...]

    @property
    def n_regular(self) -> int:
        return len(self.groups)

    def _regular_labels(self) -> list[str]:
        return [", ".join(str(v) for v in group) for group in self.groups]

    def _assign_regular(self, column: Column) -> IntArray:
        codes, found = pd.factorize(column.values.astype(object))
        home = {value: k for k, group in enumerate(self.groups) for value in group}
        lookup = np.array([home.get(value, UNSEEN) for value in found] + [self.missing], dtype=np.int64)
        result: IntArray = lookup[codes]  # factorize gives -1 to missing values: the last entry
        return result


def special_rows(column: Column, specials: tuple[Any, ...]) -> BoolArray:
    rows = np.zeros(len(column.values), dtype=bool)
    for special in specials:
        rows |= column.values == special
    return rows


def missing_rows(values: AnyArray) -> BoolArray:
    return np.asarray(pd.isna(values))
