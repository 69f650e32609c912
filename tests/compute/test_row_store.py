"""The row store gives the right rows, computes each once while it lasts, and keeps its bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.base.memory import available_bytes, cache_bytes
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.dual.row_store import RowStore

WIDTH = 30
TABLE = np.random.default_rng(0).normal(size=(WIDTH, WIDTH))


def fill(points: IntArray, out: FloatArray) -> None:
    out[...] = TABLE[points]


def store_of(capacity: int, at_least: int = 1) -> RowStore:
    return RowStore(WIDTH, np.float64, capacity * WIDTH * 8, at_least=at_least)


@given(
    capacity=st.integers(4, WIDTH),
    requests=st.lists(
        st.lists(st.integers(0, WIDTH - 1), min_size=1, max_size=4, unique=True), min_size=8, max_size=30
    ),
)
def test_rows_are_right_whatever_was_evicted(capacity: int, requests: list[list[int]]) -> None:
    store = store_of(capacity)
    for request in requests:
        points = np.array(sorted(request))
        slots = store.slots(points, fill)
        assert len(set(slots)) == len(points)
        np.testing.assert_array_equal(store.rows[slots], TABLE[points])


def test_a_request_that_needs_free_and_used_slots() -> None:
    store = store_of(10)
    store.slots(np.arange(8), fill)
    wanted = np.arange(10, 15)  # two free slots are left, three must be taken from others
    np.testing.assert_array_equal(store.rows[store.slots(wanted, fill)], TABLE[wanted])


def test_rows_are_computed_once_while_they_fit() -> None:
    store = store_of(WIDTH)
    for _ in range(3):
        store.slots(np.arange(0, WIDTH, 2), fill)
    assert store.n_computed == WIDTH // 2


def test_least_recently_used_gives_way() -> None:
    store = store_of(4)
    store.slots(np.array([0, 1]), fill)
    store.slots(np.array([2, 3]), fill)
    store.slots(np.array([0, 1]), fill)
    store.slots(np.array([4, 5]), fill)
    assert store.n_computed == 6
    store.slots(np.array([0, 1]), fill)
    assert store.n_computed == 6


def test_memory_bound() -> None:
    megabyte = 1 << 20
    store = RowStore(100_000, np.float32, 5 * megabyte, at_least=2)
    assert 0.9 * 5 * megabyte < store.rows.nbytes <= 5 * megabyte
    assert store_of(2, at_least=5).rows.shape[0] == 5  # a working set always fits
    assert store_of(10_000).rows.shape[0] == WIDTH


def test_cache_bytes() -> None:
    assert cache_bytes(2.5) == int(2.5 * (1 << 20))
    assert 0 < cache_bytes(None) <= max(32 << 20, available_bytes())
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="cache_size"):
            cache_bytes(wrong)
