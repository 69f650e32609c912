"""One-versus-one with many classes: the machines of a pair are solved together, and all asked together."""

from __future__ import annotations

import time
from functools import partial
from itertools import combinations

import numpy as np

from maxmargin._compute import pairs as compute
from maxmargin._compute.threads import run
from maxmargin.multiclass import predict_codes, summed_decisions
from maxmargin.tuning.cells import Answer, FastCell, Targets
from maxmargin.tuning.folds import Fold
from maxmargin.tuning.shared import SharedGram
from maxmargin.typing import AnyArray, FloatArray, IntArray

_NO_LIMIT = 2**62


def class_range(codes: IntArray, k: int) -> tuple[int, int]:
    """Start and stop of the rows of class k; rows stand by class."""
    return int(np.searchsorted(codes, k, "left")), int(np.searchsorted(codes, k, "right"))


class PairMachines:
    """Coefficients and biases of all pairs, for every cell of a chain, on one fold.

    ``rows[m]`` are rows of pair m, ``betas[m]`` (n_cells, n_rows) their coefficients and ``biases`` has the
    shape (n_pairs, n_cells).
    """

    def __init__(self, rows: list[IntArray], betas: list[FloatArray], biases: FloatArray) -> None:
        self.rows = rows
        self.betas = betas
        self.biases = biases

    def decisions(self, K: AnyArray, codes: IntArray, test: IntArray) -> FloatArray:
        """Decisions of shape (n_cells, n_pairs, n_test), class by class: a row serves its class's pairs."""
        n_pairs, n_cells = self.biases.shape
        found = np.repeat(self.biases.T.reshape(-1, 1), len(test), axis=1)
        n_classes = int(codes[-1]) + 1
        all_pairs = list(combinations(range(n_classes), 2))
        for k in range(n_classes):
            start, stop = class_range(codes, k)
            known = [m for m, pair in enumerate(all_pairs) if k in pair]
            weights = np.zeros((n_cells, len(known), stop - start))
            for column, m in enumerate(known):
                mine = slice(*np.searchsorted(self.rows[m], (start, stop)))
                weights[:, column, self.rows[m][mine] - start] = self.betas[m][:, mine]
            flat = weights.reshape(n_cells * len(known), -1)
            used = np.flatnonzero(flat.any(axis=0))
            columns = (np.arange(n_cells)[:, None] * n_pairs + known).ravel()
            compute.add_class(K, start + used, np.ascontiguousarray(flat[:, used]), test, columns, found)
        return found.reshape(n_cells, n_pairs, len(test))


def answer_fold(
    gram: SharedGram,
    chain: list[FastCell],
    targets: Targets,
    machines: PairMachines,
    test: IntArray,
    seconds: float,
) -> list[Answer]:
    """Answers of all cells on the test rows of one fold; ``seconds`` is what each cell took before."""
    assert targets.classes is not None
    n_classes = len(targets.classes)
    began = time.perf_counter()
    found = machines.decisions(gram.narrow, targets.codes, test)
    answers = []
    for cell, by_pair in zip(chain, found, strict=True):
        decisions = by_pair.T
        codes = predict_codes(decisions, n_classes, "ovo", break_ties=cell.machine.break_ties)
        if targets.scores:
            decisions = summed_decisions(decisions, n_classes)
        spent = seconds + (time.perf_counter() - began) / len(chain)
        answers.append(Answer(cell.index, targets.classes[codes], decisions, spent))
    return answers


# -- the hinge machines of a pair in one call ------------------------------------------------------------


def answer_pairs(
    gram: SharedGram,
    chain: list[FastCell],
    targets: Targets,
    folds: list[Fold],
    weights: list[FloatArray],
    n_threads: int,
) -> list[list[Answer]]:
    """Answers of a chain of `SVC` that differ in C; weights[f] are those of the training rows of fold f."""
    began = time.perf_counter()
    assert targets.classes is not None
    spread = np.zeros((len(folds), len(targets.codes)))
    for f, (train, _) in enumerate(folds):
        spread[f, train] = weights[f]
    every_pair = combinations(range(len(targets.classes)), 2)
    jobs = [partial(_solve, gram, chain, targets.codes, spread, pair) for pair in every_pair]
    solved = run(jobs, n_threads)
    spent = (time.perf_counter() - began) / (len(chain) * len(folds))
    asked = [
        partial(answer_fold, gram, chain, targets, _on_fold(solved, f, len(folds)), test, spent)
        for f, (_, test) in enumerate(folds)
    ]
    answers: list[list[Answer]] = run(asked, n_threads)
    return answers


Solved = tuple[IntArray, FloatArray, FloatArray]


def _solve(
    gram: SharedGram, chain: list[FastCell], codes: IntArray, weights: FloatArray, pair: tuple[int, int]
) -> Solved:
    """Rows of a pair, and coefficients and biases of its machines by cell and fold.

    The first cell goes from fold to fold, every other cell starts from the one before on the same fold.
    """
    segments = np.array([class_range(codes, k) for k in pair])
    rows = np.concatenate([np.arange(start, stop) for start, stop in segments])
    y = np.where(codes[rows] == pair[0], 1.0, -1.0)
    n_folds = len(weights)
    bounds, ridges = _limits(chain, weights[:, rows])
    origin = np.arange(len(bounds)) - n_folds
    origin[:n_folds] = np.arange(n_folds) - 1
    machine = chain[0].machine
    tol, max_steps = machine.tol, machine.max_iter if machine.max_iter >= 0 else _NO_LIMIT
    t, biases, _ = compute.solve_pair(gram.narrow, rows, segments, y, bounds, ridges, origin, tol, max_steps)
    if gram.too_coarse(rows, t, tol):
        t, biases, _ = compute.solve_pair(
            gram.wide(), rows, segments, y, bounds, ridges, origin, tol, max_steps
        )
    return rows, t, biases


def _limits(chain: list[FastCell], weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds and ridges of all cells and folds, of shape (n_cells * n_folds, n_rows); 0 for rows left out."""
    shape = (len(chain), *weights.shape)
    bounds, ridges = np.empty(shape), np.empty(shape)
    outside = weights == 0
    filled = np.where(outside, 1.0, weights)
    for j, cell in enumerate(chain):
        bounds[j], ridges[j] = cell.machine._formulation().limits(filled)
    bounds[:, outside] = ridges[:, outside] = 0.0
    return bounds.reshape(-1, shape[-1]), ridges.reshape(-1, shape[-1])


def _on_fold(solved: list[Solved], f: int, n_folds: int) -> PairMachines:
    return PairMachines(
        [rows for rows, _, _ in solved],
        [t[f::n_folds] for _, t, _ in solved],
        np.array([biases[f::n_folds] for _, _, biases in solved]),
    )
