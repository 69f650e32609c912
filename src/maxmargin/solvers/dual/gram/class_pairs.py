"""One-versus-one with many classes: the problems of a pair are solved together, for all cells and folds.

The problems of a pair keep the sums of all rows of their two classes up to date, held-out rows included, so
every pair that contains the class of a row has already voted on it. A class that wins all of these votes
cannot be overtaken, and the other pairs need not evaluate the row.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from maxmargin.base.threads import check_stop, run
from maxmargin.base.typing import AnyArray, BoolArray, FloatArray, IntArray
from maxmargin.compute.dual import pair_of_classes
from maxmargin.compute.dual.block_solver import Signed
from maxmargin.compute.dual.bounds import multiplier_of
from maxmargin.compute.dual.pair_of_classes import PairAnswers
from maxmargin.problems.formulations import Classification
from maxmargin.problems.solution import Ending, Status, worst_ending
from maxmargin.solvers.dual.gram.chains import ChainCell, narrowed, watch_of
from maxmargin.solvers.dual.gram.gram_problem import GramProblem, interior_patience
from maxmargin.solvers.dual.gram.shared_gram import SharedGram


def class_range(codes: IntArray, k: int) -> tuple[int, int]:
    """Start and stop of the rows of class k; rows are sorted by class."""
    return int(np.searchsorted(codes, k, "left")), int(np.searchsorted(codes, k, "right"))


class PairExpansions:
    """Coefficients and biases of all pairs, for every cell of a chain, on one fold.

    ``betas[m]`` (n_cells, n_rows) are the coefficients of all rows of the two classes of pair m, the first
    class before the second, and ``biases`` has the shape (n_pairs, n_cells).
    """

    def __init__(self, betas: list[FloatArray], biases: FloatArray) -> None:
        self.betas = betas
        self.biases = biases

    @classmethod
    def of_rows(
        cls, codes: IntArray, rows: list[IntArray], betas: list[FloatArray], biases: FloatArray
    ) -> PairExpansions:
        """One cell; ``betas[m]`` belongs to ``rows[m]``, some rows of the two classes of pair m."""
        found = []
        for pair, mine, beta in zip(_all_pairs(codes), rows, betas, strict=True):
            whole = np.zeros(len(codes))
            whole[mine] = beta
            found.append(np.concatenate([whole[slice(*class_range(codes, k))] for k in pair])[None])
        return cls(found, biases[:, None])

    def decisions(self, gram: SharedGram, codes: IntArray, test: IntArray) -> FloatArray:
        """Decisions of shape (n_cells, n_pairs, n_test), computed class by class."""
        n_pairs, n_cells = self.biases.shape
        found = np.repeat(self.biases.T.reshape(-1, 1), len(test), axis=1)
        all_pairs = _all_pairs(codes)
        for k in range(int(codes[-1]) + 1):
            start, stop = class_range(codes, k)
            first, last = slice(0, stop - start), slice(start - stop, None)
            known = [m for m, pair in enumerate(all_pairs) if k in pair]
            parts = [self.betas[m][:, first if all_pairs[m][0] == k else last] for m in known]
            flat = np.stack(parts, axis=1).reshape(n_cells * len(known), -1)
            rows: Any = slice(start, stop)
            if not gram.is_whole:  # values that no machine uses are not computed
                used = np.flatnonzero(flat.any(axis=0))
                rows, flat = start + used, np.ascontiguousarray(flat[:, used])
            columns = (np.arange(n_cells)[:, None] * n_pairs + known).ravel()
            pair_of_classes.add_class(gram.values(rows, test), flat, columns, found)
        return found.reshape(n_cells, n_pairs, len(test))


def _all_pairs(codes: IntArray) -> list[tuple[int, int]]:
    return list(combinations(range(int(codes[-1]) + 1), 2))


@dataclass(frozen=True)
class PairSolutions:
    """All pairs solved: their expansions by fold, and how the cells ended.

    ``certain[f]`` (n_cells, n_test) marks test rows whose own class certainly wins.
    """

    expansions: list[PairExpansions]
    certain: list[BoolArray]
    endings: list[list[Ending]]  # by fold and cell


def solve_pairs(
    gram: SharedGram,
    cells: list[ChainCell],
    codes: IntArray,
    tests: list[IntArray],
    weights: FloatArray,
    n_threads: int,
) -> PairSolutions:
    """Solve a chain of hinge problems that differ in C, for every pair of classes.

    ``weights`` (n_folds, n_rows) are those of the training rows, 0 for the others.
    """
    n_folds = len(tests)
    blocks = ClassBlocks(gram, codes)
    limits = _limits(cells, weights)
    jobs = [partial(_solve, blocks, cells, weights, limits, pair) for pair in _all_pairs(codes)]
    solved: list[_SolvedPair] = run(jobs, n_threads)
    defeats = np.zeros((len(cells) * n_folds, len(codes)), dtype=np.int64)
    for pair in solved:
        defeats[:, pair.rows] += pair.lost
    endings = _worst_endings(solved)
    return PairSolutions(
        [_on_fold(solved, f, n_folds) for f in range(n_folds)],
        [defeats[f::n_folds, test] == 0 for f, test in enumerate(tests)],
        [endings[f::n_folds] for f in range(n_folds)],
    )


def _worst_endings(solved: list[_SolvedPair]) -> list[Ending]:
    """How every problem ended, over all pairs."""
    steps = np.sum([pair.answers.steps for pair in solved], axis=0)
    violations = np.max([pair.answers.violations for pair in solved], axis=0)
    special = {p for pair in solved for p in pair.special}
    return [
        worst_ending([pair.ending(p) for pair in solved])
        if p in special
        else Ending(Status.CONVERGED, int(steps[p]), float(violations[p]))
        for p in range(len(steps))
    ]


class ClassBlocks:
    """The matrix of the rows of two classes, in memory that each thread reuses.

    The values of the first class stay in place for consecutive pairs with the same first class.
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
        return self._local.space


