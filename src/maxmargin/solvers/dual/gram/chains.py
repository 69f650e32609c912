"""The cells of one kernel on one fold, from a shared Gram matrix."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from maxmargin.base.tables import class_factors
from maxmargin.base.threads import run
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.machines.svm import SVC
from maxmargin.machines.svm.svm_classifier import Classifier
from maxmargin.problems.formulations import Expansion
from maxmargin.problems.multiclass import BinaryTask, binary_tasks, predict_codes
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.dual.gram.class_pairs import PairMachines, answer_fold, answer_pairs, class_range
from maxmargin.solvers.dual.gram.shared_gram import SharedGram
from maxmargin.solvers.dual.gram.warm_starts import (
    GramView,
    Signed,
    State,
    first_start,
    start_from_fold,
    start_from_scaled,
    unaffected_by_bounds,
)
from maxmargin.tuning.cells import Answer, FastCell, Targets, chains_of
from maxmargin.tuning.folds import Fold


def answer_folds(
    gram: SharedGram, cells: list[FastCell], targets: Targets, folds: list[Fold], n_threads: int
) -> list[list[Answer]]:
    """Answers of all cells of one kernel on the test rows of every fold."""
    answers: list[list[Answer]] = [[] for _ in folds]
    for chain in chains_of(cells):
        answer = _classify if is_classifier(chain[0].machine) else _regress
        for found, more in zip(answers, answer(gram, chain, targets, folds, n_threads), strict=True):
            found += more
    return answers


# -- one problem along a chain of cells and a run of folds ---------------------------------------------


@dataclass(frozen=True)
class _Setting:
    """One problem of one fold: its rows, targets and weights."""

    rows: IntArray
    target: FloatArray
    weight: FloatArray


@dataclass(frozen=True)
class _Link:
    """The answer of one cell to one problem: its expansion and f without intercept at the rows ``at``."""

    expansion: Expansion | None
    sums: FloatArray | None
    seconds: float
    state: State | None
    failure: str = ""


def _follow(
    gram: SharedGram,
    chain: list[FastCell],
    settings: list[_Setting],
    segments: IntArray,
    tests: list[IntArray],
) -> list[list[_Link]]:
    """Solve a chain of cells on one fold after the other; one list of links per fold."""
    links = []
    earlier: list[State | None] = [None] * len(chain)
    for setting, test in zip(settings, tests, strict=True):
        mine = []
        for j, cell in enumerate(chain):
            along = earlier[j - 1] if j else None
            mine.append(_solve_cell(gram, cell, setting, segments, test, earlier[j], along))
            earlier[j] = mine[-1].state
        links.append(mine)
    return links


def _solve_cell(
    gram: SharedGram,
    cell: FastCell,
    setting: _Setting,
    segments: IntArray,
    test: IntArray,
    same_cell: State | None,
    along: State | None,
) -> _Link:
    """Solve one cell from its answer on another fold or from the answer of its neighbour ``along``."""
    began = time.perf_counter()
    machine = cell.machine
    form = machine.formulation()
    wide = any(before.wide for before in (same_cell, along) if before is not None)
    try:
        problem = form.build(None, setting.rows, setting.target, setting.weight)
        signed = Signed(problem, GramView(gram.wide() if wide else gram.narrow, setting.rows, segments))
        start = None
        if along is not None and (same_cell is None or unaffected_by_bounds(along, len(test) // 2)):
            start = start_from_scaled(signed, along)
        if start is None and same_cell is not None:
            start = start_from_fold(signed, same_cell)
        state, steps = signed.answer(*(start or first_start(signed)), machine.tol, machine.max_iter)
        if not wide and gram.too_coarse(setting.rows, signed.weights_of(state.t), machine.tol):
            wide = True
            signed = Signed(problem, GramView(gram.wide(), setting.rows, segments))
            state, more = signed.answer(state.t, signed.sums_of(state.t), machine.tol, machine.max_iter)
            steps += more
        solution = Solution(
            x=np.abs(state.t),
            multipliers=state.multipliers,
            status=Status.CONVERGED,
            n_iter=steps,
            seconds=0.0,
        )
        expansion = form.recover(problem, solution)
    except ValueError as error:
        return _Link(None, None, time.perf_counter() - began, None, str(error))
    state.wide = wide
    return _Link(expansion, state.v[test] / expansion.scale, time.perf_counter() - began, state)


def _runs(n_folds: int, n_problems: int, n_threads: int) -> list[slice]:
    """Runs of consecutive folds: one per thread where there are few problems, all folds together else."""
    n_runs = n_threads if n_problems < 4 * n_threads else 1
    length = -(-n_folds // min(n_runs, n_folds))
    return [slice(start, start + length) for start in range(0, n_folds, length)]


def _follow_all(
    gram: SharedGram,
    chain: list[FastCell],
    problems: list[list[_Setting]],
    segments: list[IntArray],
    tests: list[IntArray],
    n_threads: int,
) -> list[list[list[_Link]]]:
    """Links of every problem on every fold, over the threads; problems[k][f] is problem k on fold f."""
    runs = _runs(len(tests), len(problems), n_threads)
    jobs = [
        partial(_follow, gram, chain, settings[part], columns, tests[part])
        for settings, columns in zip(problems, segments, strict=True)
        for part in runs
    ]
    done = run(jobs, n_threads)
    width = len(runs)
    return [
        [links for found in done[k * width : (k + 1) * width] for links in found]
        for k in range(len(problems))
    ]


# -- regression and outliers ---------------------------------------------------------------------------


def _regress(
    gram: SharedGram, chain: list[FastCell], targets: Targets, folds: list[Fold], n_threads: int
) -> list[list[Answer]]:
    """Machines with the largest epsilon along C and the folds; the others from their neighbour in epsilon."""
    everything = np.array([[0, len(gram.narrow)]])
    settings = []
    for train, _ in folds:
        rows = train[targets.weight[train] > 0]
        settings.append(_Setting(rows, targets.values[rows], targets.weight[rows]))
    tests = [test for _, test in folds]
    families = _families(chain)
    leads = _follow_all(gram, [f[0] for f in families], [settings], [everything], tests, n_threads)[0]
    spans = [(f, span) for span in reversed(_spans(leads)) for f in range(len(folds))]  # the longest first
    jobs = [
        partial(_along, gram, families[span], settings[f], everything, tests[f], leads[f][span])
        for f, span in spans
    ]
    answers: list[list[Answer]] = [[] for _ in folds]
    for (f, span), links in zip(spans, run(jobs, n_threads), strict=True):
        cells = [cell for family in families[span] for cell in family]
        answers[f] += [_read(cell, link) for cell, link in zip(cells, links, strict=True)]
    return answers


def _families(chain: list[FastCell]) -> list[list[FastCell]]:
    """Cells that differ in epsilon only, the largest first."""
    families: dict[Any, list[FastCell]] = {}
    for cell in reversed(chain):
        key = tuple(getattr(cell.machine, name, None) for name in ("C", "nu", "alpha"))
        families.setdefault(key, []).append(cell)
    return list(reversed(families.values()))


def _spans(leads: list[list[_Link]]) -> list[slice]:
    """Families to be solved together: those with nothing at a bound, so that the last C starts the next."""
    n = len(leads[0])
    states = [[links[j].state for links in leads] for j in range(n)]
    bounded = [
        any(state is None or not unaffected_by_bounds(state, 0) for state in of_folds) for of_folds in states
    ]
    ends = [j + 1 for j in range(n - 1) if bounded[j]]
    return [slice(start, stop) for start, stop in pairwise([0, *ends, n])]


def _along(
    gram: SharedGram,
    families: list[list[FastCell]],
    setting: _Setting,
    segments: IntArray,
    test: IntArray,
    leads: list[_Link],
) -> list[_Link]:
    """Solve families on one fold, every cell from the same epsilon of the last family or its neighbour."""
    links: list[_Link] = []
    with_epsilon: dict[float, State | None] = {}
    for family, lead in zip(families, leads, strict=True):
        links.append(lead)
        for cell in family[1:]:
            epsilon = cell.machine.epsilon
            state = with_epsilon.get(epsilon)
            if state is None or not unaffected_by_bounds(state, len(test) // 2):
                state = links[-1].state
            links.append(_solve_cell(gram, cell, setting, segments, test, None, state))
            with_epsilon[epsilon] = links[-1].state
    return links


def _read(cell: FastCell, link: _Link) -> Answer:
    if link.expansion is None or link.sums is None:
        return Answer(cell.index, None, None, link.seconds, link.failure)
    decisions = link.sums + link.expansion.intercept
    predicted = decisions if is_regressor(cell.machine) else np.where(decisions >= 0, 1, -1)
    return Answer(cell.index, predicted, decisions, link.seconds)


# -- classification ------------------------------------------------------------------------------------


def asks_for_pairs(cells: list[FastCell], targets: Targets) -> bool:
    """True for hinge machines one-versus-one, whose pairs need the values between two classes only."""
    several = targets.classes is not None and len(targets.classes) > 2
    return several and all(isinstance(c.machine, SVC) and c.machine.multiclass == "ovo" for c in cells)


def _classify(
    gram: SharedGram, chain: list[FastCell], targets: Targets, folds: list[Fold], n_threads: int
) -> list[list[Answer]]:
    assert targets.classes is not None
    machine: Classifier = chain[0].machine
    n_classes = len(targets.classes)
    for train, _ in folds:
        counted = train[targets.weight[train] > 0]
        missing = n_classes - len(np.unique(targets.codes[counted]))
        if missing:
            reason = f"{missing} of the {n_classes} classes have no training row of positive weight in a fold"
            return [[Answer(cell.index, None, None, 0.0, reason) for cell in chain] for _ in folds]
    weights = [_training_weights(machine, targets, train) for train, _ in folds]
    if asks_for_pairs(chain, targets):
        return answer_pairs(gram, chain, targets, folds, weights, n_threads)
    tasks = [
        [_counted(task, weight) for task in binary_tasks(targets.codes[train], n_classes, machine.multiclass)]
        for (train, _), weight in zip(folds, weights, strict=True)
    ]
    problems = [
        [
            _Setting(train[tasks[f][k].rows], tasks[f][k].signs, weights[f][tasks[f][k].rows])
            for f, (train, _) in enumerate(folds)
        ]
        for k in range(len(tasks[0]))
    ]
    segments = [_segments(gram, targets, task, machine.multiclass, n_classes) for task in tasks[0]]
    links = _follow_all(gram, chain, problems, segments, [test for _, test in folds], n_threads)
    votes = [
        partial(
            _vote, gram, chain, targets, [p[f].rows for p in problems], [found[f] for found in links], test
        )
        for f, (_, test) in enumerate(folds)
    ]
    answers: list[list[Answer]] = run(votes, n_threads)
    return answers


def _training_weights(machine: Classifier, targets: Targets, train: IntArray) -> FloatArray:
    assert targets.classes is not None
    codes = targets.codes[train]
    return targets.weight[train] * class_factors(machine.class_weight, targets.classes, codes)


def _counted(task: BinaryTask, weight: FloatArray) -> BinaryTask:
    """The task without rows of weight zero."""
    keep = weight[task.rows] > 0
    return BinaryTask(task.rows[keep], task.signs[keep], task.positive, task.negative)


def _segments(
    gram: SharedGram, targets: Targets, task: BinaryTask, strategy: str, n_classes: int
) -> IntArray:
    """Columns that a problem keeps up to date: all, or those of its two classes (rows stand by class)."""
    if n_classes == 2 or strategy == "ovr":
        return np.array([[0, len(gram.narrow)]])
    return np.array([class_range(targets.codes, k) for k in (task.positive, task.negative)])


def _vote(
    gram: SharedGram,
    chain: list[FastCell],
    targets: Targets,
    rows: list[IntArray],
    links: list[list[_Link]],
    test: IntArray,
) -> list[Answer]:
    """Answers of one fold from the links of its problems; rows[k] are the training rows of problem k."""
    assert targets.classes is not None
    n_classes = len(targets.classes)
    by_cell = [[found[j] for found in links] for j in range(len(chain))]
    seconds = [sum(link.seconds for link in mine) for mine in by_cell]
    failures = [next((link.failure for link in mine if link.failure), "") for mine in by_cell]
    answers = [
        Answer(cell.index, None, None, spent, failure)
        for cell, spent, failure in zip(chain, seconds, failures, strict=True)
        if failure
    ]
    solved = [j for j, failure in enumerate(failures) if not failure]
    for j in solved:
        cell, machine = chain[j], chain[j].machine
        expansions = [link.expansion for link in by_cell[j] if link.expansion is not None]
        biases = np.array([expansion.intercept for expansion in expansions])
        if n_classes > 2 and machine.multiclass == "ovo":
            betas = [expansion.beta[None] for expansion in expansions]
            answers += answer_fold(
                gram, [cell], targets, PairMachines(rows, betas, biases[:, None]), test, seconds[j]
            )
            continue
        decisions = np.column_stack([link.sums for link in by_cell[j] if link.sums is not None]) + biases
        codes = predict_codes(decisions, n_classes, machine.multiclass, break_ties=machine.break_ties)
        if n_classes == 2:
            decisions = decisions[:, 0]
        answers.append(Answer(cell.index, targets.classes[codes], decisions, seconds[j]))
    return answers
