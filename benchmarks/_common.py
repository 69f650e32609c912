"""Data sets, clocks and tables for all benchmarks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_classification

_DEFAULT = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"


def data_folder() -> Path:
    """The folder with the data sets: MAXMARGIN_DATA, or shared/data beside the project."""
    return Path(os.environ.get("MAXMARGIN_DATA", _DEFAULT))


def load(name: str) -> tuple[Any, Any]:
    """Rows and targets of one of the .npz files."""
    parts = np.load(data_folder() / f"{name}.npz", allow_pickle=False)
    if "X" in parts:
        return parts["X"], parts["y"]
    X = sp.csr_matrix((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))
    return X, parts["y"]


def standardised(X: Any) -> Any:
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def spambase_split() -> tuple[Any, Any]:
    """The 3220 training rows of Valera, section 6, standardised by mean and sample standard deviation."""
    X, y = load("spambase")
    words = (data_folder() / "spambase_split.csv").read_text().split()
    rows = np.array([int(word.split(",")[-1]) for word in words if word.split(",")[-1].isdigit()])
    X = X[rows]
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), y[rows]


def synthetic(n: int, p: int, seed: int = 0) -> tuple[Any, Any]:
    """Two classes with a curved boundary and 2 % wrong labels."""
    return make_classification(
        n, p, n_informative=min(p, 10), n_redundant=0, n_clusters_per_class=4, flip_y=0.02, random_state=seed
    )


def best_of(task: Callable[[], Any], repeats: int, *, at_most: float = 60.0) -> tuple[float, Any]:
    """Best time of several runs and the last answer; nothing is repeated beyond ``at_most`` seconds."""
    times: list[float] = []
    answer = None
    while len(times) < repeats and sum(times) <= at_most:
        began = time.perf_counter()
        answer = task()
        times.append(time.perf_counter() - began)
    return min(times), answer


def geometric_mean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values)))) if values else float("nan")


def heading(text: str) -> None:
    print(f"\n== {text}", flush=True)
