"""All cells of one kernel on some folds of a shared matrix: state the problems, read the solutions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from maxmargin.base import work_clock
from maxmargin.base.tables import class_factors
from maxmargin.base.threads import run
from maxmargin.base.typing import AnyArray, FloatArray, IntArray
from maxmargin.machines.svm import SVC, SVR
from maxmargin.problems.multiclass import BinaryTask, binary_tasks, predict_codes, summed_decisions
from maxmargin.problems.solution import Ending, worst_ending
from maxmargin.solvers.dual.gram.chains import ChainCell, Link, ProblemRows, solve_chain, solve_families
from maxmargin.solvers.dual.gram.class_pairs import PairExpansions, PairSolutions, class_range, solve_pairs
from maxmargin.solvers.dual.gram.leave_one_out import LeftOut, solve_without_each
from maxmargin.solvers.dual.gram.shared_gram import SharedGram
from maxmargin.tuning.folds import Fold

_ORDERED = ("C", "nu", "alpha", "epsilon")  # parameters along which one solution starts the next


@dataclass(frozen=True)
class GridCell:
    """One cell of the grid: its place in the table, and the estimator with its parameters."""

    index: int
    model: Any

    @cached_property
    def problem(self) -> ChainCell:
        """The cell in the form that the solver takes."""
        model = self.model
        return ChainCell(model.formulation(), model.dual_solver(), full=model.certify == "full")

    @property
    def is_timed(self) -> bool:
        """True if a limit or a full check requires that Python regains control after each problem."""
        return self.model.time_limit is not None or self.model.certify == "full"


@dataclass(frozen=True)
class CellAnswer:
    """The predictions of a cell for the test rows of a fold; ``failure`` is the reason if there are none."""

    index: int
    predicted: AnyArray | None
    decisions: FloatArray | None
    seconds: float
    ending: Ending | None = None
    failure: str = ""


@dataclass(frozen=True)
class Targets:
    """Targets of all rows: classes and codes for classifiers, numbers for the rest.

    ``scores`` says whether the scorer reads decisions, or predictions only.
    """

    classes: AnyArray | None
    codes: IntArray
    values: FloatArray
    weight: FloatArray
    scores: bool = True


Answers = list[list[CellAnswer]]  # by fold


@dataclass(frozen=True)
class Statement:
    """The problems of a chain of cells: how the solver is called, and how its solution is read."""

    solve: Callable[[], Any]
    read: Callable[[Any], Answers]


def chains_of(cells: list[GridCell]) -> list[list[GridCell]]:
    """Cells that differ in epsilon, C or nu only, in the order in which they are solved."""
    chains: dict[str, list[GridCell]] = {}
    for cell in cells:
        params = cell.model.get_params(deep=False)
        rest = {k: v for k, v in params.items() if k not in (*_ORDERED, "kernel", "gamma", "coef0", "degree")}
        chains.setdefault(repr(sorted(rest.items())), []).append(cell)
    for chain in chains.values():
        chain.sort(key=lambda cell: [getattr(cell.model, name, 0.0) for name in _ORDERED])
    return list(chains.values())


def state_problems(
    gram: SharedGram, chain: list[GridCell], targets: Targets, folds: list[Fold], n_threads: int
) -> Statement:
    """The problems of a chain of cells on the folds."""
    if not is_classifier(chain[0].model):
        return _state_regressions(gram, chain, targets, folds, n_threads)
    if failure := _missing_classes(targets, folds):
        return Statement(str, lambda _: _failed(chain, folds, failure))
    if asks_for_pairs(chain, targets):
        return _state_pairs(gram, chain, targets, folds, n_threads)
    return _state_classes(gram, chain, targets, folds, n_threads)


# -- regression and outliers ---------------------------------------------------------------------------


def _state_regressions(
    gram: SharedGram, chain: list[GridCell], targets: Targets, folds: list[Fold], n_threads: int
) -> Statement:
    settings = []
    for train, _ in folds:
        rows = train[targets.weight[train] > 0]
        settings.append(ProblemRows(rows, targets.values[rows], targets.weight[rows]))
    cells = [cell.problem for cell in chain]
    tests = [test for _, test in folds]

    def read(links: list[list[Link]]) -> Answers:
        return [[_read(cell, link) for cell, link in zip(chain, mine, strict=True)] for mine in links]

    return Statement(partial(solve_families, gram, cells, settings, tests, n_threads), read)


def _read(cell: GridCell, link: Link) -> CellAnswer:
    if link.expansion is None or link.sums is None:
        return CellAnswer(cell.index, None, None, link.seconds, failure=link.failure)
    decisions = link.sums + link.expansion.intercept
    predicted = decisions if is_regressor(cell.model) else np.where(decisions >= 0, 1, -1)
    return CellAnswer(cell.index, predicted, decisions, link.seconds, link.ending)


# -- classification ------------------------------------------------------------------------------------


def asks_for_pairs(cells: list[GridCell], targets: Targets) -> bool:
    """True for hinge classifiers one-versus-one, whose pairs need the values between two classes only."""
    several = targets.classes is not None and len(targets.classes) > 2
    return several and all(
        isinstance(c.model, SVC) and c.model.multiclass == "ovo" and not c.is_timed for c in cells
    )


def _state_classes(
    gram: SharedGram, chain: list[GridCell], targets: Targets, folds: list[Fold], n_threads: int
) -> Statement:
    """Binary problems, one-versus-rest, and one-versus-one if pairs are not solved together."""
    assert targets.classes is not None
    model, n_classes = chain[0].model, len(targets.classes)
    weights = _training_weights(model, targets, folds)
    tasks = [
        [_counted(task, weight) for task in binary_tasks(targets.codes[train], n_classes, model.multiclass)]
        for (train, _), weight in zip(folds, weights, strict=True)
    ]
    problems = [
        [
            ProblemRows(train[tasks[f][k].rows], tasks[f][k].signs, weights[f][tasks[f][k].rows])
            for f, (train, _) in enumerate(folds)
        ]
        for k in range(len(tasks[0]))
    ]
    whole = n_classes == 2 or model.multiclass == "ovr"
    segments = [
        np.array([[0, len(gram.narrow)]])
        if whole
        else np.array([class_range(targets.codes, k) for k in (task.positive, task.negative)])
        for task in tasks[0]
    ]
    cells, tests = [cell.problem for cell in chain], [test for _, test in folds]

    def read(links: list[list[list[Link]]]) -> Answers:
        votes = []
        for f, test in enumerate(tests):
            rows, found = [p[f].rows for p in problems], [of_folds[f] for of_folds in links]
            votes.append(partial(_vote, gram, chain, targets, rows, found, test))
        return run(votes, n_threads)

    return Statement(partial(solve_chain, gram, cells, problems, segments, tests, n_threads), read)


def _missing_classes(targets: Targets, folds: list[Fold]) -> str:
    assert targets.classes is not None
    n_classes = len(targets.classes)
    for train, _ in folds:
        counted = train[targets.weight[train] > 0]
        if missing := n_classes - len(np.unique(targets.codes[counted])):
            return f"{missing} of the {n_classes} classes have no row of positive sample_weight in a fold"
    return ""


def _failed(chain: list[GridCell], folds: list[Fold], reason: str) -> Answers:
    return [[CellAnswer(cell.index, None, None, 0.0, failure=reason) for cell in chain] for _ in folds]


def _training_weights(model: Any, targets: Targets, folds: list[Fold]) -> list[FloatArray]:
    """Weights of the training rows of every fold."""
    assert targets.classes is not None
    return [
        targets.weight[train] * class_factors(model.class_weight, targets.classes, targets.codes[train])
        for train, _ in folds
    ]


def _counted(task: BinaryTask, weight: FloatArray) -> BinaryTask:
    """The task without rows of weight zero."""
    keep = weight[task.rows] > 0
    return BinaryTask(task.rows[keep], task.signs[keep], task.positive, task.negative)


def _vote(
    gram: SharedGram,
    chain: list[GridCell],
    targets: Targets,
    rows: list[IntArray],
    links: list[list[Link]],
    test: IntArray,
) -> list[CellAnswer]:
    """Predictions for one fold from the links of its problems; rows[k] are the training rows of problem k."""
    assert targets.classes is not None
    n_classes = len(targets.classes)
    if n_classes == 2:
        return [_side(cell, targets.classes, link) for cell, link in zip(chain, links[0], strict=True)]
    answers = []
    for cell, mine in zip(chain, zip(*links, strict=True), strict=True):
        seconds = sum(link.seconds for link in mine)
        if failure := next((link.failure for link in mine if link.failure), ""):
            answers.append(CellAnswer(cell.index, None, None, seconds, failure=failure))
            continue
        expansions = [link.expansion for link in mine if link.expansion is not None]
        ending = worst_ending([link.ending for link in mine if link.ending is not None])
        biases = np.array([expansion.intercept for expansion in expansions])
        if cell.model.multiclass == "ovo":
            betas = [expansion.beta for expansion in expansions]
            pairs = PairExpansions.of_rows(targets.codes, rows, betas, biases)
            answers += _ask_pairs(gram, [cell], targets, pairs, test, seconds, [ending])
            continue
        decisions = np.column_stack([link.sums for link in mine if link.sums is not None]) + biases
        codes = predict_codes(decisions, n_classes, cell.model.multiclass, break_ties=cell.model.break_ties)
        answers.append(CellAnswer(cell.index, targets.classes[codes], decisions, seconds, ending))
    return answers


def _side(cell: GridCell, classes: AnyArray, link: Link) -> CellAnswer:
    """The prediction of one of two classes."""
    if link.expansion is None or link.sums is None:
        return CellAnswer(cell.index, None, None, link.seconds, failure=link.failure)
    decisions = link.sums + link.expansion.intercept
    predicted = classes[predict_codes(decisions, 2, cell.model.multiclass)]
    return CellAnswer(cell.index, predicted, decisions, link.seconds, link.ending)


# -- one-versus-one with the problems of a pair together -----------------------------------------------


def _state_pairs(
    gram: SharedGram, chain: list[GridCell], targets: Targets, folds: list[Fold], n_threads: int
) -> Statement:
    began = work_clock.now()
    spread = np.zeros((len(folds), len(targets.codes)))
    for f, weight in enumerate(_training_weights(chain[0].model, targets, folds)):
        spread[f, folds[f][0]] = weight
    tests = [test for _, test in folds]
    cells = [cell.problem for cell in chain]

    def read(solved: PairSolutions) -> Answers:
        seconds = (work_clock.now() - began) / (len(chain) * len(folds))
        asked = []
        for f, test in enumerate(tests):
            sure = None if targets.scores else solved.certain[f]
            found = (solved.expansions[f], test, seconds, solved.endings[f], sure)
            asked.append(partial(_ask_pairs, gram, chain, targets, *found))
        return run(asked, n_threads)

    return Statement(partial(solve_pairs, gram, cells, targets.codes, tests, spread, n_threads), read)


def _ask_pairs(
    gram: SharedGram,
    chain: list[GridCell],
    targets: Targets,
    pairs: PairExpansions,
    test: IntArray,
    seconds: float,
    endings: list[Ending],
    certain: AnyArray | None = None,
) -> list[CellAnswer]:
    """Predictions of all cells for the test rows of one fold; ``seconds`` is what each cell took before.

    ``certain`` (n_cells, n_test) marks rows whose own class is known to win.
    """
    assert targets.classes is not None
    n_classes = len(targets.classes)
    began = work_clock.now()
    asked = np.full(len(test), True) if certain is None else np.any(~certain, axis=0)
    found = pairs.decisions(gram, targets.codes, test[asked])
    answers = []
    for cell, by_pair, ending in zip(chain, found, endings, strict=True):
        decisions = by_pair.T
        codes = targets.codes[test]
        codes[asked] = predict_codes(decisions, n_classes, "ovo", break_ties=cell.model.break_ties)
        scores = summed_decisions(decisions, n_classes) if targets.scores else None
        spent = seconds + (work_clock.now() - began) / len(chain)
        answers.append(CellAnswer(cell.index, targets.classes[codes], scores, spent, ending))
    return answers


# -- leave-one-out -------------------------------------------------------------------------------------


def state_without_each(
    gram: SharedGram, chain: list[GridCell], targets: Targets, folds: list[Fold], n_threads: int
) -> Statement:
    """Leave-one-out of two classes or a regression, from one solve of all rows if that is possible."""
    if not _can_be_repaired(chain[0]):
        return state_problems(gram, chain, targets, folds, n_threads)
    setting = _all_rows(chain[0].model, targets)
    cells = [cell.problem for cell in chain]
    place = {int(test[0]): f for f, (_, test) in enumerate(folds)}

    def read(solved: list[LeftOut]) -> Answers:
        answers: Answers = [[] for _ in folds]
        for cell, found in zip(chain, solved, strict=True):
            predicted: AnyArray = found.decisions
            if is_classifier(cell.model):
                assert targets.classes is not None
                predicted = targets.classes[predict_codes(found.decisions, 2, cell.model.multiclass)]
            for i, f in place.items():
                one, spent = slice(i, i + 1), found.seconds / len(folds)
                answer = CellAnswer(cell.index, predicted[one], found.decisions[one], spent, found.ending)
                answers[f].append(answer)
        return answers

    return Statement(partial(solve_without_each, gram, cells, setting, n_threads), read)


def _can_be_repaired(cell: GridCell) -> bool:
    """True if leaving a row out changes nothing but the set of rows."""
    balanced = getattr(cell.model, "class_weight", None) == "balanced"
    return isinstance(cell.model, (SVC, SVR)) and not balanced and not cell.is_timed


def _all_rows(model: Any, targets: Targets) -> ProblemRows:
    target, weight = targets.values, targets.weight
    if is_classifier(model):
        assert targets.classes is not None
        target = np.where(targets.codes == 1, 1.0, -1.0)
        weight = weight * class_factors(model.class_weight, targets.classes, targets.codes)
    rows = np.flatnonzero(weight > 0)
    return ProblemRows(rows, target[rows], weight[rows])
