"""Methods side by side, and the pictures of selections."""

from __future__ import annotations

import doctest

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from maxmargin import SVC
from maxmargin.displays.choices import selection_display as selection
from maxmargin.displays.choices.selection_display import SelectionDisplay
from maxmargin.feature_selection import (
    RFE,
    SBS,
    SFS,
    CFSMerit,
    Exhaustive,
    FisherScore,
    Genetic,
    SparseSVMSelector,
    SubsetSelector,
    compare,
    comparison,
)
from maxmargin.feature_selection.comparison import stability

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def table():
    X, y = make_classification(
        120, 6, n_informative=2, n_redundant=0, n_clusters_per_class=1, shuffle=False, random_state=3
    )
    return pd.DataFrame(X, columns=list("abcdef")), np.where(y == 1, "yes", "no")


def test_every_default_method_in_one_table(table):
    X, y = table
    result = compare(X, y, n_features=2, cv=3, n_resamples=3)
    assert list(result.ranks.index) == list("abcdef")
    assert result.ranks.shape == result.chosen.shape == result.frequency.shape == (6, 9)
    assert (result.methods["n_features"].drop("CFS") == 2).all()
    assert result.methods.loc["SFS", "error"] <= result.methods["error"].drop("CFS").min() + 0.05
    assert result.frequency.to_numpy().min() >= 0
    assert result.frequency.to_numpy().max() <= 1
    assert set(result.table.index.get_level_values(0)) == {"rank", "chosen", "frequency", "method"}
    assert "nested_error" in str(result)
    drawn = SelectionDisplay.from_result(result).plot()
    assert [label.get_text() for label in drawn.ax_.get_yticklabels()] == list("abcdef")


def test_errors_are_those_of_scikit_learn(table):
    X, y = table
    model, folds = KNeighborsClassifier(), StratifiedKFold(4)
    methods = {"Fisher": FisherScore(n_features=2)}
    result = compare(X, y, methods, estimator=model, cv=folds, n_resamples=0)
    kept = list(result.chosen.index[result.chosen["Fisher"]])
    expected = 1 - cross_val_score(model, X[kept], y, cv=folds).mean()
    assert result.methods.loc["Fisher", "error"] == pytest.approx(expected)
    nested = []
    for train, test in folds.split(X, y):
        names = FisherScore(n_features=2).fit(X.iloc[train], y[train]).selected_
        nested.append(1 - model.fit(X[names].iloc[train], y[train]).score(X[names].iloc[test], y[test]))
    assert result.methods.loc["Fisher", "nested_error"] == pytest.approx(np.mean(nested))
    assert np.isnan(result.methods.loc["Fisher", "stability"])


def test_ranks_of_paths(table):
    X, y = table
    forward, backward = SFS(KNeighborsClassifier(), cv=3), SBS(KNeighborsClassifier(), 1, cv=3)
    result = compare(X, y, {"SFS": forward, "SBS": backward}, cv=3, n_resamples=0)
    added = forward.fit(X, y).path_["variable"].to_list()
    assert result.ranks["SFS"].sort_values().index.to_list() == added
    removed = backward.fit(X, y).path_["variable"].dropna().to_list()
    assert result.ranks["SBS"].sort_values(ascending=False).index.to_list()[:5] == removed


def test_stability_is_one_for_the_same_and_zero_for_chance():
    assert stability(np.tile([1.0, 0.0, 1.0, 0.0], (5, 1))) == 1
    rng = np.random.default_rng(0)
    by_chance = np.array([rng.permutation([1.0] * 5 + [0.0] * 15) for _ in range(2000)])
    assert stability(by_chance) == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize(
    ("selector", "kind"),
    [
        (FisherScore(n_features=2), "bars"),
        (SFS(KNeighborsClassifier(), cv=3), "curve"),
        (SBS(KNeighborsClassifier(), 2, cv=3), "curve"),
        (SubsetSelector(Exhaustive(), CFSMerit()), "curve"),
        (SubsetSelector(Genetic(6, 4), CFSMerit(), random_state=0), "curve"),
        (RFE(SVC(), 2), "curve"),
        (SparseSVMSelector("l1", 2), "paths"),
        (RFE(SVC(kernel="linear"), cv=3), "curve"),
    ],
    ids=repr,
)
def test_every_selector_has_a_picture(table, selector, kind):
    X, y = table
    drawn = selector.fit(X, y).display()
    assert drawn.kind == kind
    assert drawn.ax_.get_xlabel()
    assert len(drawn.labels) == (6 if kind == "paths" else len(drawn.y))
    texts = [t.get_text() for t in drawn.ax_.texts] + [t.get_text() for t in drawn.ax_.get_yticklabels()]
    if isinstance(selector, FisherScore | SFS | RFE):
        moved = {text.lstrip("+-") for text in texts}
        assert len(moved & set("abcdef")) >= 4
    matplotlib.pyplot.close(drawn.ax_.figure)


def test_the_picture_holds_the_path():
    X, y = load_iris(return_X_y=True, as_frame=True)
    fitted = SFS(KNeighborsClassifier(), cv=3).fit(X, y)
    arrays = SelectionDisplay.from_estimator(fitted)
    np.testing.assert_array_equal(arrays.x, [1, 2, 3, 4])
    np.testing.assert_array_equal(arrays.y, fitted.path_["value"])
    assert arrays.labels == ["+" + name for name in fitted.path_["variable"]]
    assert arrays.y[arrays.chosen].tolist() == [fitted.score_]


@pytest.mark.parametrize("module", [comparison, selection])
def test_docstrings_run(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


class Interrupted(FisherScore):
    """Ctrl-C comes while it is fitted."""

    def fit(self, X, y):
        raise KeyboardInterrupt


def test_an_interrupt_returns_the_finished_methods():
    rows, y = load_iris(return_X_y=True, as_frame=True)
    methods = {"Fisher": FisherScore(n_features=2), "other": Interrupted(n_features=2)}
    whole = compare(rows, y, {"Fisher": FisherScore(n_features=2)}, cv=3, n_resamples=2)
    part = compare(rows, y, methods, cv=3, n_resamples=2)
    assert (whole.interrupted, part.interrupted) == (False, True)
    assert part.ranks.equals(whole.ranks)
    assert part.methods.index.to_list() == ["Fisher"]
    with pytest.raises(KeyboardInterrupt):
        compare(rows, y, {"other": Interrupted(n_features=2)}, cv=3, n_resamples=2)
