"""The shared-matrix engine of the wrappers: the same errors as fitting mm.SVC fold by fold."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pandas as pd
import pytest
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.model_selection import LeaveOneOut, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from maxmargin import SVC, kernels
from maxmargin.compute.dual.fold_problems import FoldAnswers, FoldMatrix, solve_folds
from maxmargin.feature_selection import (
    SBS,
    SFS,
    CrossValidatedError,
    Forward,
    LeaveOneOutError,
    SubsetSelector,
)
from maxmargin.feature_selection.column_svc import ColumnSVC
from maxmargin.feature_selection.wrappers import EstimatorErrors, FoldErrors
from maxmargin.problems.solution import Status
from maxmargin.solvers.dual.gram.column_subsets import SubsetLeaveOneOut
from maxmargin.solvers.dual.gram.subset_kernels import SubsetKernel
from tests.clocks import warm

TIGHT = {"tol": 1e-6}
KERNELS = {
    "rbf scale": {},
    "rbf": {"gamma": 0.3},
    "rbf auto": {"gamma": "auto"},
    "length scale": {"kernel": kernels.RBF(length_scale=1.5, variance=2.0)},
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "coef0": 1.0, "degree": 2},
    "laplacian": {"kernel": "laplacian", "gamma": 0.2},
    "exponential": {"kernel": "exponential", "gamma": 0.4},
}
SUBSETS = [(0,), (0, 2), (1, 2), (0, 1, 3), (0, 1, 2, 3)]


def data(n_classes):
    return make_classification(
        90, 4, n_informative=3, n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=n_classes
    )


def solved(matrix, stretch, y, bounds, max_steps=10**6):
    """The folds solved to 1e-10; a long solve takes several calls."""
    answers, cursor = FoldAnswers.empty(bounds.shape), np.array([0, -1])
    common = np.zeros(bounds.shape[1:])
    while not solve_folds(matrix, stretch, y, bounds, common, 1e-10, max_steps, answers, cursor):
        pass
    return answers


def _leaves_one_out(scorer):
    return isinstance(scorer, FoldErrors) and isinstance(scorer._folds, SubsetLeaveOneOut)


def both(estimator, X, y, splits, subsets=SUBSETS):
    criterion = CrossValidatedError(estimator, cv=splits)
    fast = criterion.prepare(X, y)
    assert isinstance(fast, FoldErrors)
    return fast(subsets), EstimatorErrors(estimator, X, y, splits, {})(subsets)


@pytest.mark.parametrize("settings", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_same_errors_as_fold_by_fold(settings, n_classes):
    X, y = data(n_classes)
    splits = list(StratifiedKFold(4).split(X, y))
    ours, plain = both(SVC(C=2.0, **settings, **TIGHT), X, y, splits)
    np.testing.assert_allclose(ours, plain, atol=1e-12)


@pytest.mark.parametrize(
    "settings", [{"class_weight": "balanced"}, {"multiclass": "ovr"}, {"break_ties": True}, {"C": 100.0}]
)
def test_options_are_honoured(settings):
    X, y = data(3)
    X, y = X[y + np.arange(90) % 5 > 0], y[y + np.arange(90) % 5 > 0]
    ours, plain = both(SVC(**settings, **TIGHT), X, y, list(StratifiedKFold(4).split(X, y)))
    np.testing.assert_allclose(ours, plain, atol=1e-12)


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler()])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_scaling_inside_the_folds(scaler, kernel):
    X, y = data(2)
    X = X * [1, 50, 0.01, 3] + [0, 1000, 0, -5]
    machine = make_pipeline(scaler, SVC(kernel=kernel, **TIGHT))
    ours, plain = both(
        machine, pd.DataFrame(X, columns=list("abcd")), y, list(StratifiedKFold(4).split(X, y))
    )
    np.testing.assert_allclose(ours, plain, atol=1e-12)


@pytest.mark.parametrize("settings", [{"gamma": 0.5}, {"kernel": "linear"}, {"gamma": "auto"}, {}])
def test_leave_one_out_refits_support_vectors_only(settings):
    X, y = data(3)
    X, y = X[:30], y[:30]
    machine = SVC(**settings, **TIGHT)
    fast = LeaveOneOutError(machine).prepare(X, y)
    assert _leaves_one_out(fast) == ("gamma" in settings or "kernel" in settings)
    plain = EstimatorErrors(machine, X, y, list(LeaveOneOut().split(X)), {})
    np.testing.assert_allclose(fast(SUBSETS), plain(SUBSETS), atol=1e-12)


@pytest.mark.parametrize("leave_one_out", [False, True])
def test_a_huge_cost_gives_the_errors_of_plain_fits(leave_one_out):
    """Also where most rows are support vectors, and pairwise steps alone would take minutes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = (X[:, 0] + rng.normal(size=30) > 0).astype(int)
    machine, subsets = SVC(kernel="linear", C=1e6), [(0, 1, 2), (0, 1)]
    splits = list((LeaveOneOut() if leave_one_out else StratifiedKFold(3)).split(X, y))
    criterion = LeaveOneOutError(machine) if leave_one_out else CrossValidatedError(machine, cv=splits)
    assert isinstance(criterion.prepare(X, y), FoldErrors)
    errors, seconds = warm(lambda: criterion.prepare(X, y)(subsets))
    assert seconds < 30
    np.testing.assert_allclose(errors, EstimatorErrors(machine, X, y, splits, {})(subsets), atol=1e-12)


