"""Small fitted models of every kind, for the tests of model files."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

import maxmargin as mm
from maxmargin import feature_selection as fs
from maxmargin import kernels as k

X, Y = load_iris(return_X_y=True, as_frame=True)
X = X[::3].reset_index(drop=True)
Y = Y[::3].reset_index(drop=True)
TWO = Y < 2
XB, YB = X[TWO], Y[TWO]
TEXTS, TEXT_Y = ["free prize now", "win a prize", "see you at home", "home by six"] * 4, [1, 1, 0, 0] * 4
MIXED = pd.DataFrame({"text": TEXTS, "size": np.arange(16.0), "home": ["own", None, "rent", "own"] * 4})
COMPOSED = (2.0 * k.RBF(0.1, features=list(X.columns[:2])) + k.Linear()) ** 2 * k.Laplacian(0.1).normalized()

CASES: dict[str, tuple[Any, Any, Any]] = {
    "SVC with probabilities": (mm.SVC(probability=True), X, Y),
    "SVC one-versus-rest": (mm.SVC(multiclass="ovr", class_weight={0: 1.0, 1: 2.0, 2: 1.0}), X, Y),
    "SVC on text labels": (mm.SVC(), X, np.array(["a", "b", "c"], dtype=object)[Y]),
    "SVC sparse": (mm.SVC(), sp.csr_array(X.to_numpy()), Y),
    "SVC precomputed": (mm.SVC(kernel="precomputed"), X.to_numpy() @ X.to_numpy().T, Y),
    "NuSVC": (mm.NuSVC(), X, Y),
    "HardMarginSVC": (mm.HardMarginSVC(), XB, YB),
    "SVR": (mm.SVR(), X, Y),
    "NuSVR": (mm.NuSVR(), X, Y),
    "OneClassSVM": (mm.OneClassSVM(), X, None),
    "SVDD": (mm.SVDD(), X, None),
    "LogisticRegression": (mm.LogisticRegression(C=1.0), X, Y),
    "LinearSVC": (mm.LinearSVC(), X, Y),
    "LinearSVR": (mm.LinearSVR(), X, Y),
    "LeastSquares": (mm.LeastSquares(), X, Y),
    "Ridge": (mm.Ridge(), X, Y),
    "FisherDiscriminant": (mm.FisherDiscriminant(), X, Y),
    "Perceptron": (mm.Perceptron(), XB, YB),
    "PassiveAggressive": (mm.PassiveAggressive(), X, Y),
    "Pegasos": (mm.Pegasos(), X, Y),
    "SubgradientDescent": (mm.SubgradientDescent(), XB, YB),
    "KernelRidge": (mm.KernelRidge(), X, Y),
    "KernelPerceptron": (mm.KernelPerceptron(), X, Y),
    "LowRank": (mm.LowRank(n_components=5), X, None),
    "LowRank on strings": (mm.LowRank(k.Spectrum(2), n_components=3), TEXTS, None),
    "RandomFourier": (mm.RandomFourier(n_components=8), X, None),
    "LargeSVC": (mm.LargeSVC(n_components=20), X, Y),
    "LargeSVR": (mm.LargeSVR(n_components=20), X, Y),
    "LargeKernelRidge": (mm.LargeKernelRidge(n_components=20), X, Y),
    "CellSVC": (mm.CellSVC(cell_size=60), X, Y),
    "GridSearch": (
        mm.GridSearch(mm.SVC(), {"C": [1, 10.0]}, cv=KFold(3, shuffle=True, random_state=0)),
        X,
        Y,
    ),
    "RandomSearch": (
        mm.RandomSearch(mm.SVC(), {"C": [1, 10.0, 100]}, n_iter=2, cv=3, random_state=0),
        X,
        Y,
    ),
    "composed kernel": (mm.SVC(kernel=COMPOSED + k.Linear(features=[0]).normalized().exp()), X, Y),
    "QuadraticForm": (mm.SVC(kernel=k.QuadraticForm(np.eye(4))), X, Y),
    "Subsequence": (mm.SVC(kernel=k.Subsequence(length=3)), TEXTS, TEXT_Y),
    "words": (mm.SVC(kernel=k.Subsequence(2, tokens="words")), TEXTS, TEXT_Y),
    "Spectrum": (mm.SVC(kernel=k.Spectrum(3)), TEXTS, TEXT_Y),
    "text and numbers": (
        mm.SVC(kernel=k.Subsequence(2, features="text") + k.RBF(0.1, features=["size"])),
        MIXED,
        TEXT_Y,
    ),
    "Scorecard": (mm.Scorecard(), MIXED[["size", "home"]], TEXT_Y),
    "WOEEncoder": (mm.WOEEncoder(), XB, YB),
    "Binning": (mm.Binning(), XB, YB),
    "IVSelector": (mm.scorecards.IVSelector(), XB, YB),
    "RFE": (fs.RFE(mm.SVC(kernel="linear"), 2), X, Y),
    "SFS": (fs.SFS(mm.SVC(), 2, cv=3), X, Y),
    "FisherScore": (fs.FisherScore(n_features=2), X, Y),
    "InformationGain": (fs.InformationGain(n_features=2), X, Y),
    "ReliefF": (fs.ReliefF(n_features=2), X, Y),
    "TuRF": (fs.TuRF(fs.SURF(), n_features=2), X, Y),
    "SubsetSelector": (fs.SubsetSelector(fs.BestFirst(), fs.CFSMerit()), X, Y),
    "SparseSVMSelector": (fs.SparseSVMSelector("l1", 2), X, Y),
    "pipeline": (
        make_pipeline(
            make_column_transformer(
                (make_pipeline(SimpleImputer(), StandardScaler()), ["size"]),
                (OneHotEncoder(handle_unknown="ignore"), ["home"]),
                remainder="drop",
            ),
            mm.SVC(C=3),
        ),
        MIXED,
        TEXT_Y,
    ),
    "several targets": (mm.KernelRidge(alpha=[0.1, 1.0]), X, X.to_numpy()[:, :2] * [1.0, -2.0]),
    "Ridge of several targets": (mm.Ridge(), X, X.to_numpy()[:, :2] * [1.0, -2.0]),
    "LargeKernelRidge all rows": (mm.LargeKernelRidge(n_components=30, polish=True), X, Y),
    "MDLDiscretizer": (mm.discretize.MDLDiscretizer(), X, Y),
    "periodic kernels": (mm.SVC(kernel=k.Periodic() * k.Polynomial(coef0=1.0, gamma=0.1, degree=2)), X, Y),
    "Sigmoid and Exponential": (mm.SVC(kernel=k.Exponential(0.3) + k.Constant(0.5)), X, Y),
    "Periodic product": (mm.SVC(kernel=k.Periodic(form="product")), X, Y),
    "KernelPerceptron on strings": (mm.KernelPerceptron(kernel=k.Spectrum(2, mismatches=1)), TEXTS, TEXT_Y),
    "CellSVC of two": (mm.CellSVC(cell_size=20), XB, YB),
    "LargeSVC on strings": (mm.LargeSVC(kernel=k.Subsequence(2), n_components=3), TEXTS, TEXT_Y),
    "LargeSVR polished": (mm.LargeSVR(n_components=20, polish=True), X, Y),
    "LargeSVC random features": (mm.LargeSVC(n_components=8, method="fourier"), X, Y),
    "RFECV": (fs.RFECV(mm.SVC(kernel="linear"), cv=3), X, Y),
    "SequentialFeatureSelector": (fs.SequentialFeatureSelector(mm.SVC(), n_features_to_select=2, cv=3), X, Y),
    "SymmetricalUncertainty": (fs.SymmetricalUncertainty(n_features=2), X, Y),
    "scalers": (make_pipeline(MinMaxScaler(), RobustScaler(), MaxAbsScaler(), mm.LinearSVC()), X, Y),
    "words of a table": (make_pipeline(TfidfVectorizer(), mm.LinearSVC()), TEXTS, TEXT_Y),
    "every column its own way": (
        make_pipeline(
            make_column_transformer(
                (TfidfVectorizer(ngram_range=(1, 2)), "text"),
                (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["home"]),
                (FunctionTransformer(feature_names_out="one-to-one"), ["size"]),
                sparse_threshold=0.0,
            ),
            SimpleImputer(strategy="median"),
            mm.LinearSVC(),
        ),
        MIXED,
        TEXT_Y,
    ),
    "rare categories": (
        make_pipeline(
            make_column_transformer(
                (
                    OneHotEncoder(min_frequency=5, drop="first", handle_unknown="infrequent_if_exist"),
                    ["home"],
                ),
                remainder="passthrough",
            ),
            mm.LogisticRegression(C=1.0),
        ),
        MIXED[["size", "home"]],
        TEXT_Y,
    ),
    "Scorecard of categories": (
        mm.Scorecard(
            binning=mm.scorecards.Binning(categorical_features=["home"], special_values=[3.0]),
            intercept="spread",
        ),
        MIXED[["size", "home"]],
        TEXT_Y,
    ),
    "calibrated": (
        CalibratedClassifierCV(make_pipeline(StandardScaler(), mm.LinearSVC()), ensemble=False, cv=3),
        X,
        Y,
    ),
    "a search of a pipeline": (
        mm.GridSearch(
            make_pipeline(StandardScaler(), mm.SVC()), {"svc__C": [1, 10.0], "svc__gamma": [0.1]}, cv=3
        ),
        X,
        Y,
    ),
    "behind selected columns": (make_pipeline(fs.FisherScore(n_features=2), mm.SVC(trace=True)), X, Y),
    "logistic steps": (make_pipeline(mm.WOEEncoder(), LogisticRegression()), XB, YB),
    "Chunking": (mm.SVC(kernel="linear", solver=mm.solvers.Chunking()), X, Y),
}


def fitted(name: str) -> tuple[Any, Any]:
    """A fitted copy of a model of CASES, which a test may change, and its rows."""
    model, rows, target = CASES[name]
    model = deepcopy(model)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # small data: separation, wrong signs and loose fits do not matter here
        model.fit(rows) if target is None else model.fit(rows, target)
    return model, rows


def answers(model: Any, rows: Any) -> Iterator[Any]:
    """What a model says of rows, by every method that it has."""
    for name in ("decision_function", "predict", "predict_proba", "transform"):
        if hasattr(model, name):
            yield np.asarray(getattr(model, name)(rows))
