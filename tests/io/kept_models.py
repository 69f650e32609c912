"""Files of this version that later versions must load: ``python -m tests.io.kept_models`` writes them.

Made once for each version with a new kind of file. After the release of a version its files are not made
again: a change that cannot load them any more must refuse them in words, and test_kept_files.py says so.
"""

from __future__ import annotations

import tests.conftest  # noqa: F401  # it chooses the folder of Numba's cache, so it comes first

# isort: split

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import maxmargin as mm
from maxmargin import feature_selection as fs
from maxmargin import kernels as k

FOLDER = Path(__file__).parent / "kept"
METHODS = ("decision_function", "predict", "predict_proba", "transform")


def generated() -> dict[str, tuple[Any, Any, Any]]:
    """Models, rows and targets; the rows are numbers with few digits, so that they are easy to write down."""
    rng = np.random.default_rng(2026)
    X = np.round(rng.normal(size=(18, 3)), 2)
    y = np.arange(18) % 3
    X[:, 0] += 2.0 * y
    b = (y > 0).astype(int)
    texts = [("abcab" * 3)[n % 5 : n % 5 + 6] + " " + "xyz"[: n % 4] for n in range(12)]
    table = pd.DataFrame({"size": X[:12, 0], "home": ["own", "rent", None, "own"] * 3})
    front = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["size"]), (OneHotEncoder(), ["home"])
    )
    composed = (k.RBF(0.5) + 2.0 * k.Linear(features=[0])) ** 2 * k.Laplacian(0.1).normalized()
    t = b[:12]
    return {
        "svc": (mm.SVC(probability=True), X, np.array(["a", "b", "c"])[y]),
        "svc_sparse": (mm.SVC(multiclass="ovr"), sp.csr_array(np.where(X > 0, X, 0.0)), y),
        "svc_composed": (mm.NuSVC(kernel=composed, nu=0.3), X, y),
        "svc_words": (mm.SVC(kernel=k.Subsequence(2, tokens="words")), texts, t),
        "svc_pieces": (mm.SVC(kernel=k.Spectrum(2)), texts, t),
        "svr": (mm.SVR(kernel="poly", coef0=1.0, degree=2), X.astype(np.float32), X[:, 0] ** 2),
        "one_class": (mm.OneClassSVM(nu=0.3), X, None),
        "linear": (mm.LinearSVC(), X, y),
        "logistic": (mm.LogisticRegression(C=1.0), X, y),
        "ridge": (mm.Ridge(alphas=[0.1, 1.0]), X, X @ [1.0, 2.0, 3.0]),
        "kernel_ridge": (mm.KernelRidge(), X, X[:, 1]),
        "fisher": (mm.FisherDiscriminant(), X, y),
        "perceptron": (mm.PassiveAggressive(random_state=0), X, y),
        "kernel_perceptron": (mm.KernelPerceptron(random_state=0), X, y),
        "large": (mm.LargeSVC(n_components=6, random_state=0), X, y),
        "fourier": (mm.RandomFourier(n_components=4, random_state=0), X, None),
        "cells": (mm.CellSVC(cell_size=9, random_state=0), X, y),
        "scorecard": (mm.Scorecard(), table, t),
        "selector": (fs.RFE(mm.SVC(kernel="linear"), 2), X, y),
        "search": (mm.GridSearch(mm.SVC(), {"C": [1.0, 10.0]}, cv=3), X, y),
        "pipeline": (make_pipeline(front, mm.SVC(C=3.0)), table, t),
    }


def written(rows: Any) -> Any:
    """Rows as JSON can hold them."""
    if isinstance(rows, pd.DataFrame):
        return {name: [None if pd.isna(v) else v for v in rows[name].tolist()] for name in rows.columns}
    return rows if isinstance(rows, list) else (rows.toarray() if sp.issparse(rows) else rows).tolist()


def read_rows(said: Any, kind: str) -> Any:
    """What `written` made, as it was."""
    if kind == "DataFrame":
        return pd.DataFrame(said)
    if kind == "csr_array":
        return sp.csr_array(np.array(said))
    return said if kind == "list" else np.array(said, dtype=kind)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    expected = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tiny data
        for name, (model, rows, target) in generated().items():
            model.fit(rows) if target is None else model.fit(rows, target)
            path = mm.save(model, FOLDER / f"{name}.mm")
            kind = str(rows.dtype) if isinstance(rows, np.ndarray) else type(rows).__name__
            values = {m: np.asarray(getattr(model, m)(rows)).tolist() for m in METHODS if hasattr(model, m)}
            expected[name] = {"rows": written(rows), "kind": kind, **values}
            print(f"{path.name}: {path.stat().st_size} bytes")
    text = json.dumps(expected, indent=None, separators=(",", ":")).replace('},"', '},\n"')
    (FOLDER / "predictions.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