@pytest.mark.parametrize("C", [1e8, 1e10])
@pytest.mark.parametrize("seed", [0, 3, 8])
def test_converged_means_a_narrow_gap(C, seed):
    """A small violation can leave a gap of 20 000 times the dual value; plain formulas give both."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_t(1.5, size=(60, 2)), (rng.random(60) < 0.5).astype(int)
    scorer = CrossValidatedError(SVC(C=C, gamma=10.0), cv=StratifiedKFold(2)).prepare(X, y)
    folds = scorer._folds
    decisions, t, ending = folds.solve((0,), folds.merged((0,)))
    K, sign = kernels.RBF(gamma=10.0)(X[:, :1]), np.where(y == 1, 1.0, -1.0)
    for (train, _), f, a in zip(folds.problems.splits, decisions[:, 0], t[:, 0], strict=True):
        dual = sign @ a - 0.5 * a @ K @ a
        gap = 0.5 * a @ K @ a + C * np.maximum(0, 1 - sign * f)[train].sum() - dual
        assert ending.status is not Status.CONVERGED or gap <= 0.1 * dual


def test_the_worked_leave_one_out_errors():
    height = [170, 147, 150, 154, 175, 152, 173, 177]
    weight = [85, 75, 77, 81, 79, 80, 82, 84]
    noise = [0.011, 0.34, 0.034, 0.092, 0.065, 0.358, 0.36, 0.757]
    X = pd.DataFrame({"height": height, "weight": weight, "noise": noise})
    machine = make_pipeline(StandardScaler(), SVC(kernel="linear", C=1))
    fast = LeaveOneOutError(machine).prepare(X, np.array(list("+---+-++")))
    assert isinstance(fast, FoldErrors)
    errors = fast([(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)])
    np.testing.assert_allclose(errors, [0, 3 / 8, 1, 0, 0, 4 / 8])


def test_the_centre_wanders_without_drift():
    """Errors do not depend on which subsets were asked for before, nor on starts."""
    X, y = data(2)
    X = X * [1.0, 1e4, 1e-3, 1.0]
    splits = list(StratifiedKFold(4).split(X, y))
    machine = SVC(gamma=1e-4, C=10.0, **TIGHT)
    criterion = CrossValidatedError(machine, cv=splits)
    everything = list(chain.from_iterable(combinations(range(4), k) for k in range(1, 5)))
    expected = EstimatorErrors(machine, X, y, splits, {})(everything)
    wandering, rng = criterion.prepare(X, y), np.random.default_rng(0)
    for _ in range(40):
        some = rng.choice(len(everything), 5, replace=False)
        np.testing.assert_allclose(wandering([everything[i] for i in some]), expected[some], atol=1e-12)


def test_what_the_engine_does_not_do_goes_through_fit():
    others = [
        SVC(loss="squared_hinge"),
        SVC(C=np.inf),
        SVC(max_iter=1000),
        SVC(kernel=kernels.RBF() + kernels.Linear()),
        SVC(kernel=kernels.RBF(features=[0])),
        svm.SVC(),
        make_pipeline(StandardScaler(), StandardScaler(), SVC()),
    ]
    for estimator in others:
        assert ColumnSVC.of(estimator) is None
    X, y = data(2)
    splits = list(StratifiedKFold(3).split(X, y))
    for estimator in others[:2]:
        assert not isinstance(CrossValidatedError(estimator, cv=splits).prepare(X, y), FoldErrors)


def test_too_large_for_memory_goes_through_fit(monkeypatch):
    X, y = data(2)
    monkeypatch.setattr("maxmargin.feature_selection.column_svc.cache_bytes", lambda size: 1000)
    assert not isinstance(CrossValidatedError(SVC(), cv=3).prepare(X, y), FoldErrors)


def test_gamma_of_a_fold_is_bridged_exactly():
    """K ** (1 + s) by the series equals the kernel with the other gamma, also for far points."""
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(40, 2)), [[1e6, 0.0]]]
    y = np.r_[np.sign(X[:-1, 0] + 0.3), 1.0][None]
    kernel = SubsetKernel.of(kernels.RBF(gamma=0.7))
    total = kernel.statistic(np.ascontiguousarray(X.T))
    for dtype, accuracy in ((np.float32, 1e-5), (np.float64, 1e-6)):
        logs = kernel.log_gram(total, np.empty((0, 41)), out=np.empty((41, 41), dtype))
        scratch = np.empty_like(logs)
        for stretch in (-0.25, 0.1, 0.25):
            exact = kernel.with_gamma(0.7 * (1 + stretch)).gram(
                total, np.empty((0, 41)), out=np.empty((41, 41), dtype)
            )
            bounds = np.ones((1, 1, 41))
            bridged = solved(FoldMatrix(np.exp(logs), logs, scratch), np.array([stretch]), y, bounds)
            direct = solved(FoldMatrix(exact, exact, exact), np.zeros(1), y, bounds)
            np.testing.assert_allclose(bridged.decisions, direct.decisions, atol=10 * accuracy)


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_same_subsets_as_scikit_learn_with_its_own_svc(direction):
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)[::3, :8]
    y = y[::3]
    theirs = SequentialFeatureSelector(
        svm.SVC(tol=1e-6), n_features_to_select=4, direction=direction, cv=5
    ).fit(X, y)
    ours = (SFS if direction == "forward" else SBS)(SVC(tol=1e-6), 4, cv=5).fit(X, y)
    np.testing.assert_array_equal(ours.support_, theirs.support_)


def test_threads_give_the_same_answer():
    X, y = load_iris(return_X_y=True)
    one = SubsetSelector(Forward(), CrossValidatedError(SVC(n_jobs=1), cv=5)).fit(X, y)
    two = SubsetSelector(Forward(), CrossValidatedError(SVC(n_jobs=2), cv=5)).fit(X, y)
    pd.testing.assert_frame_equal(one.history_, two.history_)
