"""The exact grouping against all partitions, and the identities of the evidence."""

from __future__ import annotations

import doctest
import importlib
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from maxmargin.scorecards import iv_of_counts, weight_of_evidence
from maxmargin.scorecards.evidence import js_of_bins
from maxmargin.scorecards.partition import TRENDS, PartitionProblem, optimal_partition, partition_iv

counts = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=10)


@pytest.mark.parametrize("name", ["binning", "evidence", "iv", "scorecard", "stability", "woe"])
def test_examples(name):
    result = doctest.testmod(importlib.import_module(f"maxmargin.scorecards.{name}"))
    assert result.attempted > 0
    assert result.failed == 0


def all_partitions(n):
    for k in range(n):
        for inner in combinations(range(1, n), k):
            yield np.array([*inner, n])


def allowed(problem, ends, trend):
    starts = np.r_[0, ends[:-1]]
    cells = [
        (problem.events[i:j].sum(), problem.nonevents[i:j].sum()) for i, j in zip(starts, ends, strict=True)
    ]
    if len(ends) > problem.max_bins:
        return False
    if any(p + n < problem.min_weight or min(p, n) < problem.min_events for p, n in cells):
        return False
    if trend == "none":
        return True
    if trend in ("concave", "convex"):
        if len(cells) > 1 and any(p + n == 0 for p, n in cells):
            return False  # an empty bin has no rate
        rates = [Fraction(int(p), int(p + n)) if p + n else Fraction(0) for p, n in cells]
        bends = np.diff(np.array(rates, dtype=object), 2)
        return all(bend <= 0 if trend == "concave" else bend >= 0 for bend in bends)
    if trend in ("peak", "valley"):
        sign = 1 if trend == "peak" else -1
        halves = [(cells[:k][::sign], cells[k - 1 :][::-sign]) for k in range(1, len(cells) + 1)]
        return any(one_way(left) and one_way(right) for left, right in halves)
    return one_way(cells if trend == "ascending" else cells[::-1])


def one_way(cells):
    return all(p * (pp + nn) <= pp * (p + n) for (p, n), (pp, nn) in pairwise(cells))


def brute_force(problem, trend):
    trends = ("ascending", "descending") if trend == "auto" else (trend,)
    values = [
        (partition_iv(problem, ends), -len(ends))
        for ends in all_partitions(len(problem.events))
        if any(allowed(problem, ends, t) for t in trends)
    ]
    return max(values, default=None)


@settings(derandomize=True, deadline=None, max_examples=240)
@given(
    counts,
    st.sampled_from(TRENDS),
    st.integers(1, 10),
    st.sampled_from([0, 5, 20]),
    st.sampled_from([0, 1, 3]),
)
def test_optimum_is_the_best_of_all_partitions(cells, trend, max_bins, min_weight, min_events):
    events, nonevents = np.array(cells, dtype=float).T
    assume(events.sum() > 0)
    assume(nonevents.sum() > 0)
    problem = PartitionProblem(
        events=events,
        nonevents=nonevents,
        all_events=events.sum() + 2,
        all_nonevents=nonevents.sum() + 5,
        min_weight=min_weight,
        max_bins=max_bins,
        min_events=min_events,
        smoothing=0.5,
    )
    ends = optimal_partition(problem, trend)
    best = brute_force(problem, trend)
    if best is None:
        assert ends.tolist() == [len(events)]
        return
    trends = ("ascending", "descending") if trend == "auto" else (trend,)
    assert any(allowed(problem, ends, t) for t in trends)
    assert partition_iv(problem, ends) == pytest.approx(best[0], abs=1e-10)


def test_equal_rates_are_one_bin():
    problem = PartitionProblem(
        events=np.array([1.0, 2.0, 3.0, 8.0]),
        nonevents=np.array([2.0, 4.0, 6.0, 4.0]),
        all_events=14.0,
        all_nonevents=16.0,
        min_weight=0.0,
        max_bins=4,
        min_events=0,
        smoothing=0.5,
    )
    for trend in ("none", "ascending", "auto"):
        assert optimal_partition(problem, trend).tolist() == [3, 4]


def symmetric_divergence(p, q):
    return float(np.sum(p * np.log(p / q)) + np.sum(q * np.log(q / p)))


positive = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50)), min_size=1, max_size=8)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(positive)
def test_iv_is_a_symmetric_divergence(cells):
    p, q = np.array(cells, dtype=float).T
    iv = iv_of_counts(p, q)
    assert iv == pytest.approx(symmetric_divergence(p / p.sum(), q / q.sum()), abs=1e-12)
    assert iv == pytest.approx(iv_of_counts(q, p), abs=1e-12)
    assert iv >= 0
    np.testing.assert_allclose(weight_of_evidence(p, q), -weight_of_evidence(q, p), atol=1e-12)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(positive)
def test_splitting_a_bin_never_lowers_iv(cells):
    p, q = np.array(cells, dtype=float).T
    merged = iv_of_counts([p[0] + p[-1], *p[1:-1]], [q[0] + q[-1], *q[1:-1]]) if len(p) > 1 else 0.0
    assert iv_of_counts(p, q) >= merged - 1e-12


@settings(derandomize=True, deadline=None, max_examples=60)
@given(counts)
def test_jensen_shannon_lies_between_zero_and_log_two(cells):
    p, q = np.array(cells, dtype=float).T
    assume(p.sum() > 0)
    assume(q.sum() > 0)
    js = js_of_bins(p, q, p.sum(), q.sum()).sum()
    assert -1e-12 <= js <= np.log(2) + 1e-12


def test_empty_cells_are_smoothed_alone():
    """Only the zero becomes 0.5; the other bins and the totals are as without smoothing."""
    woe = weight_of_evidence([0, 4, 0], [6, 4, 0])
    assert woe.tolist() == pytest.approx([np.log((6 / 10) / (0.5 / 4)), np.log((4 / 10) / (4 / 4)), 0.0])
    assert weight_of_evidence([0, 4], [6, 4], smoothing=2.0)[0] == pytest.approx(np.log(0.6 / 0.5))


@pytest.mark.parametrize(
    ("events", "nonevents", "options", "message"),
    [
        ([1, 2], [1], {}, "one count per bin"),
        ([0, 0], [1, 1], {}, "both classes present"),
        ([-1, 2], [1, 1], {}, "must be >= 0"),
        ([1, 2], [1, 1], {"smoothing": 0.0}, "must be positive"),
    ],
)
def test_errors(events, nonevents, options, message):
    with pytest.raises(ValueError, match=message):
        weight_of_evidence(events, nonevents, **options)
