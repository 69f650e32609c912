"""The row store gives the right rows, computes each once while it lasts, and keeps its bound."""

from __future__ import annotations

import mmap
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.base.memory import available_bytes, cache_bytes
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.dual import row_store
from maxmargin.compute.dual.row_store import RowStore, release_pages

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


def test_the_least_recently_used_row_is_replaced() -> None:
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


def resident_bytes() -> int:
    with open("/proc/self/statm") as line:
        return int(line.read().split()[1]) * mmap.PAGESIZE


@pytest.mark.skipif(not hasattr(mmap, "MADV_NOHUGEPAGE"), reason="pages are counted on Linux only")
def test_pages_are_touched_row_by_row_and_released_after_a_fit() -> None:
    """A store for 600 MB takes the memory of the rows that it holds; at most 256 MB stay afterwards."""
    megabyte = 1 << 20
    width = 12_500
    release_pages()
    before = resident_bytes()

    def ones(points: IntArray, out: FloatArray) -> None:
        out[...] = 1.0

    store = RowStore(width, np.float32, 600 * megabyte, at_least=1)
    store.slots(np.arange(1000), ones)  # 50 MB
    assert resident_bytes() - before < 80 * megabyte
    store.slots(np.arange(1000, 8000), ones)  # 400 MB in all
    assert resident_bytes() - before > 300 * megabyte
    del store
    release_pages()
    assert resident_bytes() - before < 280 * megabyte
    again = RowStore(width, np.float32, 600 * megabyte, at_least=1)
    before = resident_bytes()
    again.slots(np.arange(1000), ones)
    assert resident_bytes() - before < 8 * megabyte  # the pages of the last store serve again


def test_a_store_is_full_when_the_next_row_replaces_another() -> None:
    store = store_of(4)
    store.slots(np.arange(3), fill)
    assert not store.full
    store.slots(np.array([3]), fill)
    assert store.full


def test_a_store_needs_fresh_pages_beyond_those_that_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_of(4)
    monkeypatch.setattr(row_store, "_KEPT_BYTES", store.rows[0].nbytes)
    assert not store.needs_fresh_pages
    store.slots(np.arange(2), fill)
    assert store.needs_fresh_pages
    store.slots(np.arange(2, 4), fill)
    assert not store.needs_fresh_pages  # full: the oldest rows give way


def test_a_buffer_that_is_too_small_goes_before_a_larger_one_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores of other widths need a few bytes more or less; two at once would be twice the cache_size."""
    made: list[weakref.ref[np.ndarray]] = []

    def pages(n_bytes: int) -> np.ndarray:
        assert all(buffer() is None for buffer in made)
        buffer = np.empty(n_bytes, dtype=np.uint8)
        made.append(weakref.ref(buffer))
        return buffer

    monkeypatch.setattr(row_store, "_kept", [])
    monkeypatch.setattr(row_store, "_small_pages", pages)
    for width in (103, 97, 100):  # 19 776, 19 788 and 20 000 bytes
        store = row_store.RowStore(width, np.float32, 20_000, at_least=1)
        assert store.rows.nbytes <= 20_000
        del store
    assert len(made) == 3
