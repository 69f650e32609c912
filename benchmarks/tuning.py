"""mm.tune beside GridSearchCV(SVC, n_jobs=2) and cross_val_score(LeaveOneOut()).

    python -m benchmarks.tuning [spambase] [classes] [usps] [letter] [svr] [loo] [default]

Same cells, same folds, same process; the best cell and every fold's error are compared.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from sklearn import svm as sk
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, StratifiedKFold, cross_val_score

import maxmargin as mm
from benchmarks._common import best_of, load, runs_of, spambase_split, standardised
from benchmarks._results import begin, record, times


def powers(low: int, high: int) -> list[float]:
    return [10.0**k for k in range(low, high + 1)]


def compare(
    name: str, ours: Any, theirs: Any, X: Any, y: Any, grid: Any, cv: Any, scoring: Any = None
) -> None:
    mm.tune(ours, X[:200], y[:200], grid, cv=2, refit=False)
    runs, result = runs_of(lambda: mm.tune(ours, X, y, grid, cv=cv, refit=False), 3, at_most=20)
    t_sk, search = best_of(
        lambda: GridSearchCV(theirs, grid, cv=cv, n_jobs=2, refit=False, scoring=scoring).fit(X, y), 1
    )
    scores = np.array([search.cv_results_[f"split{k}_test_score"] for k in range(search.n_splits_)]).T
    errors = -scores if scoring else 1 - scores
    sizes = np.array([len(test) for _, test in cv.split(X, y)])
    apart = np.abs(result.folds - errors)
    agreement = (
        f"largest difference {apart.max():.1e}"
        if scoring
        else f"at most {(apart * sizes).max():.0f} rows apart"
    )
    note = f"same best cell: {result.best_params == search.best_params_}, {agreement}"
    record(name, times(runs), {"GridSearchCV, n_jobs=2": t_sk}, note)


def spambase() -> None:
    begin(table="spambase split, 7 x 6 cells, 10 folds")
    X, y = spambase_split()
    grid = {"C": powers(-3, 2), "gamma": powers(-4, 2)}
    compare("SVC rbf", mm.SVC(), sk.SVC(), X, y, grid, StratifiedKFold(10))


def classes() -> None:
    begin(table="generated tables of several classes, 4 x 4 cells, 10 folds")
    for n_classes, n, p in ((11, 990, 10), (6, 2000, 36)):
        X, y = make_classification(
            n, p, n_informative=min(p, 12), n_redundant=0, n_classes=n_classes, n_clusters_per_class=1,
            flip_y=0.02, random_state=0,
        )  # fmt: skip
        grid = {"C": powers(-1, 2), "gamma": powers(-3, 0)}
        name = f"SVC rbf, {n_classes} classes, {n} x {p}"
        compare(name, mm.SVC(), sk.SVC(), standardised(X), y, grid, StratifiedKFold(10))


def usps() -> None:
    begin(table="usps 5 versus 8, 20 cells, 10 folds")
    X, y = load("usps_train")
    keep = (y == 5) | (y == 8)
    grid = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [1e-4, 1e-3, 1e-2, 0.1, 1.0]}
    compare("SVC rbf", mm.SVC(), sk.SVC(), X[keep], y[keep], grid, StratifiedKFold(10))


def letter() -> None:
    begin(table="letter, 26 classes, 3 x 3 cells, 5 folds")
    X, y = load("letter")
    grid = {"C": [1.0, 10.0, 100.0], "gamma": [0.03, 0.1, 0.3]}
    compare("SVC rbf", mm.SVC(), sk.SVC(cache_size=500), standardised(X), y, grid, StratifiedKFold(5))


def svr() -> None:
    begin(table="california housing, 4000 rows, 5 x 5 x 4 cells, 5 folds")
    X, y = load("california_housing")
    rows = np.random.default_rng(0).permutation(len(y))[:4000]
    X, y = standardised(X[rows]), (y[rows] - y[rows].mean()) / y[rows].std()
    grid = {"C": powers(-2, 2), "gamma": powers(-3, 1), "epsilon": [0.01, 0.03, 0.1, 0.3]}
    compare("SVR rbf", mm.SVR(), sk.SVR(), X, y, grid, KFold(5), "neg_mean_squared_error")


def loo() -> None:
    begin(table="leave-one-out beside cross_val_score(LeaveOneOut())")
    vertebral, labels = load("vertebral_2c")
    spam, spam_y = spambase_split()
    for name, X, y, gamma in (
        ("vertebral, 310 rows", standardised(vertebral), labels, 0.1),
        ("spambase, 1000 rows", spam[:1000], spam_y[:1000], 0.01),
    ):
        ours = mm.SVC(gamma=gamma)
        mm.tune(ours, X, y, {"C": [1.0]}, cv="loo", refit=False)
        runs, result = runs_of(
            lambda m=ours, X=X, y=y: mm.tune(m, X, y, {"C": [1.0]}, cv="loo", refit=False), 5
        )
        t_sk, scores = best_of(
            lambda g=gamma, X=X, y=y: cross_val_score(sk.SVC(C=1.0, gamma=g), X, y, cv=LeaveOneOut()), 1
        )
        apart = int((result.folds[0] != 1 - scores).sum())
        record(name, times(runs), {"cross_val_score": t_sk}, f"{apart} rows differ")


def default() -> None:
    begin(table="the whole default grid, 11 x 10 cells, 10 folds, all of spambase")
    X, y = load("spambase")
    mm.tune(mm.SVC(), X[::20], y[::20], {"C": [1.0, 10.0]}, cv=2, refit=False)
    t, result = best_of(lambda: mm.tune(mm.SVC(), standardised(X), y, cv=StratifiedKFold(10), refit=False), 1)
    record("spambase, default grid", t, {}, f"error {result.best_error:.5f}")


TABLES = {
    "spambase": spambase,
    "classes": classes,
    "usps": usps,
    "letter": letter,
    "svr": svr,
    "loo": loo,
    "default": default,
}


def main() -> None:
    """Run the tables named on the command line, or all."""
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or TABLES:
        TABLES[name]()


if __name__ == "__main__":
    main()
