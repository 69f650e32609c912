"""Spambase with three kernels: tables 6.1 and 6.3 of the thesis on the mathematics of SVM ([0],
chapter 6).

    python examples/reproduce/spambase.py [--data DIR] [--pictures DIR] [--quick]

The text draws its split by ``set.seed(1997); sample(1:4601, 3220)`` and its folds by
``set.seed(1997)`` before each ``tune.svm``; `r_random` draws the same rows. Two facts of the text
cannot be had exactly. The order of the rows in the author's own file is not known, and her
confusion tables differ by a few rows from what R's e1071 gives on the published file; so e1071's
own tables (version 1.7-13, same split) stand beside them. And the call
printed for the sigmoid machine has ``tau = -2``, a name that e1071 does not know and ignores.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from _common import arguments, e1071_scale, heading, load, save, side_by_side
from r_random import RRandom, e1071_folds

SEED = 1997
POWERS = {k: 10.0**k for k in range(-4, 3)}

GRIDS = {
    "radial": {
        "svc__kernel": ["rbf"],
        "svc__C": [POWERS[k] for k in range(-3, 3)],
        "svc__gamma": [POWERS[k] for k in range(-4, 3)],
    },
    "sigmoid": {
        "svc__kernel": ["sigmoid"],
        "svc__C": [POWERS[k] for k in range(-1, 2)],
        "svc__gamma": [POWERS[k] for k in range(-3, 2)],
        "svc__coef0": [-2.0, -1.0, 0.0, 1.0],
    },
    "polynomial": {
        "svc__kernel": ["poly"],
        "svc__C": [1.0, 10.0],
        "svc__gamma": [POWERS[k] for k in range(-2, 1)],
        "svc__coef0": [0.0, 1.0],
        "svc__degree": [1, 2, 3],
    },
}
# the text's winners: table 6.1
CELLS = {
    "radial": {"kernel": "rbf", "C": 1.0, "gamma": 0.01},
    "sigmoid": {"kernel": "sigmoid", "C": 10.0, "gamma": 0.01, "coef0": -2.0},
    "polynomial": {"kernel": "poly", "C": 10.0, "gamma": 0.01, "coef0": 1.0, "degree": 2},
}
TEXT_ERRORS = {"radial": 0.07453, "sigmoid": 0.08602, "polynomial": 0.06894}
# what e1071 makes of the call in the text: it ignores `tau` and is not told gamma
AS_READ = {"kernel": "sigmoid", "C": 10.0, "gamma": 1 / 57, "coef0": 0.0}
# (predicted 0, truth 0), (0, 1), (1, 0), (1, 1)
TEXT_TABLES = {"radial": (773, 58, 31, 519), "sigmoid": (773, 67, 31, 510), "polynomial": (767, 48, 37, 529)}
E1071_TABLES = {
    "radial": (775, 60, 29, 517),
    "sigmoid": (773, 65, 31, 512),
    "polynomial": (763, 45, 41, 532),
}


def split(source: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    X, y = load("spambase", source)
    rows = RRandom(SEED).sample(len(X), 3220)
    rest = np.setdiff1d(np.arange(len(X)), rows)
    return X[rows], X[rest], y[rows], y[rest]


def tuned_errors(X: np.ndarray, y: np.ndarray) -> None:
    heading("Table 6.1: 10-fold error at the text's cells, on R's own folds")
    folds = e1071_folds(len(X), SEED)
    rows = {}
    for kernel, cell in CELLS.items():
        grid = {f"svc__{name}": [value] for name, value in cell.items()}
        found = mm.tune(make_pipeline(StandardScaler(), mm.SVC()), X, y, grid, cv=folds, refit=False)
        error = found.best_error
        rows[kernel] = {
            "cell": ", ".join(f"{k}={v:g}" for k, v in cell.items() if k != "kernel"),
            "text": TEXT_ERRORS[kernel],
            "ours": error,
            "difference": error - TEXT_ERRORS[kernel],
        }
    side_by_side(rows, "kernel")


def grids(X: np.ndarray, y: np.ndarray, options: object) -> None:
    heading("Table 6.1: the best cell of the text's grids")
    print(
        "Degree 0 (a constant) and coef0 = -1 of the text's polynomial grid are left out: the first is no\n"
        "classifier and the second no Mercer kernel. e1071 has the radial optimum at gamma = .001, C = 100\n"
        "(0.06708) on this file, not at the text's cell."
    )
    folds = e1071_folds(len(X), SEED)
    rows = {}
    for kernel, grid in GRIDS.items():
        found = mm.tune(make_pipeline(StandardScaler(), mm.SVC()), X, y, grid, cv=folds, refit=False)
        best = {k.removeprefix("svc__"): v for k, v in found.best_params.items()}
        rows[kernel] = {
            "text's error": TEXT_ERRORS[kernel],
            "our best": found.best_error,
            "at": ", ".join(f"{k}={v:g}" for k, v in best.items() if k != "kernel"),
            "cells": len(found.table),
            "seconds": found.seconds,
        }
        if kernel == "radial" and options.pictures:
            save(found.display().figure_, options.pictures, "spambase_radial")
    side_by_side(rows, "kernel")


def tested(split_rows: tuple[np.ndarray, ...]) -> dict[str, tuple[int, ...]]:
    """Confusion counts of the three machines on the 1381 test rows."""
    X_train, X_test, y_train, y_test = split_rows
    train, test = e1071_scale(X_train, X_test)
    counts = {}
    for kernel, settings in {**CELLS, "sigmoid as e1071 read it": AS_READ}.items():
        predicted = mm.SVC(**settings).fit(train, y_train).predict(test)
        table = mm.metrics.confusion_table(y_test, predicted, positive="spam").frame()
        counts[kernel] = tuple(int(table.loc[p, t]) for p in ("nonspam", "spam") for t in ("nonspam", "spam"))
    return counts


def confusion_tables(split_rows: tuple[np.ndarray, ...]) -> None:
    heading(
        "Confusion tables on the 1381 test rows: predicted 0: a b, predicted 1: c d (columns: truth 0, 1)"
    )
    counts = tested(split_rows)
    as_read = counts.pop("sigmoid as e1071 read it")
    rows = {}
    for kernel, ours in counts.items():
        apart = max(abs(a - b) for a, b in zip(ours, E1071_TABLES[kernel], strict=True))
        rows[kernel] = {
            "text": _cells(TEXT_TABLES[kernel]),
            "e1071": _cells(E1071_TABLES[kernel]),
            "ours": _cells(ours),
            "rows apart from e1071": apart,
        }
    side_by_side(rows, "kernel")
    print(
        "The call printed in the text for the sigmoid, svm(..., tau = -2, cost = 10), means coef0 = 0 and\n"
        f"gamma = 1/57 to e1071; such a machine gives {_cells(as_read)} here, far from the text's table.\n"
        "The table is near the machine of table 6.1, so the call that was run is not the one printed."
    )
    heading("Table 6.3: sensitivity, specificity, precision")
    rows = {}
    for kernel, ours in counts.items():
        for who, table in (("text", TEXT_TABLES[kernel]), ("ours", ours)):
            tn, fn, fp, tp = table
            rows[f"{kernel}, {who}"] = {
                "sensitivity": tp / (tp + fn),
                "specificity": tn / (tn + fp),
                "precision": tp / (tp + fp),
            }
    side_by_side(rows, "machine")
    print(
        "The sigmoid kernel is not positive semidefinite, so its machine is a stationary point that depends\n"
        "on the solver: e1071 and scikit-learn differ by a row or two as well."
    )


def _cells(table: tuple[int, ...]) -> str:
    return f"{table[0]} {table[1]} / {table[2]} {table[3]}"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="only the text's cells, not the whole grids")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="the sigmoid kernel is not")  # said under table 6.3
    warnings.filterwarnings("ignore", message="the best cell lies on the edge")  # the grid is the text's
    parts = split(options.data)
    confusion_tables(parts)
    tuned_errors(parts[0], parts[2])
    if not options.quick:
        grids(parts[0], parts[2], options)


if __name__ == "__main__":
    main()
