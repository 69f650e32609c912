"""Sums and blocks of the rows of a kernel matrix."""

from __future__ import annotations

import numpy as np

from maxmargin.base.typing import AnyArray, IntArray
from maxmargin.compute.jit import jit, jit_sums, part

_TILE = 16  # rows that are mirrored together: their columns then are whole cache lines


@jit_sums
def add_rows(v, rows, slots, weights, start, stop):
    """v[start:stop] += sum_k weights[k] rows[slots[k], start:stop], four rows at a time in float64."""
    last = len(slots) - 1
    for base in range(start, stop, 1024):
        end = base + 1024 if base + 1024 < stop else stop
        part = v[base:end]
        for k in range(0, last + 1, 4):
            k1 = k + 1 if k + 1 < last else last
            k2 = k + 2 if k + 2 < last else last
            k3 = k + 3 if k + 3 < last else last
            r0 = rows[slots[k], base:stop]
            r1 = rows[slots[k1], base:stop]
            r2 = rows[slots[k2], base:stop]
            r3 = rows[slots[k3], base:stop]
            w0 = weights[k]
            w1 = weights[k1] if k1 == k + 1 else 0.0
            w2 = weights[k2] if k2 == k + 2 else 0.0
            w3 = weights[k3] if k3 == k + 3 else 0.0
            for j in range(len(part)):
                part[j] += w0 * r0[j] + w1 * r1[j] + w2 * r2[j] + w3 * r3[j]


@part
def add_product(v, K, t, places, weights):
    """v += K t over the rows with t != 0; ``places`` and ``weights`` are memory for these."""
    used = np.int64(0)
    for i in range(len(t)):
        if t[i] != 0.0:
            places[used], weights[used] = i, t[i]
            used += 1
    add_rows(v, K, places[:used], weights[:used], np.int64(0), len(v))


@jit
def gather(K, rows, columns, known, size, B):
    """B_ij = K[rows_i, columns_j] for i from ``known`` to ``size`` and j up to i, and its mirror image.

    The block before ``known`` is there. Rows are mirrored while they are in the cache.
    """
    for base in range(known, size, _TILE):
        end = base + _TILE if base + _TILE < size else size
        for i in range(base, end):
            source, target = K[rows[i]], B[i]
            for j in range(i + 1):
                target[j] = source[np.uint32(columns[j])]  # unsigned: not checked for being negative
        for j in range(end):
            target = B[j]
            for i in range(base if base > j else j + 1, end):
                target[i] = B[i, j]


def gathered(K: AnyArray, rows: IntArray) -> AnyArray:
    """K[rows][:, rows] of a symmetric matrix."""
    B = np.empty((len(rows), len(rows)), K.dtype)
    gather(K, rows, rows, 0, len(rows), B)
    return B
