"""A fit told in stages: the dual problem solved again in short pieces, with a certificate after each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.typing import FloatArray
from maxmargin.problems.solution import Status
from maxmargin.solvers.certified import certify_fully

_GROWTH = 1.3  # of the number of steps from one certificate to the next
_MOST_PIECES = 200


@dataclass(frozen=True)
class Stages:
    """What was reached after so many steps; all arrays of shape (n_pieces,).

    ``gap`` is relative to the dual value and NaN where the problem is not convex.
    """

    steps: FloatArray
    kkt: FloatArray
    gap: FloatArray
    n_active: FloatArray
    n_support: FloatArray


def solve_in_stages(
    model: Any, X: Any, y: Any = None, sample_weight: Any = None, *, machine: int = 0
) -> Stages:
    """Solve a fitted machine's problem again from the start, stopping for a full certificate now and then.

    The stops follow each other after 1, 2, 3, ... and then 30 % more steps. Every piece starts from the last
    answer, so the way may differ a little from that of an uninterrupted fit; it ends at the same optimum.
    Costs about as much as the fit, plus some 40 certificates of O(n n_SV p).

    ``machine`` is the number of the binary machine when there are several classes.
    """
    check_is_fitted(model)
    if not hasattr(model, "_problems"):
        raise TypeError(f"{type(model).__name__} is not a kernel machine with a dual problem to solve again.")
    problems = model._problems(X, y, sample_weight)
    if not 0 <= machine < len(problems):
        raise ValueError(f"machine={machine!r}: the model has the machines 0 ... {len(problems) - 1}.")
    solver = replace(model.dual_solver(), time_limit=None, trace=False)
    if not solver.warm_starts:
        raise ValueError(
            f"{type(solver).__name__} cannot go on from an answer, so it cannot be stopped on its way."
        )
    return _run(problems[machine], solver)


def _run(problem: Any, solver: Any) -> Stages:
    a, total, told = problem.start, 0, []
    for _ in range(_MOST_PIECES):
        piece = max(1, int((_GROWTH - 1.0) * total))
        active = [len(problem.Q.points)]
        solution = replace(solver, max_iter=piece).solve(
            problem, start=a, callback=lambda progress, active=active: active.append(progress.n_active)
        )
        a, total = solution.x, total + solution.n_iter
        found = certify_fully(problem, solution, solver)
        told.append((total, found.kkt, found.relative_gap, active[-1], int((a > 0).sum())))
        if solution.status is not Status.MAX_ITER or solver.accepts(found):
            break
    return Stages(*np.array(told, dtype=np.float64).T)
