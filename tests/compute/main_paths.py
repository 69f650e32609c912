"""Every main path on a small table, as arrays: run in this process, or by a process with other settings.

As a script: ``python main_paths.py OUT.npz NAME ...`` writes the answers of some paths.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.model_selection import LeaveOneOut

import maxmargin as mm

Answers = dict[str, Any]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(36, 4))
Y = np.where(X[:, 0] + 0.5 * X[:, 1] + 0.3 * RNG.normal(size=36) > 0, 1, -1)
Y3 = np.digitize(X[:, 0], [-0.5, 0.5])
TARGET = X @ [1.0, -0.5, 0.25, 0.0] + 0.1 * RNG.normal(size=36)
STRINGS = ["".join(RNG.choice(list("abcd"), size=k)) for k in RNG.integers(3, 9, size=20)]
PATHS: dict[str, Callable[[], Answers]] = {}


def path(function: Callable[[], Answers]) -> Callable[[], Answers]:
    PATHS[function.__name__] = function
    return function


def decisions(model: Any, y: Any = Y) -> Any:
    return model.fit(X, y).decision_function(X)


@path
def svc() -> Answers:
    exact = {"gamma": 0.3, "tol": 1e-10}  # far below what is compared: the path does not matter
    return {
        "two classes": decisions(mm.SVC(**exact)),
        "three classes": decisions(mm.SVC(**exact), Y3),
        "float32": mm.SVC(gamma=0.3, tol=1e-7).fit(X.astype(np.float32), Y).decision_function(X),
        "rows": decisions(mm.SVC(**exact, cache_size=1e-3)),
        "smo": decisions(mm.SVC(**exact, solver="smo")),
        "sparse": mm.SVC(**exact).fit(sparse.csr_matrix(X), Y).decision_function(X),
    }


@path
def other_duals() -> Answers:
    return {
        "svr": mm.SVR(gamma=0.2, epsilon=0.05, tol=1e-10).fit(X, TARGET).predict(X),
        "nu_svc": decisions(mm.NuSVC(nu=0.3, gamma=0.3, tol=1e-10)),
        "one_class": decisions(mm.OneClassSVM(nu=0.2, gamma=0.3, tol=1e-10)),
    }


def _errors(model: Any, y: Any, grid: Any, cv: Any) -> Any:
    return mm.tune(model, X, y, grid, cv=cv, random_state=0).table["error"].to_numpy()


@path
def tuning() -> Answers:
    grid = {"C": [0.5, 2.0]}
    return {
        "two classes": _errors(mm.SVC(), Y, grid | {"gamma": [0.1, 0.12]}, 3),
        "scale": _errors(mm.SVC(gamma="scale"), Y, grid, 3),
        "three classes": _errors(mm.SVC(gamma=0.3), Y3, grid, 3),
        "regression": _errors(mm.SVR(gamma=0.3, tol=1e-10), TARGET, grid, 3),
        "left out": _errors(mm.SVR(gamma=0.3, tol=1e-10), TARGET, grid, LeaveOneOut()),
        "classes left out": _errors(mm.SVC(gamma=0.3), Y, grid, LeaveOneOut()),
    }


@path
def selection() -> Answers:
    chosen = mm.feature_selection
    return {
        "rfe": chosen.RFE(mm.SVC(kernel="linear"), n_features_to_select=1).fit(X, Y).ranking_,
        "forward": chosen.SFS(mm.SVC(gamma=0.3), size=2, cv=3).fit(X, Y).get_support(),
        "backward": chosen.SBS(mm.SVC(kernel="linear"), size=2, cv=3).fit(X, Y).get_support(),
        "relief": chosen.ReliefF(n_neighbors=3).fit(X, Y).scores_,
        "gain": chosen.InformationGain().fit(X, Y).scores_,
        "uncertainty": chosen.SymmetricalUncertainty().fit(np.digitize(X, [-0.5, 0.5]), Y).scores_,
    }


@path
def linear() -> Answers:
    tight = {"tol": 1e-8}
    return {
        "squared hinge": decisions(mm.LinearSVC(**tight)),
        "hinge": decisions(mm.LinearSVC(loss="hinge", **tight)),
        "l1": decisions(mm.LinearSVC(penalty="l1", **tight)),
        "dual coordinate": decisions(mm.LinearSVC(loss="hinge", solver="dual_coordinate", random_state=0)),
        "sparse": mm.LinearSVC(**tight).fit(sparse.csr_matrix(X), Y).decision_function(X),
        "regression": mm.LinearSVR(**tight).fit(X, TARGET).predict(X),
        "logistic": decisions(mm.LogisticRegression(C=1.0)),
        "three classes": decisions(mm.LogisticRegression(C=1.0), Y3),
    }


@path
def ridge() -> Answers:
    alphas = np.geomspace(1e-3, 10.0, 5)
    linear = mm.Ridge(alphas=alphas).fit(X, TARGET)
    kernel = mm.KernelRidge(alphas=alphas, gamma=0.3).fit(X, TARGET)
    return {"linear": linear.predict(X), "kernel": kernel.predict(X), "chosen": kernel.alpha_}


@path
def online() -> Answers:
    same = {"random_state": 0, "max_iter": 5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # five passes are few
        return {
            "perceptron": decisions(mm.Perceptron(**same)),
            "pegasos": decisions(mm.Pegasos(lam=0.1, **same)),
            "passive aggressive": decisions(mm.PassiveAggressive(C=0.1, **same)),
            "subgradient": decisions(mm.SubgradientDescent(**same)),
        }


@path
def kernel_perceptron() -> Answers:
    return {"decisions": decisions(mm.KernelPerceptron(gamma=0.3, random_state=0))}


@path
def narrow_kernel() -> Answers:
    rows = X.astype(np.float32)
    return {"float32": mm.kernels.RBF(gamma=0.3)(rows, rows), "strings": mm.kernels.Subsequence(3)(STRINGS)}


@path
def binning() -> Answers:
    table = pd.DataFrame(X, columns=list("abcd"))
    found = {}
    for prebinning in ("quantile", "tree"):
        bins = mm.Binning(max_bins=4, n_prebins=12, min_share=0.1, prebinning=prebinning)
        found[prebinning] = mm.WOEEncoder(bins).fit_transform(table, Y)
    found["description length"] = mm.discretize.mdl_discretize(X[:, 0], Y)
    return found


@path
def strings() -> Answers:
    labels = np.array([text.count("a") > 1 for text in STRINGS])
    kernel = mm.kernels.Subsequence(length=3, decay=0.5)
    lengths = range(1, 10)  # one to three passes, with one to four levels in the last
    return {
        **{f"length {k}": mm.kernels.Subsequence(k, up_to=True)(STRINGS[:8], STRINGS[:8]) for k in lengths},
        "spectrum": mm.kernels.Spectrum(2)(STRINGS, STRINGS),
        "svc": mm.SVC(kernel=kernel, tol=1e-10).fit(STRINGS, labels).decision_function(STRINGS),
    }


@path
def large() -> Answers:
    return {
        "svc": decisions(mm.LargeSVC(gamma=0.3, n_components=12, random_state=0, tol=1e-8)),
        "fourier": decisions(
            mm.LargeSVC(gamma=0.3, n_components=12, method="fourier", random_state=0, tol=1e-8)
        ),
    }


if __name__ == "__main__":
    out, *names = sys.argv[1:]
    found = {f"{name}.{key}": value for name in names for key, value in PATHS[name]().items()}
    np.savez(out, **found)
