"""Rows that are equal in a subset of columns.

Counts, categories and rounded numbers repeat, especially in few columns. Rows of one class that agree in all
columns of a subset have the same kernel values, so a dual problem needs only one variable for them, with the
sum of their bounds: the same optimum in a smaller matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.base.typing import AnyArray, FloatArray, IntArray

Subset = tuple[int, ...]  # columns, ascending
_WORTHWHILE = 0.9  # share of different rows up to which they are merged


@dataclass(frozen=True)
class MergedRows:
    """Groups of equal rows: one row of each, ascending, and all rows in the order of their groups."""

    rows: IntArray  # (n_groups,)
    order: IntArray  # (n_samples,)
    starts: IntArray  # (n_groups,), places in `order`

    @classmethod
    def nothing(cls, n: int) -> MergedRows:
        """Every row in its own group."""
        everyone = np.arange(n)
        return cls(everyone, everyone, everyone)

    def take(self, values: AnyArray) -> AnyArray:
        """Values of one row of each group, along the last axis."""
        return values if self._is_nothing() else np.take(values, self.rows, axis=-1)

    def sums(self, values: AnyArray) -> AnyArray:
        """Sums over the groups along the last axis."""
        if self._is_nothing():
            return values
        return np.add.reduceat(np.take(values, self.order, axis=-1), self.starts, axis=-1)

    def _is_nothing(self) -> bool:
        return len(self.rows) == len(self.order)


class RepeatedRows:
    """Finds the rows that agree in a subset of columns and in their class, if there are many.

    Every value of a column has a random number of 64 bits, and a row the sum of its numbers modulo 2^64: two
    different rows out of n get the same sum with probability n^2 / 2^65, which is 5e-13 for 4096 rows.
    """

    def __init__(self, X: FloatArray, codes: IntArray) -> None:
        rng = np.random.default_rng(0)
        self._of_class = _numbers(codes, rng)
        self._of_column = np.stack([_numbers(column, rng) for column in X.T])
        self._nothing = MergedRows.nothing(len(X))

    def groups(self, subset: Subset) -> MergedRows:
        sums = self._of_column[list(subset)].sum(axis=0) + self._of_class
        in_order = np.sort(sums)
        if 1 + np.count_nonzero(in_order[1:] != in_order[:-1]) > _WORTHWHILE * len(sums):
            return self._nothing
        _, first, group = np.unique(sums, return_index=True, return_inverse=True)
        rows = np.sort(first)
        group = np.searchsorted(rows, first)[group]
        order = np.argsort(group, kind="stable")
        return MergedRows(rows, order, np.searchsorted(group[order], np.arange(len(rows))))


def _numbers(values: AnyArray, rng: np.random.Generator) -> AnyArray:
    distinct, place = np.unique(values, return_inverse=True)
    return rng.integers(0, 2**64, len(distinct), dtype=np.uint64)[place]
