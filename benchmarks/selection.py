"""Feature selection side by side with scikit-learn, mlxtend and scikit-rebate, in one run.

    python -m benchmarks.selection [--only relief,wrappers,rfe,kernel_rfe,filters,chance]

Peers are optional: those that are not installed are named and skipped. Every row is the best of a few warm
runs; what takes more than seconds runs once. Columns are standardised beforehand for everybody.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from sklearn import feature_selection as peer_selection
from sklearn import svm as peer_svm
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold

import maxmargin as mm
from benchmarks._common import best_of, load, standardised
from benchmarks._results import begin, record
from maxmargin.feature_selection import (
    RFE,
    SBS,
    SFS,
    CrossValidatedError,
    Exhaustive,
    Genetic,
    ReliefF,
    SimulatedAnnealing,
    SubsetSelector,
    SymmetricalUncertainty,
)


def row(task: str, ours: float, peer: str, theirs: float, agreement: str) -> None:
    record(task, ours, {peer: theirs}, agreement)


def prepared(name: str) -> tuple[Any, Any]:
    """Standardised columns and classes 0, 1."""
    X, y = load_breast_cancer(return_X_y=True) if name == "breast cancer" else load(name)
    return standardised(X), np.unique(y, return_inverse=True)[1]


def relief() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3200, 400))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    ReliefF(10).fit(X[:100], y[:100])
    ours, fitted = best_of(lambda: ReliefF(10).fit(X, y), 3)
    try:
        import skrebate
    except ImportError:
        print("scikit-rebate is not installed: skipped")
        return
    theirs, peer = best_of(lambda: skrebate.ReliefF(n_neighbors=10, n_jobs=-1).fit(X, y), 1)
    same = np.array_equal(np.argsort(-fitted.scores_), np.argsort(-peer.feature_importances_))
    row("ReliefF 3200 x 400, k = 10", ours, "scikit-rebate", theirs, f"same ranking: {same}")


def wrappers() -> None:
    for name, n_rows, n_columns, size in (
        ("vertebral_2c", None, None, 3),
        ("breast cancer", None, None, 15),
        ("spambase", 1000, 20, 10),
    ):
        X, y = prepared(name)
        chosen = np.random.default_rng(0).permutation(len(y))[:n_rows] if n_rows else np.arange(len(y))
        X, y = standardised(X[chosen][:, :n_columns]), y[chosen]
        for direction in ("forward", "backward"):
            _wrapper(f"{name} {X.shape[0]} x {X.shape[1]} to {size}", X, y, size, direction)


def _wrapper(task: str, X: Any, y: Any, size: int, direction: str) -> None:
    folds = StratifiedKFold(10)
    kind = SFS if direction == "forward" else SBS
    task = f"{kind.__name__} {task}"
    kind(mm.SVC(), size, cv=folds).fit(X[:, :3] if size <= 3 else X, y)
    ours, fitted = best_of(lambda: kind(mm.SVC(), size, cv=folds).fit(X, y), 5, at_most=5.0)
    theirs, peer = best_of(
        lambda: peer_selection.SequentialFeatureSelector(
            peer_svm.SVC(), n_features_to_select=size, direction=direction, cv=folds, n_jobs=2
        ).fit(X, y),
        2,
        at_most=5.0,
    )
    peers = np.flatnonzero(peer.support_).tolist()
    row(task, ours, "scikit-learn", theirs, _agreement(X, y, folds, fitted.support_, peers))
    try:
        from mlxtend.feature_selection import SequentialFeatureSelector as Mlxtend
    except ImportError:
        print("mlxtend is not installed: skipped")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, other = best_of(
            lambda: Mlxtend(
                peer_svm.SVC(), k_features=size, forward=direction == "forward", cv=folds, n_jobs=2
            ).fit(X, y),
            2,
            at_most=5.0,
        )
    row(task, ours, "mlxtend", theirs, _agreement(X, y, folds, fitted.support_, other.k_feature_idx_))


def _agreement(X: Any, y: Any, folds: Any, support: Any, theirs: Any) -> str:
    """mlxtend breaks ties the other way (its first candidate lacks the last column): errors are told too."""
    mine, other = tuple(np.flatnonzero(support).tolist()), tuple(sorted(theirs))
    errors = CrossValidatedError(mm.SVC(), cv=folds).prepare(X, y)([mine, other])
    return f"same subset: {mine == other}; errors {errors[0]:.5f} and {errors[1]:.5f}"


def rfe() -> None:
    _rfe("RFE colon 62 x 2000", *prepared("colon"))
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [47, 25])
    X = rng.normal(size=(72, 7000)) + np.outer(y, rng.normal(size=7000) * (rng.random(7000) < 0.02))
    _rfe("RFE leukemia-like 72 x 7000", X, y)
    X = rng.normal(size=(476, 166))
    y = (X[:, :20].sum(axis=1) + 2.0 * rng.normal(size=476) > 0).astype(int)
    _rfe("RFE generated 476 x 166", X, y)


def _rfe(task: str, X: Any, y: Any) -> None:
    tol = 1e-8  # a ranking by w^2 is compared to its last place, so both solve tightly
    RFE(mm.SVC(kernel="linear", tol=tol), 1).fit(X[:, :20], y)
    ours, fitted = best_of(lambda: RFE(mm.SVC(kernel="linear", tol=tol), 1).fit(X, y), 3)
    theirs, peer = best_of(
        lambda: peer_selection.RFE(
            peer_svm.SVC(kernel="linear", tol=tol), n_features_to_select=1, step=1
        ).fit(X, y),
        2,
        at_most=5.0,
    )
    same = float(np.mean(fitted.ranking_ == peer.ranking_))
    row(task, ours, "scikit-learn", theirs, f"same rank for {same:.1%} of the columns")


def kernel_rfe() -> None:
    X, y = prepared("spambase")
    chosen = np.random.default_rng(0).permutation(len(y))[:2000]
    X, y = standardised(X[chosen]), y[chosen]
    machine = mm.SVC(C=1.0, gamma=0.01)
    RFE(machine, 1).fit(X[:100, :3], y[:100])
    ours, fitted = best_of(lambda: RFE(machine, 1).fit(X, y), 2)
    last = np.argsort(fitted.ranking_)[:5].tolist()
    record("kernel RFE spambase 2000 x 57, rbf", ours, {}, f"the last five columns: {last}")


def filters() -> None:
    X = np.random.default_rng(0).normal(size=(60, 5000))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    SymmetricalUncertainty().fit(X[:, :5], y)
    ours, _ = best_of(lambda: SymmetricalUncertainty().fit(X, y), 3)
    record("SymmetricalUncertainty 60 x 5000", ours, {})


def chance() -> None:
    X, y = prepared("vertebral_2c")
    criterion = CrossValidatedError(mm.SVC(), cv=StratifiedKFold(10))
    best = SubsetSelector(Exhaustive(), criterion).fit(X, y)
    for search in (Genetic(), SimulatedAnnealing()):
        found = [SubsetSelector(search, criterion, random_state=seed).fit(X, y).score_ for seed in range(20)]
        n_found = int(np.sum(np.isclose(found, best.score_)))
        print(f"{type(search).__name__}: the exhaustive optimum for {n_found} of 20 seeds")


PARTS = {
    "relief": relief,
    "wrappers": wrappers,
    "rfe": rfe,
    "kernel_rfe": kernel_rfe,
    "filters": filters,
    "chance": chance,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS))
    # a runner of all benchmarks has arguments of its own
    arguments, _ = parser.parse_known_args()
    begin(table="feature selection")
    for part in arguments.only.split(","):
        PARTS[part]()


if __name__ == "__main__":
    main()
