"""What all selectors share, and boundaries of criteria and rankers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

import maxmargin as mm
from maxmargin.base.table_columns import CodedTable, coded_table
from maxmargin.feature_selection import (
    SURF,
    Bhattacharyya,
    CFSMerit,
    Custom,
    Divergence,
    FisherScore,
    InformationGain,
    Mahalanobis,
    MultiSURF,
    Relief,
    ReliefF,
    SymmetricalUncertainty,
    TuRF,
    cfs_merit,
    rankers,
)
from maxmargin.feature_selection.base import how_many, rank, takes_missing
from maxmargin.feature_selection.criteria import Criterion
from maxmargin.feature_selection.relief import _draw, _miss_weights, _quotient, _scaled

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 4)) * [1, 50, 0.1, 3], np.arange(30) % 2


def test_numbers_of_columns():
    assert [how_many(n, None) for n in (1, 2, 3, 4)] == [1, 1, 1, 2]
    assert [how_many(4, number) for number in (1, 4, 0.5, 0.01)] == [1, 4, 2, 1]
    for wrong in (5, 0, -1, 1.5):
        with pytest.raises(ValueError, match="cannot be chosen from 4 columns"):
            how_many(4, wrong)


def test_equal_scores_rank_by_the_lowest_column():
    assert rank(np.array([1.0, 3.0, 1.0, 2.0, 3.0])).tolist() == [4, 1, 5, 3, 2]


def test_missing_values_are_taken_where_the_first_step_takes_them():
    imputed = make_pipeline(SimpleImputer(), LogisticRegression())
    assert takes_missing(imputed)
    assert takes_missing(make_pipeline(imputed, LogisticRegression()))
    assert not takes_missing(make_pipeline(LogisticRegression(), SimpleImputer()))
    assert not takes_missing(LogisticRegression())
    assert takes_missing("passthrough")


def test_what_a_selector_says_of_itself():
    for selector in (FisherScore(), ReliefF()):
        with pytest.raises(NotFittedError):
            _ = selector.selected_
        with pytest.raises(NotFittedError):
            selector.get_support()
        assert get_tags(selector).target_tags.required
        assert get_tags(selector).input_tags.sparse
    assert get_tags(ReliefF()).input_tags.allow_nan
    assert not get_tags(FisherScore()).input_tags.allow_nan


# -- criteria ------------------------------------------------------------------------------------------------


def test_directions_of_criteria():
    assert (Criterion.maximize, Criterion.monotone) == (True, False)
    assert not Custom(max, maximize=False).monotone
    assert (Mahalanobis().maximize, Mahalanobis().monotone, CFSMerit().monotone) == (True, True, False)


def test_worked_merits():
    """k = 3: mean(r_cf) = 0.5, mean(r_ff) = 0.2 over the three pairs."""
    r_ff = np.array([[9.0, 0.1, 0.2], [0.1, 9.0, 0.3], [0.2, 0.3, 9.0]])
    r_cf = np.array([0.4, 0.5, 0.6])
    assert cfs_merit(r_cf, r_ff) == pytest.approx(1.5 / np.sqrt(3 + 6 * 0.2))
    assert cfs_merit(r_cf, r_ff, kind="per_column") == pytest.approx(1.5 / np.sqrt(3 + 2 * 0.2))
    assert cfs_merit(r_cf[:1], r_ff[:1, :1]) == 0.4
    with pytest.raises(ValueError, match="kind='other'"):
        cfs_merit(r_cf[:1], r_ff[:1, :1], kind="other")


def plain_distance(criterion, groups, columns):
    """The mean over pairs of classes, with the formulas of the docstrings."""
    found = []
    shrink = criterion.shrinkage
    S = [np.cov(g[:, columns], rowvar=False).reshape(len(columns), -1) for g in groups]
    free = [len(g) - 1 for g in groups]
    pooled = sum(f * c for f, c in zip(free, S, strict=True)) / sum(free)
    S = [(1 - shrink) * c + shrink * np.diag(np.diag(c)) for c in S]
    pooled = (1 - shrink) * pooled + shrink * np.diag(np.diag(pooled))
    for a, b in combinations(range(len(groups)), 2):
        d = groups[a][:, columns].mean(axis=0) - groups[b][:, columns].mean(axis=0)
        if isinstance(criterion, Mahalanobis):
            found.append(d @ np.linalg.solve(pooled, d))
        elif isinstance(criterion, Bhattacharyya):
            mean = (S[a] + S[b]) / 2
            dets = [np.linalg.det(c) for c in (mean, S[a], S[b])]
            found.append(d @ np.linalg.solve(mean, d) / 8 + np.log(dets[0] / np.sqrt(dets[1] * dets[2])) / 2)
        else:
            inverses = np.linalg.inv(S[a]), np.linalg.inv(S[b])
            trace = np.trace(inverses[0] @ S[b] + inverses[1] @ S[a]) - 2 * len(columns)
            found.append((trace + d @ (inverses[0] + inverses[1]) @ d) / 2)
    return np.mean(found)


@pytest.mark.parametrize("kind", [Mahalanobis, Bhattacharyya, Divergence])
@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
def test_distances_of_classes_of_different_sizes(kind, shrinkage):
    y = np.repeat([0, 1, 2], [6, 8, 16])
    groups = [X[y == k] for k in range(3)]
    subsets = [(0,), (1, 3), (2,), (0, 2, 3)]
    found = kind(shrinkage=shrinkage).prepare(X, y)(subsets)
    expected = [plain_distance(kind(shrinkage=shrinkage), groups, list(subset)) for subset in subsets]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_classes_that_have_no_covariance():
    few = np.array([[0.0], [1.0], [3.0], [4.0], [9.0]])
    assert np.isfinite(Divergence().prepare(few, [0, 0, 1, 1, 1])([(0,)])).all()
    with pytest.raises(ValueError, match="a class with 1 row has no covariance"):
        Divergence().prepare(few, [0, 1, 1, 1, 1])
    for wrong in (-0.1, 1.1):
        with pytest.raises(ValueError, match="shrinkage"):
            Mahalanobis(shrinkage=wrong).prepare(X, Y)


@pytest.mark.parametrize("unit", [1.0, 1e-7, 1e7])
def test_singular_covariances_are_seen_in_any_unit(unit):
    column, noise = np.random.default_rng(1).normal(size=(2, 30))
    near = np.c_[column, unit * (column + 1e-4 * noise)]
    assert np.isfinite(Mahalanobis().prepare(near, Y)([(0, 1)])).all()
    with pytest.raises(ValueError, match="a class covariance is singular"):
        Mahalanobis().prepare(np.c_[column, unit * (column + 1e-6 * noise)], Y)
    with pytest.raises(ValueError, match="a class covariance is singular"):
        Mahalanobis().prepare(np.c_[column, np.full(30, unit)], Y)
    with pytest.raises(ValueError, match="a class covariance is singular"):
        Divergence().prepare(np.c_[column, np.where(Y, 0.1, unit)], Y)


# -- rankers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["generalized", "difference_over_variance", "signal_to_noise"])
def test_fisher_scores_in_pieces_are_those_of_the_whole_table(kind):
    pieces = mm.pieces.from_array(X, Y, rows=7)
    found, whole = FisherScore(kind=kind).fit(pieces), FisherScore(kind=kind).fit(X, Y)
    np.testing.assert_allclose(found.scores_, whole.scores_, rtol=1e-9)
    assert found.selected_ == whole.selected_
    assert found.history_.equals(found.history_.reset_index(drop=True))
    with pytest.raises(ValueError, match=r"holds 1 class \(0\)"):
        FisherScore().fit(mm.pieces.from_array(X, np.zeros(30, dtype=int), rows=7))
    with pytest.raises(ValueError, match="Unknown label type"):
        FisherScore().fit(mm.pieces.from_array(X, X[:, 0], rows=7))
    with pytest.raises(ValueError, match="a class has no weight"):
        FisherScore().fit(mm.pieces.from_array(X, Y, 1.0 * Y, rows=7))


def test_wrong_kinds_and_weights_are_refused():
    for given in ((X, Y), (mm.pieces.from_array(X, Y, rows=7),)):
        with pytest.raises(ValueError, match="kind='other'"):
            FisherScore(kind="other").fit(*given)
    with pytest.raises(ValueError, match="a class has no weight"):
        FisherScore().fit(X, Y, sample_weight=1.0 * Y)
    assert FisherScore().fit(X, Y, sample_weight=np.full(30, 1e-3)).scores_ == pytest.approx(
        FisherScore().fit(X, Y).scores_
    )
    mixed = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": list("xyxy")})
    with pytest.raises(ValueError, match=r"\['b'\] hold categories"):
        FisherScore().fit(mixed, [0, 0, 1, 1])


def test_small_spreads_and_entropies_are_divided():
    """A spread below 1, and entropies below 1 bit: 5 of 100 rows are of the rare class."""
    assert FisherScore().fit([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1]).scores_ == pytest.approx([100.0])
    assert SymmetricalUncertainty._measure(np.zeros(1), np.zeros(1)).tolist() == [0.0]
    y = np.repeat([0, 1], [95, 5])
    assert SymmetricalUncertainty().fit(pd.DataFrame({"c": y.astype(str)}), y).scores_ == pytest.approx([1.0])


@pytest.mark.parametrize("ranker", [InformationGain, SymmetricalUncertainty, FisherScore])
def test_sparse_columns_are_ranked_in_blocks(monkeypatch, ranker):
    table = np.where(np.abs(X) > 0.05, X, 0.0)
    expected = ranker().fit(table, Y).scores_
    for block in (1, 3, 256):
        monkeypatch.setattr(rankers, "_BLOCK", block)
        np.testing.assert_allclose(ranker().fit(sp.csr_array(table), Y).scores_, expected, rtol=1e-12)


def test_the_best_column_comes_first_in_the_history():
    found = FisherScore(n_features=2).fit(X, Y)
    assert found.history_["rank"].tolist() == [1, 2, 3, 4]
    assert found.history_.index.tolist() == [0, 1, 2, 3]
    assert found.history_["selected"].tolist() == [True, True, False, False]
    edge = FisherScore(threshold=found.scores_.max()).fit(X, Y)
    assert not edge.support_.any()  # a score equal to the threshold is not above it


# -- the Relief family ---------------------------------------------------------------------------------------


def test_drawn_rows():
    assert _draw(None, 3, None).tolist() == [0, 1, 2]
    assert _draw([2, 0], 3, None).tolist() == [2, 0]
    assert sorted(_draw(3, 3, 0)) == [0, 1, 2]
    assert len(_draw(0.5, 8, 0)) == len(set(_draw(0.5, 8, 0))) == 4
    for wrong in ([], [-1], [3], [0, 3], [-1, 0], [0.5]):
        with pytest.raises(ValueError, match=r"row numbers 0 \.\.\. 2"):
            _draw(wrong, 3, None)
    for wrong in (4, 0, 1.5):
        with pytest.raises(ValueError, match=r"use 1 \.\.\. 3, a share"):
            _draw(wrong, 3, None)


def test_scaled_columns():
    """Numbers are divided by their range; categories, constants and unknown columns are left alone."""
    values = np.array([[1.0, 5.0, 7.0, np.nan], [3.0, 5.0, 9.0, np.nan], [np.nan, 5.0, 8.0, np.nan]])
    found = _scaled(CodedTable(values, np.array([False, False, True, False])))
    expected = [[0.5, 1.5, np.nan], [5.0, 5.0, 5.0], [7.0, 9.0, 8.0], [np.nan] * 3]
    np.testing.assert_array_equal(found, expected)
    unit = _scaled(CodedTable(np.array([[1.0], [2.0]]), np.array([False])))
    assert unit.tolist() == [[1.0, 2.0]]


def test_weights_of_misses_and_quotients():
    np.testing.assert_allclose(_miss_weights(np.array([2.0, 3.0, 5.0]))[0], [0.25, 0.375, 0.625])
    assert _quotient([1.0, 1.0, 1.0], [0.0, 0.5, 2.0]).tolist() == [0.0, 2.0, 0.5]
    assert np.isnan(_quotient([1.0], [0.0], empty=np.nan)).all()


def test_what_the_relief_family_refuses():
    with pytest.raises(ValueError, match="distance='other'"):
        Relief(distance="other").fit(X, Y)
    with pytest.raises(ValueError, match="class 1 has a single row"):
        Relief().fit(X, (np.arange(30) == 3).astype(int))
    with pytest.raises(ValueError, match="class 'b' has a single row"):
        Relief().fit(X[:5], list("aabcc"))
    mixed = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": list("xyxy")})
    with pytest.raises(ValueError, match="numbers only"):
        Relief(distance="raw").fit(mixed, [0, 0, 1, 1])
    for choice in ({"n_features": 2}, {"threshold": 0.0}):
        with pytest.raises(ValueError, match="to TuRF, not to its ranker"):
            TuRF(ReliefF(**choice)).fit(X, Y)


def test_neighbours_of_one_row():
    """diff of categories is 0 or 1; distances are means over the known columns, times their number."""
    table = pd.DataFrame({"a": [0.0, 1.0, np.nan, 4.0, 2.0], "b": list("xyxzx")})
    found = Relief().neighbour_table(table, list("ppqqq"), 0)
    assert list(found.columns) == ["class", "a", "b", "distance", "role"]
    assert found["class"].tolist() == ["p", "q", "q", "q"]
    np.testing.assert_allclose(found["a"], [0.25, np.nan, 1.0, 0.5])
    assert found["b"].tolist() == [1.0, 0.0, 1.0, 0.0]
    np.testing.assert_allclose(found["distance"], [1.25, 0.0, 2.0, 0.5])
    assert found["role"].tolist() == ["hit", "miss", "", ""]
    last = Relief().neighbour_table(table, list("ppqqq"), 4)
    assert last.index.tolist() == [0, 1, 2, 3]
    assert last["role"].tolist() == ["miss", "", "hit", ""]
    with pytest.raises(ValueError, match=r"row numbers 0 \.\.\. 4"):
        Relief().neighbour_table(table, list("ppqqq"), 5)


def test_defaults_of_the_relief_family():
    many = np.tile(X, (2, 1)) + np.random.default_rng(1).normal(size=(60, 4))
    y = np.arange(60) % 2
    np.testing.assert_array_equal(ReliefF().fit(many, y).scores_, ReliefF(10).fit(many, y).scores_)
    assert not np.allclose(ReliefF(11).fit(many, y).scores_, ReliefF(10).fit(many, y).scores_)
    assert (TuRF().step, TuRF(ReliefF(3)).ranker.n_neighbors) == (0.1, 3)
    constant = ReliefF(3, target="numbers").fit(many, np.full(60, 2.0))
    assert np.isfinite(constant.scores_).all()


def test_rounds_drop_the_worst_columns():
    """Step 1 of 4 columns to 2: rounds 1, 2 and 3, and the ranking is by round, then by score."""
    found = TuRF(ReliefF(3), step=1, n_features=2).fit(X, Y)
    assert sorted(found.history_["round"]) == [1, 2, 3, 3]
    assert found.history_["round"].tolist() == [3, 3, 2, 1]
    last = found.history_["score"][:2].tolist()
    assert last == sorted(last, reverse=True)
    first = ReliefF(3).fit(X, Y)
    assert found.ranking_[np.argmin(first.scores_)] == 4
    assert found.history_["selected"].tolist() == [True, True, False, False]
    every = TuRF(ReliefF(3), step=1, threshold=2.0).fit(X, Y)  # no score is above 2: one column is left
    assert every.history_["round"].max() == 4
    assert not every.support_.any()
    none = TuRF(ReliefF(3), step=1, threshold=-2.0).fit(X, Y)
    assert none.history_["round"].tolist() == [1] * 4
    assert none.support_.all()
    edge = TuRF(ReliefF(3), step=9, threshold=float(np.sort(first.scores_)[1])).fit(X, Y)
    assert (edge.history_["round"] == 1).sum() == 2  # a score equal to the threshold is dropped


@pytest.mark.parametrize("ranker", [SURF(), MultiSURF()])
def test_radii_are_those_of_the_distances(ranker):
    """Rows 0, 1, 2, 10 of one column with range 10: distances from row 0 are .1, .2 and 1."""
    ranker.fit([[0.0], [1.0], [2.0], [10.0]], [0, 1, 0, 1])
    rows = ranker._rows(coded_table(ranker, np.array([[0.0], [1.0], [2.0], [10.0]]), "auto"))
    number, radius = ranker._neighbourhood(rows, None)
    apart = np.abs(np.subtract.outer([0, 1, 2, 10], [0, 1, 2, 10])) / 10
    others = apart[~np.eye(4, dtype=bool)].reshape(4, 3)
    expected = np.full(4, others.mean()) if isinstance(ranker, SURF) else None
    if isinstance(ranker, MultiSURF):
        expected = others.mean(axis=1) - others.std(axis=1) / 2
    assert number == 0
    np.testing.assert_allclose(radius, expected)


def test_rows_whose_sum_overflows_are_transformed_without_a_warning() -> None:
    """Each value fits into float32; their sum does not, and infinity minus infinity is no number."""
    X = np.tile(np.float32([3e38, -3e38]), (40, 30))
    selector = FisherScore(n_features=1).fit(np.arange(240.0).reshape(4, 60) ** 1.5, [0, 1, 0, 1])
    assert selector.transform(X).tolist() == X[:, selector.support_].tolist()
