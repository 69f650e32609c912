"""Epochs of the online learners beside scikit-learn's, and ridge paths beside one scikit-learn fit."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from sklearn import kernel_ridge, linear_model
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm
from benchmarks._common import data_folder
from benchmarks._linear_data import load
from benchmarks._results import begin, record

PASSES = 5


def best_of_both(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float]:
    """Best seconds of both sides, in turn five runs of each, three times: a disturbance then meets both.

    Not run by run: threads of BLAS go on waiting for a while after the other side's run.
    """
    best = [np.inf, np.inf]
    for _ in range(3):
        for side, fit in enumerate((ours, theirs)):
            best[side] = min(best[side], *(_timed(fit) for _ in range(5)))
    return best[0], best[1]


def median_of_both(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float, float]:
    """Medians over seven turns of each side's best of five, and of their ratio.

    Both sides use two BLAS threads here, whose times vary by a third: one lucky run must not decide.
    """
    seconds = np.empty((7, 2))
    for turn in seconds:
        for side, fit in enumerate((ours, theirs)):
            turn[side] = min(_timed(fit) for _ in range(5))
    return *np.median(seconds, axis=0), float(np.median(seconds[:, 0] / seconds[:, 1]))


def _timed(fit: Callable[[], Any]) -> float:
    start = perf_counter()
    fit()
    return perf_counter() - start


def pairs() -> dict[str, tuple[Any, Any]]:
    """Learner -> (ours, scikit-learn's) with the same number of passes."""
    plain = {"tol": None, "max_iter": PASSES, "random_state": 0}
    return {
        "perceptron": (mm.Perceptron(max_iter=PASSES, random_state=0), linear_model.Perceptron(**plain)),
        "passive-aggressive": (
            mm.PassiveAggressive(max_iter=PASSES, tol=None, random_state=0),
            linear_model.SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0, **plain),
        ),
        "pegasos": (
            mm.Pegasos(1e-4, max_iter=PASSES, average=False, project=False, shuffle=True, random_state=0),
            linear_model.SGDClassifier(loss="hinge", alpha=1e-4, **plain),
        ),
        "pegasos, averaged": (
            mm.Pegasos(1e-4, max_iter=PASSES, average=True, project=False, shuffle=True, random_state=0),
            linear_model.SGDClassifier(loss="hinge", alpha=1e-4, average=True, **plain),
        ),
    }


def epochs(sets: dict[str, Any]) -> None:
    begin(table=f"online learners, {PASSES} passes")
    for learner in pairs():
        for name, (X, y) in sets.items():
            ours, theirs = pairs()[learner]
            mine, peer = best_of_both(lambda: ours.fit(X, y), lambda: theirs.fit(X, y))  # noqa: B023  # called at once
            record(f"{learner}, {name}", mine, {"scikit-learn": peer})


def ridge_paths() -> None:
    begin(table="a path of 50 penalties with exact leave-one-out, beside one scikit-learn fit")
    alphas = np.logspace(-3, 3, 50)
    rng = np.random.default_rng(0)
    for n, p in ((2_000, 50), (20_000, 100), (2_000, 500), (500, 2_000)):
        X = rng.normal(size=(n, p))
        y = X @ rng.normal(size=p) + rng.normal(size=n)
        path, theirs = mm.Ridge(alphas=alphas), linear_model.Ridge(alpha=1.0)
        mine, peer, ratio = median_of_both(lambda: path.fit(X, y), lambda: theirs.fit(X, y))  # noqa: B023  # called at once
        record(f"Ridge {n} x {p}", mine, {"one Ridge": peer}, f"{ratio:.2f} of one fit")
    for n in (300, 1_000, 2_000):
        X = rng.normal(size=(n, 10))
        y = np.sin(X[:, 0]) + rng.normal(size=n)
        path = mm.KernelRidge(alphas=alphas, gamma=0.1)
        theirs = kernel_ridge.KernelRidge(kernel="rbf", gamma=0.1)
        mine, peer, ratio = median_of_both(lambda: path.fit(X, y), lambda: theirs.fit(X, y))  # noqa: B023  # called at once
        record(f"KernelRidge {n} rows", mine, {"one KernelRidge": peer}, f"{ratio:.2f} of one fit")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=str(data_folder()))
    parser.add_argument("--only", default="", help="part of the name of a data set, or 'ridge'")
    options, _ = parser.parse_known_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", FutureWarning)
    if options.only != "ridge":
        sets = load(options.data, options.only)
        for ours, _ in pairs().values():  # compile
            for X, y in sets.values():
                ours.fit(X[:: max(1, len(y) // 300)], y[:: max(1, len(y) // 300)])
        epochs(sets)
    if options.only in ("", "ridge"):
        ridge_paths()


if __name__ == "__main__":
    main()
