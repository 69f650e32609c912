"""``mm.warmup``: compile in advance what the first calls on a machine would compile."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin.base.progress import ProgressReport, silenced_by
from maxmargin.base.typing import AnyArray, FloatArray
from maxmargin.compute.compiling import WATCH


@cache
def _table() -> tuple[FloatArray, AnyArray, AnyArray, FloatArray]:
    """A small table with two classes, three classes and a number to predict."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    number = X @ [1.0, -0.5, 0.25, 0.0] + 0.3 * rng.normal(size=60)
    return X, np.where(number > 0, 1, -1), np.digitize(number, [-0.5, 0.5]), number


def _fit(*models: Any, target: int = 1) -> None:
    data = _table()
    for model in models:
        model.fit(data[0], data[target])
        _go_on(getattr(model, "interrupted_", False))


def _tune(model: Any, target: int = 1, cv: Any = 3, grid: Any = None) -> None:
    data = _table()
    found = mm.tune(model, data[0], data[target], grid or {"svc__C": [0.1, 1e4]}, cv=cv, verbose=-1)
    _go_on(found.interrupted)


def _go_on(interrupted: bool) -> None:
    """Ctrl-C ends the warmup; a search alone would return what is finished."""
    if interrupted:
        raise KeyboardInterrupt


def _more_svm() -> None:
    X, y, _, _ = _table()
    _fit(mm.SVC(tol=1e-6), mm.SVC(cache_size=1e-3), mm.SVC(solver="smo"), mm.NuSVC(nu=0.3))
    _fit(mm.SVC(), mm.SVC(cache_size=1e-3), target=2)
    _fit(mm.SVR(), mm.NuSVR(), target=3)
    mm.OneClassSVM(nu=0.2).fit(X)
    mm.SVC(cache_size=1e-3).fit(sparse.csr_matrix(X), y)
    mm.SVC(gamma=0.3, tol=1e-7).fit(X.astype(np.float32), y).decision_function(X)
    tight = {"gamma": 0.3, "tol": 1e-10}  # float64 from the start
    _fit(mm.SVC(**tight), mm.SVC(**tight, cache_size=1e-3), mm.NuSVC(nu=0.3, **tight))
    _fit(mm.SVR(epsilon=0.05, **tight), target=3)


def _more_tuning() -> None:
    for target, cv in ((2, 3), (1, "loo")):
        _tune(make_pipeline(mm.SVC(gamma=0.3)), target, cv)
    for folds, tol in ((3, 1e-3), ("loo", 1e-3), ("loo", 1e-10)):
        _tune(mm.SVR(gamma=0.3, tol=tol), 3, folds, {"C": [0.1, 10.0]})


def _more_linear() -> None:
    X, y, _, _ = _table()
    _fit(mm.LinearSVC(loss="hinge"), mm.LinearSVC(penalty="l1"), mm.Ridge(alphas=[0.1, 1.0]))
    _fit(mm.LinearSVC(loss="hinge", solver="dual_coordinate", random_state=0))
    _fit(mm.LogisticRegression(), target=2)
    _fit(mm.LinearSVR(), mm.KernelRidge(alphas=[0.1, 1.0], gamma=0.3), target=3)
    mm.LinearSVC().fit(sparse.csr_matrix(X), y)


def _selection() -> None:
    X, y, _, _ = _table()
    selection = mm.feature_selection
    _fit(
        selection.RFE(mm.SVC(kernel="linear"), 1),
        selection.RFE(mm.SVC(gamma=0.3), 2),
        selection.SFS(mm.SVC(gamma=0.3), size=2, cv=3),
        selection.SBS(mm.SVC(kernel="linear"), size=2, cv=3),
        selection.ReliefF(n_neighbors=3),
    )
    selection.SymmetricalUncertainty().fit(np.digitize(X, [-0.5, 0.5]), y)
    mm.discretize.mdl_discretize(X[:, 0], y)


def _online() -> None:
    same = {"random_state": 0, "max_iter": 3}
    _fit(
        mm.Perceptron(**same), mm.PassiveAggressive(**same), mm.Pegasos(**same), mm.SubgradientDescent(**same)
    )
    _fit(mm.KernelPerceptron(gamma=0.3, random_state=0))


def _strings() -> None:
    words = ["abca", "bcab", "cabc", "aabb", "bbcc", "ccaa"]
    mm.SVC(kernel=mm.kernels.Subsequence(length=3)).fit(words, [0, 1, 0, 1, 0, 1])
    mm.kernels.Spectrum(2)(words, words)


def _scorecards() -> None:
    X, y, _, _ = _table()
    for prebinning in ("quantile", "tree"):
        bins = mm.Binning(max_bins=3, n_prebins=6, prebinning=prebinning)
        mm.WOEEncoder(bins).fit_transform(pd.DataFrame(X), y)


def _large() -> None:
    _fit(mm.LargeSVC(n_components=20, random_state=0))
    _fit(mm.LargeSVR(n_components=20, random_state=0), target=3)


ENTRIES: dict[str, Callable[[], None]] = {
    "svc": lambda: _fit(mm.SVC()),
    "tuning": lambda: _tune(make_pipeline(StandardScaler(), mm.SVC())),
    "linear_svc": lambda: _fit(mm.LinearSVC()),
    "logistic": lambda: _fit(mm.LogisticRegression()),
    "more_svm": _more_svm,
    "more_tuning": _more_tuning,
    "more_linear": _more_linear,
    "selection": _selection,
    "online": _online,
    "strings": _strings,
    "scorecards": _scorecards,
    "large": _large,
}


def warmup(entries: Iterable[str] | None = None, *, verbose: int = 0) -> dict[str, float]:
    """Compile in advance, so that later calls on this machine do not: for container images and classrooms.

    Compiled code is kept on disk (`NUMBA_CACHE_DIR`, else next to the package, else in a folder of the user
    or of the temporary directory), so later processes read it. What is already compiled costs no time.

    Parameters
    ----------
    entries : what to compile: "svc", "tuning", "linear_svc", "logistic" (first calls); "more_svm",
        "more_tuning", "more_linear", "selection", "online", "strings", "scorecards", "large". None for
        everything.
    verbose : 1 prints progress where there is no terminal for a live bar; -1 shows no bar either.

    Returns
    -------
    The seconds that each entry took to compile.

    >>> import maxmargin as mm
    >>> list(mm.warmup(["svc"]))
    ['svc']
    """
    names = list(ENTRIES) if entries is None else list(entries)
    if unknown := [name for name in names if name not in ENTRIES]:
        raise ValueError(f"entries={unknown!r} are not known: choose from {', '.join(ENTRIES)}.")
    seconds = {}
    with ProgressReport("compiling", len(names), verbose=verbose, at_once=True) as progress, silenced_by(-1):
        progress.advance(0)
        for name in names:
            before = WATCH.seconds
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a few passes over sixty rows need not converge
                ENTRIES[name]()
            seconds[name] = WATCH.seconds - before
            progress.advance(1, lambda done=name: f"{done} done")  # type: ignore[misc]  # a default argument
    return seconds
