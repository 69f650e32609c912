"""One-versus-one with many classes: the machines of a pair are solved together, and all asked together.

The machines of a pair keep the sums of all rows of their two classes up to date, held-out rows included, so
every machine that knows the class of a row has already decided about it. Where the class wins all of these
votes nothing can overtake it, and only the rest of the rows are shown to the other machines.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np

from maxmargin.base.threads import run
from maxmargin.base.typing import AnyArray, BoolArray, FloatArray, IntArray
from maxmargin.compute.dual import pair_of_classes as compute
from maxmargin.problems.multiclass import predict_codes, summed_decisions
from maxmargin.solvers.dual.gram.shared_gram import SharedGram
from maxmargin.tuning.cells import Answer, FastCell, Targets
from maxmargin.tuning.folds import Fold

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

    def decisions(self, gram: SharedGram, codes: IntArray, test: IntArray) -> FloatArray:
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
            values = gram.values(start + used, test)
            compute.add_class(values, np.ascontiguousarray(flat[:, used]), columns, found)
        return found.reshape(n_cells, n_pairs, len(test))


def answer_fold(
    gram: SharedGram,
    chain: list[FastCell],
    targets: Targets,
    machines: PairMachines,
    test: IntArray,
    seconds: float,
    certain: BoolArray | None = None,
) -> list[Answer]:
    """Answers of all cells on the test rows of one fold; ``seconds`` is what each cell took before.

    ``certain`` (n_cells, n_test) marks rows whose own class is known to win.
    """
    assert targets.classes is not None
    n_classes = len(targets.classes)
    began = time.perf_counter()
    asked: BoolArray = np.full(len(test), True)
    if certain is not None and not targets.scores:
        asked = np.any(~certain, axis=0)
    found = machines.decisions(gram, targets.codes, test[asked])
    answers = []
    for cell, by_pair in zip(chain, found, strict=True):
        decisions = by_pair.T
        codes = targets.codes[test]
        codes[asked] = predict_codes(decisions, n_classes, "ovo", break_ties=cell.machine.break_ties)
        scores = summed_decisions(decisions, n_classes) if targets.scores else None
        spent = seconds + (time.perf_counter() - began) / len(chain)
        answers.append(Answer(cell.index, targets.classes[codes], scores, spent))
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
    blocks = ClassBlocks(gram, targets.codes)
    every_pair = combinations(range(len(targets.classes)), 2)
    jobs = [partial(_solve, blocks, chain, spread, pair) for pair in every_pair]
    solved: list[_Solved] = run(jobs, n_threads)
    defeats = np.zeros((len(chain) * len(folds), len(targets.codes)), dtype=np.int64)
    for pair in solved:
        defeats[:, pair.rows] += pair.lost
    spent = (time.perf_counter() - began) / (len(chain) * len(folds))
    asked = []
    for f, (_, test) in enumerate(folds):
        machines = _on_fold(solved, f, len(folds))
        certain = defeats[f :: len(folds), test] == 0
        asked.append(partial(answer_fold, gram, chain, targets, machines, test, spent, certain))
    answers: list[list[Answer]] = run(asked, n_threads)
    return answers


class ClassBlocks:
    """The matrix of the rows of two classes, in memory that each thread uses again and again.

    The values of the first class stay in place while pairs with the same first class follow each other.
    """

    def __init__(self, gram: SharedGram, codes: IntArray) -> None:
        self.gram = gram
        self.codes = codes
        self._ranges = [class_range(codes, k) for k in range(int(codes[-1]) + 1)]
        self._within = [threading.Lock() for _ in self._ranges]
        self._own: dict[int, AnyArray] = {}
        self._local = threading.local()

    def rows(self, pair: tuple[int, int]) -> IntArray:
        return np.concatenate([np.arange(*self._ranges[k]) for k in pair])

    def matrix(self, pair: tuple[int, int]) -> AnyArray:
        """A matrix whose first rows and columns are those of the pair; the next call overwrites it."""
        a, b = (slice(*self._ranges[k]) for k in pair)
        middle = a.stop - a.start
        end = middle + b.stop - b.start
        K = self._space()
        if self._local.first != pair[0]:
            K[:middle, :middle] = self._of_class(pair[0])
            self._local.first = pair[0]
        K[middle:end, middle:end] = self._of_class(pair[1])
        self.gram.fill(K[:middle, middle:end], a, b)
        K[middle:end, :middle] = K[:middle, middle:end].T
        return K

    def _of_class(self, k: int) -> AnyArray:
        rows = slice(*self._ranges[k])
        with self._within[k]:
            if k not in self._own:
                own = np.empty((rows.stop - rows.start,) * 2, dtype=self.gram.dtype)
                self.gram.fill(own, rows, rows)
                self._own[k] = own
        return self._own[k]

    def _space(self) -> AnyArray:
        if not hasattr(self._local, "space"):
            sizes = sorted(stop - start for start, stop in self._ranges)
            self._local.space = np.empty((sizes[-1] + sizes[-2],) * 2, dtype=self.gram.dtype)
            self._local.first = -1
        space: AnyArray = self._local.space
        return space


@dataclass(frozen=True)
class _Solved:
    """Rows of a pair; by cell and fold its coefficients, biases and rows taken for the other class."""

    rows: IntArray
    t: FloatArray
    biases: FloatArray
    lost: BoolArray


def _solve(blocks: ClassBlocks, chain: list[FastCell], weights: FloatArray, pair: tuple[int, int]) -> _Solved:
    """The machines of a pair, by cell and fold.

    The first cell goes from fold to fold, every other cell starts from the one before on the same fold.
    """
    rows = blocks.rows(pair)
    y = np.where(blocks.codes[rows] == pair[0], 1.0, -1.0)
    n_folds = len(weights)
    bounds, ridges = _limits(chain, weights[:, rows])
    origin = np.arange(len(bounds)) - n_folds
    origin[:n_folds] = np.arange(n_folds) - 1
    machine = chain[0].machine
    tol, max_steps = machine.tol, machine.max_iter if machine.max_iter >= 0 else _NO_LIMIT
    problems = (y, bounds, ridges, origin, tol, max_steps)
    t, sums, biases, _ = compute.solve_pair(blocks.matrix(pair), *problems)
    if blocks.gram.too_coarse(rows, t, tol):
        t, sums, biases, _ = compute.solve_pair(blocks.gram.wide_part(rows), *problems)
    return _Solved(rows, t, biases, (sums + biases[:, None] > 0) != (y > 0))


def _limits(chain: list[FastCell], weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds and ridges of all cells and folds, of shape (n_cells * n_folds, n_rows); 0 for rows left out."""
    shape = (len(chain), *weights.shape)
    bounds, ridges = np.empty(shape), np.empty(shape)
    outside = weights == 0
    filled = np.where(outside, 1.0, weights)
    for j, cell in enumerate(chain):
        bounds[j], ridges[j] = cell.machine.formulation().limits(filled)
    bounds[:, outside] = ridges[:, outside] = 0.0
    return bounds.reshape(-1, shape[-1]), ridges.reshape(-1, shape[-1])


def _on_fold(solved: list[_Solved], f: int, n_folds: int) -> PairMachines:
    return PairMachines(
        [pair.rows for pair in solved],
        [pair.t[f::n_folds] for pair in solved],
        np.array([pair.biases[f::n_folds] for pair in solved]),
    )
