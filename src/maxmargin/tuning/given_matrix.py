"""Kernel machines outside the dual engine, fitted on pieces of the shared Gram matrix.

Kernel ridge takes one factorisation of a fold for all its penalties; other machines are fitted with
``kernel="precomputed"`` on the rows and columns of the fold.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from maxmargin.base.threads import run
from maxmargin.base.typing import AnyArray, IntArray
from maxmargin.machines.kernel import KernelRidge
from maxmargin.solvers.least_squares.ridge_path import kernel_path
from maxmargin.tuning.cells import Answer, FastCell, Targets, chains_of
from maxmargin.tuning.folds import Fold


def answer_plainly(
    K: AnyArray, cells: list[FastCell], targets: Targets, folds: list[Fold], n_threads: int
) -> list[list[Answer]]:
    """Answers of all cells of one kernel on the test rows of every fold; K is float64."""
    return run([partial(_one_fold, K, cells, targets, train, test) for train, test in folds], n_threads)


def _one_fold(
    K: AnyArray, cells: list[FastCell], targets: Targets, train: IntArray, test: IntArray
) -> list[Answer]:
    rows = train[targets.weight[train] > 0]
    square, across = K[np.ix_(rows, rows)], K[np.ix_(test, rows)]
    answers = []
    for chain in chains_of(cells):
        if isinstance(chain[0].machine, KernelRidge) and chain[0].machine.alphas is None:
            answers += _ridge(square, across, chain, targets, rows)
        else:
            answers += [_given(square, across, cell, targets, rows) for cell in chain]
    return answers


def _ridge(
    square: AnyArray, across: AnyArray, chain: list[FastCell], targets: Targets, rows: IntArray
) -> list[Answer]:
    began = time.perf_counter()
    alphas = np.array([float(cell.machine.alpha) for cell in chain])
    path = kernel_path(square, targets.values[rows], targets.weight[rows], alphas)
    predicted = across @ path.coef.T
    spent = (time.perf_counter() - began) / len(chain)
    return [Answer(cell.index, predicted[:, j], predicted[:, j], spent) for j, cell in enumerate(chain)]


def _given(square: AnyArray, across: AnyArray, cell: FastCell, targets: Targets, rows: IntArray) -> Answer:
    began = time.perf_counter()
    model: Any = clone(cell.machine).set_params(
        kernel="precomputed", gamma="scale", coef0=0.0, degree=3, n_jobs=1
    )
    y = targets.values[rows] if targets.classes is None else targets.classes[targets.codes[rows]]
    try:
        model.fit(square, y, sample_weight=targets.weight[rows])
    except ValueError as refused:
        return Answer(cell.index, None, None, time.perf_counter() - began, str(refused))
    predicted = model.predict(across)
    decisions = model.decision_function(across) if is_classifier(model) else predicted
    return Answer(cell.index, predicted, decisions, time.perf_counter() - began)