@dataclass(frozen=True)
class _SolvedPair:
    """Rows of a pair, and by cell and fold its answers and misclassified rows.

    ``special`` holds the endings of problems that pairwise steps alone did not solve.
    """

    rows: IntArray
    answers: PairAnswers
    lost: BoolArray
    special: dict[int, Ending]

    def ending(self, p: int) -> Ending:
        return self.special.get(p) or _converged(self.answers, p)


def _converged(answers: PairAnswers, p: int) -> Ending:
    return Ending(Status.CONVERGED, int(answers.steps[p]), float(answers.violations[p]))


def _solve(
    blocks: ClassBlocks,
    cells: list[ChainCell],
    weights: FloatArray,
    limits: tuple[FloatArray, FloatArray],
    pair: tuple[int, int],
) -> _SolvedPair:
    """The problems of a pair, by cell and fold."""
    rows = blocks.rows(pair)
    y = np.where(blocks.codes[rows] == pair[0], 1.0, -1.0)
    n_folds = len(weights)
    bounds, ridges = (np.take(values, rows, axis=1) for values in limits)
    solver = cells[0].solver
    patience = interior_patience(len(rows))
    max_steps = solver.max_iter if solver.max_iter >= 0 else patience
    problems = (y, bounds, ridges, n_folds, solver.tol, max_steps)
    if by_one := blocks.gram.is_beyond_float32:
        answers = PairAnswers.empty(*bounds.shape)
    else:
        answers = _solve_on(blocks.matrix(pair), *problems)
    if blocks.gram.too_coarse(rows, answers.t, solver.tol):
        answers = _solve_on(blocks.gram.wide_part(rows), *problems)
    special: dict[int, Ending] = {}
    for p in np.flatnonzero(~(answers.violations <= solver.tol)).tolist():
        if solver.max_iter >= 0 and not by_one:
            special[p] = ending_of(int(answers.steps[p]), float(answers.violations[p]), solver.tol, max_steps)
        else:
            wide = blocks.gram.wide_part(rows)
            special[p] = _finish(wide, y, bounds[p], ridges[p], answers, p, cells[0])
    for p in np.flatnonzero(blocks.gram.can_hide_gap(bounds.max(axis=1))).tolist():
        train, cell = np.flatnonzero(bounds[p]), cells[p // n_folds]
        points: Any = rows[train]  # positions in the shared matrix represent the points
        form = cell.form.build(blocks.gram.kernel, points, y[train], weights[p % n_folds, rows[train]])
        a, level = np.abs(answers.t[p, train]), -answers.biases[p : p + 1]
        ending = special.get(p) or _converged(answers, p)
        found = narrowed(blocks.gram, cell, form, rows[train], a, level, ending)
        if found is not None:
            problem, point = hinge_problem(blocks.gram.wide_part(rows), y, bounds[p], ridges[p])
            special[p] = found[1]
            _store(problem, point, y[point] * found[0], answers, p)
    lost = (answers.sums + answers.biases[:, None] > 0) != (y > 0)
    return _SolvedPair(rows, answers, lost, special)


def _finish(
    K: AnyArray,
    y: FloatArray,
    bound: FloatArray,
    ridge: FloatArray,
    answers: PairAnswers,
    p: int,
    cell: ChainCell,
) -> Ending:
    """Solve a problem of a pair in float64 if pairwise steps are too slow."""
    problem, point = hinge_problem(K, y, bound, ridge)
    t = answers.t[p, point]
    ending = problem.solve(t, problem.sums_of(t), watch_of(cell, len(t)))
    _store(problem, point, t, answers, p)
    return Ending(ending.status, int(answers.steps[p]) + ending.n_iter, ending.violation)


def _store(problem: GramProblem, point: IntArray, t: FloatArray, answers: PairAnswers, p: int) -> None:
    """Store the solution of problem ``p``."""
    v, s = problem.sums_of(t), problem.signed
    answers.t[p], answers.sums[p] = 0.0, v
    answers.t[p, point] = t
    answers.biases[p] = -multiplier_of(problem.gradient(t, v), t, s.lo, s.hi)


def hinge_problem(
    K: AnyArray, y: FloatArray, bound: FloatArray, ridge: FloatArray | None = None
) -> tuple[GramProblem, IntArray]:
    """min 1/2 t'(K + diag ridge)t - y't, sum t = 0, over the rows with a bound; and which rows these are."""
    point = np.flatnonzero(bound)
    y, upper = y[point], bound[point]
    lo, hi = np.where(y < 0, -upper, 0.0), np.where(y > 0, upper, 0.0)
    d = np.zeros(len(point)) if ridge is None else ridge[point]
    signed = Signed(point, np.ones(len(point)), d, -y, lo, hi, np.zeros(len(point), dtype=np.int64))
    return GramProblem(K, np.array([[0, len(K)]]), signed, 1), point


def _solve_on(K: AnyArray, y: FloatArray, bounds: FloatArray, *problems: object) -> PairAnswers:
    answers = PairAnswers.empty(*bounds.shape)
    first = 0
    while first < len(bounds):
        check_stop()
        first = pair_of_classes.solve_pair(K, y, bounds, *problems, answers, first)
    return answers


def ending_of(steps: int, violation: float, tol: float, max_steps: int) -> Ending:
    """The ending of a problem that was solved in one call, without a check of the clock."""
    if violation <= tol:
        return Ending(Status.CONVERGED, steps, violation)
    return Ending(Status.MAX_ITER if steps >= max_steps else Status.STALLED, steps, violation)


def _limits(cells: list[ChainCell], weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds and ridges of all cells and folds, of shape (n_cells * n_folds, n_rows); 0 for rows left out."""
    shape = (len(cells), *weights.shape)
    bounds, ridges = np.empty(shape), np.empty(shape)
    outside = weights == 0
    filled = np.where(outside, 1.0, weights)
    for j, cell in enumerate(cells):
        assert isinstance(cell.form, Classification)
        bounds[j], ridges[j] = cell.form.limits(filled)
    bounds[:, outside] = ridges[:, outside] = 0.0
    return bounds.reshape(-1, shape[-1]), ridges.reshape(-1, shape[-1])


def _on_fold(solved: list[_SolvedPair], f: int, n_folds: int) -> PairExpansions:
    return PairExpansions(
        [pair.answers.t[f::n_folds] for pair in solved],
        np.array([pair.answers.biases[f::n_folds] for pair in solved]),
    )
