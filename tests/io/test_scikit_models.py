"""Models as scikit-learn's own objects."""

from __future__ import annotations

import pickle
import warnings
from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_regressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin import feature_selection as selection

IRIS = load_iris(return_X_y=True)
TWO = (load_breast_cancer().data[:, :6] / 10, load_breast_cancer().target)
NUMBERS = load_diabetes(return_X_y=True)

CLASSIFIERS = {
    "svc": (mm.SVC(), IRIS),
    "two classes": (mm.SVC(kernel="linear", C=10.0), TWO),
    "poly": (mm.SVC(kernel="poly", coef0=1.0, degree=2, gamma=0.1), IRIS),
    "sigmoid": (mm.SVC(kernel="sigmoid", gamma=0.01), TWO),
    "nu": (mm.NuSVC(nu=0.3), IRIS),
    "sparse": (mm.SVC(), (sp.csr_matrix(IRIS[0]), IRIS[1])),
    "labels": (mm.SVC(), (IRIS[0], np.array(["a", "b", "c"])[IRIS[1]])),
    "scaled kernel": (mm.SVC(kernel=2.0 * mm.kernels.RBF(gamma=0.5)), IRIS),
    "linear": (mm.LinearSVC(), IRIS),
    "logistic": (mm.LogisticRegression(C=1.0), IRIS),
    "logistic, two classes": (mm.LogisticRegression(C=1.0), TWO),
    "pipeline": (make_pipeline(StandardScaler(), mm.SVC()), IRIS),
    "search": (mm.GridSearch(mm.SVC(), {"C": [1.0, 10.0]}, cv=3), IRIS),
}
REGRESSORS = {
    "svr": (mm.SVR(C=100.0), NUMBERS),
    "nu": (mm.NuSVR(C=100.0), NUMBERS),
    "linear": (mm.LinearSVR(), NUMBERS),
    "ridge": (mm.Ridge(alphas=[0.1, 1.0]), NUMBERS),
    "least squares": (mm.LeastSquares(), NUMBERS),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_predict_the_same(name: str) -> None:
    model, (X, y) = CLASSIFIERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the sigmoid kernel
        model = clone(model).fit(X, y)
    theirs = mm.to_sklearn(model)
    assert "maxmargin" not in type(theirs).__module__
    np.testing.assert_array_equal(theirs.predict(X), model.predict(X))
    ours = model.decision_function(X)
    np.testing.assert_allclose(theirs.decision_function(X), ours, atol=1e-10 * max(1, np.abs(ours).max()))
    if hasattr(theirs, "predict_proba"):
        np.testing.assert_allclose(theirs.predict_proba(X), model.predict_proba(X), atol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clone(theirs).fit(X, y)  # its parameters are valid


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_predict_the_same(name: str) -> None:
    model, (X, y) = REGRESSORS[name]
    model = clone(model).fit(X, y)
    np.testing.assert_allclose(mm.to_sklearn(model).predict(X), model.predict(X), rtol=1e-12, atol=1e-9)


def test_outliers_are_the_same() -> None:
    X = IRIS[0]
    model = mm.OneClassSVM(nu=0.2).fit(X)
    theirs = model.to_sklearn()
    np.testing.assert_array_equal(theirs.predict(X), model.predict(X))
    np.testing.assert_allclose(theirs.score_samples(X), model.score_samples(X), atol=1e-12)


def test_a_precomputed_kernel() -> None:
    X, y = IRIS
    K = X @ X.T
    model = mm.SVC(kernel="precomputed").fit(K, y)
    np.testing.assert_array_equal(mm.to_sklearn(model).predict(K), model.predict(K))


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (mm.SVC(multiclass="ovr"), "multiclass='ovo'"),
        (mm.SVC(probability=True), "probability=True"),
        (mm.SVC(kernel="laplacian"), "no kernel"),
        (mm.LinearSVC(multiclass="ovo"), "multiclass='ovr'"),
        (mm.LinearSVC(loss="logistic"), "LogisticRegression"),
        (mm.LogisticRegression(C=1.0, multiclass="ovr"), "multinomial"),
        (mm.FisherDiscriminant(), "does not convert FisherDiscriminant"),
    ],
)
def test_what_scikit_learn_cannot_hold_is_refused(model, reason) -> None:
    with pytest.raises(ValueError, match=reason):
        mm.to_sklearn(clone(model).fit(*IRIS))


def test_solutions_hold_no_enum_and_come_back() -> None:
    """skops makes an object with __new__ alone and sets its state: a member of an Enum cannot be made so."""
    solution = mm.SVC().fit(IRIS[0], IRIS[1] > 0).solution_
    state = solution.__getstate__()
    assert state["status"] == solution.status.name == "CONVERGED"
    again = type(solution).__new__(type(solution))
    again.__setstate__(state)
    assert again.status is solution.status
    assert pickle.loads(pickle.dumps(solution)).status is solution.status


DUMPED: list[Any] = [
    *(mm.SVC(trace=True), mm.SVC(probability=True), mm.NuSVC(nu=0.1), mm.LinearSVC(), mm.Perceptron()),
    *(mm.LogisticRegression(C=1.0), mm.PassiveAggressive(), mm.KernelPerceptron(max_iter=1000)),
    *(mm.SVR(), mm.NuSVR(), mm.OneClassSVM(), mm.SVDD(), mm.LinearSVR(), mm.Ridge(alphas=[0.1, 1.0])),
    *(mm.KernelRidge(), mm.LeastSquares(), mm.FisherDiscriminant()),
    mm.GridSearch(mm.SVC(), {"C": [1.0, 10.0]}),
    make_pipeline(StandardScaler(), mm.SVC()),
    selection.RFECV(mm.SVC(kernel="linear")),
    selection.SequentialFeatureSelector(mm.SVC(), n_features_to_select=2),
    *(selection.ReliefF(), selection.SymmetricalUncertainty(), selection.SparseSVMSelector()),
]


@pytest.mark.parametrize("model", DUMPED, ids=lambda model: type(model).__name__)
def test_skops_dumps_and_loads(model) -> None:
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    X, two = IRIS[0], IRIS[1] > 0
    fitted = clone(model).fit(X, two.astype(float) if is_regressor(model) else two)
    data = skops.dumps(fitted)
    again = skops.loads(data, trusted=skops.get_untrusted_types(data=data))
    for found in (again, pickle.loads(pickle.dumps(fitted)), deepcopy(fitted)):
        answer = "predict" if hasattr(fitted, "predict") else "transform"
        np.testing.assert_array_equal(getattr(found, answer)(X), getattr(fitted, answer)(X))
        for name in ("history_", "trace_", "path_"):
            if isinstance(getattr(fitted, name, None), pd.DataFrame):
                pd.testing.assert_frame_equal(getattr(found, name), getattr(fitted, name))
        if isinstance(fitted, mm.GridSearch):
            pd.testing.assert_frame_equal(found.result_.table, fitted.result_.table)
