"""The cells of one kernel on one fold, from a shared Gram matrix."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from maxmargin._compute.threads import run
from maxmargin.formulations import Expansion
from maxmargin.multiclass import BinaryTask, binary_tasks, predict_codes, summed_decisions
from maxmargin.problems.solution import Solution, Status
from maxmargin.svm.classification import _Classifier
from maxmargin.tuning.chain import GramView, State, _add, solve_next
from maxmargin.tuning.shared import SharedGram
from maxmargin.typing import AnyArray, FloatArray, IntArray

_TEST_ROWS = 512
_ORDERED = ("epsilon", "C", "nu")  # parameters along which one answer starts the next


@dataclass(frozen=True)
class FastCell:
    """One cell of the grid: its place in the table and the machine with its parameters."""

    index: int
    machine: Any


@dataclass(frozen=True)
class Answer:
    """What a cell says about the test rows of a fold; ``failure`` is the reason where it has no answer."""

    index: int
    predicted: AnyArray | None
    decisions: FloatArray | None
    seconds: float
    failure: str = ""


@dataclass(frozen=True)
class Targets:
    """Targets of all rows: classes and codes for classifiers, numbers for the rest."""

    classes: AnyArray | None
    codes: IntArray
    values: FloatArray
    weight: FloatArray


def chains_of(cells: list[FastCell]) -> list[list[FastCell]]:
    """Cells that differ in epsilon, C or nu only, in the order in which they are solved."""
    chains: dict[str, list[FastCell]] = {}
    for cell in cells:
        params = cell.machine.get_params(deep=False)
        rest = {k: v for k, v in params.items() if k not in (*_ORDERED, "kernel", "gamma", "coef0", "degree")}
        chains.setdefault(repr(sorted(rest.items())), []).append(cell)
    for chain in chains.values():
        chain.sort(key=lambda cell: [getattr(cell.machine, name, 0.0) for name in _ORDERED])
    return list(chains.values())


def answer_fold(
    gram: SharedGram, cells: list[FastCell], targets: Targets, train: IntArray, test: IntArray, n_threads: int
) -> list[Answer]:
    """Answers of all cells of one kernel on the test rows of one fold."""
    answers = []
    for chain in chains_of(cells):
        if is_classifier(chain[0].machine):
            answers += _classify(gram, chain, targets, train, test, n_threads)
        else:
            answers += _regress(gram, chain, targets, train, test)
    return answers


# -- one problem along a chain -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Link:
    """The answer of one cell to one problem."""

    expansion: Expansion | None
    sums: FloatArray | None
    seconds: float
    failure: str = ""


def _follow(
    gram: SharedGram,
    chain: list[FastCell],
    rows: IntArray,
    target: FloatArray,
    weight: FloatArray,
    segments: IntArray,
) -> list[_Link]:
    """Solve the problems of a chain one after the other."""
    view = GramView(gram.narrow, rows, segments)
    links: list[_Link] = []
    state: State | None = None
    firsts: dict[float, State] = {}
    last_epsilon = None
    for cell in chain:
        began = time.perf_counter()
        machine = cell.machine
        epsilon = getattr(machine, "epsilon", None)
        if epsilon != last_epsilon:  # C starts anew: go on from the same C of the last epsilon
            state, last_epsilon = firsts.get(machine.C), epsilon
        form = machine._formulation()
        try:
            problem = form.build(None, rows, target, weight)
            state, multipliers, steps = solve_next(view, problem, machine.tol, machine.max_iter, state)
            signed = problem.s * problem.Q.sign * state.t
            beta = np.bincount(problem.Q.row, weights=signed, minlength=len(rows))
            if view.K.dtype == np.float32 and gram.too_coarse(rows, beta, machine.tol):
                view = GramView(gram.wide(), rows, segments)
                state = State(state.t, np.zeros(len(view.K)), state.hi, state.lo)
                _add(view, state.v, rows, beta)
                state, multipliers, steps = solve_next(view, problem, machine.tol, machine.max_iter, state)
            solution = Solution(
                x=np.abs(state.t), multipliers=multipliers, status=Status.CONVERGED, n_iter=steps, seconds=0.0
            )
            expansion = form.recover(problem, solution)
        except ValueError as error:
            links.append(_Link(None, None, time.perf_counter() - began, str(error)))
            state = None
            continue
        if epsilon is not None and epsilon == last_epsilon and machine.C not in firsts:
            firsts[machine.C] = State(state.t.copy(), state.v.copy(), state.hi, state.lo)
        links.append(_Link(expansion, state.v / expansion.scale, time.perf_counter() - began))
    return links


# -- regression and outliers ---------------------------------------------------------------------------


def _regress(
    gram: SharedGram, chain: list[FastCell], targets: Targets, train: IntArray, test: IntArray
) -> list[Answer]:
    rows = train[targets.weight[train] > 0]
    everything = np.array([[0, len(gram.narrow)]])
    links = _follow(gram, chain, rows, targets.values[rows], targets.weight[rows], everything)
    answers = []
    for cell, link in zip(chain, links, strict=True):
        if link.expansion is None or link.sums is None:
            answers.append(Answer(cell.index, None, None, link.seconds, link.failure))
            continue
        decisions = link.sums[test] + link.expansion.intercept
        predicted = decisions if is_regressor(cell.machine) else np.where(decisions >= 0, 1, -1)
        answers.append(Answer(cell.index, predicted, decisions, link.seconds))
    return answers


# -- classification ------------------------------------------------------------------------------------


def _classify(
    gram: SharedGram, chain: list[FastCell], targets: Targets, train: IntArray, test: IntArray, n_threads: int
) -> list[Answer]:
    assert targets.classes is not None
    machine: _Classifier = chain[0].machine
    n_classes = len(targets.classes)
    codes = targets.codes[train]
    missing = n_classes - len(np.unique(codes))
    if missing:
        reason = f"{missing} of the {n_classes} classes have no training row in a fold"
        return [Answer(cell.index, None, None, 0.0, reason) for cell in chain]
    factors = machine._class_factors(targets.classes, codes, targets.classes[codes])
    weight = targets.weight[train] * factors
    tasks = [_counted(task, weight) for task in binary_tasks(codes, n_classes, machine.multiclass)]
    segments = [_segments(gram, targets, task, machine.multiclass, n_classes) for task in tasks]

    def follow(part: slice) -> list[list[_Link]]:
        return [
            _follow(gram, chain, train[task.rows], task.signs, weight[task.rows], columns)
            for task, columns in zip(tasks[part], segments[part], strict=True)
        ]

    width = max(1, -(-len(tasks) // (8 * n_threads)))
    parts = [slice(k, k + width) for k in range(0, len(tasks), width)]
    links = [link for done in run([partial(follow, part) for part in parts], n_threads) for link in done]
    return _vote(gram, chain, targets, tasks, links, train, test)


def _counted(task: BinaryTask, weight: FloatArray) -> BinaryTask:
    """The task without rows of weight zero."""
    keep = weight[task.rows] > 0
    return BinaryTask(task.rows[keep], task.signs[keep], task.positive, task.negative)


def _segments(
    gram: SharedGram, targets: Targets, task: BinaryTask, strategy: str, n_classes: int
) -> IntArray:
    """Columns that a problem keeps up to date: all, or those of its two classes where rows are sorted by class."""
    if n_classes == 2 or strategy == "ovr":
        return np.array([[0, len(gram.narrow)]])
    return np.array([_class_range(targets.codes, k) for k in (task.positive, task.negative)])


def _class_range(codes: IntArray, k: int) -> tuple[int, int]:
    return int(np.searchsorted(codes, k, "left")), int(np.searchsorted(codes, k, "right"))


def _vote(
    gram: SharedGram,
    chain: list[FastCell],
    targets: Targets,
    tasks: list[BinaryTask],
    links: list[list[_Link]],
    train: IntArray,
    test: IntArray,
) -> list[Answer]:
    assert targets.classes is not None
    n_classes = len(targets.classes)
    answers = []
    for j, cell in enumerate(chain):
        mine = [task_links[j] for task_links in links]
        seconds = sum(link.seconds for link in mine)
        failures = [link.failure for link in mine if link.failure]
        if failures:
            answers.append(Answer(cell.index, None, None, seconds, failures[0]))
            continue
        began = time.perf_counter()
        strategy = cell.machine.multiclass
        if n_classes == 2 or strategy == "ovr":
            decisions = np.column_stack([link.sums[test] + link.expansion.intercept for link in mine])  # type: ignore[index, union-attr]  # failures are gone
        else:
            decisions = _pairwise(gram, targets.codes, tasks, mine, train, test)
        codes = predict_codes(decisions, n_classes, strategy, break_ties=cell.machine.break_ties)
        if n_classes == 2:
            decisions = decisions[:, 0]
        elif strategy == "ovo":
            decisions = summed_decisions(decisions, n_classes)
        seconds += time.perf_counter() - began
        answers.append(Answer(cell.index, targets.classes[codes], decisions, seconds))
    return answers


def _pairwise(
    gram: SharedGram,
    codes: IntArray,
    tasks: list[BinaryTask],
    links: list[_Link],
    train: IntArray,
    test: IntArray,
) -> FloatArray:
    """Decisions of all pairs on all test rows, class by class: a row takes part in its class's pairs only."""
    n_classes = int(codes[-1]) + 1
    pairs = list(combinations(range(n_classes), 2))
    blocks = []
    for k in range(n_classes):
        start, stop = _class_range(codes, k)
        machines = [m for m, pair in enumerate(pairs) if k in pair]
        weights = np.zeros((stop - start, len(machines)), dtype=np.float32)
        for column, m in enumerate(machines):
            rows = train[tasks[m].rows]
            beta = links[m].expansion.beta  # type: ignore[union-attr]  # failures are gone
            mine = (rows >= start) & (rows < stop)
            weights[rows[mine] - start, column] = beta[mine]
        used = np.flatnonzero(weights.any(axis=1))
        blocks.append((machines, start + used, weights[used]))
    decisions = np.tile([link.expansion.intercept for link in links], (len(test), 1))  # type: ignore[union-attr]  # as above
    for begin in range(0, len(test), _TEST_ROWS):
        part = slice(begin, begin + _TEST_ROWS)
        rows_of_K = gram.narrow[test[part]]
        for machines, columns, weights in blocks:
            decisions[part, machines] += rows_of_K[:, columns] @ weights
    return decisions
