"""Linear machines beside LIBLINEAR and scikit-learn: time until the objective is within 1e-4 of the optimum.

Every package is judged on the problem that it solves: LIBLINEAR and scikit-learn's LinearSVC penalise the
intercept, we do not. A peer gets the loosest of its tolerances that reaches 1e-4 relative to its own optimum
(bounded from below by the dual value of a longer run of ours on its problem), and the fastest of its solvers
counts. Ours is one fit with tol=1e-4, certificate included. LIBLINEAR's time is that of ``train`` alone,
without building its problem.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as SklearnLogistic
from sklearn.svm import LinearSVC as SklearnSVC

import maxmargin as mm
from benchmarks._common import data_folder
from benchmarks._linear_data import load
from benchmarks._results import begin, record
from maxmargin.problems import losses

GOAL = 1e-4
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
LOSSES = {"hinge": losses.Hinge(), "squared_hinge": losses.SquaredHinge(), "logistic": losses.Logistic()}
Fit = Callable[[], tuple[np.ndarray, float]]


def objective(loss: str, X: Any, y: np.ndarray, w: np.ndarray, b: float, *, with_bias: bool) -> float:
    """C = 1; the intercept counts as a weight when ``with_bias``."""
    f = np.asarray(X @ w).ravel() + b
    value = float(LOSSES[loss].value(f, y).sum()) + 0.5 * float(w @ w)
    return value + (0.5 * b * b if with_bias else 0.0)


def best_time(fit: Fit, repeats: int = 20) -> tuple[float, tuple[np.ndarray, float]]:
    """The best of several runs in two seconds: a fit of a few milliseconds is easily disturbed."""
    times, answer = [], (np.empty(0), 0.0)
    for _ in range(repeats):
        began = perf_counter()
        answer = fit()
        times.append(perf_counter() - began)
        if sum(times) > 2.0:
            break
    return min(times), answer


def ours(loss: str, X: Any, y: np.ndarray, tol: float = GOAL, fit_intercept: bool = True) -> Any:
    if loss == "logistic":
        return mm.LogisticRegression(C=1.0, tol=tol, fit_intercept=fit_intercept).fit(X, y)
    return mm.LinearSVC(loss=loss, tol=tol, fit_intercept=fit_intercept, max_iter=100_000).fit(X, y)


def optimum(loss: str, X: Any, y: np.ndarray, *, with_bias: bool) -> float:
    """The smallest objective, from a longer run; a penalised intercept is a column of ones."""
    if not with_bias:
        return float(ours(loss, X, y, 3e-6).certificate_.dual)
    ones = np.ones((X.shape[0], 1))
    wide = sparse.csr_matrix(sparse.hstack([X, ones])) if sparse.issparse(X) else np.hstack([X, ones])
    return float(ours(loss, wide, y, 3e-6, fit_intercept=False).certificate_.dual)


def scikit_fits(loss: str, X: Any, y: np.ndarray) -> list[tuple[str, bool, Callable[[float], Fit]]]:
    """(name, whether its intercept is penalised, tolerance -> fit)."""

    def fit(model: Any) -> tuple[np.ndarray, float]:
        model.fit(X, y)
        return model.coef_.ravel(), float(np.ravel(model.intercept_)[0])

    if loss == "logistic":
        solvers = ["lbfgs", "newton-cg", "sag"]
        if X.shape[1] <= 1000:
            solvers.append("newton-cholesky")
        found = [
            (
                f"sklearn {solver}",
                False,
                lambda tol, solver=solver: (
                    lambda: fit(SklearnLogistic(solver=solver, tol=tol, max_iter=2000))
                ),
            )
            for solver in solvers
        ]
        liblinear = lambda tol: lambda: fit(SklearnLogistic(solver="liblinear", tol=tol, max_iter=2000))  # noqa: E731  # a row of the table
        return [*found, ("sklearn liblinear", True, liblinear)]
    duals = (True,) if loss == "hinge" else (True, False)
    passes = 20_000 if sparse.issparse(X) or X.size < 5_000_000 else 100  # then a lower bound, in minutes
    return [
        (
            f"sklearn LinearSVC {'dual' if dual else 'primal'}",
            True,
            lambda tol, dual=dual: lambda: fit(SklearnSVC(loss=loss, dual=dual, tol=tol, max_iter=passes)),
        )
        for dual in duals
    ]


def liblinear_fits(loss: str, X: Any, y: np.ndarray) -> list[tuple[str, bool, Callable[[float], Fit]]]:
    try:
        from liblinear.liblinearutil import parameter, problem, train
    except ImportError:
        print("liblinear-official is not installed: skipped")
        return []
    if not sparse.issparse(X) and X.size > 5_000_000:
        print(
            "liblinear-official takes minutes to build a dense problem of this size: only scikit-learn's runs"
        )
        return []
    data = problem(y, sparse.csr_matrix(X), 1)
    p = X.shape[1]

    def fit(options: str) -> tuple[np.ndarray, float]:
        model = train(data, parameter(options))
        sign = 1.0 if model.get_labels()[0] == 1 else -1.0
        w = sign * np.array(model.w[: p + 1])
        return w[:p], float(w[p])

    rows = {
        "hinge": [("3", True)],
        "squared_hinge": [("1", True), ("2", False)],
        "logistic": [("0", False), ("7", True)],
    }[loss]
    return [
        (
            f"liblinear -s {kind}",
            penalised,
            lambda tol, kind=kind, penalised=penalised: (
                lambda: fit(f"-s {kind} -c 1 -B 1 -e {tol} -q" + ("" if penalised else " -R"))
            ),
        )
        for kind, penalised in rows
    ]


def peer_time(
    loss: str,
    X: Any,
    y: np.ndarray,
    peer: tuple[str, bool, Callable[[float], Fit]],
    goal: float,
    limit: float,
) -> float:
    """Seconds of the loosest tolerance that reaches the goal.

    A fit that takes longer than ``limit`` without reaching it ends the search: its time is a lower bound.
    """
    _, penalised, make = peer
    seconds = np.inf
    for tol in TOLERANCES:
        seconds, (w, b) = best_time(make(tol))
        if objective(loss, X, y, w, b, with_bias=penalised) <= goal * (1 + GOAL) or seconds > limit:
            break
    return seconds


def compare(loss: str, name: str, X: Any, y: np.ndarray) -> None:
    """Our seconds and the fastest peer's."""
    some = np.arange(0, len(y), max(1, len(y) // 500))
    ours(loss, X[some], y[some])  # compile
    before, _ = best_time(lambda: (ours(loss, X, y).coef_.ravel(), 0.0), 10)
    model = ours(loss, X, y)
    best = optimum(loss, X, y, with_bias=False)
    excess = (
        objective(loss, X, y, model.coef_.ravel(), float(model.intercept_[0]), with_bias=False) / best - 1
    )
    peers = [*liblinear_fits(loss, X, y), *scikit_fits(loss, X, y)]
    goals = {False: best, True: optimum(loss, X, y, with_bias=True) if any(p[1] for p in peers) else best}
    times = {peer[0]: peer_time(loss, X, y, peer, goals[peer[1]], 6 * before) for peer in peers}
    after, _ = best_time(lambda: (ours(loss, X, y).coef_.ravel(), 0.0), 10)
    seconds = min(before, after)
    fastest = min(times, key=lambda peer: times[peer])
    note = f"{fastest}; objective {excess:.1e} above the optimum, gap {model.certificate_.relative_gap:.1e}"
    record(name, seconds, {"fastest of LIBLINEAR and scikit-learn": times[fastest]}, note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=str(data_folder()))
    parser.add_argument("--only", default="", help="part of the name of a data set")
    parser.add_argument("--loss", default="", help="one loss")
    options, _ = parser.parse_known_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", FutureWarning)
    sets = load(options.data, options.only)
    for loss in [loss for loss in LOSSES if options.loss in ("", loss)]:
        begin(table=f"linear, {loss}: until the objective is within 1e-4 of the optimum, C = 1")
        for name, (X, y) in sets.items():
            compare(loss, name, X, y)


if __name__ == "__main__":
    main()
