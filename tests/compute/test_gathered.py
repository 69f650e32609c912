"""Blocks of a Gram matrix are copied below the diagonal and mirrored: every size of the last tile counts."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.compute.dual.gram_parts import gather, gathered


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 32, 47])
def test_a_block_is_that_of_numpy(size, dtype) -> None:
    rng = np.random.default_rng(size)
    K = rng.normal(size=(60, 60)).astype(dtype)
    K = K + K.T
    points = rng.permutation(60)[:size]
    block = gathered(K, points)
    assert block.dtype == dtype
    np.testing.assert_array_equal(block, K[np.ix_(points, points)])


@pytest.mark.parametrize("known", [0, 1, 16, 20, 30])
def test_a_block_is_completed_from_stored_rows(known) -> None:
    """The values of the first points are there; those of the others come from rows in other places."""
    rng = np.random.default_rng(known)
    K = rng.normal(size=(60, 60)).astype(np.float32)
    K = K + K.T
    points = rng.permutation(60)[:30]
    stored, places = rng.permutation(60), np.full(30, -1)
    places[known:] = np.argsort(stored)[points[known:]]
    block = np.full((30, 30), np.nan, dtype=np.float32)
    block[:known, :known] = K[np.ix_(points[:known], points[:known])]
    gather(K[stored], places, points, known, 30, block)
    np.testing.assert_array_equal(block, K[np.ix_(points, points)])
