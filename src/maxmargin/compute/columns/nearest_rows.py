"""Neighbours by Manhattan distance, in tiles, and the sums of the Relief family.

Tables hold columns as rows, (n_features, n_samples), with NaN for missing values: ``measured`` gives
distances, ``diffs`` differences. Neighbours of a row are its ``n_neighbors`` nearest rows of every class,
or, where ``n_neighbors`` is 0, all rows nearer than its ``radius``.
"""

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
    missing: bool,
    codes: IntArray,
    rows: IntArray,
    n_neighbors: int,
    radius: FloatArray,
    weight: FloatArray,
) -> FloatArray:
    """Sum over the instances ``rows`` of mean differences to misses less mean differences to hits.

    ``weight[c, d]`` is the weight of misses in class d for an instance of class c; the weights of the classes
    that have a neighbour with a known value are scaled to sum to 1.
    """
    n_features, n_samples = diffs.shape
    n_classes = weight.shape[0]
    distances = np.empty((ROWS, n_samples))
    near = np.empty(n_samples, dtype=np.int64)
    starts = np.empty(n_classes + 1, dtype=np.int64)
    sums = np.zeros(n_features)
    for first in range(0, len(rows), ROWS):
        tile = rows[first : first + ROWS]
        _distances(measured, categorical, missing, tile, distances)
        for r in range(len(tile)):
            _neighbours(distances[r], codes, tile[r], n_neighbors, radius[first + r], near, starts)
            _add_differences(diffs, categorical, codes[tile[r]], tile[r], near, starts, weight, sums)
    return sums


@jit
def number_sums(
    measured: FloatArray,
    diffs: FloatArray,
    categorical: BoolArray,
    missing: bool,
    target: FloatArray,
    rows: IntArray,
    n_neighbors: int,
    radius: FloatArray,
) -> FloatArray:
    """Sums of RReliefF over the pairs of instance and neighbour whose values are known, of shape (4, p).

    Each pair weighs 1 / (number of neighbours). The rows hold the weights, and the weighted differences of
    the target, of the column, and the product of both.
    """
    n_features, n_samples = diffs.shape
    codes = np.zeros(n_samples, dtype=np.int64)
    distances = np.empty((ROWS, n_samples))
    near = np.empty(n_samples, dtype=np.int64)
    starts = np.empty(2, dtype=np.int64)
    sums = np.zeros((4, n_features))
    for first in range(0, len(rows), ROWS):
        tile = rows[first : first + ROWS]
        _distances(measured, categorical, missing, tile, distances)
        for r in range(len(tile)):
            row = tile[r]
            _neighbours(distances[r], codes, row, n_neighbors, radius[first + r], near, starts)
            share = 1.0 / max(starts[1], 1)
            for j in range(n_features):
                for k in range(starts[1]):
                    delta = _difference(diffs[j, near[k]], diffs[j, row], categorical[j])
                    if np.isnan(delta):
                        continue
                    apart = abs(target[near[k]] - target[row])
                    sums[0, j] += share
                    sums[1, j] += share * apart
                    sums[2, j] += share * delta
                    sums[3, j] += share * apart * delta
    return sums


@jit
def distance_moments(
    measured: FloatArray, categorical: BoolArray, missing: bool, rows: IntArray
) -> FloatArray:
    """Number, mean and standard deviation of the distances from ``rows`` to all others, of shape (m, 3)."""
    distances = np.empty((ROWS, measured.shape[1]))
    moments = np.zeros((len(rows), 3))
    for first in range(0, len(rows), ROWS):
        tile = rows[first : first + ROWS]
        _distances(measured, categorical, missing, tile, distances)
        for r in range(len(tile)):
            distances[r, tile[r]] = np.nan
            count, total, squares = 0, 0.0, 0.0
            for distance in distances[r]:
                if not np.isnan(distance):
                    count += 1
                    total += distance
            mean = total / max(count, 1)
            for distance in distances[r]:
                if not np.isnan(distance):
                    squares += (distance - mean) ** 2
            moments[first + r, 0] = count
            moments[first + r, 1] = mean
            moments[first + r, 2] = np.sqrt(squares / max(count, 1))
    return moments


