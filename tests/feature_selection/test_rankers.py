"""Filters: worked values, literal references, conventions."""

from __future__ import annotations

import doctest

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin as mm
from maxmargin.discretize import discretize_column, information_gain, symmetrical_uncertainty
from maxmargin.feature_selection import (
    FisherScore,
    InformationGain,
    Relief,
    ReliefF,
    SymmetricalUncertainty,
    rankers,
    relief,
)

HEIGHT = [170, 147, 150, 154, 175, 152, 173, 177]
WEIGHT = [85, 75, 77, 81, 79, 80, 82, 84]
X = pd.DataFrame({"height": HEIGHT, "weight": WEIGHT})
Y = np.array(list("+---+-++"))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("difference_over_variance", [1.7196, 0.3886]), ("signal_to_noise", [4.447, 0.9089])],
)
def test_the_worked_fisher_scores(kind, expected):
    np.testing.assert_allclose(FisherScore(kind=kind).fit(X, Y).scores_, expected, rtol=3e-4)


def test_generalized_fisher_is_the_ratio_of_variances():
    rng = np.random.default_rng(0)
    values, y = rng.normal(size=(60, 3)) + 1e6, rng.integers(0, 3, 60)
    frame = pd.DataFrame(values)
    within = frame.groupby(y).var(ddof=0).mul(np.bincount(y), axis=0).sum()
    between = (frame.groupby(y).mean() - frame.mean()).pow(2).mul(np.bincount(y), axis=0).sum()
    np.testing.assert_allclose(FisherScore().fit(values, y).scores_, between / within, rtol=1e-6)


def test_fisher_weight_counts_rows():
    weight = np.array([1, 2, 0, 3, 1, 1, 2, 1])
    weighted = FisherScore().fit(X, Y, sample_weight=weight)
    repeated = FisherScore().fit(X.loc[np.repeat(np.arange(8), weight)], np.repeat(Y, weight))
    np.testing.assert_allclose(weighted.scores_, repeated.scores_)


@pytest.mark.parametrize("unit", [1e200, 1e-200, 1e306])
def test_fisher_scores_at_any_scale(unit):
    """The squares of these columns overflow or vanish; only "difference_over_variance" depends on units."""
    for kind, factor in (("generalized", 1.0), ("signal_to_noise", 1.0), ("difference_over_variance", unit)):
        expected = FisherScore(kind=kind).fit(X, Y).scores_
        for table in (X, X - X.max()):
            found = FisherScore(kind=kind).fit(table * unit, Y).scores_
            np.testing.assert_allclose(found * factor, expected)


@pytest.mark.parametrize("unit", [1.0, 1e200, 1e-200, 1e-306, 1e305])
def test_fisher_scores_in_pieces_at_any_scale(unit):
    table = np.c_[unit * (X - 150), X, np.full(8, unit), unit * (Y == "+")]
    for kind in ("generalized", "signal_to_noise", "difference_over_variance"):
        whole = FisherScore(kind=kind).fit(table, Y).scores_
        pieces = FisherScore(kind=kind).fit(mm.pieces.from_array(table, Y, rows=3)).scores_
        np.testing.assert_allclose(pieces, whole, rtol=1e-9)


def test_constant_columns_score_zero_or_infinity():
    values = np.c_[np.ones(4), [0, 0, 1, 1]]
    np.testing.assert_array_equal(FisherScore().fit(values, [0, 0, 1, 1]).scores_, [0, np.inf])


def test_the_worked_relief_scores():
    scaled = Relief(n_instances=[0, 5]).fit(X, Y)
    np.testing.assert_allclose(scaled.scores_, [0.5, 0.15])
    # rows 1 and 7 are equally far from row 6; reversed rows make row 7 the lowest, as in the worked value
    raw = Relief(n_instances=[7, 2], distance="raw").fit(X[::-1], Y[::-1])
    np.testing.assert_allclose(raw.scores_, [8 / 15, 0.1])


def diff(a, b, is_category, span):
    return float(a != b) if is_category else abs(a - b) / span


