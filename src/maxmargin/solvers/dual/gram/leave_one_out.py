"""Leave-one-out from one solve of all rows: only support vectors are solved again, from a repaired answer.

A row with multiplier zero can be taken out without changing the machine, so its error is known at once. That
holds when nothing else depends on the number of rows: nu machines, balanced class weights, a scaler or
gamma="scale" are refitted for every row instead.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np
from sklearn.base import is_classifier, is_regressor

from maxmargin.base.tables import class_factors
from maxmargin.base.threads import run
from maxmargin.base.typing import AnyArray, FloatArray, IntArray
from maxmargin.compute.dual.left_out_points import leave_each_out
from maxmargin.machines.svm import SVC, SVR
from maxmargin.problems.box_qp import BoxQP
from maxmargin.solvers.dual.gram.chains import answer_folds
from maxmargin.solvers.dual.gram.moving_variables import block_size
from maxmargin.solvers.dual.gram.shared_gram import SharedGram
from maxmargin.solvers.dual.gram.warm_starts import GramView, Signed, State, first_start, start_from_scaled
from maxmargin.tuning.cells import Answer, FastCell, Targets, chains_of

_MANY_STEPS = 10_000_000


def answer_without_each(
    gram: SharedGram, cells: list[FastCell], targets: Targets, n_threads: int
) -> list[list[Answer]]:
    """For every row the answers of all cells fitted without it."""
    n = len(gram.narrow)
    answers: list[list[Answer]] = [[] for _ in range(n)]
    for chain in chains_of(cells):
        if not _skippable(chain[0].machine):
            _refit_each(gram, chain, targets, answers, n_threads)
            continue
        state: State | None = None
        for cell in chain:
            began = time.perf_counter()
            decisions, state = _decisions(gram, cell, targets, state, n_threads)
            spent = (time.perf_counter() - began) / n
            predicted = _predict(cell, targets, decisions)
            for i in range(n):
                answers[i].append(Answer(cell.index, predicted[i : i + 1], decisions[i : i + 1], spent))
    return answers


def _skippable(machine: object) -> bool:
    return isinstance(machine, (SVC, SVR)) and getattr(machine, "class_weight", None) != "balanced"


def _refit_each(
    gram: SharedGram, chain: list[FastCell], targets: Targets, answers: list[list[Answer]], n_threads: int
) -> None:
    rows = np.arange(len(answers))
    folds: list[tuple[IntArray, IntArray]] = [(np.delete(rows, i), rows[i : i + 1]) for i in rows]
    for mine, found in zip(answers, answer_folds(gram, chain, targets, folds, n_threads), strict=True):
        mine += found


def _decisions(
    gram: SharedGram, cell: FastCell, targets: Targets, before: State | None, n_threads: int
) -> tuple[FloatArray, State]:
    """f(x_i) of the machine without row i, for every row, and the state of the machine with all rows."""
    machine = cell.machine
    n = len(gram.narrow)
    target, weight = targets.values, targets.weight
    if is_classifier(machine):
        assert targets.classes is not None
        target = np.where(targets.codes == 1, 1.0, -1.0)
        weight = weight * class_factors(machine.class_weight, targets.classes, targets.codes)
    rows = np.flatnonzero(weight > 0)
    everything = np.array([[0, n]])
    problem = machine.formulation().build(None, rows, target[rows], weight[rows])
    signed = Signed(problem, GramView(gram.narrow, rows, everything))
    start = None if before is None else start_from_scaled(signed, before)
    state, _ = signed.answer(*(start or first_start(signed)), machine.tol, machine.max_iter)
    if gram.too_coarse(rows, signed.weights_of(state.t), machine.tol):
        signed = Signed(problem, GramView(gram.wide(), rows, everything))
        state, _ = signed.answer(state.t, signed.sums_of(state.t), machine.tol, machine.max_iter)
    decisions = state.v - state.multipliers[0]
    again = _to_solve_again(problem, state, rows)
    _solve_again(signed, state, again, decisions, machine.tol, n_threads)
    return decisions, state


def _to_solve_again(problem: BoxQP, state: State, rows: IntArray) -> IntArray:
    """Points with a multiplier; all points where no variable is free: the bias then depends on all."""
    free = (state.t > state.lo) & (state.t < state.hi)
    if not free.any():
        return rows
    used = np.zeros(len(rows), dtype=bool)
    used[problem.Q.row[state.t != 0]] = True
    return rows[used]


def _solve_again(
    signed: Signed, state: State, points: IntArray, decisions: FloatArray, tol: float, n_threads: int
) -> None:
    jobs = [
        partial(
            leave_each_out, signed.view.K, points[k::n_threads], signed.point, signed.tau, signed.d, signed.c,
            signed.lo, signed.hi, signed.group, state.t, state.v, block_size(len(state.t)), tol, _MANY_STEPS,
            decisions,
        )
        for k in range(n_threads)
    ]  # fmt: skip
    run(jobs, n_threads)


def _predict(cell: FastCell, targets: Targets, decisions: FloatArray) -> AnyArray:
    if is_regressor(cell.machine):
        return decisions
    assert targets.classes is not None
    return np.asarray(targets.classes[(decisions > 0).astype(np.int64)])
