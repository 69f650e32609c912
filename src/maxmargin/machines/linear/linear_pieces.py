"""Linear models on data in pieces: the first pass, the problems, and what can be solved."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets

from maxmargin.base.tables import check_two_classes, class_weights
from maxmargin.base.typing import FloatArray
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.survey import Survey, learn_columns, survey
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.loss_penalty import RowSums, with_penalty
from maxmargin.problems.losses import Loss, SquaredHinge
from maxmargin.problems.multiclass import check_strategy, class_pairs
from maxmargin.problems.newton_system import solve_symmetric
from maxmargin.problems.penalties import Penalty
from maxmargin.problems.rows_in_pieces import BinaryTargets, LossPenaltyPieces, NumberTargets
from maxmargin.problems.solution import Solution
from maxmargin.solvers.primal.newton_pieces import PiecesNewton, solve_pieces
from maxmargin.solvers.primal.separation import Separation
from maxmargin.solvers.stopping import tell_iteration


def survey_classes(model: BaseEstimator, pieces: Pieces) -> Survey:
    """The first pass for a classifier, which learns its columns and ``classes_``."""
    learn_columns(model, pieces)
    seen = survey(pieces, classes=True)
    check_classification_targets(seen.labels)
    _check_weight(seen)
    check_two_classes(seen.labels, model)
    model.classes_ = seen.labels
    return seen


def survey_numbers(model: BaseEstimator, pieces: Pieces) -> Survey:
    """The first pass for a regression."""
    learn_columns(model, pieces)
    seen = survey(pieces, classes=False)
    _check_weight(seen)
    return seen


def _check_weight(seen: Survey) -> None:
    if not seen.weight > 0:
        raise ValueError(
            "Invalid input - all samples have zero or negative weights. One sample_weight must be > 0."
        )


def weights_of_classes(model: BaseEstimator, seen: Survey, *, balance_sums: bool = True) -> FloatArray:
    """The weights that ``class_weight`` gives to each of the classes; see `example_weights`."""
    return class_weights(model.class_weight, seen.labels, seen.masses if balance_sums else seen.counts)


def binary_problems(
    model: BaseEstimator,
    pieces: Pieces,
    seen: Survey,
    *,
    C: float,
    loss: Loss,
    penalty: Penalty,
    balance_sums: bool = True,
) -> list[LossPenaltyPieces]:
    """One problem for every binary machine."""
    strategy = model._strategy()
    check_strategy(strategy)
    weights = weights_of_classes(model, seen, balance_sums=balance_sums)
    problems = []
    for positive, negative in class_pairs(len(seen.labels), strategy):
        other = None if negative < 0 or len(seen.labels) == 2 else seen.labels[negative]
        targets = BinaryTargets(seen.labels[positive], other, seen.labels, C, weights)
        problems.append(_problem(model, pieces, seen, targets, loss, penalty))
    return problems


def number_problem(
    model: BaseEstimator, pieces: Pieces, seen: Survey, *, C: float, loss: Loss, penalty: Penalty
) -> LossPenaltyPieces:
    """The problem of a regression."""
    return _problem(model, pieces, seen, NumberTargets(C), loss, penalty)


def _problem(
    model: Any, pieces: Pieces, seen: Survey, targets: Any, loss: Loss, penalty: Penalty
) -> LossPenaltyPieces:
    return LossPenaltyPieces(
        pieces=pieces,
        targets=targets,
        n_features=seen.n_features,
        n_rows=seen.n_rows,
        loss=loss,
        penalty=penalty,
        fit_intercept=model.fit_intercept,
    )


def solve_in_pieces(model: Any, problem: LossPenaltyPieces) -> tuple[Solution, Certificate]:
    """Solve and certify a problem with the tolerance and limit of an estimator."""
    solver = PiecesNewton(tol=model.tol, max_iter=model.max_iter)
    return solve_pieces(problem, solver, callback=partial(tell_iteration, model))[:2]


def check_newton(model: BaseEstimator, loss: Loss, penalty: Penalty, remedy: str) -> None:
    """Raise an error for problems that Newton's method in pieces cannot solve."""
    if not (loss.smooth and penalty.smooth) or model.solver not in ("auto", "newton"):
        raise ValueError(
            f"{type(model).__name__} on data in pieces needs a smooth loss, penalty='l2' or 'none' and "
            f"solver='auto'; got loss={model.loss!r}, penalty={model.penalty!r}, solver={model.solver!r}: "
            f"use {remedy}."
        )
    scaling = getattr(model, "intercept_scaling", None)
    if scaling is not None:
        raise ValueError(
            f"intercept_scaling={scaling!r} needs the rows in memory: leave it out for data in pieces."
        )


def find_separation_in_pieces(
    problem: LossPenaltyPieces, theta: FloatArray, sums: RowSums
) -> Separation | None:
    """As `find_separation`: a direction along which the likelihood increases without bound.

    Cost: one pass, plus those of `_widest_margin` if all rows are on the right side.
    """
    if sums.least > 0:
        limit = _widest_margin(problem, theta)
        direction = theta if limit is None else limit
        return Separation("complete", direction, np.abs(direction[:-1]) > 0, limit is not None)
    if sums.hessian is None:
        return None
    step = solve_symmetric(with_penalty(sums.hessian, 0.0, problem.fit_intercept), -sums.gradient)
    least, largest = problem.extreme_margins(step)
    if largest > 0.1 and least >= -1e-6 * largest:
        w = np.abs(step[:-1])
        return Separation("quasi-complete", step, w > 1e-6 * w.max(initial=0.0))
    return None


def _widest_margin(problem: LossPenaltyPieces, theta: FloatArray) -> FloatArray | None:
    """The direction of the widest margin, y f >= 1: the squared hinge with a decreasing penalty.

    The slack decreases with the penalty. It stops at 1e-3 of the margin, also the error of the direction.
    """
    l2 = 1e-2
    for _ in range(6):
        smooth = replace(problem, loss=SquaredHinge(), penalty=Penalty(l2=l2))
        theta = PiecesNewton(tol=1e-6).solve(smooth, start=theta)[0].x
        least, _ = problem.extreme_margins(theta)
        if least > 0.999:
            return theta / least
        l2 *= 1e-2
    return None