def literal_relieff(values, categorical, y, k):
    """ReliefF as it is written (k nearest per class), one pair of rows at a time."""
    n, p = values.shape
    span = np.where(np.ptp(values, axis=0) > 0, np.ptp(values, axis=0), 1)
    share = {c: np.mean(y == c) for c in np.unique(y)}
    scores = np.zeros(p)
    for i in range(n):
        distance = [
            sum(diff(values[i, j], values[t, j], categorical[j], span[j]) for j in range(p)) for t in range(n)
        ]
        for c in share:
            near = sorted((t for t in range(n) if t != i and y[t] == c), key=lambda t: (distance[t], t))[:k]
            factor = -1 if c == y[i] else share[c] / (1 - share[y[i]])
            for t in near:
                for j in range(p):
                    d = diff(values[i, j], values[t, j], categorical[j], span[j])
                    scores[j] += factor * d / len(near) / n
    return scores


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("k", [1, 4, 30])
def test_relieff_equals_the_literal_algorithm_on_mixed_data(n_classes, k):
    rng = np.random.default_rng(n_classes + k)
    numbers, labels = rng.normal(size=(45, 3)) * [1, 100, 0.01], rng.integers(0, 4, (45, 2))
    y = np.arange(45) % n_classes
    frame = pd.DataFrame(numbers, columns=list("abc"))
    frame["d"] = pd.Categorical(np.array(list("wxyz"))[labels[:, 0]])
    frame["e"] = labels[:, 1].astype(str)
    values = np.c_[numbers, labels]
    expected = literal_relieff(values, [False] * 3 + [True] * 2, y, k)
    np.testing.assert_allclose(ReliefF(k).fit(frame, y).scores_, expected, atol=1e-12)
    np.testing.assert_allclose(ReliefF(k, categorical=[3, 4]).fit(values, y).scores_, expected, atol=1e-12)
    if k == 1 and n_classes == 2:
        np.testing.assert_allclose(Relief().fit(frame, y).scores_, expected, atol=1e-12)


def test_relief_of_three_classes_pools_the_misses():
    rng = np.random.default_rng(3)
    values, y = rng.normal(size=(40, 3)), np.arange(40) % 3
    scaled = values / np.ptp(values, axis=0)
    expected = np.zeros(3)
    for i in range(40):
        distance = np.abs(scaled - scaled[i]).sum(axis=1)
        distance[i] = np.inf
        hit = np.argmin(np.where(y == y[i], distance, np.inf))
        miss = np.argmin(np.where(y != y[i], distance, np.inf))
        expected += (np.abs(scaled[i] - scaled[miss]) - np.abs(scaled[i] - scaled[hit])) / 40
    np.testing.assert_allclose(Relief().fit(values, y).scores_, expected, atol=1e-12)


@settings(derandomize=True, deadline=None, max_examples=15)
@given(st.integers(0, 10_000))
def test_relief_lies_between_minus_one_and_one_and_ignores_units(seed):
    rng = np.random.default_rng(seed)
    values, y = rng.normal(size=(30, 4)), np.arange(30) % 2
    scores = Relief().fit(values, y).scores_
    assert np.abs(scores).max() <= 1
    np.testing.assert_allclose(Relief().fit(values * [1, 8, 0.5, 2], y).scores_, scores, atol=1e-12)


def test_threads_and_draws_do_not_change_the_answer():
    rng = np.random.default_rng(0)
    values, y = rng.normal(size=(700, 3)), np.arange(700) % 2
    one = ReliefF(5, n_instances=301, random_state=7, n_jobs=1).fit(values, y)
    two = ReliefF(5, n_instances=301, random_state=7, n_jobs=2).fit(values, y)
    np.testing.assert_allclose(one.scores_, two.scores_, atol=1e-12)
    assert len(np.unique(one.instances_)) == 301


