"""Recursive elimination: worked values, literal W^2 differences, scikit-learn's rankings."""

from __future__ import annotations

import doctest

import numpy as np
import pandas as pd
import pytest
from sklearn import feature_selection as peer
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_iris, make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import check_scoring
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import SVC, SVR, NuSVC, kernels
from maxmargin.base.tables import read_classes
from maxmargin.feature_selection import RFE, rfe
from maxmargin.feature_selection.column_svc import ColumnSVC
from maxmargin.feature_selection.elimination import AnyElimination, Fits, SVCElimination, model_worths
from maxmargin.solvers.dual.gram.gram_problem import GramProblem

TABLE = pd.DataFrame(
    {
        "height": [170, 147, 150, 154, 175, 152, 173, 177],
        "weight": [85, 75, 77, 81, 79, 80, 82, 84],
        "noise": [0.011, 0.34, 0.034, 0.092, 0.065, 0.358, 0.36, 0.757],
    }
)
TALL = np.array([1, 0, 0, 0, 1, 0, 1, 1])


def test_the_worked_elimination():
    X = (TABLE - TABLE.mean()) / TABLE.std()  # sample standard deviation
    fitted = RFE(SVC(kernel="linear", C=1, tol=1e-8), 1).fit(X, TALL)
    assert fitted.history_["removed"].to_list() == [("noise",), ("weight",), ()]
    assert fitted.ranking_.tolist() == [1, 2, 3]
    w = SVC(kernel="linear", C=1, tol=1e-8).fit(X, TALL)
    np.testing.assert_allclose(w.coef_[0], [1.2989, 0.2853, -0.0407], atol=5e-5)
    assert w.intercept_[0] == pytest.approx(-0.228, abs=5e-4)
    np.testing.assert_allclose(
        SVC(kernel="linear", C=1, tol=1e-8).fit(X[["height", "weight"]], TALL).coef_[0],
        [1.3036, 0.2912],
        atol=5e-5,
    )
    np.testing.assert_allclose(fitted.history_["worth"][:2], [0.0407**2, 0.2912**2], rtol=2e-3)


def engine(machine, X, y):
    rows = np.arange(len(y))
    return SVCElimination(ColumnSVC.of(machine), X, read_classes(y, len(y), machine), rows, rows)


@pytest.mark.parametrize(
    "settings",
    [
        {"gamma": 0.2},
        {},
        {"kernel": "linear"},
        {"kernel": "poly", "coef0": 1.0, "degree": 2, "gamma": 0.3},
        {"kernel": "laplacian", "gamma": 0.1},
        {"kernel": "exponential", "gamma": 0.3},
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_worths_are_the_literal_changes_of_the_squared_norm(settings, n_classes):
    X, y = make_classification(80, 5, n_informative=4, n_redundant=0, n_classes=n_classes, random_state=0)
    machine = SVC(**settings, tol=1e-6)
    model = machine.fit(X, y)
    expected = np.zeros(5)
    for fitted in model.machines_:
        rows = X[fitted.rows]
        square = fitted.beta @ model.kernel_(rows) @ fitted.beta
        for j in range(5):
            smaller = fitted.beta @ model.kernel_(np.delete(rows, j, 1)) @ fitted.beta
            expected[j] += abs(square - smaller)
    np.testing.assert_allclose(engine(machine, X, y).worths(), expected, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(model_worths(model, X), expected, rtol=1e-3, atol=1e-6)


def test_rbf_worths_from_first_principles():
    X, y = make_classification(60, 3, n_informative=3, n_redundant=0, random_state=3)
    theirs = svm.SVC(gamma=0.5, tol=1e-8).fit(X, y)
    beta, rows = theirs.dual_coef_[0], theirs.support_vectors_
    square = beta @ rbf_kernel(rows, gamma=0.5) @ beta
    expected = [abs(square - beta @ rbf_kernel(np.delete(rows, j, 1), gamma=0.5) @ beta) for j in range(3)]
    np.testing.assert_allclose(engine(SVC(gamma=0.5, tol=1e-8), X, y).worths(), expected, rtol=1e-5)


def test_the_engine_follows_fits_from_scratch():
    """Updated matrices and warm starts change nothing: every round equals a fresh fit."""
    X, y = make_classification(70, 12, n_informative=4, random_state=1)
    machine = SVC(gamma=0.1, tol=1e-8)
    rows = np.arange(70)
    fast, plain = (
        engine(machine, X, y),
        AnyElimination(Fits(machine, X, y, {}, {}, scorer=check_scoring(machine)), rows, rows),
    )
    for _ in range(11):
        ours, theirs = fast.worths(), plain.worths()
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-7)
        assert round(70 * fast.error()) == round(70 * plain.error())  # the same number of wrong rows
        fast.drop(np.array([ours.argmin()]))
        plain.drop(np.array([ours.argmin()]))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_same_ranking_as_scikit_learn(n_classes):
    X, y = make_classification(60, 40, n_informative=5, n_classes=n_classes, random_state=n_classes)
    theirs = peer.RFE(svm.SVC(kernel="linear", tol=1e-9), n_features_to_select=1).fit(X, y)
    ours = RFE(SVC(kernel="linear", tol=1e-9), 1).fit(X, y)
    np.testing.assert_array_equal(ours.ranking_, theirs.ranking_)
    logistic, X = LogisticRegression(C=0.1), X[:, :12]
    np.testing.assert_array_equal(
        RFE(logistic, 4).fit(X, y).ranking_, peer.RFE(logistic, n_features_to_select=4).fit(X, y).ranking_
    )


def test_linear_kernels_with_fewer_columns_than_rows_need_no_pairwise_steps(monkeypatch):
    """The primal problem says which rows are at their bounds; pairwise steps took tens of thousands."""
    steps, solve = [], GramProblem.solve

    def counted(problem, *args, **options):
        ending = solve(problem, *args, **options)
        steps.append(ending.n_iter)
        return ending

    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 30))
    y = X[:, :4].sum(axis=1) + rng.normal(size=120) > 0
    with monkeypatch.context() as patch:
        patch.setattr(GramProblem, "solve", counted)
        model = ColumnSVC.of(SVC(kernel="linear", tol=1e-8))
        everything = np.arange(120)
        fits = SVCElimination(model, X, read_classes(y, 120, model.svc), everything, everything)
        for _ in range(29):
            worths = fits.worths()
            fits.drop(np.array([int(worths.argmin())]))
    assert len(steps) == 29
    assert np.median(steps) == 0
    assert max(steps) <= 4000
    plain = RFE(SVC(kernel="linear", tol=1e-8), 1, importance_getter="coef_").fit(X, y)
    np.testing.assert_array_equal(RFE(SVC(kernel="linear", tol=1e-8), 1).fit(X, y).ranking_, plain.ranking_)


