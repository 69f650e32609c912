"""Kernel machines outside the dual engine, fitted on pieces of the shared Gram matrix.

Kernel ridge takes one factorisation of a fold for all its penalties; other machines are fitted with
``kernel="precomputed"`` on the rows and columns of the fold.
"""

from __future__ import annotations

import warnings
from functools import partial
from math import nan
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning

from maxmargin.base import work_clock
from maxmargin.base.threads import run
from maxmargin.base.typing import AnyArray, IntArray
from maxmargin.machines.kernel import KernelRidge
from maxmargin.problems.solution import Ending, Status
from maxmargin.solvers.least_squares.ridge_path import kernel_paths
from maxmargin.tuning.folds import Fold
from maxmargin.tuning.shared_cells import Answers, CellAnswer, GridCell, Targets, chains_of


def answer_plainly(
    K: AnyArray, cells: list[GridCell], targets: Targets, folds: list[Fold], n_threads: int
) -> Answers:
    """Predictions of all cells of one kernel for the test rows of every fold; K is float64."""
    tasks = [partial(_one_fold, K, cells, targets, train, test) for train, test in folds]
    with warnings.catch_warnings():  # the status of a cell says whether it converged
        warnings.filterwarnings("ignore", "KernelPerceptron", ConvergenceWarning)
        return run(tasks, n_threads)


def _one_fold(
    K: AnyArray, cells: list[GridCell], targets: Targets, train: IntArray, test: IntArray
) -> list[CellAnswer]:
    rows = train[targets.weight[train] > 0]
    square, across = K[np.ix_(rows, rows)], K[np.ix_(test, rows)]
    answers = []
    for chain in chains_of(cells):
        if isinstance(chain[0].model, KernelRidge) and chain[0].model.alphas is None:
            answers += _ridge(square, across, chain, targets, rows)
        else:
            answers += [_given(square, across, cell, targets, rows) for cell in chain]
    return answers


def _ridge(
    square: AnyArray, across: AnyArray, chain: list[GridCell], targets: Targets, rows: IntArray
) -> list[CellAnswer]:
    began = work_clock.now()
    alphas = np.array([float(cell.model.alpha) for cell in chain])
    path = kernel_paths(square, targets.values[rows][:, None], targets.weight[rows], alphas)[0]
    predicted = across @ path.coef.T
    spent = (work_clock.now() - began) / len(chain)
    return [CellAnswer(cell.index, predicted[:, j], predicted[:, j], spent) for j, cell in enumerate(chain)]


def _given(
    square: AnyArray, across: AnyArray, cell: GridCell, targets: Targets, rows: IntArray
) -> CellAnswer:
    began = work_clock.now()
    model: Any = clone(cell.model).set_params(
        kernel="precomputed", gamma="scale", coef0=0.0, degree=3, n_jobs=1
    )
    y = targets.values[rows] if targets.classes is None else targets.classes[targets.codes[rows]]
    try:
        model.fit(square, y, sample_weight=targets.weight[rows])
    except ValueError as refused:
        return CellAnswer(cell.index, None, None, work_clock.now() - began, failure=str(refused))
    predicted = model.predict(across)
    decisions = model.decision_function(across) if is_classifier(model) else predicted
    ending = None if getattr(model, "converged_", True) else Ending(Status.MAX_ITER, model.n_iter_, nan)
    return CellAnswer(cell.index, predicted, decisions, work_clock.now() - began, ending)
