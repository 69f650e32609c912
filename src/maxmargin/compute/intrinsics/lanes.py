"""One symbol of the subsequence recursion, for LANES strings at once.

Every step of the recursion along a string needs the one before, so vectors can only run across strings. From
loops over lanes, the compiler makes code that keeps the values in memory and tests at every step whether
arrays overlap. Up to LEVELS levels share one pass over the strings.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.intrinsics.choice import code_for

LANES = 16  # strings side by side
LEVELS = 4  # levels in one pass: their chains fill the registers


def sweep_plain(
    symbols: IntArray, lanes: IntArray, levels: FloatArray, totals: FloatArray, bottom: int, n_rows: int,
    width: int, factors: tuple[float, float, float, float], n_levels: int, first: int, last: int,
) -> None:  # fmt: skip
    """Pass over all positions j for the levels k = bottom, ..., bottom + n_levels - 1.

    With (decay, fade, unit, gain) = factors:
    gained = gain levels[k, j] where lanes[j] = symbols, else 0; totals[k] += gained;
    open = decay open + gained; levels[k + 1, j + 1] = fade levels[k + 1, j + 1] + open.
    ``levels`` has shape (..., n_rows, LANES), and levels[k, 0] is 0 where k > bottom. ``first`` (0 or 1):
    level 0 is among them, for which gained is unit. ``last``: nothing continues the highest one, so it only
    adds up. n_levels, first and last are literals: each combination is code of its own.
    """
    decay, fade, unit, gain = factors
    for k in range(bottom + n_levels - 1, bottom - 1, -1):  # level k before level k - 1 changes what it reads
        continues = last == 0 or k < bottom + n_levels - 1
        for lane in range(LANES):
            total, carry = 0.0, 0.0
            for j in range(width):
                gained = 0.0
                if lanes[j, lane] == symbols[lane]:
                    gained = unit if first == 1 and k == 0 else gain * levels[k, j, lane]
                total += gained
                if continues:
                    carry = decay * carry + gained
                    levels[k + 1, j + 1, lane] = fade * levels[k + 1, j + 1, lane] + carry
            totals[k, lane] += total


def _trial(function: Any) -> Any:
    def both_ends(symbols: IntArray, lanes: IntArray, levels: FloatArray) -> FloatArray:
        totals = np.zeros((3, LANES))
        levels[1:, 0] = 0.0
        function(symbols, lanes, levels, totals, 1, 4, 3, (0.5, 0.25, 1.0, 0.5), 2, 0, 1)
        function(symbols, lanes, levels, totals, 0, 4, 3, (0.5, 0.25, 1.0, 0.5), 1, 1, 0)
        return totals

    return both_ends


sweep = code_for(
    lambda llvm_code: llvm_code.sweep(LANES),
    sweep_plain,
    _trial,
    np.zeros(LANES, np.int32),
    np.arange(3 * LANES, dtype=np.int32).reshape(3, LANES) % 2,
    np.ones((3, 4, LANES)),
)
