"""The gap-weighted subsequence recursion over integer-coded strings.

One string is compared with a group of strings at once, each in its own lane (see `lanes`). The state is
O(length * longest string).
"""

from __future__ import annotations

import numpy as np

from maxmargin.base.typing import AnyArray, FloatArray, IntArray
from maxmargin.compute.intrinsics.lanes import LANES, LEVELS, sweep
from maxmargin.compute.jit import jit

_END_OF_LANE = -1  # pad short strings; no symbol has these codes, and they do not match each other
_END_OF_STRING = -2


@jit
def _longest(starts: IntArray) -> int:
    longest = 0
    for i in range(len(starts) - 1):
        longest = max(longest, starts[i + 1] - starts[i])
    return longest


@jit
def _pack(codes: IntArray, starts: IntArray, members: IntArray, padding: int, lanes: IntArray) -> int:
    """Write the member strings into the columns of ``lanes`` and return the longest length."""
    width = 0
    for member in members:
        width = max(width, starts[member + 1] - starts[member])
    lanes[:width] = padding
    for k in range(len(members)):
        start = starts[members[k]]
        for j in range(starts[members[k] + 1] - start):
            lanes[j, k] = codes[start + j]
    return width


@jit
def _step(
    symbols: IntArray, lanes: IntArray, width: int, decay: float, unit: float, lag: float,
    levels: FloatArray, totals: FloatArray,
) -> None:  # fmt: skip
    """Process one more symbol of the strings, after skipped symbols that let all open terms decay by ``lag``.

    Passes go from long to short, because a level continues the one below as it was before this symbol.
    """
    length, n_rows = len(totals), levels.shape[1]
    factors = (decay, lag * decay, unit, lag * unit)
    bottom = length - LEVELS
    if bottom > 0:
        sweep(symbols, lanes, levels, totals, bottom, n_rows, width, factors, LEVELS, 0, 1)
        bottom -= LEVELS
    while bottom > 0:
        sweep(symbols, lanes, levels, totals, bottom, n_rows, width, factors, LEVELS, 0, 0)
        bottom -= LEVELS
    remaining = bottom + LEVELS
    if length > LEVELS:
        if remaining == 1:
            sweep(symbols, lanes, levels, totals, 0, n_rows, width, factors, 1, 1, 0)
        elif remaining == 2:
            sweep(symbols, lanes, levels, totals, 0, n_rows, width, factors, 2, 1, 0)
        elif remaining == 3:
            sweep(symbols, lanes, levels, totals, 0, n_rows, width, factors, 3, 1, 0)
        else:
            sweep(symbols, lanes, levels, totals, 0, n_rows, width, factors, 4, 1, 0)
    elif length == 1:
        sweep(symbols, lanes, levels, totals, 0, n_rows, width, factors, 1, 1, 1)
    elif length == 2:
        sweep(symbols, lanes, levels, totals, 0, n_rows, width, factors, 2, 1, 1)
    elif length == 3:
        sweep(symbols, lanes, levels, totals, 0, n_rows, width, factors, 3, 1, 1)
    else:
        sweep(symbols, lanes, levels, totals, 0, n_rows, width, factors, 4, 1, 1)


@jit
def _clear(levels: FloatArray, width: int, totals: FloatArray) -> None:
    """``levels[l, j]`` holds K'_l before position j, nothing yet; level 0, which is always 1, is not used."""
    totals[:] = 0.0
    for above in range(1, len(levels)):
        level = levels[above]
        for j in range(width + 1):
            level[j] = 0.0


@jit
def subsequence_tile(
    codes_a: IntArray, starts_a: IntArray, codes_b: IntArray, starts_b: IntArray, order_b: IntArray,
    decay: float, unit: float, totals_out: FloatArray,
) -> None:  # fmt: skip
    """totals_out[l - 1, a, b] = unit^l times the sum of decay^gaps over what a and b share in length l.

    ``order_b`` sorts the second strings by length, so that groups need little padding. A symbol that
    no lane holds only lets everything decay: such symbols are counted and applied together.
    """
    length, n_a, n_b = totals_out.shape
    longest = _longest(starts_b)
    lanes = np.empty((longest, LANES), dtype=np.int32)
    levels = np.empty((length, longest + 1, LANES))
    totals = np.empty((length, LANES))
    symbols = np.empty(LANES, dtype=np.int32)
    for begin in range(0, n_b, LANES):
        members = order_b[begin : begin + LANES]
        width = _pack(codes_b, starts_b, members, _END_OF_LANE, lanes)
        present = np.sort(lanes[:width].copy().ravel())
        for a in range(n_a):
            _clear(levels, width, totals)
            silent = 0
            for i in range(starts_a[a], starts_a[a + 1]):
                at = np.searchsorted(present, codes_a[i])
                if at == len(present) or present[at] != codes_a[i]:
                    silent += 1
                    continue
                symbols[:] = codes_a[i]
                _step(symbols, lanes, width, decay, unit, decay**silent, levels, totals)
                silent = 0
            for above in range(length):
                for k in range(len(members)):
                    totals_out[above, a, members[k]] = totals[above, k]


@jit
def subsequence_self(
    codes: IntArray, starts: IntArray, members: IntArray, decay: float, unit: float, totals_out: FloatArray
) -> None:
    """Sums of up to LANES strings with themselves, into the columns ``members`` of shape (length, n)."""
    length = len(totals_out)
    longest = 0
    for member in members:
        longest = max(longest, starts[member + 1] - starts[member])
    lanes = np.empty((longest, LANES), dtype=np.int32)
    strings = np.empty((longest, LANES), dtype=np.int32)
    levels = np.empty((length, longest + 1, LANES))
    totals = np.empty((length, LANES))
    _pack(codes, starts, members, _END_OF_LANE, lanes)
    _pack(codes, starts, members, _END_OF_STRING, strings)
    _clear(levels, longest, totals)
    for i in range(longest):
        _step(strings[i], lanes, longest, decay, unit, 1.0, levels, totals)
    for above in range(length):
        for k in range(len(members)):
            totals_out[above, members[k]] = totals[above, k]


def by_length(starts: AnyArray) -> IntArray:
    """The order that sorts strings by their number of symbols."""
    return np.argsort(np.diff(starts), kind="stable")
