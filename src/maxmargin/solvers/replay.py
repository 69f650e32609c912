"""Recompute a model from its trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from maxmargin.base.typing import FloatArray, Matrix
from maxmargin.solvers.trace import replay_multipliers


def replay(trace: pd.DataFrame, X: Matrix | None = None, *, average: bool = False) -> list[FloatArray]:
    """Recompute the final state of a trace, step by step; one array for each machine.

    A trace of a dual machine gives its multipliers, of shape (n_variables,); an error if a step does not
    start where the last one ended. A trace of `KernelPerceptron` gives the coefficients of the rows before
    averaging. A trace of an online learner needs the training rows ``X`` and gives (w, b) of the last
    iterate, or with ``average`` the average that the learner returns, by the weights in the trace.

    >>> import maxmargin as mm
    >>> X, y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    >>> model = mm.SVC(solver="smo", trace=True).fit(X, y)
    >>> bool((mm.replay(model.trace_)[0] == model.alpha_).all())
    True
    """
    machines = [steps for _, steps in trace.groupby("machine", sort=True)]
    if "variables" in trace:
        return [replay_multipliers(steps) for steps in machines]
    if "coefficient" in trace:
        return [_coefficients(steps) for steps in machines]
    if X is None:
        raise ValueError("the trace of an online learner needs X, the training rows: replay(trace, X).")
    table = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
    if not average:
        return [list(iterates(steps, table))[-1] for steps in machines]
    return [steps["share"].to_numpy() @ np.array(list(iterates(steps, table))) for steps in machines]


def _coefficients(trace: pd.DataFrame) -> FloatArray:
    """The coefficients of a kernel perceptron; every update sets one."""
    sums = np.zeros(int(trace["n_rows"].iloc[0]))
    for row, coefficient in zip(trace["row"], trace["coefficient"], strict=True):
        sums[row] = coefficient
    return sums


def iterates(trace: pd.DataFrame, X: Any) -> Iterator[FloatArray]:
    """(w, b) after every step: w <- shrink (keep w + change x), x a row or a sum of rows."""
    w = np.zeros(X.shape[1])
    batch = "slopes" in trace
    columns = ["slopes" if batch else "row", "keep", "change", "shrink", "intercept"]
    for who, keep, change, shrink, b in zip(*(trace[name] for name in columns), strict=True):
        x = X.T @ who if batch else X[[int(who)]].sum(axis=0)
        w = shrink * (keep * w + change * np.asarray(x).ravel())
        yield np.append(w, b)
