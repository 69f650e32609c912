"""Rows that a subset of columns cannot tell apart.

Counts, categories and rounded numbers repeat, the more the fewer columns are looked at. Rows of one class that
agree in all columns of a subset have the same kernel values, so a dual problem needs one variable for them,
with the sum of their bounds: the same optimum, found in a smaller matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.feature_selection.criteria import Subset
from maxmargin.typing import AnyArray, FloatArray, IntArray


@dataclass(frozen=True)
class Merged:
    """Groups of equal rows: one row of each, in ascending order, and all rows in the order of their groups."""

    rows: IntArray  # (n_groups,)
    order: IntArray  # (n_samples,)
    starts: IntArray  # (n_groups,), places in `order`

    def sums(self, values: AnyArray) -> AnyArray:
        """Sums over the groups along the last axis."""
        if len(self.rows) == len(self.order):
            return values
        summed: AnyArray = np.add.reduceat(values[..., self.order], self.starts, axis=-1)
        return summed


class RepeatedRows:
    """Finds the rows that agree in a subset of columns and in their class.

    Every value of a column has a random number of 64 bits, and a row the sum of its numbers modulo 2^64: two
    different rows out of n get the same sum with probability n^2 / 2^65, which is 1e-12 for 4096 rows.
    """

    def __init__(self, X: FloatArray, codes: IntArray) -> None:
        rng = np.random.default_rng(0)
        self._of_class = _numbers(codes, rng)
        self._of_column = np.stack([_numbers(column, rng) for column in X.T])

    def groups(self, subset: Subset) -> Merged:
        sums = self._of_column[list(subset)].sum(axis=0, dtype=np.uint64) + self._of_class
        _, first, group = np.unique(sums, return_index=True, return_inverse=True)
        place = np.empty(len(first), dtype=np.intp)
        place[np.argsort(first)] = np.arange(len(first))
        group = place[group]
        order = np.argsort(group, kind="stable")
        starts = np.flatnonzero(np.r_[True, np.diff(group[order]) > 0])
        return Merged(np.sort(first), order, starts)


def _numbers(values: AnyArray, rng: np.random.Generator) -> AnyArray:
    distinct, place = np.unique(values, return_inverse=True)
    numbers: AnyArray = rng.integers(0, 2**64, len(distinct), dtype=np.uint64)[place]
    return numbers
