"""Every cell and fold of the shared path against scikit-learn's search."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import svm as sk
from sklearn.base import is_regressor
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import maxmargin as mm
from maxmargin.kernels import RBF, Linear

TOL = 1e-6  # tight, so that both libraries stand at the same optimum
C = [0.1, 1.0, 10.0]


@pytest.fixture(scope="module")
def binary():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:250], y[:250]


@pytest.fixture(scope="module")
def classes():
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))  # the rows of the file are sorted by class
    return StandardScaler().fit_transform(X)[order], y[order]


@pytest.fixture(scope="module")
def numbers():
    X, y = load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X)[:150], ((y - y.mean()) / y.std())[:150]


def both(ours, theirs, data, grid, cv, **options):
    result = mm.tune(ours, *data, grid, cv=cv, refit=False, **options)
    scoring = options.get("scoring") or ("neg_mean_squared_error" if is_regressor(theirs) else None)
    search = GridSearchCV(theirs, grid, cv=cv, scoring=scoring, refit=False).fit(*data)
    scores = np.array([search.cv_results_[f"split{k}_test_score"] for k in range(search.n_splits_)]).T
    negated = str(scoring).startswith("neg_")
    return result, (-scores if negated else 1 - scores), search.best_params_


FOLDS = StratifiedKFold(4, shuffle=True, random_state=0)


@pytest.mark.parametrize(
    ("ours", "theirs", "grid"),
    [
        (mm.SVC(tol=TOL), sk.SVC(tol=TOL), {"C": C, "gamma": [0.01, 0.1, 10.0]}),
        (mm.SVC(tol=TOL), sk.SVC(tol=TOL), {"C": C, "gamma": ["scale", "auto"]}),
        (
            mm.SVC(tol=TOL),
            sk.SVC(tol=TOL),
            [{"kernel": ["linear"], "C": C}, {"kernel": ["poly"], "degree": [2]}],
        ),
        (mm.SVC(tol=TOL, class_weight="balanced"), sk.SVC(tol=TOL, class_weight="balanced"), {"C": C}),
        (mm.NuSVC(tol=TOL), sk.NuSVC(tol=TOL), {"nu": [0.2, 0.4], "gamma": [0.01, 0.1]}),
    ],
    ids=["rbf", "scale", "kernels", "balanced", "nu"],
)
@pytest.mark.parametrize("which", ["binary", "classes"])
def test_classifiers_agree_in_every_fold(ours, theirs, grid, which, request):
    result, errors, best = both(ours, theirs, request.getfixturevalue(which), grid, FOLDS)
    assert result.path == "shared Gram matrices"
    np.testing.assert_allclose(result.folds, errors, atol=1e-12)
    assert result.best_params == best


@pytest.mark.parametrize(
    ("ours", "theirs", "grid"),
    [
        (mm.SVR(tol=TOL), sk.SVR(tol=TOL), {"C": C, "gamma": [0.01, 0.1], "epsilon": [0.01, 0.1, 0.5]}),
        # at C = 0.1 no vector is free, and the bias is an interval of which the libraries take other points
        (mm.NuSVR(tol=TOL), sk.NuSVR(tol=TOL), {"C": C[1:], "gamma": [0.01, 0.1], "nu": [0.2, 0.5]}),
    ],
    ids=["svr", "nusvr"],
)
def test_regressors_agree_in_every_fold(ours, theirs, grid, numbers):
    result, errors, best = both(ours, theirs, numbers, grid, KFold(4))
    assert result.path == "shared Gram matrices"
    np.testing.assert_allclose(result.folds, errors, atol=2e-5)
    assert result.best_params == best


def test_one_versus_rest_agrees_with_plain_fits(classes):
    X, y = classes
    model = mm.SVC(tol=TOL, multiclass="ovr", gamma=0.1)
    result = mm.tune(model, X, y, {"C": C}, cv=FOLDS, refit=False)
    for k, value in enumerate(C):
        for f, (train, test) in enumerate(FOLDS.split(X, y)):
            plain = mm.SVC(C=value, tol=TOL, multiclass="ovr", gamma=0.1).fit(X[train], y[train])
            assert result.folds[k, f] == pytest.approx(1 - plain.score(X[test], y[test]))


def test_scalers_are_fitted_inside_each_fold():
    data = load_breast_cancer(return_X_y=True)
    result, errors, best = both(
        make_pipeline(StandardScaler(), mm.SVC(tol=TOL)),
        make_pipeline(StandardScaler(), sk.SVC(tol=TOL)),
        data,
        {"svc__C": C, "svc__gamma": [0.01, 0.1]},
        3,
    )
    assert result.path == "shared Gram matrices"
    np.testing.assert_allclose(result.folds, errors, atol=1e-12)
    assert result.best_params == best


def test_a_scorer_of_probabilities_needs_a_fit_per_cell(binary):
    X, y = (part[:80] for part in binary)
    model = mm.SVC(probability=True)
    result = mm.tune(model, X, y, {"C": [1.0]}, cv=2, scoring="neg_brier_score", refit=False)
    assert "scikit-learn" in result.path
    assert "probabilities" in result.path


@pytest.mark.parametrize("scoring", ["roc_auc", "f1", "balanced_accuracy"])
def test_scorers_read_stored_decisions(scoring, binary):
    result, errors, _ = both(mm.SVC(tol=TOL), sk.SVC(tol=TOL), binary, {"C": C}, FOLDS, scoring=scoring)
    assert result.path == "shared Gram matrices"
    np.testing.assert_allclose(result.folds, errors, atol=1e-6)


def test_sample_weights_reach_every_fold(binary):
    X, y = binary
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    result = mm.tune(mm.SVC(tol=TOL, gamma=0.05), X, y, {"C": C}, cv=FOLDS, sample_weight=weight, refit=False)
    for k, value in enumerate(C):
        for f, (train, test) in enumerate(FOLDS.split(X, y)):
            plain = sk.SVC(C=value, tol=TOL, gamma=0.05).fit(X[train], y[train], sample_weight=weight[train])
            assert result.folds[k, f] == pytest.approx(1 - plain.score(X[test], y[test]))


def test_kernels_and_their_parameters_are_cells(binary):
    X, y = binary
    grid = [
        {"kernel": [RBF(0.1), Linear() + RBF(0.01)]},
        {"kernel": [RBF(0.5)], "kernel__gamma": [0.1, 0.02]},
    ]
    result = mm.tune(mm.SVC(tol=TOL), X, y, grid, cv=FOLDS)
    assert result.path == "shared Gram matrices"
    assert result.table["error"].iloc[0] == result.table["error"].iloc[2]  # the same kernel twice
    best = mm.SVC(tol=TOL).set_params(**result.best_params).fit(X, y)
    np.testing.assert_allclose(result.best_estimator.decision_function(X), best.decision_function(X))


def test_large_C_leaves_float32(binary):
    X, y = binary
    X = X[:, :4] * 100 + 2000
    result = mm.tune(mm.SVC(tol=1e-3), X, y, {"C": [1.0, 1e4], "gamma": [1e-4]}, cv=FOLDS, refit=False)
    for f, (train, test) in enumerate(FOLDS.split(X, y)):
        plain = sk.SVC(C=1e4, gamma=1e-4).fit(X[train], y[train])
        assert abs(result.folds[1, f] - (1 - plain.score(X[test], y[test]))) <= 1.5 / len(test)


def test_outlier_detectors_need_a_scoring(binary):
    X, _ = binary
    with pytest.raises(ValueError, match="give scoring="):
        mm.tune(mm.OneClassSVM(), X, None, {"nu": [0.1, 0.5]})

    def inside(model, X, y=None):
        return float(np.mean(model.predict(X) == 1))

    result = mm.tune(mm.OneClassSVM(gamma=0.01, tol=TOL), X, None, {"nu": [0.1, 0.5]}, cv=3, scoring=inside)
    assert result.path == "shared Gram matrices"
    for k, nu in enumerate([0.1, 0.5]):
        for f, (train, test) in enumerate(KFold(3).split(X)):
            plain = sk.OneClassSVM(nu=nu, gamma=0.01, tol=TOL).fit(X[train])
            assert result.folds[k, f] == pytest.approx(1 - inside(plain, X[test]), abs=1.5 / len(test))


def test_kernel_ridge_takes_one_factorisation_for_all_penalties(numbers):
    X, y = numbers
    grid = {"alpha": [0.01, 0.1, 1.0, 10.0], "gamma": [0.01, 0.1]}
    result, errors, best = both(mm.KernelRidge(), KernelRidge(kernel="rbf"), (X, y), grid, KFold(4))
    assert result.path == "shared Gram matrices"
    np.testing.assert_allclose(result.folds, errors, rtol=1e-8)
    assert result.best_params == best


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("which", ["binary", "classes"])
def test_kernel_perceptron_shares_the_matrix(which, request):
    X, y = request.getfixturevalue(which)
    model = mm.KernelPerceptron(gamma=0.05, max_iter=5, random_state=0)
    result = mm.tune(model, X, y, {"average": [False, True]}, cv=FOLDS, refit=False)
    assert result.path == "shared Gram matrices"
    for k, average in enumerate([False, True]):
        for f, (train, test) in enumerate(FOLDS.split(X, y)):
            plain = mm.KernelPerceptron(gamma=0.05, max_iter=5, random_state=0, average=average)
            assert result.folds[k, f] == pytest.approx(
                1 - plain.fit(X[train], y[train]).score(X[test], y[test])
            )


def test_imputers_and_encoders_in_front_are_fitted_inside_each_fold():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(90, 3)), columns=["a", "b", "c"])
    table.loc[::7, "a"] = np.nan
    table["home"] = rng.choice(
        ["own", "rent", "boat"], 90, p=[0.5, 0.48, 0.02]
    )  # some folds never see a boat
    y = (table["b"] + (table["home"] == "own") > 0.5).astype(int)

    def model(machine):
        numbers = make_pipeline(SimpleImputer(), StandardScaler())
        columns = (numbers, ["a", "b", "c"]), (OneHotEncoder(handle_unknown="ignore"), ["home"])
        return make_pipeline(make_column_transformer(*columns), machine)

    grid = {"svc__C": C, "svc__gamma": [0.1, 1.0]}
    ours, theirs = model(mm.SVC(tol=TOL)), model(sk.SVC(tol=TOL))
    result, errors, _ = both(ours, theirs, (table, y), grid, FOLDS)
    assert result.path == "shared Gram matrices"
    np.testing.assert_allclose(result.folds, errors, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_gap_that_rounding_leaves_wide_is_named_as_a_fit_names_it(n_classes: int) -> None:
    """Cells of C = 1e12 said "converged" where a fit of the same rows says that its gap is wide."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=200), [0.0] if n_classes == 2 else [-0.5, 0.5])
    folds = list(StratifiedKFold(3).split(X, y))
    for C in (1e6, 1e12):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            result = mm.tune(mm.SVC(gamma=0.5), X, y, {"C": [C]}, cv=folds, refit=False)
            fits = [mm.SVC(C, gamma=0.5).fit(X[train], y[train]) for train, _ in folds]
        known = {machine.solution.status.short for fit in fits for machine in fit.machines_}
        assert result.path == "shared Gram matrices"
        assert result.table["status"].tolist() == [max(known)]  # "wide_gap" after "converged"
        errors = [1.0 - fit.score(X[test], y[test]) for fit, (_, test) in zip(fits, folds, strict=True)]
        assert result.table["error"].iloc[0] == pytest.approx(np.mean(errors))
    assert known == {"converged", "wide_gap"}
