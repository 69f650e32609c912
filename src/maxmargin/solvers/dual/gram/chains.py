"""Chains of problems on a shared kernel matrix: cells along C, epsilon or nu, fold after fold.

Each problem starts from the solution of its neighbour in the chain, or of the same cell on the previous fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from maxmargin.base import work_clock
from maxmargin.base.threads import run
from maxmargin.base.typing import AnyArray, FloatArray, IntArray
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.formulations import (
    Expansion,
    Formulation,
    NuClassification,
    OneClass,
    Regression,
    squared_extent,
)
from maxmargin.problems.solution import Ending, Solution, Status
from maxmargin.solvers.certified import remaining, solve_certified
from maxmargin.solvers.dual.gram.cost_path import costs_of, solve_cost_path
from maxmargin.solvers.dual.gram.gram_problem import Watch, among
from maxmargin.solvers.dual.gram.shared_gram import SharedGram
from maxmargin.solvers.dual.gram.warm_starts import GramState, PlacedProblem
from maxmargin.solvers.settings import DualSolver

_NO_KERNEL: Any = None  # values come from the shared matrix
_REFRESHES = 4  # of the sums, before a float64 matrix takes over
_NEARER = 0.8  # of the tolerance, so that the next fresh sums are below it


@dataclass(frozen=True)
class ChainCell:
    """One formulation with its parameters, and the limits of the solver; ``full`` checks in float64."""

    form: Formulation
    solver: DualSolver
    full: bool = False


@dataclass(frozen=True)
class ProblemRows:
    """One problem of one fold: its rows in the matrix, their targets and weights."""

    rows: IntArray
    target: FloatArray
    weight: FloatArray


@dataclass(frozen=True)
class Link:
    """The solution of one problem for one cell: its expansion, and f without intercept at the test rows.

    ``failure`` is the reason if there is none.
    """

    seconds: float
    expansion: Expansion | None = None
    sums: FloatArray | None = None
    state: GramState | None = None
    ending: Ending | None = None
    failure: str = ""


def solve_chain(
    gram: SharedGram,
    cells: list[ChainCell],
    problems: list[list[ProblemRows]],
    segments: list[IntArray],
    tests: list[IntArray],
    n_threads: int,
) -> list[list[list[Link]]]:
    """Links of every problem on every fold, over the threads; problems[k][f] is problem k on fold f."""
    runs = _runs(len(tests), len(problems), n_threads)
    jobs = [
        partial(_follow, gram, cells, settings[part], columns, tests[part])
        for settings, columns in zip(problems, segments, strict=True)
        for part in runs
    ]
    done = run(jobs, n_threads)
    width = len(runs)
    return [
        [links for found in done[k * width : (k + 1) * width] for links in found]
        for k in range(len(problems))
    ]


def _runs(n_folds: int, n_problems: int, n_threads: int) -> list[slice]:
    """Runs of consecutive folds: one per thread if there are few problems, else all folds together."""
    n_runs = n_threads if n_problems < 4 * n_threads else 1
    length = -(-n_folds // min(n_runs, n_folds))
    return [slice(start, start + length) for start in range(0, n_folds, length)]


def _follow(
    gram: SharedGram,
    cells: list[ChainCell],
    settings: list[ProblemRows],
    segments: IntArray,
    tests: list[IntArray],
) -> list[list[Link]]:
    """Solve a chain of cells on one fold after the other; one list of links per fold."""
    links: list[list[Link]] = []
    earlier: list[GramState | None] = [None] * len(cells)
    for setting, test in zip(settings, tests, strict=True):
        path = CostPath(gram, cells, setting, segments)
        mine: list[Link] = []
        while len(mine) < len(cells):
            mine += path.links(len(mine), mine[-1].state if mine else None, earlier, test)
            if len(mine) < len(cells):
                j, along = len(mine), mine[-1].state if mine else None
                # for few hard cells the code of working sets is not worth compiling
                as_block = path.is_open and len(tests) == 1
                link = solve_cell(
                    gram, cells[j], setting, segments, test, earlier[j], along, as_block=as_block
                )
                mine.append(link)
        earlier = [link.state for link in mine]
        links.append(mine)
    return links


class CostPath:
    """A chain along C on the rows of one fold, as far as `cost_path` can solve it."""

    def __init__(
        self, gram: SharedGram, cells: list[ChainCell], setting: ProblemRows, segments: IntArray
    ) -> None:
        self.gram, self.cells, self.setting, self.segments = gram, cells, setting, segments
        first = cells[0]
        self.costs = costs_of([cell.form for cell in cells], len(setting.rows))
        timed = first.solver.time_limit is not None or any(cell.full for cell in cells)
        alike = all(cell.solver == first.solver for cell in cells)
        self.is_open = self.costs is not None and not timed and alike and gram.dtype == np.float32

    @cached_property
    def placed(self) -> PlacedProblem:
        """The problem of the first cell."""
        points: Any = self.setting.rows  # positions in the shared matrix represent the points
        problem = self.cells[0].form.build(_NO_KERNEL, points, self.setting.target, self.setting.weight)
        return PlacedProblem(problem, self.gram.narrow, points, self.segments, as_block=True)

    @cached_property
    def own_values(self) -> AnyArray:
        return among(self.gram.narrow, self.setting.rows)

    def links(
        self, start: int, before: GramState | None, earlier: list[GramState | None], test: IntArray
    ) -> list[Link]:
        """The cells from ``start`` on that one compiled call solves.

        Cells that took many steps on the last fold (``earlier``) are left out: they start from that solution.
        """
        if not self.is_open or (before is not None and before.wide):
            return []
        began, stop = work_clock.now(), start
        while stop < len(self.cells) and self._is_easy(earlier[stop]):
            stop += 1
        assert self.costs is not None
        caps = np.multiply.outer(self.costs[start:stop], self.setting.weight)
        solver, form = self.cells[0].solver, self.cells[0].form
        if not len(caps):
            return []
        states = solve_cost_path(self.gram, self.placed, self.own_values, caps, solver, before)
        expansions = [form.recover(self.placed.problem, _solution(state)) for state in states]
        seconds = (work_clock.now() - began) / max(len(states), 1)
        return [
            Link(seconds, expansion, state.v[test], state, state.ending)
            for expansion, state in zip(expansions, states, strict=True)
        ]

    def _is_easy(self, earlier: GramState | None) -> bool:
        return earlier is None or earlier.ending.n_iter <= len(self.setting.rows)


def solve_cell(
    gram: SharedGram,
    cell: ChainCell,
    setting: ProblemRows,
    segments: IntArray,
    test: IntArray,
    same_cell: GramState | None = None,
    along: GramState | None = None,
    *,
    as_block: bool = False,
) -> Link:
    """Solve one cell from its solution on another fold or from that of its neighbour ``along``."""
    began = work_clock.now()
    wide = any(before.wide for before in (same_cell, along) if before is not None)
    try:
        rows: Any = setting.rows  # positions in the shared matrix represent the points
        problem = cell.form.build(_NO_KERNEL, rows, setting.target, setting.weight)
        place = partial(PlacedProblem, problem, rows=setting.rows, segments=segments, as_block=as_block)
        refines = len(problem.delta) == 1 and not cell.full and gram.dtype == np.float32
        placed = place(gram.wide() if wide and not refines else gram.narrow)
        start = None
        if along is not None and (same_cell is None or along.n_at_bounds() <= len(test) // 2):
            start = placed.start_from_scaled(along)
        if start is None and same_cell is not None:
            start = placed.start_from_fold(same_cell)
        watch = watch_of(cell, len(problem))
        t, v = start or placed.first_start()
        state = placed.state(t, v, placed.gram.solve(t, v, watch))
        stalled = state.ending.status is Status.STALLED
        too_coarse = partial(gram.too_coarse, setting.rows, placed.weights_of(state.t), watch.tol)
        if (wide and refines) or (not wide and (cell.full or stalled or too_coarse())):
            wide = True
            refined = _refined(gram, placed, state, watch) if refines and not stalled else None
            if refined is None:
                placed = place(gram.wide())
                refined = _again(placed, state, watch)
            state = refined
        while (tol := _finer(cell.form, placed, state, watch.tol)) is not None:
            placed = placed if wide else place(gram.wide())
            wide = True
            watch = replace(watch, tol=tol, referee=watch.referee.aiming_at(tol), part_tol=0.5 * tol)
            state = _again(placed, state, watch)
        if cell.full:
            state.ending = placed.checked(state)
        narrower = narrowed(gram, cell, problem, rows, np.abs(state.t), state.multipliers, state.ending)
        if narrower is not None:
            t = problem.s * narrower[0]
            state = placed.state(t, gram.exact_sums(rows, placed.weights_of(t)), narrower[1])
        expansion = cell.form.recover(problem, _solution(state))
    except ValueError as error:
        return Link(work_clock.now() - began, failure=str(error))
    state.wide = wide
    sums = state.v[test] / expansion.scale
    return Link(work_clock.now() - began, expansion, sums, state, state.ending)


def narrowed(
    gram: SharedGram,
    cell: ChainCell,
    problem: BoxQP,
    rows: IntArray,
    a: FloatArray,
    multipliers: FloatArray,
    ending: Ending,
) -> tuple[FloatArray, Ending] | None:
    """Continue as a single fit does if a huge C hides a violation or leaves a wide gap; None if it does not.

    After many steps the updated sums differ from exact ones, which matters with a huge C.
    """
    if ending.status is not Status.CONVERGED or not gram.can_hide_gap(problem.C.max()):
        return None
    whole = replace(problem, Q=replace(problem.Q, kernel=gram.kernel, points=gram.points.take(rows)))
    found = whole.certify(a, full=True, multipliers=multipliers)
    if cell.solver.accepts(found) and not found.is_wide:
        return None
    first = Solution(x=a, multipliers=multipliers, status=ending.status, n_iter=ending.n_iter, seconds=0.0)
    solution, certificate = solve_certified(whole, remaining(cell.solver, first), start=a)
    is_wide = solution.status is Status.CONVERGED and certificate.is_wide
    status = Status.WIDE_GAP if is_wide else solution.status
    return solution.x, ending.then(Ending(status, solution.n_iter, certificate.kkt))


def watch_of(cell: ChainCell, n_variables: int) -> Watch:
    """The limits of a cell for one solve."""
    s = cell.solver
    return Watch.of(s.tol, s.max_iter, s.time_limit, n_variables, shrinking=s.shrinking)


def _refined(gram: SharedGram, placed: PlacedProblem, state: GramState, watch: Watch) -> GramState | None:
    """Continue from a solution with sums recomputed in float64; None if that does not reach the tolerance.

    The solver only adds changes to the sums, so after a fresh start float32 values cause an error relative to
    the change and no longer to the whole solution.
    """
    target = _NEARER * watch.tol
    finer = replace(watch, tol=target, referee=watch.referee.aiming_at(target), part_tol=0.5 * target)
    for _ in range(_REFRESHES):
        if state.ending.status is not Status.CONVERGED:
            return state if state.ending.status is not Status.STALLED else None
        t, v = state.t, gram.exact_sums(placed.rows, placed.weights_of(state.t))
        violation = placed.gram.violation(t, v)
        if violation <= watch.tol:
            return placed.state(t, v, replace(state.ending, violation=violation))
        finer.referee.start_again(state.ending.n_iter)
        ending = placed.gram.solve(t, v, finer, state.ending.n_iter)
        state = placed.state(t, v, state.ending.then(ending))
    return None


def _again(placed: PlacedProblem, state: GramState, watch: Watch) -> GramState:
    """Continue from a solution on a float64 matrix, within the remaining limits."""
    first = state.ending
    watch.referee.start_again(first.n_iter)
    t, v = placed.restart(state.t)
    ending = placed.gram.solve(t, v, watch, first.n_iter)
    return placed.state(t, v, first.then(ending))


def _finer(form: Formulation, placed: PlacedProblem, state: GramState, tol: float) -> float | None:
    """The tolerance to continue with, as required by `finer` of the formulation."""
    status = state.ending.status
    if not isinstance(form, (NuClassification, OneClass)) or status not in (Status.CONVERGED, Status.STALLED):
        return None
    K, rows = placed.gram.K, placed.rows
    extent = squared_extent(K[rows, rows].astype(np.float64), K[rows[0], rows].astype(np.float64))
    kkt = state.ending.violation if K.itemsize == 8 else max(state.ending.violation, 0.25 * tol)
    square = float(placed.weights_of(state.t) @ state.v[rows])
    smaller = form.finer(placed.problem, state.multipliers, kkt, square=square, extent=extent)
    return None if status is Status.STALLED else smaller


def _solution(state: GramState) -> Solution:
    return Solution(
        x=np.abs(state.t),
        multipliers=state.multipliers,
        status=state.ending.status,
        n_iter=state.ending.n_iter,
        seconds=0.0,
    )


# -- cells that also differ in epsilon -----------------------------------------------------------------


def solve_families(
    gram: SharedGram,
    cells: list[ChainCell],
    settings: list[ProblemRows],
    tests: list[IntArray],
    n_threads: int,
) -> list[list[Link]]:
    """Links of a chain of regressions or outlier detectors, by fold and then in the order of ``cells``.

    Cells that differ in epsilon only are a family. Its first one, with the largest epsilon, is solved along
    the other parameters and the folds; the others start from their neighbour in epsilon.
    """
    everything = np.array([[0, len(gram.narrow)]])
    families = _families(cells)
    firsts = [cells[family[0]] for family in families]
    leads = solve_chain(gram, firsts, [settings], [everything], tests, n_threads)[0]
    spans = [(f, span) for span in reversed(_spans(leads)) for f in range(len(tests))]  # the longest first
    jobs = [
        partial(_along, gram, cells, families[span], settings[f], everything, tests[f], leads[f][span])
        for f, span in spans
    ]
    found: list[dict[int, Link]] = [{} for _ in tests]
    for (f, _), links in zip(spans, run(jobs, n_threads), strict=True):
        found[f].update(links)
    return [[links[j] for j in range(len(cells))] for links in found]


def _families(cells: list[ChainCell]) -> list[list[int]]:
    """Positions of cells that differ in epsilon only, the largest epsilon first."""
    families: dict[Formulation, list[int]] = {}
    for place in reversed(range(len(cells))):
        form = cells[place].form
        key = replace(form, epsilon=0.0) if isinstance(form, Regression) else form
        families.setdefault(key, []).append(place)
    return list(reversed(families.values()))


def _spans(leads: list[list[Link]]) -> list[slice]:
    """Runs of families to solve together: with no variable at a bound, a solution also serves the next C."""
    n = len(leads[0])
    states = [[links[j].state for links in leads] for j in range(n)]
    bounded = [any(state is None or state.n_at_bounds() > 0 for state in of_folds) for of_folds in states]
    ends = [j + 1 for j in range(n - 1) if bounded[j]]
    return [slice(start, stop) for start, stop in pairwise([0, *ends, n])]


def _along(
    gram: SharedGram,
    cells: list[ChainCell],
    families: list[list[int]],
    setting: ProblemRows,
    segments: IntArray,
    test: IntArray,
    leads: Sequence[Link],
) -> dict[int, Link]:
    """Solve families on one fold, every cell from the same epsilon of the last family or its neighbour."""
    links: dict[int, Link] = {}
    with_epsilon: dict[float, GramState | None] = {}
    for family, lead in zip(families, leads, strict=True):
        links[family[0]] = last = lead
        for place in family[1:]:
            form = cells[place].form
            assert isinstance(form, Regression)
            state = with_epsilon.get(form.epsilon)
            if state is None or state.n_at_bounds() > len(test) // 2:
                state = last.state
            last = solve_cell(gram, cells[place], setting, segments, test, None, state)
            links[place] = last
            with_epsilon[form.epsilon] = last.state
    return links
