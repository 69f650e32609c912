"""A fit told step by step: the dual problem solved again in short pieces, with a certificate after each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.problems.solution import Status
from maxmargin.typing import FloatArray

_GROWTH = 1.3  # of the number of steps from one certificate to the next
_MOST_PIECES = 200


@dataclass(frozen=True)
class Replay:
    """What was reached after so many steps; all arrays of shape (n_pieces,).

    ``gap`` is relative to the dual value and NaN where the problem is not convex.
    """

    steps: FloatArray
    kkt: FloatArray
    gap: FloatArray
    n_active: FloatArray
    n_support: FloatArray


def replay(model: Any, X: Any, y: Any = None, sample_weight: Any = None, *, machine: int = 0) -> Replay:
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
    return _run(problems[machine], replace(model._solver(), max_iter=-1, time_limit=None))


def _run(problem: Any, solver: Any) -> Replay:
    a, total, told = problem.start, 0, []
    for _ in range(_MOST_PIECES):
        piece = max(1, int((_GROWTH - 1.0) * total))
        solution = replace(solver, max_iter=piece).solve(problem, start=a)
        a, total = solution.x, total + solution.n_iter
        found = problem.certify(a, full=True)
        n_active = float(solution.trace[-1, 2]) if len(solution.trace) else 0.0
        told.append((total, found.kkt, found.relative_gap, n_active, float((a > 0).sum())))
        if solution.status is not Status.MAX_ITER or found.kkt <= solver.tol:
            break
    return Replay(*np.array(told).T)
