"""Exact grouping of ordered pre-bins into bins: the partition of largest information value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from maxmargin.base.threads import interruptible
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.columns.bin_search import IV_SLACK, RATE_SLACK, best_bent_partition, best_partition
from maxmargin.compute.columns.column_bins import bin_evidence

_DIRECTION = {
    "none": 0,
    "ascending": 1,
    "descending": -1,
    "peak": 1,
    "valley": -1,
    "concave": 1,
    "convex": -1,
}
TRENDS = ("auto", *_DIRECTION)
_MOST_BENT = 150  # pre-bins of concave and convex trends, whose table grows with their third power


@dataclass(frozen=True, kw_only=True)
class PartitionProblem:
    """Maximise the IV over partitions of ordered pre-bins into consecutive bins, subject to constraints.

    Attributes
    ----------
    events, nonevents : counts by pre-bin, of shape (n_prebins,).
    all_events, all_nonevents : totals, including rows outside the pre-bins.
    min_weight : minimum weight of a bin.
    max_bins : maximum number of bins.
    min_events : minimum weight of events, and of non-events, in a bin.
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

    ``trend`` fixes the order of event rates from bin to bin: "ascending" (never decreasing), "descending",
    "none" (any), "auto" (the better of the first two; ascending in a tie), "peak" (never decreasing up to
    some bin, never increasing after it), "valley", "concave" (r[k + 1] - r[k] never increases), "convex".
    Among partitions of equal IV the one with fewer bins is returned, and a single bin if no partition
    satisfies the constraints.

    Method: f(b, i, j) is the best value of the first j pre-bins in b bins of which the last is (i, j];
    f(b, i, j) = iv(i, j) + max over h with rate(h, i) <= rate(i, j) of f(b - 1, h, i).
    Cost O(B K^3 / 6) for K pre-bins and at most B bins: about a millisecond for K = 100; three times as much
    for a turn, O(B K^4 / 24) for concave and convex.
    """
    if trend == "auto":
        up, down = optimal_partition(problem, "ascending"), optimal_partition(problem, "descending")
        return up if partition_iv(problem, up) >= partition_iv(problem, down) - IV_SLACK else down
    inside, outside = _cumulative(problem.events), _cumulative(problem.nonevents)
    total = inside[-1] + outside[-1]
    least = problem.min_weight * (1 - RATE_SLACK)
    room = int(total / least) if least > 0 else problem.max_bins
    most = max(1, min(problem.max_bins, len(problem.events), room))
    sizes = (inside, outside, problem.all_events, problem.all_nonevents, least, most)
    rules = problem.min_events * (1 - RATE_SLACK), problem.smoothing
    direction = _DIRECTION[trend]
    if trend in ("concave", "convex"):
        if len(problem.events) > _MOST_BENT:
            raise ValueError(
                f"trend={trend!r} compares every three bins and takes at most {_MOST_BENT} pre-bins, got "
                f"{len(problem.events)}: use n_prebins={_MOST_BENT} or fewer."
            )
        search = partial(best_bent_partition, *sizes, direction, *rules)
    else:
        search = partial(best_partition, *sizes, direction, trend in ("peak", "valley"), *rules)
    # hundreds of pre-bins take seconds
    ends: IntArray = interruptible(search, most * len(problem.events) ** 3 // 30)
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
