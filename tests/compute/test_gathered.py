"""Blocks of a Gram matrix are copied below the diagonal and mirrored: every size of the last tile counts."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.compute.dual.gram_parts import gathered


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
