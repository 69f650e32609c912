"""Two versions of maxmargin in turns on the same machine: what did a change make slower?

    python -m benchmarks.turns OTHER/src [ROW ...] [--repeats 9] [--at-most 1.03]

OTHER/src is the source folder of another checkout (`git worktree add OTHER COMMIT`). Each version has a
process of its own, warm, and both run every row in turns. The exit status is 1 if a row of this version takes
more than ``--at-most`` times as long as the other, by the best run and by the median: one alone is chance.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import _linear_data
from benchmarks._common import images, load, spambase_split, standardised, synthetic

Task = Callable[[], Any]
_ROOT = Path(__file__).resolve().parents[1]
_LONGEST = 20.0  # seconds per row and version


def _classes(name: str, n: int | None = None) -> tuple[Any, Any]:
    """Standardised columns and classes 0, 1."""
    X, y = load(name)
    return standardised(X)[:n], np.unique(y[:n], return_inverse=True)[1]


def _halves(name: str) -> tuple[Any, Any]:
    """Half of the classes against the others."""
    X, y = load(name)
    codes = np.unique(y, return_inverse=True)[1]
    return X, (codes > codes.max() / 2).astype(int)


def _cancer() -> tuple[Any, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    return standardised(X), y


def _houses(n: int) -> tuple[Any, Any]:
    X, y = load("california_housing")
    return standardised(X)[:n], (y[:n] - y.mean()) / y.std()


def _mixed_spambase() -> tuple[Any, Any]:
    """1000 rows; those of spambase itself are sorted by class."""
    X, y = spambase_split()
    return X[:1000], y[:1000]


def fit(data: Callable[[], Any], estimator: str, **options: Any) -> Task:
    import maxmargin as mm

    X, y = data()
    return partial(getattr(mm, estimator)(**options).fit, X, y)


def tune(data: Callable[[], Any], estimator: str, grid: Any, cv: Any = 5, scaled: bool = False) -> Task:
    import maxmargin as mm

    X, y = data()
    model = getattr(mm, estimator)()
    chosen = make_pipeline(StandardScaler(), model) if scaled else model
    return partial(mm.tune, chosen, X, y, grid, cv=cv, refit=False)


def select(data: Callable[[], Any], selector: str, *arguments: Any, **svc: Any) -> Task:
    import maxmargin as mm

    X, y = data()
    kind = getattr(mm.feature_selection, selector)
    options = {} if selector == "RFE" else {"cv": StratifiedKFold(10)}
    return lambda: kind(mm.SVC(**svc), *arguments, **options).fit(X, y)


def rank(selector: str, data: tuple[Any, Any], *arguments: Any) -> Task:
    import maxmargin as mm

    return lambda: getattr(mm.feature_selection, selector)(*arguments).fit(*data)


def _wide() -> tuple[Any, Any]:
    X = np.random.default_rng(0).normal(size=(476, 166))
    return X, (X[:, :20].sum(axis=1) > 0).astype(int)


def _rows() -> dict[str, Callable[[], Task]]:
    spambase, letter = partial(_classes, "spambase"), partial(_classes, "letter")
    found: dict[str, Callable[[], Task]] = {
        "svm spambase C=1": partial(fit, spambase, "SVC", C=1.0, gamma=0.01),
        "svm spambase C=100": partial(fit, spambase, "SVC", C=100.0, gamma=0.01),
        "svm spambase C=1e4": partial(fit, spambase, "SVC", C=1e4, gamma=0.01),
        "svm letter halves C=1": partial(
            fit, lambda: (standardised(load("letter")[0]), _halves("letter")[1]), "SVC", gamma=0.0625
        ),
        "svm letter 26 classes": partial(fit, letter, "SVC", C=10.0, gamma=0.1),
        "svm usps halves C=1": partial(fit, partial(_halves, "usps_train"), "SVC", gamma=0.004),
        "svm usps halves C=10": partial(fit, partial(_halves, "usps_train"), "SVC", C=10.0, gamma=0.01),
        "svm a9a": partial(fit, partial(_halves, "a9a"), "SVC", gamma=1 / 123),
        "svm ijcnn1": partial(fit, partial(_halves, "ijcnn1"), "SVC", gamma=1 / 22),
        "svm images 6000 x 784": partial(
            fit, lambda: (images(6000)[0], images(6000)[1] < 5), "SVC", C=10.0, gamma=0.05
        ),
        "svm generated 6435 x 36": partial(fit, partial(synthetic, 6435, 36), "SVC", C=100.0, gamma=0.03),
        "svm generated 200 x 10": partial(fit, partial(synthetic, 200, 10), "SVC"),
        "svm NuSVC spambase": partial(fit, spambase, "NuSVC", nu=0.2, gamma=0.01),
        "svm SVR houses": partial(fit, partial(_houses, 5000), "SVR", gamma=0.1),
        "svm OneClassSVM letter": partial(fit, letter, "OneClassSVM", nu=0.1, gamma=0.05),
        "tuning readme": partial(tune, _cancer, "SVC", None, 10, True),
        "tuning spambase": partial(
            tune, spambase_split, "SVC", {"C": [0.01, 0.1, 1.0, 10.0, 100.0], "gamma": [1e-3, 1e-2, 0.1]}, 10
        ),
        "tuning letter 26 classes": partial(
            tune, partial(_classes, "letter", 5000), "SVC", {"C": [1.0, 10.0], "gamma": [0.03, 0.1]}
        ),
        "tuning SVR houses": partial(
            tune, partial(_houses, 2000), "SVR", {"C": [0.1, 1.0, 10.0], "epsilon": [0.03, 0.1, 0.3]}
        ),
        "tuning leave-one-out": partial(
            tune, partial(_classes, "vertebral_2c"), "SVC", {"C": [1.0], "gamma": [0.1]}, "loo"
        ),
        "selection SFS cancer": partial(select, _cancer, "SFS", 15),
        "selection SBS vertebral": partial(select, partial(_classes, "vertebral_2c"), "SBS", 3),
        "selection RFE 476 x 166": partial(select, _wide, "RFE", 1, kernel="linear"),
        "selection RFE colon": partial(select, partial(_classes, "colon"), "RFE", 1, kernel="linear"),
        "selection RFE rbf": partial(select, _mixed_spambase, "RFE", 1, gamma=0.01),
        "selection ReliefF": partial(rank, "ReliefF", synthetic(1500, 100), 10),
        "selection SymmetricalUncertainty": partial(rank, "SymmetricalUncertainty", synthetic(60, 1000)),
        "linear ridge": partial(fit, partial(_houses, 20_000), "Ridge"),
        "linear logistic cancer": partial(fit, _cancer, "LogisticRegression"),
        "linear least squares": partial(fit, partial(_houses, 20_000), "LeastSquares"),
    }  # fmt: skip
    linear: dict[str, Callable[[], Any]] = {
        "spambase": spambase,
        "a9a": partial(_halves, "a9a"),
        "dense 50000 x 100": partial(_linear_data.dense, 50_000, 100),
        "w8a-like": _linear_data.w8a_like,
    }
    for name, data in linear.items():
        found[f"linear hinge {name}"] = partial(fit, data, "LinearSVC", loss="hinge", max_iter=100_000)
        found[f"linear squared hinge {name}"] = partial(fit, data, "LinearSVC", loss="squared_hinge")
        found[f"linear logistic {name}"] = partial(fit, data, "LogisticRegression")
    return found


def work() -> None:
    """A version's process: one row by name per line in, the seconds of one run out."""
    warnings.simplefilter("ignore")
    rows, name, task = _rows(), "", None
    for line in sys.stdin:
        if line.strip() != name:
            name = line.strip()
            task = rows[name]()
            task()  # compiled code and pages of memory
        assert task is not None
        began = time.perf_counter()
        task()
        print(time.perf_counter() - began, flush=True)