@jit
def _difference(a: float, b: float, is_category: bool) -> float:
    """|a - b|, or for categories 0 or 1; NaN where one of them is missing."""
    delta = abs(a - b)
    if is_category and delta > 0.0:
        return 1.0
    return delta


@jit
def _distances(
    measured: FloatArray, categorical: BoolArray, missing: bool, rows: IntArray, out: FloatArray
) -> None:
    """Sums over the columns, in their order, of |a - b| or of a != b.

    With missing values: p times the mean over the columns known in both rows, NaN where there is none.
    """
    if missing:
        for r in range(len(rows)):
            _known_distances(measured, categorical, rows[r], out[r])
        return
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
def _known_distances(measured: FloatArray, categorical: BoolArray, row: int, out: FloatArray) -> None:
    n_features, n_samples = measured.shape
    known = np.zeros(n_samples)
    out[:] = 0.0
    for j in range(n_features):
        for i in range(n_samples):
            delta = _difference(measured[j, i], measured[j, row], categorical[j])
            if not np.isnan(delta):
                out[i] += delta
                known[i] += 1.0
    for i in range(n_samples):
        out[i] = out[i] * n_features / known[i] if known[i] > 0.0 else np.nan


@jit
def _neighbours(
    distances: FloatArray,
    codes: IntArray,
    row: int,
    n_neighbors: int,
    radius: float,
    near: IntArray,
    starts: IntArray,
) -> None:
    """Neighbours of a row in ``near``, those of class d from starts[d] to starts[d + 1]."""
    if n_neighbors > 0:
        _nearest_by_class(distances, codes, row, n_neighbors, near, starts)
        return
    starts[:] = 0
    for i in range(len(distances)):
        if i != row and distances[i] < radius:
            starts[codes[i] + 1] += 1
    for d in range(1, len(starts)):
        starts[d] += starts[d - 1]
    place = starts[:-1].copy()
    for i in range(len(distances)):
        if i != row and distances[i] < radius:
            near[place[codes[i]]] = i
            place[codes[i]] += 1


@jit
def _nearest_by_class(
    distances: FloatArray, codes: IntArray, row: int, n_neighbors: int, near: IntArray, starts: IntArray
) -> None:
    """The nearest rows of every class in order of distance; equal distances keep the lowest row."""
    n_classes = len(starts) - 1
    nearest = np.empty((n_classes, n_neighbors), dtype=np.int64)
    reach = np.empty((n_classes, n_neighbors))
    counts = np.zeros(n_classes, dtype=np.int64)
    for i in range(len(distances)):
        if i == row or np.isnan(distances[i]):
            continue
        d = codes[i]
        count = counts[d]
        if count == n_neighbors and not distances[i] < reach[d, count - 1]:
            continue
        place = min(count, n_neighbors - 1)
        while place > 0 and distances[i] < reach[d, place - 1]:
            reach[d, place] = reach[d, place - 1]
            nearest[d, place] = nearest[d, place - 1]
            place -= 1
        reach[d, place] = distances[i]
        nearest[d, place] = i
        counts[d] = min(count + 1, n_neighbors)
    starts[0] = 0
    for d in range(n_classes):
        for k in range(counts[d]):
            near[starts[d] + k] = nearest[d, k]
        starts[d + 1] = starts[d] + counts[d]


@jit
def _add_differences(
    diffs: FloatArray,
    categorical: BoolArray,
    own: int,
    row: int,
    near: IntArray,
    starts: IntArray,
    weight: FloatArray,
    sums: FloatArray,
) -> None:
    for j in range(diffs.shape[0]):
        value = diffs[j, row]
        misses, mass = 0.0, 0.0
        for d in range(len(starts) - 1):
            total, known = 0.0, 0
            for k in range(starts[d], starts[d + 1]):
                delta = _difference(diffs[j, near[k]], value, categorical[j])
                if not np.isnan(delta):
                    total += delta
                    known += 1
            if known == 0:
                continue
            if d == own:
                sums[j] -= total / known
            else:
                misses += weight[own, d] * total / known
                mass += weight[own, d]
        if mass > 0.0:
            sums[j] += misses / mass
