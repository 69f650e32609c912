"""A starting point from a sample of the rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.problems.loss_penalty import LossPenalty
from maxmargin.problems.solution import Solution
from maxmargin.typing import FloatArray

_SMALLEST = 2000
_ROWS_PER_COLUMN = 10
_SHARE = 8


def sample_start(problem: LossPenalty, solver: Any) -> FloatArray | None:
    """The answer on an eighth of the rows, where that has enough of them; otherwise None.

    With n much larger than p the first iterations on all rows only find what a sample knows already. The
    sample is solved to the accuracy that its size deserves, p / m for m rows.
    """
    n, p = problem.X.shape
    m = n // _SHARE
    if m < max(_SMALLEST, _ROWS_PER_COLUMN * p):
        return None
    rows = np.sort(np.random.default_rng(0).choice(n, size=m, replace=False))
    c = problem.c[rows] * (problem.c.sum() / max(problem.c[rows].sum(), 1e-300))
    sample = replace(problem, X=problem.X.take(rows), y=problem.y[rows], c=c)
    if problem.loss.margin and len(np.unique(sample.y[c > 0])) < 2:
        return None
    rough = replace(solver, tol=max(solver.tol, 0.3 * p / m))
    solution: Solution = rough.solve(sample)
    return solution.x
