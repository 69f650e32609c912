"""Nearest hits and misses by Manhattan distance, in tiles, and the sums of Relief."""

from __future__ import annotations

import numpy as np

from maxmargin.base.typing import BoolArray, FloatArray, IntArray
from maxmargin.compute.jit import jit

ROWS = 4  # instances that share one pass over the columns
BLOCK = 512  # rows whose distances stay in the first-level cache


@jit
def relief_sums(
    measured: FloatArray,
    diffs: FloatArray,
    categorical: BoolArray,
    codes: IntArray,
    rows: IntArray,
    n_neighbors: int,
    weight: FloatArray,
) -> FloatArray:
    """Sum over the instances ``rows`` of weighted mean differences to their neighbours in every class.

    ``measured`` and ``diffs`` hold columns as rows, (n_features, n_samples): the first gives distances, the
    second differences. ``weight[c, d]`` is the weight of neighbours in class d for an instance of class c.
    """
    n_features, n_samples = diffs.shape
    n_classes = weight.shape[0]
    distances = np.empty((ROWS, n_samples))
    nearest = np.empty((n_classes, n_neighbors), dtype=np.int64)
    radius = np.empty((n_classes, n_neighbors))
    counts = np.empty(n_classes, dtype=np.int64)
    share = np.empty(n_samples)
    sums = np.zeros(n_features)
    for first in range(0, len(rows), ROWS):
        n_tile = min(ROWS, len(rows) - first)
        _distances(measured, categorical, rows[first : first + n_tile], distances)
        for r in range(n_tile):
            row = rows[first + r]
            _nearest_by_class(distances[r], codes, row, nearest, radius, counts)
            n_near = 0
            near = np.empty(n_classes * n_neighbors, dtype=np.int64)
            for d in range(n_classes):
                for k in range(counts[d]):
                    near[n_near] = nearest[d, k]
                    share[n_near] = weight[codes[row], d] / counts[d]
                    n_near += 1
            _add_differences(diffs, categorical, row, near[:n_near], share, sums)
    return sums


@jit
def _distances(measured: FloatArray, categorical: BoolArray, rows: IntArray, out: FloatArray) -> None:
    """Sums over the columns, in their order, of |a - b| or of a != b."""
    n_features, n_samples = measured.shape
    out[:] = 0.0
    for start in range(0, n_samples, BLOCK):
        stop = min(start + BLOCK, n_samples)
        for j in range(n_features):
            column = measured[j, start:stop]
            for r in range(len(rows)):
                value = measured[j, rows[r]]
                total = out[r, start:stop]
                if categorical[j]:
                    for i in range(stop - start):
                        total[i] += 1.0 if column[i] != value else 0.0
                else:
                    for i in range(stop - start):
                        total[i] += abs(column[i] - value)


@jit
def _nearest_by_class(
    distances: FloatArray,
    codes: IntArray,
    row: int,
    nearest: IntArray,
    radius: FloatArray,
    counts: IntArray,
) -> None:
    """The nearest rows of every class in order of distance; equal distances keep the lowest row."""
    n_neighbors = nearest.shape[1]
    counts[:] = 0
    for i in range(len(distances)):
        if i == row:
            continue
        d = codes[i]
        count = counts[d]
        if count == n_neighbors and not distances[i] < radius[d, count - 1]:
            continue
        place = min(count, n_neighbors - 1)
        while place > 0 and distances[i] < radius[d, place - 1]:
            radius[d, place] = radius[d, place - 1]
            nearest[d, place] = nearest[d, place - 1]
            place -= 1
        radius[d, place] = distances[i]
        nearest[d, place] = i
        counts[d] = min(count + 1, n_neighbors)


@jit
def _add_differences(
    diffs: FloatArray,
    categorical: BoolArray,
    row: int,
    near: IntArray,
    share: FloatArray,
    sums: FloatArray,
) -> None:
    for j in range(diffs.shape[0]):
        value = diffs[j, row]
        total = 0.0
        if categorical[j]:
            for k in range(len(near)):
                total += share[k] if diffs[j, near[k]] != value else 0.0
        else:
            for k in range(len(near)):
                total += share[k] * abs(diffs[j, near[k]] - value)
        sums[j] += total
