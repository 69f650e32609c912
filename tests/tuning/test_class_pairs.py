"""Many classes one-versus-one: matrices in parts, and votes that need not be counted."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import svm as sk
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV, ShuffleSplit, StratifiedKFold

import maxmargin as mm
from maxmargin.solvers.dual.gram import class_pairs as pairs
from maxmargin.solvers.dual.gram import shared_gram as shared

TOL = 1e-6
GRID = {"C": [0.1, 1.0, 10.0], "gamma": [0.05, 0.5]}


@pytest.fixture(scope="module")
def data():
    """Five classes that overlap, of which the fourth is small."""
    X, y = make_blobs([60, 50, 60, 12, 40], n_features=3, cluster_std=4.0, random_state=0)
    return X / 4, np.array(["a", "b", "c", "d", "e"])[y]


def errors_of(search):
    scores = [search.cv_results_[f"split{k}_test_score"] for k in range(search.n_splits_)]
    return 1 - np.array(scores).T


@pytest.fixture(params=["whole", "parts", "float64 parts"])
def matrix(request, monkeypatch):
    """How the values of a pair come about; in parts nobody may ask for the matrix of all rows."""
    if request.param != "whole":
        monkeypatch.setattr(shared, "_SHARED_ROWS", 10)
        monkeypatch.setattr(shared.Layout, "gram", None)
    if request.param == "float64 parts":
        monkeypatch.setattr(shared.SharedGram, "too_coarse", lambda *_: True)
    return request.param


@pytest.mark.parametrize(
    ("options", "cv"),
    [
        ({}, StratifiedKFold(4)),
        ({"break_ties": True}, StratifiedKFold(3, shuffle=True, random_state=0)),
        ({"class_weight": {"d": 3.0, "a": 0.5}}, StratifiedKFold(3)),
        # rows may be in no training set, in several test sets or in none
        ({}, ShuffleSplit(4, train_size=0.5, test_size=0.3, random_state=1)),
    ],
    ids=["plain", "ties", "class weights", "shuffled"],
)
@pytest.mark.parametrize("scoring", [None, "balanced_accuracy"])
def test_every_fold_agrees(options, cv, scoring, matrix, data):
    tol = TOL if matrix == "whole" else 1e-4  # below 1e-5 the matrix is float64, and whole
    ours = mm.SVC(tol=tol, **options)
    result = mm.tune(ours, *data, GRID, cv=cv, scoring=scoring, refit=False)
    theirs = sk.SVC(tol=TOL, **options)
    search = GridSearchCV(theirs, GRID, cv=cv, scoring=scoring, refit=False).fit(*data)
    assert result.path == "shared Gram matrices"
    np.testing.assert_allclose(result.folds, errors_of(search), atol=1e-12)


def test_only_rows_that_lose_a_vote_are_asked_about(data, monkeypatch):
    X, y = data
    cv = StratifiedKFold(4)
    sizes = [len(test) for _, test in cv.split(X, y)]
    asked = []
    decisions = pairs.PairExpansions.decisions

    def counted(self, gram, codes, test):
        asked.append(len(test))
        return decisions(self, gram, codes, test)

    monkeypatch.setattr(pairs.PairExpansions, "decisions", counted)
    grid = {"C": [1.0], "gamma": [0.05]}
    result = mm.tune(mm.SVC(tol=TOL), X, y, grid, cv=cv, refit=False)
    n_wrong = sum(round(error * n) for error, n in zip(result.folds[0], sizes, strict=True))
    assert n_wrong > 0
    assert n_wrong <= sum(asked) < len(y) / 2  # wrong rows have lost a vote; most rows have lost none
    asked.clear()
    mm.tune(mm.SVC(tol=TOL), X, y, grid, cv=cv, scoring="balanced_accuracy", refit=False)
    assert sum(asked) == len(y)  # a scorer may look at the decisions of all rows


def test_balanced_weights_give_the_machines_of_single_fits(data):
    """All multipliers are at their bounds here, and those of both classes have the same sum up to rounding.

    Every bias in an interval is optimal. What rounding leaves must not decide: the middle is taken, in the
    tuner as in a fit.
    """
    X, y = data
    cv = StratifiedKFold(4)
    machine = mm.SVC(C=0.01, gamma=0.05, class_weight="balanced", tol=TOL)
    result = mm.tune(machine, X, y, {"C": [0.01]}, cv=cv, refit=False)
    errors = []
    for train, test in cv.split(X, y):
        model = machine.fit(X[train], y[train])
        assert all(one.bounded.all() for one in model.machines_)
        errors.append(np.mean(model.predict(X[test]) != y[test]))
    np.testing.assert_allclose(result.folds[0], errors, atol=1e-12)
