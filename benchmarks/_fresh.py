"""One fit of SVC in a process of its own, as scripts make it: python -m benchmarks._fresh PACKAGE CASE.

Prints the seconds of the fit. Imports and reading the data are outside; compiled code is on disk.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from statistics import median
from typing import Any

import numpy as np

PACKAGES = ("maxmargin", "scikit-learn", "intelex float64", "intelex float32")


def model(package: str, C: float, gamma: float) -> Any:
    """An SVC of one of the packages."""
    if package == "maxmargin":
        import maxmargin

        return maxmargin.SVC(C=C, gamma=gamma)
    if package == "scikit-learn":
        from sklearn import svm
    else:
        from sklearnex import svm
    return svm.SVC(C=C, gamma=gamma, cache_size=500)


def rows_for(package: str, X: Any) -> Any:
    """The rows as the package is fastest on them: intelex takes dense ones."""
    if not package.startswith("intelex"):
        return X
    dense = X.toarray() if hasattr(X, "toarray") else X
    return dense.astype(package.split()[1])


def fresh_seconds(package: str, case: str, repeats: int = 3) -> float:
    """Median over new processes, all of which find their bytecode compiled, as installed packages do."""
    command = [sys.executable, "-m", "benchmarks._fresh", package, case]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    runs = [subprocess.run(command, capture_output=True, text=True, env=env) for _ in range(repeats)]
    failed = [run.stderr for run in runs if run.returncode]
    if failed:
        raise RuntimeError(f"{' '.join(command)} failed:\n{failed[0]}")
    return float(median(float(run.stdout.split()[-1]) for run in runs))


def main(package: str, name: str) -> None:
    from benchmarks.svm import CASES

    X, y, C, gamma = CASES[name]()
    machine, X = model(package, C, gamma), rows_for(package, X)
    y = np.ascontiguousarray(y)
    began = time.perf_counter()
    machine.fit(X, y)
    print(time.perf_counter() - began)


if __name__ == "__main__":
    main(*sys.argv[1:])
