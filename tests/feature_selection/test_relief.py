"""The Relief family beside its formulas: radii, missing values, numeric targets, rounds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin.feature_selection import SURF, FisherScore, MultiSURF, Relief, ReliefF, TuRF

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4)) * [1, 50, 0.1, 3]
GAPS = np.where(RNG.random(X.shape) < 0.15, np.nan, X)
KINDS = np.c_[X[:, :2], RNG.integers(0, 3, (40, 2))]
PAIR, THREE = (X[:, 1] * X[:, 3] > 0).astype(int), np.arange(40) % 3
NUMBERS = X[:, 0] + X[:, 1] / 25


def differences(values, categorical):
    """diff() of all pairs of rows, of shape (n, n, p), NaN where a value is missing."""
    apart = np.abs(values[:, None, :] - values[None, :, :])
    span = np.nanmax(values, axis=0) - np.nanmin(values, axis=0)
    return np.where(np.isnan(apart), np.nan, np.where(categorical, np.sign(apart), apart / span))


def distances_from(diff):
    """p times the mean over the columns known in both rows; NaN where there is none."""
    known = (~np.isnan(diff)).sum(axis=2)
    return np.nansum(diff, axis=2) * diff.shape[2] / np.where(known > 0, known, np.nan)


def neighbours(kind, distances, i, same):
    """Row numbers of the neighbours of row i among the rows ``same`` (a mask), by the rule of ``kind``."""
    others = np.flatnonzero(~np.isnan(distances[i]) & (np.arange(len(distances)) != i))
    if isinstance(kind, int):
        among = others[same[others]]
        return among[np.argsort(distances[i, among], kind="stable")][:kind]
    every = distances[~np.eye(len(distances), dtype=bool)]
    own = distances[i, others]
    radius = np.nanmean(every) if kind == "surf" else own.mean() - own.std() / 2
    return others[same[others] & (own < radius)]


def literal_scores(values, y, kind, categorical=False):
    """ReliefF, SURF or MultiSURF for classes, as they are written, one row and column at a time."""
    diff = differences(values, categorical)
    distances = distances_from(diff)
    scores = np.zeros(values.shape[1])
    for i, j in np.ndindex(values.shape):
        terms, weights = [], []
        for c in np.unique(y):
            found = diff[i, neighbours(kind, distances, i, y == c), j]
            found = found[~np.isnan(found)]
            if not len(found):
                continue
            if c == y[i]:
                scores[j] -= found.mean() / len(y)
            else:
                terms.append(found.mean())
                weights.append(np.mean(y == c))
        if terms:
            scores[j] += np.average(terms, weights=weights) / len(y)
    return scores


MADE = {7: ReliefF(7), "surf": SURF(), "multisurf": MultiSURF()}


@pytest.mark.parametrize("y", [PAIR, THREE], ids=["pair", "three"])
@pytest.mark.parametrize("values", [X, GAPS], ids=["whole", "missing"])
@pytest.mark.parametrize("kind", MADE)
def test_classes_by_the_formula(kind, values, y):
    found = MADE[kind].fit(values, y)
    np.testing.assert_allclose(found.scores_, literal_scores(values, y, kind), atol=1e-12)


@pytest.mark.parametrize("kind", MADE)
def test_categories_by_the_formula(kind):
    mask = np.array([False, False, True, True])
    frame = pd.DataFrame(KINDS, columns=list("abcd")).astype({"c": "category", "d": "category"})
    frame.loc[3, "c"] = np.nan
    values = KINDS.copy()
    values[3, 2] = np.nan
    expected = literal_scores(values, PAIR, kind, mask)
    np.testing.assert_allclose(MADE[kind].fit(frame, PAIR).scores_, expected, atol=1e-12)


@pytest.mark.parametrize("values", [X, GAPS], ids=["whole", "missing"])
@pytest.mark.parametrize("kind", MADE)
def test_numbers_by_the_formula(kind, values):
    """Robnik-Sikonja and Kononenko 2003, figure 3, with neighbours of equal influence."""
    diff = differences(values, False)
    distances = distances_from(diff)
    y = NUMBERS / np.ptp(NUMBERS)
    N = np.zeros((4, values.shape[1]))
    for i in range(len(y)):
        near = neighbours(kind, distances, i, np.ones(len(y), dtype=bool))
        for t in near:
            d, d_y, known = diff[i, t], abs(y[i] - y[t]), ~np.isnan(diff[i, t])
            N += np.where(known, [np.ones(len(d)), np.full(len(d), d_y), d, d * d_y], 0.0) / len(near)
    expected = N[3] / N[1] - (N[2] - N[3]) / (N[0] - N[1])
    np.testing.assert_allclose(MADE[kind].fit(values, NUMBERS).scores_, expected, atol=1e-12)


def test_a_worked_regression():
    """Four rows, one neighbour each: pairs (0, 1), (1, 0), (2, 3), (3, 2); ranges 10 and 4.

    Column a: d = .1 everywhere, column b: d = 0; d_y = .25 twice and .5 twice. Sums: E[d_y] = 1.5 of 4,
    so J(a) = .15 / 1.5 - (.4 - .15) / 2.5 = 0, and b has J = 0: neither tells more about near targets.
    """
    table = np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 4.0], [10.0, 4.0]])
    found = ReliefF(1).fit(table, [0.0, 1.0, 4.0, 2.0 + 1e-15])
    np.testing.assert_allclose(found.scores_, [0.0, 0.0], atol=1e-12)
    # d = .1 where d_y = .25, d = .2 where d_y = .5: (.05 + .2) / 1.5 - (.6 - .25) / 2.5
    table[2, 0] = 8.0
    found = ReliefF(1, target="numbers").fit(table, [0, 1, 4, 2])
    assert found.scores_[0] == pytest.approx(0.25 / 1.5 - 0.35 / 2.5)


def test_the_kind_of_target_is_read_or_said():
    whole = np.round(NUMBERS)
    as_numbers, as_classes = (ReliefF(3, target=kind) for kind in ("numbers", "classes"))
    keep = np.isin(whole, [c for c in np.unique(whole) if (whole == c).sum() > 1])
    assert not np.allclose(
        as_numbers.fit(X[keep], whole[keep]).scores_, as_classes.fit(X[keep], whole[keep]).scores_
    )
    np.testing.assert_array_equal(
        as_classes.fit(X[keep], whole[keep]).scores_, ReliefF(3).fit(X[keep], whole[keep]).scores_
    )
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        ReliefF(target="classes").fit(X, NUMBERS)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        Relief().fit(X, NUMBERS)
    with pytest.raises(ValueError, match="target='ranks'"):
        SURF(target="ranks").fit(X, PAIR)


def test_a_share_of_neighbours_is_halved_between_hits_and_misses():
    np.testing.assert_array_equal(ReliefF(0.3).fit(X, PAIR).scores_, ReliefF(6).fit(X, PAIR).scores_)
    np.testing.assert_array_equal(ReliefF(0.3).fit(X, NUMBERS).scores_, ReliefF(12).fit(X, NUMBERS).scores_)
    np.testing.assert_array_equal(ReliefF(0.001).fit(X, PAIR).scores_, ReliefF(1).fit(X, PAIR).scores_)
    for wrong in (0, 1.5, -0.2, "all"):
        with pytest.raises(ValueError, match="n_neighbors="):
            ReliefF(wrong).fit(X, PAIR)


@pytest.mark.parametrize("ranker", [Relief(), ReliefF(3), SURF(), MultiSURF(), TuRF(n_features=2)])
def test_sparse_rows_threads_and_missing_columns(ranker):
    dense = ranker.fit(X * (np.abs(X) > 0.05), PAIR).scores_
    sparse = ranker.fit(sp.csr_array(X * (np.abs(X) > 0.05)), PAIR).scores_
    np.testing.assert_array_equal(sparse, dense)
    unknown = np.c_[GAPS, np.full(40, np.nan)]
    assert ranker.fit(unknown, PAIR).scores_[-1] == 0.0
    assert np.isfinite(ranker.scores_).all()
    with pytest.raises(ValueError, match="infinity"):
        ranker.fit(np.where(np.isnan(unknown), np.inf, unknown), PAIR)


def test_neighbours_of_a_row_with_missing_values():
    table = Relief().neighbour_table([[0.0, 0.0], [1.0, np.nan], [np.nan, 4.0], [2.0, 4.0]], [0, 0, 1, 1], 0)
    np.testing.assert_allclose(table["distance"], [1.0, 2.0, 2.0])  # .5 times 2, 1 times 2, 1 + 1
    assert table["role"].tolist() == ["hit", "miss", ""]


def test_rounds_find_a_pair_that_one_ranking_misses():
    rng = np.random.default_rng(3)
    table = rng.normal(size=(120, 80))
    y = table[:, 1] * table[:, 3] > 0
    once = ReliefF(10, n_features=2).fit(table, y)
    rounds = TuRF(ReliefF(10), step=0.2, n_features=2).fit(table, y)
    assert set(rounds.get_support(indices=True)) == {1, 3}
    assert set(once.get_support(indices=True)) != {1, 3}
    history = rounds.history_
    assert history["round"].is_monotonic_decreasing
    assert history["variable"].head(2).tolist() == rounds.history_["variable"][history["selected"]].tolist()
    assert sorted(rounds.ranking_) == list(range(1, 81))
    last = history["round"] == history["round"].max()
    left = np.sort(history["variable"][last].str[1:].astype(int))
    expected = ReliefF(10).fit(table[:, left], y).scores_
    np.testing.assert_allclose(rounds.scores_[left], expected, atol=1e-12)


def test_rounds_with_a_threshold_end_when_all_columns_are_above():
    table = np.random.default_rng(3).normal(size=(60, 10))
    found = TuRF(SURF(), step=1, threshold=0.0).fit(table, table[:, 2] > 0)
    last = found.history_["round"] == found.history_["round"].max()
    assert (found.history_["score"][last] > 0).all()
    np.testing.assert_array_equal(found.history_["selected"], last)


def test_what_rounds_refuse():
    with pytest.raises(TypeError, match="must be a Relief, ReliefF, SURF or MultiSURF"):
        TuRF(FisherScore()).fit(X, PAIR)
    with pytest.raises(ValueError, match="give n_features or threshold to TuRF"):
        TuRF(ReliefF(n_features=2)).fit(X, PAIR)
    with pytest.raises(ValueError, match=r"step=1\.5"):
        TuRF(step=1.5).fit(X, PAIR)


@parametrize_with_checks([SURF(), MultiSURF(), TuRF(ReliefF(3))])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
