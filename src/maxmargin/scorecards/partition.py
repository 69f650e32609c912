"""Exact grouping of ordered pre-bins into bins: the partition of largest information value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.columns.bin_search import IV_SLACK, RATE_SLACK, best_partition
from maxmargin.compute.columns.column_bins import bin_evidence

TRENDS = ("auto", "ascending", "descending", "none")
_DIRECTION = {"none": 0, "ascending": 1, "descending": -1}


@dataclass(frozen=True, kw_only=True)
class PartitionProblem:
    """maximise sum of IV over partitions of ordered pre-bins into consecutive bins, subject to rules.

    Attributes
    ----------
    events, nonevents : counts by pre-bin, of shape (n_prebins,).
    all_events, all_nonevents : totals that shares refer to (rows outside the pre-bins count too).
    min_weight : smallest weight of a bin.
    max_bins : largest number of bins.
    min_events : smallest weight of events, and of non-events, in a bin.
    smoothing : see `weight_of_evidence`.
    """

    events: FloatArray
    nonevents: FloatArray
    all_events: float
    all_nonevents: float
    min_weight: float
    max_bins: int
    min_events: float
    smoothing: float


def optimal_partition(problem: PartitionProblem, trend: str) -> IntArray:
    """Ends of the best bins: ascending positions 1 ... n_prebins, the last one always n_prebins.

    ``trend`` fixes the order of event rates from bin to bin: "ascending" (never falling), "descending",
    "none" (any), "auto" (the better of the first two; ascending among equals). Among partitions of equal IV
    the one with fewer bins is taken. A single bin is the answer when no partition satisfies the rules.

    Method: f(b, i, j) is the best value of the first j pre-bins in b bins of which the last is (i, j];
    f(b, i, j) = iv(i, j) + max over h with rate(h, i) <= rate(i, j) of f(b - 1, h, i).
    Cost O(B K^3 / 6) for K pre-bins and at most B bins: about a millisecond for K = 100.
    """
    if trend == "auto":
        up, down = optimal_partition(problem, "ascending"), optimal_partition(problem, "descending")
        return up if partition_iv(problem, up) >= partition_iv(problem, down) - IV_SLACK else down
    inside, outside = _cumulative(problem.events), _cumulative(problem.nonevents)
    total = inside[-1] + outside[-1]
    room = int(total / problem.min_weight) if problem.min_weight > 0 else problem.max_bins
    most = max(1, min(problem.max_bins, len(problem.events), room))
    ends: IntArray = best_partition(
        inside,
        outside,
        problem.all_events,
        problem.all_nonevents,
        problem.min_weight * (1 - RATE_SLACK),
        most,
        _DIRECTION[trend],
        problem.min_events * (1 - RATE_SLACK),
        problem.smoothing,
    )
    return ends


def partition_iv(problem: PartitionProblem, ends: IntArray) -> float:
    """Information value of the bins that end at ``ends``."""
    starts = np.r_[0, ends[:-1]]
    events, nonevents = _cumulative(problem.events), _cumulative(problem.nonevents)
    totals = problem.all_events, problem.all_nonevents, problem.smoothing
    return sum(
        bin_evidence(events[j] - events[i], nonevents[j] - nonevents[i], *totals)[1]
        for i, j in zip(starts, ends, strict=True)
    )


def _cumulative(counts: FloatArray) -> FloatArray:
    return np.concatenate([np.zeros(1), np.cumsum(counts)])
