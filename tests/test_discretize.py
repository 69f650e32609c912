"""Entropies against a worked example (Gómez 2024, section 2.2.3) and scipy; the MDL rule by brute force."""

from __future__ import annotations

import doctest
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy as scipy_entropy
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import discretize
from maxmargin.discretize import (
    MDLDiscretizer,
    conditional_entropy,
    discretize_column,
    entropy,
    information_gain,
    kl_divergence,
    mdl_discretize,
    symmetrical_uncertainty,
)

# the joint law of Gómez 2024, section 2.2.3: X has two values (rows), Z three (columns)
X_LABEL = ["a", "a", "a", "b", "b", "b"]
Z_LABEL = [1, 2, 3, 1, 2, 3]
LAW = np.array([1 / 6, 1 / 15, 4 / 15, 1 / 6, 4 / 15, 1 / 15])


def test_the_worked_joint_law():
    assert entropy(X_LABEL, Z_LABEL, sample_weight=LAW) == pytest.approx(2.39958, abs=5e-6)
    assert conditional_entropy(X_LABEL, Z_LABEL, sample_weight=LAW) == pytest.approx(0.81461, abs=1e-5)
    assert information_gain(X_LABEL, Z_LABEL, sample_weight=LAW) == pytest.approx(0.18539, abs=1e-5)
    assert symmetrical_uncertainty(X_LABEL, Z_LABEL, sample_weight=LAW) == pytest.approx(0.14344, abs=1e-5)


def test_probabilities_and_counts_are_the_same_law():
    counts = np.rint(LAW * 30).astype(int)
    x, z = np.repeat(X_LABEL, counts), np.repeat(Z_LABEL, counts)
    assert information_gain(x, z) == pytest.approx(information_gain(X_LABEL, Z_LABEL, sample_weight=LAW))


labels = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=40)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(labels)
def test_identities_of_information(pairs):
    x, z = np.array(pairs).T
    assert entropy(x) == pytest.approx(scipy_entropy(np.bincount(x), base=2), abs=1e-12)
    assert information_gain(x, z) == pytest.approx(information_gain(z, x), abs=1e-12)
    assert information_gain(x, z) == pytest.approx(entropy(x) - conditional_entropy(x, z), abs=1e-12)
    assert 0 <= symmetrical_uncertainty(x, z) <= 1 + 1e-12
    assert conditional_entropy(x, x) == pytest.approx(0, abs=1e-12)


def literal_cuts(x, y):
    """Fayyad and Irani's recursion as it is written, trying every distinct value."""
    values = np.unique(x)
    if len(values) < 2:
        return []
    best = None
    for low, high in pairwise(values):
        left = x <= low
        share = left.mean()
        remaining = share * entropy(y[left]) + (1 - share) * entropy(y[~left])
        if best is None or remaining < best[0] - 1e-12:
            best = (remaining, (low + high) / 2)
    remaining, cut = best
    left = x <= cut
    k, k1, k2 = (len(np.unique(part)) for part in (y, y[left], y[~left]))
    delta = np.log2(3.0**k - 2) - (k * entropy(y) - k1 * entropy(y[left]) - k2 * entropy(y[~left]))
    if entropy(y) - remaining <= (np.log2(len(y) - 1) + delta) / len(y):
        return []
    return [*literal_cuts(x[left], y[left]), cut, *literal_cuts(x[~left], y[~left])]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_equals_the_literal_rule(seed, n_classes):
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=150), 1)
    y = np.digitize(x + 0.3 * rng.normal(size=150), np.linspace(-0.7, 0.7, n_classes - 1))
    cuts = mdl_discretize(x, y)
    assert len(cuts) >= n_classes - 1
    np.testing.assert_allclose(cuts, literal_cuts(x, y))


def test_noise_has_no_cut():
    rng = np.random.default_rng(0)
    assert len(mdl_discretize(rng.normal(size=500), rng.integers(0, 2, 500))) == 0


def test_weights_count_rows():
    rng = np.random.default_rng(1)
    x, weight = rng.normal(size=80), rng.integers(0, 4, 80)
    y = (x > 0.2).astype(int)
    np.testing.assert_array_equal(
        mdl_discretize(x, y, sample_weight=weight), mdl_discretize(np.repeat(x, weight), np.repeat(y, weight))
    )


def test_neighbouring_floats_are_separated():
    low, high = 1.0, np.nextafter(1.0, 2.0)
    x = np.repeat([low, high], 30)
    bins = discretize_column(x, x == high)
    np.testing.assert_array_equal(bins, (x == high).astype(int))


def test_values_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="1 of 3 values are missing"):
        mdl_discretize([1.0, np.nan, 2.0], [0, 1, 0])
    with pytest.raises(ValueError, match="labels are missing"):
        entropy(["a", None])
    with pytest.raises(ValueError, match="2 and 3 rows"):
        mdl_discretize([1.0, 2.0], [0, 1, 0])
    with pytest.raises(ValueError, match="holds negative numbers"):
        entropy([0, 1], sample_weight=[-1.0, 2.0])


def test_transformer_keeps_names():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"signal": rng.normal(size=100), "noise": rng.normal(size=100)})
    y = np.where(X["signal"] > 0, "up", "down")
    binned = MDLDiscretizer().set_output(transform="pandas").fit(X, y).transform(X)
    assert list(binned.columns) == ["signal", "noise"]
    np.testing.assert_array_equal(binned["signal"], discretize_column(X["signal"], y))
    assert binned["noise"].nunique() == 1


@parametrize_with_checks([MDLDiscretizer()])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_docstrings_run():
    result = doctest.testmod(discretize)
    assert result.attempted > 0
    assert result.failed == 0


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=2, max_size=8))
def test_kullback_leibler_against_scipy(counts):
    p, q = np.array(counts).T
    if p.sum():
        assert kl_divergence(p, q) == pytest.approx(scipy_entropy(p, q, base=2), abs=1e-12)
        assert kl_divergence(p, p) == 0.0


def test_information_value_is_the_divergence_both_ways():
    import maxmargin as mm

    x = np.repeat(["a", "b", "c"], [30, 50, 20])
    y = np.concatenate([np.arange(30) % 2, np.arange(50) % 5 == 0, np.arange(20) % 4 == 0]).astype(int)
    events, rest = ([np.sum((x == c) & (y == k)) for c in "abc"] for k in (1, 0))
    both = kl_divergence(events, rest, base=np.e) + kl_divergence(rest, events, base=np.e)
    assert mm.scorecards.iv_of_counts(events, rest) == pytest.approx(both)


def test_distributions_that_are_none():
    assert kl_divergence([1, 1], [1, 0]) == np.inf
    for p, q in (([0, 0], [1, 1]), ([-1, 2], [1, 1]), ([1, 1], [1]), ([1], [np.nan]), (["a", "b"], [1, 1])):
        with pytest.raises(ValueError, match=r"must hold|categories"):
            kl_divergence(p, q)
    with pytest.raises(ValueError, match="must be above 1"):
        kl_divergence([1], [1], base=1.0)
