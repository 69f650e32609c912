"""How many components, and whether their features are kept, for a bound on memory."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

from maxmargin.base.memory import cache_bytes
from maxmargin.base.parameters import check_count, check_positive

_MEGABYTE = 1 << 20
_FEWEST = 200
_MOST = 1500  # up to here the primal engine forms its Hessian
_VECTORS = 10  # float64 vectors of length n in a solve
_MATRICES = 4  # float64 matrices of the size of the Hessian
_BLOCKS = 24 * _MEGABYTE  # features, kernel values and rows of the blocks in work


@dataclass(frozen=True)
class Plan:
    """n_components and whether the features of all rows are stored; otherwise each pass maps rows again."""

    n_components: int
    stored: bool


def plan(
    n: int, p: int, itemsize: int, n_components: Any, memory: float | None, *, in_pieces: bool = False
) -> Plan:
    """Sizes for n rows of p columns within ``memory`` MB (None: half of what is free).

    A fit holds, beside X: features n m (if stored), ten vectors of length n, four matrices m x m, landmarks
    m p and the blocks in work. "auto" wants m = max(200, sqrt(n)), at most 1500 (about sqrt(n)
    landmarks keep the rates of kernel ridge regression: Rudi, Camoriano & Rosasco 2015, theorem 1). It stores
    fewer where memory allows at least half of that, and otherwise does not store them. Rows in pieces are
    never stored.
    """
    limit = memory_bytes(memory)
    vectors = 0 if in_pieces else 8 * _VECTORS * n

    def needed(m: int, stored: bool) -> int:
        features = itemsize * n * m if stored else 0
        return features + vectors + 8 * _MATRICES * (m + 1) ** 2 + 8 * m * p + _BLOCKS

    if n_components != "auto":
        m = min(n, check_count("n_components", n_components))
        _refuse_beyond(needed(m, False), limit, m)
        return Plan(m, not in_pieces and needed(m, True) <= limit)
    wanted = min(n, _MOST, max(_FEWEST, ceil(sqrt(n))))
    storable = 0 if in_pieces else _largest(lambda m: needed(m, True) <= limit, wanted)
    if 2 * storable >= wanted:
        return Plan(storable, True)
    m = _largest(lambda m: needed(m, False) <= limit, wanted)
    _refuse_beyond(needed(max(m, min(wanted, 10)), False), limit, min(wanted, 10))
    return Plan(m, False)


def memory_bytes(memory: float | None) -> int:
    if memory is not None:
        check_positive("memory", memory)
    return cache_bytes(memory)


def _refuse_beyond(needed: int, limit: int, m: int) -> None:
    if needed > limit:
        raise MemoryError(
            f"{m} components need {needed / _MEGABYTE:.0f} MB, but memory={limit / _MEGABYTE:.3g} MB: "
            "raise memory, lower n_components, or give the rows in pieces."
        )


def _largest(fits: Any, most: int) -> int:
    """The largest m <= most that fits, 0 where none does."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
