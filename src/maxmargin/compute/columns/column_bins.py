"""Assign values of a column to bins, and compute the evidence of bins."""

from __future__ import annotations

from math import log

import numpy as np

from maxmargin.base.typing import BoolArray, FloatArray, IntArray
from maxmargin.compute.jit import jit

_BLOCK = 512  # values and their codes stay in the L1 cache


@jit
def assign_numbers(values: FloatArray, edges: FloatArray, missing: int) -> IntArray:
    """Number of edges below each value; ``missing`` for NaN.

    Every value is compared with every edge, block by block, because that vectorises: for 49 edges it took a
    quarter of the time of a halving search, and it was still ahead for 200.
    """
    codes = np.zeros(len(values), dtype=np.int64)
    for start in range(0, len(values), _BLOCK):
        block = values[start : start + _BLOCK]
        found = codes[start : start + _BLOCK]
        for k in range(len(edges)):
            edge = edges[k]
            for i in range(len(block)):
                found[i] += 1 if block[i] > edge else 0
        for i in range(len(block)):
            found[i] = missing if np.isnan(block[i]) else found[i]
    return codes


@jit
def count_codes(codes: IntArray, event: BoolArray, weight: FloatArray, n_bins: int) -> FloatArray:
    """Sums of weights of events (row 0) and non-events (row 1) by bin, of shape (2, n_bins)."""
    counts = np.zeros((2, n_bins))
    for i in range(len(codes)):
        if codes[i] >= 0:
            counts[0 if event[i] else 1, codes[i]] += weight[i]
    return counts


@jit
def bin_evidence(
    events: float, nonevents: float, all_events: float, all_nonevents: float, smoothing: float
) -> tuple[float, float]:
    """(WoE, part of IV) of one bin; an empty cell counts as ``smoothing`` rows, an empty bin has none."""
    if events + nonevents <= 0.0:
        return 0.0, 0.0
    p = (events if events > 0.0 else smoothing) / all_events
    q = (nonevents if nonevents > 0.0 else smoothing) / all_nonevents
    woe = log(q / p)
    return woe, (q - p) * woe


@jit
def evidence_of_bins(
    events: FloatArray, nonevents: FloatArray, all_events: float, all_nonevents: float, smoothing: float
) -> FloatArray:
    """WoE and IV of every bin, of shape (2, n_bins)."""
    out = np.empty((2, len(events)))
    for k in range(len(events)):
        out[0, k], out[1, k] = bin_evidence(events[k], nonevents[k], all_events, all_nonevents, smoothing)
    return out