def test_symmetrical_uncertainty_of_a_mixed_table():
    rng = np.random.default_rng(1)
    number, noise = rng.normal(size=200), rng.normal(size=200)
    y = np.where(number > 0, "p", "q")
    colour = np.where(rng.random(200) < 0.8, y, "r")
    frame = pd.DataFrame({"noise": noise, "colour": colour, "number": number})
    scores = SymmetricalUncertainty(threshold=0.0).fit(frame, y)
    assert scores.selected_ == ["colour", "number"]
    assert scores.scores_[1] == pytest.approx(symmetrical_uncertainty(colour, y))
    assert scores.scores_[2] == pytest.approx(symmetrical_uncertainty(discretize_column(number, y), y))
    assert list(scores.history_["variable"]) == ["number", "colour", "noise"]
    same = SymmetricalUncertainty().fit(pl.DataFrame(frame.to_dict("list")), y)
    np.testing.assert_allclose(same.scores_, scores.scores_)


def test_choice_by_number_share_or_threshold():
    rng = np.random.default_rng(2)
    values, y = rng.normal(size=(50, 10)), np.arange(50) % 2
    assert FisherScore().fit(values, y).support_.sum() == 5
    assert FisherScore(n_features=3).fit(values, y).support_.sum() == 3
    assert FisherScore(n_features=0.2).fit(values, y).support_.sum() == 2
    fitted = FisherScore(threshold=0.01).fit(values, y)
    np.testing.assert_array_equal(fitted.support_, fitted.scores_ > 0.01)
    for wrong in ({"n_features": 11}, {"n_features": 2, "threshold": 0.1}):
        with pytest.raises(ValueError, match="n_features"):
            FisherScore(**wrong).fit(values, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_entropy_rankers_are_the_measures_of_the_discretised_columns(n_classes):
    """One compiled pass, against one column at a time: ties, weights, weights of zero, categories."""
    rng = np.random.default_rng(5)
    y = np.tile(np.arange(n_classes), 40)
    n = len(y)
    numbers = np.round(rng.normal(size=(n, 8)) + y[:, None] * np.linspace(0, 2, 8), 1)
    X = pd.DataFrame(numbers).assign(kind=rng.choice(list("uvw"), n), flag=y == 1, constant=1.0)
    X.columns = [f"c{j}" for j in range(X.shape[1])]
    weights = rng.integers(0, 4, n).astype(float)
    for w in (None, weights, weights / 7):
        gain, uncertainty = (
            kind().fit(X, y, sample_weight=w).scores_ for kind in (InformationGain, SymmetricalUncertainty)
        )
        for j, name in enumerate(X):
            column = X[name].to_numpy()
            if X[name].dtype == float:
                column = discretize_column(column, y, sample_weight=w)
            assert gain[j] == pytest.approx(information_gain(y, column, sample_weight=w), abs=1e-12)
            expected = symmetrical_uncertainty(y, column, sample_weight=w)
            assert uncertainty[j] == pytest.approx(expected, abs=1e-12)
    assert (uncertainty > 0).sum() >= 3
    assert uncertainty[-1] == gain[-1] == 0.0


def test_what_cannot_be_ranked_is_refused():
    frame = pd.DataFrame({"a": [1.0, np.nan, 2.0, 3.0], "b": list("xyxy")})
    with pytest.raises(ValueError, match="column 'a' holds 1 missing"):
        SymmetricalUncertainty().fit(frame, [0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"\['b'\] hold categories"):
        FisherScore().fit(frame[["b"]], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="single row"):
        Relief().fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    with pytest.raises(ValueError, match="numbers only"):
        Relief(distance="raw").fit(frame[["b"]], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="does not have"):
        ReliefF(categorical=["z"]).fit(frame[["b"]], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="does not have a column 1: its columns are b"):
        ReliefF(categorical=[1]).fit(frame[["b"]], [0, 0, 1, 1])
    with pytest.raises(TypeError, match="Column 'c': argument must be a string or a number, got dict"):
        ReliefF().fit(pd.DataFrame({"c": [{}, {}, {}, {}]}), [0, 0, 1, 1])


@parametrize_with_checks([FisherScore(), Relief(), ReliefF(3), InformationGain(), SymmetricalUncertainty()])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("module", [rankers, relief])
def test_docstrings_run(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