class Version:
    """The process of one source folder."""

    def __init__(self, source: Path) -> None:
        place = hashlib.sha256(str(source).encode()).hexdigest()[:12]
        cache = str(_ROOT / ".cache" / f"turns-{place}")
        environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{_ROOT}", "NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-m", "benchmarks.turns", "--worker"]
        self._process = subprocess.Popen(
            command, env=environment, cwd=_ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def seconds(self, row: str) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{row}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def end(self) -> None:
        self._process.communicate()


def compare(row: str, other: Version, this: Version, repeats: int) -> tuple[float, float]:
    """This version's seconds over the other's: of the best runs, and of the medians."""
    runs: tuple[list[float], list[float]] = ([], [])
    while len(runs[1]) < repeats and sum(runs[0]) + sum(runs[1]) < 2 * _LONGEST:
        for seconds, version in zip(runs, (other, this), strict=True):
            seconds.append(version.seconds(row))
    best, middle = min(runs[1]) / min(runs[0]), median(runs[1]) / median(runs[0])
    print(
        f"{row:38} {min(runs[0]):9.4f} s {min(runs[1]):9.4f} s   best {best:5.2f}, median {middle:5.2f}",
        flush=True,
    )
    return best, middle


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("other", type=Path, nargs="?", help="source folder of the other version")
    parser.add_argument("rows", nargs="*", help="only rows whose names begin like this")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--at-most", type=float, default=1.03)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work()
    if options.other is None or not (options.other / "maxmargin").is_dir():
        parser.error("OTHER/src must be a folder that holds the package maxmargin")
    versions = Version(options.other.resolve()), Version(_ROOT / "src")
    chosen = [row for row in _rows() if not options.rows or row.startswith(tuple(options.rows))]
    ratios = {row: compare(row, *versions, options.repeats) for row in chosen}
    for version in versions:
        version.end()
    slower = [row for row, both in ratios.items() if min(both) > options.at_most]
    print(
        f"\n{len(slower)} of {len(chosen)} rows are slower than {options.at_most} times: {', '.join(slower)}"
    )
    sys.exit(bool(slower))


if __name__ == "__main__":
    main()
