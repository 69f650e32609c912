"""A hinge-like problem reduced to the rows near a corner of their loss.

Rows on a flat piece of the loss have no effect, and rows on a slope have the effect of their mean: f is
linear, so sum_i c_i L(y_i, f_i) = (sum c) L(mean y, mean f) while all of them stay on that slope. By Jensen's
inequality the smaller problem is a lower bound, and each of its dual points is one of the whole problem, with
the same value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from maxmargin.base.typing import AnyArray, FloatArray, IntArray
from maxmargin.compute.tables.design import design
from maxmargin.problems.loss_penalty import LossPenalty


@dataclass(frozen=True)
class NearRows:
    """The rows ``near`` as they are, and for every slope the mean of the other rows on it."""

    whole: LossPenalty
    near: IntArray
    groups: list[IntArray]
    part: LossPenalty

    def expanded(self, u: FloatArray) -> FloatArray:
        """Slopes of all rows from those of the part; the slope of a mean is divided by weight."""
        every = np.zeros(len(self.whole.y))
        every[self.near] = u[: len(self.near)]
        for group, slope in zip(self.groups, u[len(self.near) :], strict=True):
            c = self.whole.c[group]
            every[group] = slope * c / c.sum()
        return every


def near_rows(problem: LossPenalty, near: AnyArray, slopes: FloatArray) -> NearRows:
    """The problem on the rows where the mask ``near`` is True; the others have the loss slopes ``slopes``."""
    far = ~near & (problem.c > 0)
    groups: list[IntArray] = [np.flatnonzero(far & (slopes == sign)) for sign in (-1.0, 1.0)]
    groups = [group for group in groups if len(group)]
    rows = np.flatnonzero(near)
    X, y, c = problem.X.take(rows).X, problem.y[rows], problem.c[rows]
    if groups:
        totals = np.array([problem.c[group].sum() for group in groups])
        means = np.array(
            [problem.X.take(g).adjoint(problem.c[g]) / t for g, t in zip(groups, totals, strict=True)]
        )
        stack = sparse.vstack if sparse.issparse(X) else np.vstack
        X = stack([X, means.astype(X.dtype)])
        X = sparse.csr_matrix(X) if sparse.issparse(X) else X
        mean_y = [problem.y[g] @ problem.c[g] / t for g, t in zip(groups, totals, strict=True)]
        y, c = np.append(y, mean_y), np.append(c, totals)
    part = replace(problem, X=design(X, problem.X.threads), y=y, c=c)
    return NearRows(problem, rows, groups, part)


def distance(problem: LossPenalty, f: FloatArray) -> FloatArray:
    """How far scores f are from the nearest corner of their loss (hinges and eps-insensitive losses)."""
    loss, y = problem.loss, problem.y
    if loss.margin:
        return np.abs(loss.edge - y * f)  # type: ignore[attr-defined]  # the margin losses with corners are hinges
    return np.abs(np.abs(f - y) - loss.epsilon)  # type: ignore[attr-defined]  # the others have a tube
