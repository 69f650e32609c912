"""What does each solver cost?

    python examples/ladder.py [--data DIR] [--rows N]

Compares the textbook solvers on the same problem: quadratic programming, chunking, decomposition, sequential
minimal optimisation, and the engine; for the linear kernel also the subgradient methods on the primal. The
dual solvers reach the same certified dual value; the table shows iterations, kernel values and seconds.
Quadratic programming only uses the first rows (``--qp-rows``), because its cost grows with n^3.

The data are spambase (4601 x 57, spambase.npz in DIR), or scikit-learn's breast cancer data if that file does
not exist.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin.solvers import SMO, Decomposition

DUAL: dict[str, Any] = {
    "chunking": "chunking",
    "decomposition, q = 64": Decomposition(size=64),
    "smo, first order": SMO(selection="first"),
    "smo, second order": SMO(),
    "smo, without cache": SMO(cache=False),
    "working set (the engine)": "working_set",
}
PRIMAL = {"subgradient": "subgradient", "pegasos": "pegasos", "smo": "smo", "working set": "working_set"}
HEAD = (
    f"{'solver':26} {'iterations':>10} {'kernel values':>14} {'seconds':>8} {'dual value':>14} "
    f"{'KKT':>8} {'gap / dual':>10}"
)


def read(folder: Path) -> tuple[str, np.ndarray, np.ndarray]:
    """Name, standardised rows in a fixed random order, and labels."""
    path = folder / "spambase.npz"
    if path.exists():
        parts = np.load(path, allow_pickle=False)
        name, X, y = "spambase", parts["X"].astype(np.float64), parts["y"]
    else:
        X, y = load_breast_cancer(return_X_y=True)
        name = f"breast cancer ({path} was not found)"
    order = np.random.default_rng(0).permutation(len(y))
    return name, StandardScaler().fit_transform(X[order]), y[order]


def line(name: str, model: Any, X: np.ndarray, y: np.ndarray) -> None:
    """Fit once to compile, once to measure, and print a line of the table."""
    model.fit(X[:50], y[:50])
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    found, proof = model.solution_, mm.certify(model, X, y)
    print(
        f"{name:26} {found.n_iter:10d} {found.kernel_values:14,d} {seconds:8.2f} {proof.dual:14.6f} "
        f"{proof.kkt:8.1e} {proof.relative_gap:10.1e}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    root = Path(__file__).resolve().parents[1]
    parser.add_argument("--data", type=Path, default=root.parent / "shared" / "data", metavar="DIR")
    parser.add_argument("--rows", type=int, default=None, help="use the first N rows only", metavar="N")
    parser.add_argument(
        "--qp-rows", type=int, default=1000, help="rows for quadratic programming", metavar="N"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # the gap that was reached is in the table
    name, X, y = read(options.data)
    X, y = X[: options.rows], y[: options.rows]
    few = min(options.qp_rows, len(y))

    print(f"{name}: RBF kernel, gamma 0.01, C 1, tol 1e-3\n\n{HEAD}")
    print(f"-- {few} rows")
    rbf: dict[str, Any] = {"kernel": "rbf", "gamma": 0.01, "C": 1.0}
    line("quadratic programming", mm.SVC(solver="qp", **rbf), X[:few], y[:few])
    line("smo, second order", mm.SVC(solver="smo", **rbf), X[:few], y[:few])
    print(f"-- {len(y)} rows")
    for label, solver in DUAL.items():
        line(label, mm.SVC(solver=solver, **rbf), X, y)
    line("smo, without shrinking", mm.SVC(solver="smo", shrinking=False, **rbf), X, y)

    print(f"\nlinear kernel, C 0.01, tol 1e-3 (of the gap for the first two), {len(y)} rows\n\n{HEAD}")
    for label, solver in PRIMAL.items():
        line(label, mm.SVC(solver=solver, kernel="linear", C=0.01), X, y)
    print("\nSubgradient and pegasos compute no kernel value; their steps and passes use all rows.")


if __name__ == "__main__":
    main()
