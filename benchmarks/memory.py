"""What a fit adds to the memory of the process, beside the bound that it promises.

    python -m benchmarks.memory [name ...]

Each fit runs in a process of its own, after a small fit has compiled everything. "Added" is the peak of the
process's own memory (RssAnon, sampled every 5 ms) during the fit minus that before it. The bound of SVC and
tune is ``cache_size``; vectors of the length of the table, a copy of X in the precision of the fit and the
answer come on top of it (``beside``). That of KernelRidge is two kernel matrices. The run fails where a fit
adds more than its bound and what is beside.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks._memory import PeakMemory

_MB = float(1 << 20)
_ALLOWANCE = 32.0  # MB: thread stacks, buffers of BLAS, workspaces of fixed size


@dataclass(frozen=True)
class Case:
    """A fit, the number of its rows and columns, and the bound in MB on what it adds beside vectors."""

    fit: Callable[[Any, Any], Any]
    rows: int
    columns: int
    bound: float

    @property
    def beside(self) -> float:
        """A copy of X, thirty vectors, and what does not depend on the table."""
        return (self.rows * self.columns * 8 + 30 * self.rows * 8) / _MB + _ALLOWANCE


def _grid(cache_size: float) -> Callable[[Any, Any], Any]:
    grid = {"gamma": [0.02, 0.1], "C": [1.0, 10.0]}
    return lambda X, y: mm.tune(mm.SVC(cache_size=cache_size), X, y, grid, cv=3, refit=False)


def _matrices(n: int, count: float) -> float:
    return count * n * n * 8 / _MB


CASES: dict[str, Case] = {
    "SVC, cache_size=200": Case(lambda X, y: mm.SVC(cache_size=200).fit(X, y), 60_000, 20, 200),
    "SVC, cache_size=50": Case(lambda X, y: mm.SVC(cache_size=50).fit(X, y), 20_000, 20, 50),
    "SVR, cache_size=100": Case(lambda X, y: mm.SVR(cache_size=100).fit(X, y.astype(float)), 20_000, 20, 100),
    "KernelRidge, one alpha": Case(
        lambda X, y: mm.KernelRidge().fit(X, y.astype(float)), 4_000, 20, _matrices(4_000, 2)
    ),
    "KernelRidge, 20 alphas": Case(
        lambda X, y: mm.KernelRidge(alphas=np.logspace(-3, 2, 20)).fit(X, y.astype(float)),
        3_000,
        20,
        _matrices(3_000, 2),
    ),
    "tune, cache_size=2000": Case(_grid(2000), 12_000, 20, 2000),
    "tune, cache_size=500": Case(_grid(500), 12_000, 20, 500),
}


def _data(n: int, p: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    noise = rng.normal(size=n)
    return X, (X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * noise > 0).astype(int)


def measure(name: str) -> float:
    """MB that a fit adds, in this process."""
    case = CASES[name]
    small = _data(400, case.columns)
    case.fit(*small)  # compiles
    X, y = _data(case.rows, case.columns)
    with PeakMemory() as peak:
        case.fit(X, y)
    return peak.anon - peak.before


def main(names: list[str] | None = None) -> int:
    print(f"{'fit':24} {'rows':>7} {'bound MB':>9} {'beside MB':>9} {'added MB':>9}")
    over = []
    for name in names or CASES:
        case = CASES[name]
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.memory", "--one", name],
            capture_output=True,
            text=True,
            check=True,
        )
        added = float(done.stdout.split()[-1])
        print(f"{name:24} {case.rows:7} {case.bound:9.0f} {case.beside:9.0f} {added:9.0f}", flush=True)
        if added > case.bound + case.beside:
            over.append(name)
    if over:
        print(f"over their bound: {'; '.join(over)}")
    return int(bool(over))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(measure(sys.argv[2]))
    else:
        sys.exit(main(sys.argv[1:]))
