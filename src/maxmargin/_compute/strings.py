"""The gap-weighted subsequence recursion over integer-coded strings.

One string is compared with a group of strings at once, each in its own lane, so that the recursion along a
string, which is a chain, runs side by side in vector registers. The state is O(length * longest string).
"""

from __future__ import annotations

import numpy as np

from maxmargin._compute.jit import jit, jit_sums
from maxmargin.typing import AnyArray, FloatArray, IntArray

LANES = 32  # strings side by side; measured best among 8, 16, 32 and 64
_NOTHING = -1  # pads short strings; no symbol has this code


@jit
def _longest(starts: IntArray) -> int:
    longest = 0
    for i in range(len(starts) - 1):
        longest = max(longest, starts[i + 1] - starts[i])
    return longest


@jit
def _pack(codes: IntArray, starts: IntArray, members: IntArray, lanes: IntArray) -> int:
    """Write the member strings into the columns of ``lanes`` and return the longest length."""
    width = 0
    for k in range(len(members)):
        width = max(width, starts[members[k] + 1] - starts[members[k]])
    for j in range(width):
        for k in range(lanes.shape[1]):
            lanes[j, k] = _NOTHING
    for k in range(len(members)):
        start = starts[members[k]]
        for j in range(starts[members[k] + 1] - start):
            lanes[j, k] = codes[start + j]
    return width


@jit_sums
def _match(symbol: int, lanes: IntArray, width: int, unit: float, hits: FloatArray) -> bool:
    """``hits`` becomes unit where a lane holds the symbol and 0 elsewhere; is there any?"""
    found = np.int32(0)
    for j in range(width):
        row, hit = lanes[j], hits[j]
        for k in range(lanes.shape[1]):
            same = row[k] == symbol
            hit[k] = unit if same else 0.0
            found |= np.int32(same)
    return bool(found)


@jit_sums
def _match_own(symbols: IntArray, lanes: IntArray, width: int, unit: float, hits: FloatArray) -> None:
    """As `_match` with a symbol for each lane; a lane whose string has ended matches nothing."""
    for j in range(width):
        for k in range(lanes.shape[1]):
            same = (lanes[j, k] == symbols[k]) & (symbols[k] != _NOTHING)
            hits[j, k] = unit if same else 0.0


@jit_sums
def _first_level(
    hits: FloatArray,
    width: int,
    decay: float,
    fade: float,
    level: FloatArray,
    carry: FloatArray,
    total: FloatArray,
) -> None:
    """Subsequences of length 1: add them up, and open those that longer ones continue."""
    carry[:] = 0.0
    for j in range(width):
        hit, here = hits[j], level[j]
        for k in range(hits.shape[1]):
            total[k] += hit[k]
            open_ = decay * carry[k] + hit[k]
            carry[k] = open_
            here[k] = fade * here[k] + open_


@jit_sums
def _middle_level(
    hits: FloatArray, width: int, decay: float, lag: float, before: FloatArray, level: FloatArray,
    carry: FloatArray, total: FloatArray,
) -> None:  # fmt: skip
    """Continue what ``before`` left open, add it up, and leave it open in ``level``."""
    fade = lag * decay
    carry[:] = 0.0
    for j in range(1, width):
        hit, earlier, here = hits[j], before[j - 1], level[j]
        for k in range(hits.shape[1]):
            gain = lag * hit[k] * earlier[k]
            total[k] += gain
            open_ = decay * carry[k] + gain
            carry[k] = open_
            here[k] = fade * here[k] + open_


@jit_sums
def _last_level(hits: FloatArray, width: int, lag: float, before: FloatArray, total: FloatArray) -> None:
    """Complete what ``before`` left open."""
    for j in range(1, width):
        hit, earlier = hits[j], before[j - 1]
        for k in range(hits.shape[1]):
            total[k] += lag * hit[k] * earlier[k]


@jit_sums
def _align(
    strings: IntArray, lanes: IntArray, width: int, decay: float, unit: float,
    levels: FloatArray, hits: FloatArray, carry: FloatArray, totals: FloatArray,
) -> None:  # fmt: skip
    """totals[l - 1, k] = unit^l sum of decay^gaps over what lane k and string k share in length l.

    ``strings`` has a column for each lane, or one for all. ``levels[l - 1, j]`` holds K'_l up to position j.
    A symbol that no lane holds only lets all of it decay: such symbols are counted and paid for together
    (``lag``).
    """
    length = len(totals)
    totals[:] = 0.0
    levels[:, :width] = 0.0
    waiting = 0
    for i in range(len(strings)):
        if strings.shape[1] > 1:
            _match_own(strings[i], lanes, width, unit, hits)
        elif not _match(strings[i, 0], lanes, width, unit, hits):
            waiting += 1
            continue
        lag = decay**waiting
        waiting = 0
        # from long to short: level l needs level l - 1 as it was before this symbol
        if length > 1:
            _last_level(hits, width, lag, levels[length - 2], totals[length - 1])
        for above in range(length - 2, 0, -1):
            _middle_level(hits, width, decay, lag, levels[above - 1], levels[above], carry, totals[above])
        _first_level(hits, width, decay, lag * decay, levels[0], carry, totals[0])


@jit
def subsequence_tile(
    codes_a: IntArray, starts_a: IntArray, codes_b: IntArray, starts_b: IntArray, order_b: IntArray,
    decay: float, unit: float, totals_out: FloatArray,
) -> None:  # fmt: skip
    """Fill ``totals_out`` of shape (length, n_a, n_b) with the sums of `_align` for all pairs.

    ``order_b`` sorts the second strings by length, so that a group wastes little on padding.
    """
    length, n_b = totals_out.shape[0], totals_out.shape[2]
    longest = _longest(starts_b)
    lanes = np.empty((longest, LANES), dtype=codes_b.dtype)
    hits = np.empty((longest, LANES))
    levels = np.empty((max(length - 1, 1), longest, LANES))
    carry = np.empty(LANES)
    totals = np.empty((length, LANES))
    for begin in range(0, n_b, LANES):
        members = order_b[begin : begin + LANES]
        width = _pack(codes_b, starts_b, members, lanes)
        for a in range(totals_out.shape[1]):
            string = codes_a[starts_a[a] : starts_a[a + 1]].reshape(-1, 1)
            _align(string, lanes, width, decay, unit, levels, hits, carry, totals)
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
    lanes = np.empty((longest, LANES), dtype=codes.dtype)
    hits = np.empty((longest, LANES))
    levels = np.empty((max(length - 1, 1), longest, LANES))
    carry = np.empty(LANES)
    totals = np.empty((length, LANES))
    _pack(codes, starts, members, lanes)
    _align(lanes, lanes, longest, decay, unit, levels, hits, carry, totals)
    for above in range(length):
        for k in range(len(members)):
            totals_out[above, members[k]] = totals[above, k]


def by_length(starts: AnyArray) -> IntArray:
    """The order that sorts strings by their number of symbols."""
    return np.argsort(np.diff(starts), kind="stable")
