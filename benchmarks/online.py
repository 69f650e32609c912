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
from benchmarks._linear_data import load

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
    print(f"\nseconds for {PASSES} passes, best of 15 (validation and reports included)")
    print(f"{'learner':20s} {'data':18s} {'ours':>8s} {'sklearn':>8s} {'ratio':>6s}")
    ratios = []
    for learner in pairs():
        for name, (X, y) in sets.items():
            ours, theirs = pairs()[learner]
            mine, peer = best_of_both(lambda: ours.fit(X, y), lambda: theirs.fit(X, y))  # noqa: B023  # called at once
            ratios.append(peer / mine)
            print(f"{learner:20s} {name:18s} {mine:8.4f} {peer:8.4f} {peer / mine:6.2f}", flush=True)
    print(f"geometric mean of the ratios {np.exp(np.mean(np.log(ratios))):.2f}")


def ridge_paths() -> None:
    print(
        "\na path of 50 penalties with exact leave-one-out, in units of one scikit-learn fit (goal: below 3)"
    )
    alphas = np.logspace(-3, 3, 50)
    rng = np.random.default_rng(0)
    for n, p in ((2_000, 50), (20_000, 100), (2_000, 500), (500, 2_000)):
        X = rng.normal(size=(n, p))
        y = X @ rng.normal(size=p) + rng.normal(size=n)
        path, theirs = mm.Ridge(alphas=alphas), linear_model.Ridge(alpha=1.0)
        mine, peer, ratio = median_of_both(lambda: path.fit(X, y), lambda: theirs.fit(X, y))  # noqa: B023  # called at once
        print(f"Ridge        {n:6d} x {p:5d} {mine:8.4f} {peer:8.4f} {ratio:6.2f}", flush=True)
    for n in (300, 1_000, 2_000):
        X = rng.normal(size=(n, 10))
        y = np.sin(X[:, 0]) + rng.normal(size=n)
        path = mm.KernelRidge(alphas=alphas, gamma=0.1)
        theirs = kernel_ridge.KernelRidge(kernel="rbf", gamma=0.1)
        mine, peer, ratio = median_of_both(lambda: path.fit(X, y), lambda: theirs.fit(X, y))  # noqa: B023  # called at once
        print(f"KernelRidge  {n:6d} rows    {mine:8.4f} {peer:8.4f} {ratio:6.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="../shared/data")
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
