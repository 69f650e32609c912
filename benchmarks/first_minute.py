"""The first call on a new machine, in a new process and in a warm one, beside GridSearchCV(n_jobs=2).

    python -m benchmarks.first_minute [tune] [svc] [linear_svc] [logistic]

Every figure is the call alone, without imports, on the table of the README's example (426 x 30).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks._results import begin, record

_WARM = 5  # calls in one process; the first of them is the "fresh" figure
_CALLS = {
    "tune": "README's tune, 110 cells, 10 folds",
    "svc": "SVC().fit",
    "linear_svc": "LinearSVC().fit, scaled",
    "logistic": "tune of 80 fits of LogisticRegression",
}


def _data() -> tuple[Any, Any]:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, _, y, _ = train_test_split(X, y, random_state=0)
    return X, y


def peer() -> Any:
    grid = {"svc__C": 2.0 ** np.arange(-5, 16, 2), "svc__gamma": 2.0 ** np.arange(-15, 4, 2)}
    return GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=10, n_jobs=2).fit(*_data())


def call(name: str) -> Callable[[], Any]:
    import maxmargin as mm

    X, y = _data()
    scaled = StandardScaler().fit_transform(X)
    machine, linear, logistic, tune = mm.SVC, mm.LinearSVC, mm.LogisticRegression, mm.tune  # imported here
    Cs = {"logisticregression__C": np.logspace(-3, 1, 8)}
    return {
        "tune": lambda: tune(make_pipeline(StandardScaler(), machine()), X, y, cv=10, verbose=-1),
        "svc": lambda: machine().fit(X, y),
        "linear_svc": lambda: linear().fit(scaled, y),
        "logistic": lambda: tune(make_pipeline(StandardScaler(), logistic()), X, y, Cs, cv=10, verbose=-1),
    }[name]


def _in_new_process(name: str, cache: str) -> list[float]:
    """Seconds of the first call and of those after it; ``cache`` holds compiled code, or nothing yet."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "benchmarks.first_minute", "--child", name],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        task = peer if sys.argv[2] == "peer" else call(sys.argv[2])
        for _ in range(2 if sys.argv[2] == "peer" else _WARM):
            began = time.perf_counter()
            task()
            print(time.perf_counter() - began)
        return
    begin(table="first calls, 426 x 30")
    with tempfile.TemporaryDirectory() as nothing:
        first, again = _in_new_process("peer", nothing)
    for name in sys.argv[1:] or _CALLS:
        with tempfile.TemporaryDirectory() as cache:
            cold = _in_new_process(name, cache)
            fresh, *warm = _in_new_process(name, cache)
        peers = {"GridSearchCV of the README's grid": {"best": first}}
        record(f"{_CALLS[name]}, nothing compiled yet", cold[0], peers, f"{cold[0] / first:.2f} of its time")
        ours = {"best": min(warm), "median": median(warm), "fresh": fresh}
        peers = {"GridSearchCV of the README's grid": {"best": again, "fresh": first}}
        record(_CALLS[name], ours, peers if name == "tune" else {})


if __name__ == "__main__":
    main()
