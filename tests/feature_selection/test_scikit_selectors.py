"""RFECV, SequentialFeatureSelector and their parameters, beside scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import feature_selection as peer
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import maxmargin as mm
from maxmargin.feature_selection import (
    RFE,
    RFECV,
    FisherScore,
    Floating,
    InformationGain,
    SequentialFeatureSelector,
    SparseSVMSelector,
    SymmetricalUncertainty,
)

X, Y = make_classification(60, 8, n_informative=3, random_state=0)
WEIGHT = np.random.default_rng(0).uniform(0.1, 2.0, 60)
GROUPS = np.arange(60) % 6


@pytest.mark.parametrize("step", [1, 2, 0.3])
@pytest.mark.parametrize("model", [LogisticRegression(), mm.SVC(kernel="linear", tol=1e-8)])
def test_rfecv_is_scikit_learns(step, model) -> None:
    ours = RFECV(model, step=step, min_features_to_select=2).fit(X, Y)
    theirs = peer.RFECV(clone(model), step=step, min_features_to_select=2).fit(X, Y)
    np.testing.assert_array_equal(ours.ranking_, theirs.ranking_)
    assert set(ours.cv_results_) == set(theirs.cv_results_)
    for name, values in theirs.cv_results_.items():
        np.testing.assert_allclose(ours.cv_results_[name], values, atol=1e-12, err_msg=name)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.score(X, Y) == theirs.score(X, Y)


def test_rfe_predicts_and_takes_fit_parameters() -> None:
    model = LogisticRegression()
    ours = RFE(model, 3).fit(X, Y, sample_weight=WEIGHT)
    theirs = peer.RFE(model, n_features_to_select=3).fit(X, Y, sample_weight=WEIGHT)
    np.testing.assert_array_equal(ours.ranking_, theirs.ranking_)
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))
    chosen = RFE(model, cv=GroupKFold(3), scoring="roc_auc").fit(X, Y, groups=GROUPS)
    assert len([name for name in chosen.cv_results_ if name.endswith("_test_score")]) == 3 + 2
    kept = X[:, chosen.support_]
    assert kept.shape[1] == chosen.n_features_
    by_name = RFE(DecisionTreeClassifier(random_state=0), 3, importance_getter="feature_importances_").fit(
        X, Y
    )
    by_function = RFE(
        DecisionTreeClassifier(random_state=0), 3, importance_getter=lambda m: m.feature_importances_
    )
    np.testing.assert_array_equal(by_name.ranking_, by_function.fit(X, Y).ranking_)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_sparse_rows_are_eliminated_as_dense_ones(kernel) -> None:
    model = mm.SVC(kernel=kernel, gamma=0.1, tol=1e-8)
    dense = RFE(model, 3).fit(X, Y)
    sparse = RFE(model, 3).fit(sp.csr_array(X), Y)
    np.testing.assert_array_equal(sparse.ranking_, dense.ranking_)
    assert sp.issparse(sparse.transform(sp.csr_array(X)))


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize(
    "options", [{}, {"n_features_to_select": 3}, {"tol": 1e-3}, {"n_features_to_select": 0.25}]
)
@pytest.mark.parametrize("model", [LogisticRegression(), mm.SVC(tol=1e-8, gamma=0.1)])
def test_sequential_selection_is_scikit_learns(direction, options, model) -> None:
    A = X[:, :6]
    ours = SequentialFeatureSelector(model, direction=direction, **options).fit(A, Y)
    theirs = peer.SequentialFeatureSelector(clone(model), direction=direction, **options).fit(A, Y)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    assert ours.n_features_to_select_ == theirs.n_features_to_select_


def test_sequential_selection_of_a_regressor_uses_its_score() -> None:
    A, b = make_regression(50, 6, n_informative=2, random_state=0, noise=5.0)
    ours = SequentialFeatureSelector(LinearRegression(), tol=0.01).fit(A, b)
    theirs = peer.SequentialFeatureSelector(LinearRegression(), tol=0.01).fit(A, b)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    scores = cross_val_score(LinearRegression(), A[:, ours.support_], b)
    row = ours.history_[ours.history_["subset"] == tuple(ours.selected_)].iloc[0]
    np.testing.assert_allclose(row["folds"], scores)
    assert ours.score_ == pytest.approx(scores.mean())


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_fixed_columns_stay(direction) -> None:
    model = LogisticRegression()
    chosen = SequentialFeatureSelector(model, direction=direction, n_features_to_select=3, fixed=[0, "x7"])
    assert chosen.fit(X, Y).support_[[0, 7]].all()
    assert chosen.support_.sum() == 3
    with pytest.raises(ValueError, match="fixed"):
        SequentialFeatureSelector(model, fixed=["age"]).fit(X, Y)


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_groups_of_columns_move_together(direction) -> None:
    """Every step is the best of all groups, found by scores of all candidates."""
    model = LogisticRegression()
    groups = [("x0", 5), (2, 1, 7), (3,), (4,), (6,)]
    numbers = [(0, 5), (1, 2, 7), (3,), (4,), (6,)]
    chosen = SequentialFeatureSelector(
        model, direction=direction, n_features_to_select=2, feature_groups=groups[:3]
    ).fit(X, Y)
    kept = [] if direction == "forward" else list(range(5))
    while len(kept) != 2:
        moves = [k for k in range(5) if (k in kept) == (direction == "backward")]
        led = [sorted(set(kept) ^ {k}) for k in moves]
        columns = [sorted(j for k in now for j in numbers[k]) for now in led]
        scores = [cross_val_score(clone(model), X[:, subset], Y).mean() for subset in columns]
        kept = led[int(np.argmax(scores))]
    expected = sorted(j for k in kept for j in numbers[k])
    np.testing.assert_array_equal(np.flatnonzero(chosen.support_), expected)
    assert chosen.n_features_to_select_ == len(expected)
    assert chosen.score_ == pytest.approx(1 - max(scores))
    last = chosen.path_.iloc[-1]
    assert (last["size"], last["subset"]) == (2, tuple(f"x{j}" for j in expected))
    assert set(chosen.path_["variable"].dropna()) <= {"x0 + x5", "x1 + x2 + x7", "x3", "x4", "x6"}


def test_groups_that_are_fixed_floating_or_wrong() -> None:
    model = LogisticRegression()
    groups = [[0, 5], [1, 2, 7]]
    fixed = SequentialFeatureSelector(model, n_features_to_select=2, feature_groups=groups, fixed=[2])
    assert fixed.fit(X, Y).support_[[1, 2, 7]].all()
    floating = SequentialFeatureSelector(model, n_features_to_select=3, feature_groups=groups, floating=True)
    support = floating.fit(X, Y).support_
    assert support[0] == support[5]
    assert support[1] == support[2] == support[7]
    lean = SequentialFeatureSelector(
        model, n_features_to_select="best", feature_groups=groups, parsimonious=True
    )
    assert lean.fit(X, Y).support_.any()
    for wrong in ([[0, 1], [1, 2]], [[]], [[0, 0]], [["age"]], [[99]]):
        with pytest.raises(ValueError, match="feature_groups"):
            SequentialFeatureSelector(model, feature_groups=wrong).fit(X, Y)


def test_ranges_parsimony_and_floating() -> None:
    model = LogisticRegression()
    ranged = SequentialFeatureSelector(model, n_features_to_select=(2, 5)).fit(X, Y)
    path = ranged.path_[ranged.path_["size"].between(2, 5)]
    assert 2 <= ranged.support_.sum() <= 5
    assert ranged.score_ == path["value"].min()
    best = SequentialFeatureSelector(model, n_features_to_select="best").fit(X, Y)
    lean = SequentialFeatureSelector(model, n_features_to_select="best", parsimonious=True).fit(X, Y)
    folds = best.history_.set_index("subset").loc[[tuple(best.selected_)], "folds"].iloc[0]
    limit = best.score_ + np.std(folds, ddof=1) / np.sqrt(5)
    smaller = best.path_[(best.path_["size"] < lean.support_.sum())]
    assert lean.score_ <= limit
    assert (smaller["value"] > limit).all()
    floating = SequentialFeatureSelector(model, n_features_to_select=4, floating=True).fit(X, Y)
    assert floating.support_.sum() == 4
    assert isinstance(floating._parts()[0], Floating)
    with pytest.raises(ValueError, match="floating=True"):
        SequentialFeatureSelector(model, floating=True, tol=0.1).fit(X, Y)


def test_weights_groups_and_missing_values_reach_the_estimator() -> None:
    model = LogisticRegression()
    chosen = SequentialFeatureSelector(model, n_features_to_select=2, cv=GroupKFold(3))
    chosen.fit(X, Y, sample_weight=WEIGHT, groups=GROUPS)
    first = chosen.path_.iloc[0]["subset"]
    column = int(first[0].removeprefix("x"))
    errors = []
    for train, test in GroupKFold(3).split(X, Y, GROUPS):
        fitted = LogisticRegression().fit(X[train][:, [column]], Y[train], sample_weight=WEIGHT[train])
        errors.append(1 - fitted.score(X[test][:, [column]], Y[test]))
    assert chosen.path_.iloc[0]["value"] == pytest.approx(np.mean(errors))
    holes = X.copy()
    holes[3, 2] = np.nan
    tree = DecisionTreeClassifier(random_state=0)
    assert SequentialFeatureSelector(tree, n_features_to_select=2).fit(holes, Y).support_.sum() == 2
    assert RFE(tree, 2).fit(holes, Y).support_.sum() == 2
    imputed = make_pipeline(SimpleImputer(), LogisticRegression())
    for selector in (
        RFE(imputed, 2, importance_getter="named_steps.logisticregression.coef_"),
        SequentialFeatureSelector(imputed, n_features_to_select=2),
    ):
        assert selector.fit(holes, Y).transform(holes).shape == (len(Y), 2)
    with pytest.raises(ValueError, match="NaN"):
        RFE(LogisticRegression(), 2).fit(holes, Y)


def words() -> tuple[sp.csr_array, np.ndarray]:
    rng = np.random.default_rng(3)
    dense = np.where(rng.random((50, 300)) < 0.2, rng.integers(1, 4, (50, 300)), 0).astype(float)
    labels = np.arange(50) % 2
    dense[labels == 1, 5] += 2.0
    return sp.csr_array(dense), labels


@pytest.mark.parametrize(
    "selector",
    [
        FisherScore(),
        FisherScore(kind="signal_to_noise"),
        InformationGain(),
        SymmetricalUncertainty(),
        SparseSVMSelector("l1", n_features=3),
    ],
)
def test_sparse_columns_are_ranked_as_dense_ones(selector) -> None:
    rows, labels = words()
    sparse, dense = clone(selector).fit(rows, labels), clone(selector).fit(rows.toarray(), labels)
    np.testing.assert_array_equal(sparse.support_, dense.support_)
    if hasattr(sparse, "scores_"):
        np.testing.assert_array_equal(sparse.scores_, dense.scores_)
    assert sp.issparse(sparse.transform(rows))
    assert sparse.support_[5]


@pytest.mark.parametrize("shrinkage", ["auto", 0.3])
def test_fisher_discriminant_of_sparse_rows(shrinkage) -> None:
    rows, labels = words()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 50)
    sparse = mm.FisherDiscriminant(shrinkage=shrinkage).fit(rows, labels, weight)
    dense = mm.FisherDiscriminant(shrinkage=shrinkage).fit(rows.toarray(), labels, weight)
    np.testing.assert_allclose(
        sparse.decision_function(rows), dense.decision_function(rows.toarray()), atol=1e-8
    )