def test_more_columns_than_rows_are_solved_in_one_compiled_call(monkeypatch):
    """A round on few rows takes a tenth of a millisecond; the Python of a long solve took twice that."""
    monkeypatch.setattr(GramProblem, "solve", lambda *_, **__: pytest.fail("a long solve"))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 90))
    y = X[:, :4].sum(axis=1) > 0
    model, everything = ColumnSVC.of(SVC(kernel="linear")), np.arange(40)
    fits = SVCElimination(model, X, read_classes(y, 40, model.svc), everything, everything)
    for _ in range(50):
        fits.drop(np.array([int(fits.worths().argmin())]))


@pytest.mark.parametrize(
    ("step", "sizes"),
    [
        (1, list(range(10, 2, -1))),
        (3, [10, 7, 4, 3]),
        (0.5, [10, 5, 3]),
        ("half", [10, 5, 3]),
        (0.01, list(range(10, 2, -1))),
    ],
)
def test_steps(step, sizes):
    X, y = make_classification(50, 10, random_state=0)
    fitted = RFE(SVC(kernel="linear"), 3, step=step).fit(X, y)
    assert fitted.history_["size"].tolist() == sizes
    assert fitted.support_.sum() == 3
    assert sorted(set(fitted.ranking_)) == list(range(1, len(sizes) + 1))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_size_by_cross_validation_is_honest(kernel):
    """Errors equal those of eliminating and predicting in every fold with plain estimators."""
    X, y = make_classification(90, 8, n_informative=3, n_redundant=0, flip_y=0.1, random_state=5)
    machine = make_pipeline(StandardScaler(), SVC(kernel=kernel, tol=1e-6))
    folds = StratifiedKFold(4)
    fitted = RFE(machine, cv=folds).fit(X, y)
    errors = np.zeros(9)
    for train, test in folds.split(X, y):
        fits = Fits(machine, X, y, {}, {}, scorer=check_scoring(machine))
        elimination = AnyElimination(fits, train, test)
        for size in range(8, 0, -1):
            worths = elimination.worths()
            errors[size] += elimination.error() / 4
            elimination.drop(np.array([worths.argmin()]))
    np.testing.assert_allclose(fitted.errors_["error"], errors[1:], atol=1e-12)
    assert fitted.n_features_ == 1 + int(np.argmin(errors[1:]))
    assert {"error", "deviation"} <= set(fitted.history_.columns)
    assert RFE(machine, 2, cv=folds).fit(X, y).n_features_ == 2


def test_any_machine_and_any_model():
    X, y = make_classification(60, 5, n_informative=2, n_redundant=0, shuffle=False, random_state=0)
    composed = SVC(kernel=kernels.RBF(gamma=0.1) + kernels.Linear())
    for estimator in (NuSVC(nu=0.4), composed, RandomForestClassifier(20, random_state=0)):
        assert RFE(estimator, 2).fit(X, y).support_.sum() == 2
    X, target = make_regression(60, 5, n_informative=2, random_state=0)
    expected = np.flatnonzero(LinearRegression().fit(X, target).coef_.round(6))
    assert RFE(LinearRegression(), 2).fit(X, target).get_support(indices=True).tolist() == expected.tolist()
    assert RFE(SVR(C=100.0), 2, cv=3).fit(X, target).support_.sum() == 2


def test_what_cannot_be_eliminated_is_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="neither coef_ nor"):
        RFE(KNeighborsClassifier(), 2).fit(X, y)
    with pytest.raises(ValueError, match="chooses its own columns"):
        RFE(SVC(kernel=kernels.RBF(features=[0, 1])), 2).fit(X, y)
    with pytest.raises(ValueError, match="step="):
        RFE(SVC(), 2, step=0).fit(X, y)
    with pytest.raises(ValueError, match="step="):
        RFE(SVC(), 2, step="third").fit(X, y)


def test_progress_and_names(capsys):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    fitted = RFE(make_pipeline(StandardScaler(), SVC(kernel="linear")), 3, step="half", verbose=1).fit(X, y)
    assert "3 columns left" in capsys.readouterr().err
    assert len(fitted.selected_) == 3
    assert set(fitted.selected_) <= set(X.columns)


@parametrize_with_checks([RFE(SVC()), RFE(SVC(kernel="linear"), cv=2), RFE(LogisticRegression())])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_docstrings_run():
    result = doctest.testmod(rfe)
    assert result.attempted > 0
    assert result.failed == 0
