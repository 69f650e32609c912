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


# Shape and classes of the real data sets; where a file is missing, a generated one of its shape stands in.
_SHAPES: dict[str, tuple[int, int, Any]] = {
    "spambase": (4601, 57, np.array(["email", "spam"])),
    "letter": (20_000, 16, np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))),
    "usps_train": (7291, 256, np.arange(10)),
    "a9a": (32_561, 123, np.array([-1, 1])),
    "ijcnn1": (49_990, 22, np.array([-1, 1])),
    "vertebral_2c": (310, 6, np.array(["AB", "NO"])),
    "colon": (62, 2000, np.array([0, 1])),
    "california_housing": (20_640, 8, None),
}


def is_real(name: str) -> bool:
    return (data_folder() / f"{name}.npz").exists()


def title(name: str, text: str) -> str:
    """The name of a case; "like" marks a generated table in the place of a real one."""
    return text if is_real(name) else text.replace(name.split("_")[0], f"{name.split('_')[0]}-like", 1)


def load(name: str) -> tuple[Any, Any]:
    """Rows and targets of one of the .npz files, or of a generated table of the same shape."""
    if not is_real(name):
        return _stand_in(*_SHAPES[name])
    parts = np.load(data_folder() / f"{name}.npz", allow_pickle=False)
    if "X" in parts:
        return parts["X"], parts["y"]
    X = sp.csr_matrix((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))
    return X, parts["y"]


def _stand_in(n: int, p: int, classes: Any) -> tuple[Any, Any]:
    if classes is None:
        X, _ = synthetic(n, p)
        return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * np.random.default_rng(0).normal(size=n)
    X, y = make_classification(
        n, p, n_informative=min(p, 12), n_redundant=0, n_classes=len(classes),
        n_clusters_per_class=1 if len(classes) > 2 else min(4, 2 ** (p // 2)), flip_y=0.02, random_state=0,
    )  # fmt: skip
    return X, classes[y]


def standardised(X: Any) -> Any:
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def spambase_split() -> tuple[Any, Any]:
    """The 3220 training rows of Valera, section 6, standardised by mean and sample standard deviation."""
    X, y = load("spambase")
    if not is_real("spambase"):
        X, y = X[:3220], y[:3220]
        return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), y
    words = (data_folder() / "spambase_split.csv").read_text().split()
    rows = np.array([int(word.split(",")[-1]) for word in words if word.split(",")[-1].isdigit()])
    X = X[rows]
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), y[rows]


def synthetic(n: int, p: int, seed: int = 0) -> tuple[Any, Any]:
    """Two classes with a curved boundary and 2 % wrong labels."""
    return make_classification(
        n, p, n_informative=min(p, 10), n_redundant=0, n_clusters_per_class=4, flip_y=0.02, random_state=seed
    )


def images(n: int, n_classes: int = 10) -> tuple[Any, Any]:
    """Rows of 784 numbers >= 0, mostly zeros: twelve hidden factors, whose means are those of the class."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, n_classes, n)
    hidden = rng.normal(size=(n_classes, 12))[label] + 0.9 * rng.normal(size=(n, 12))
    X = np.maximum(0.0, hidden @ rng.normal(size=(12, 784)) + 0.5 * rng.normal(size=(n, 784)))
    return X / X.max(), label


def runs_of(task: Callable[[], Any], repeats: int, *, at_most: float = 60.0) -> tuple[list[float], Any]:
    """Seconds of several runs and the last answer; nothing is repeated beyond ``at_most`` seconds."""
    seconds: list[float] = []
    answer = None
    while len(seconds) < repeats and sum(seconds) <= at_most:
        began = time.perf_counter()
        answer = task()
        seconds.append(time.perf_counter() - began)
    return seconds, answer


def best_of(task: Callable[[], Any], repeats: int, *, at_most: float = 60.0) -> tuple[float, Any]:
    """As `runs_of`, with the best time only."""
    seconds, answer = runs_of(task, repeats, at_most=at_most)
    return min(seconds), answer
