"""The steps of a dual solver as a table, and models recomputed from the tables of all solvers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from maxmargin.base.shown import ShownTable
from maxmargin.base.typing import FloatArray, IntArray, Matrix
from maxmargin.problems.box_qp import BoxQP

COLUMNS = [
    "step", "variables", "rows", "before", "after", "objective", "primal", "gap", "violation", "multipliers",
    "n_active", "kernel_values", "cache_hits",
]  # fmt: skip


class Work:
    """The cost of a solve so far."""

    def __init__(self) -> None:
        self.kernel_values = 0
        self.cache_hits = 0


class Tracer:
    """Collects one row per step; a row describes the state after its step.

    variables, before, after : what was chosen, and its multipliers before and after the step.
    rows : the points of these variables.
    objective : 1/2 a'(Q + d)a + p'a (the dual value is its negative).
    primal, gap : value of the primal and its distance from the dual; NaN where the solver does not hold all
        gradients (shrinking).
    violation : largest KKT violation over the active variables.
    multipliers : of the equalities, from which the intercept follows; NaN where gap is.
    n_active : points that take part; kernel_values, cache_hits : counted from the start.

    Step 0 is the start: its ``after`` are the initial multipliers. A solver describes a state when it knows
    it: before the next step, and at the end.
    """

    def __init__(self, problem: BoxQP, start: FloatArray, v: FloatArray, work: Work) -> None:
        self.problem = problem
        self.work = work
        self.objective = -problem.values(start, v)[1]
        self._rows: list[dict[str, Any]] = []
        everything = np.arange(len(start))
        self._add(everything, np.zeros(len(start)), start.copy(), len(problem.Q.points))
        self.describe_all(start, v)

    def _add(self, variables: IntArray, before: FloatArray, after: FloatArray, n_active: int) -> None:
        points = self.problem.Q.row[variables]
        self._rows.append(
            {
                "step": len(self._rows), "variables": variables, "rows": points, "before": before,
                "after": after, "objective": self.objective, "n_active": n_active,
                "kernel_values": self.work.kernel_values, "cache_hits": self.work.cache_hits,
            }
        )  # fmt: skip
        self.describe(np.nan)

    def describe(
        self, violation: float, primal: float = np.nan, multipliers: FloatArray | None = None
    ) -> None:
        """Describe the state after the last step."""
        unknown = np.full(len(self.problem.delta), np.nan)
        self._rows[-1] |= {
            "primal": primal,
            "gap": primal + self.objective,
            "violation": violation,
            "multipliers": unknown if multipliers is None else multipliers,
        }

    def describe_all(self, a: FloatArray, v: FloatArray, multipliers: FloatArray | None = None) -> None:
        """The same for a solver that has v = K weights at all points."""
        g = self.problem.signed_gradient(a, v[self.problem.Q.row])
        if multipliers is None:
            multipliers = self.problem.multipliers(g, a)
        primal = self.problem.values(a, v, multipliers)[0] if self.problem.convex else np.nan
        self.describe(self.problem.violation(g, a), primal, multipliers)

    def step(
        self, variables: IntArray, before: FloatArray, after: FloatArray, slopes: FloatArray, *, n_active: int
    ) -> None:
        """One step; ``slopes`` are the gradients of the chosen variables before plus after it.

        The objective is quadratic, so that it changes by half of <change, slopes>.
        """
        self.objective += 0.5 * float((after - before) @ slopes)
        self._add(variables, before, after, n_active)

    def frame(self) -> pd.DataFrame:
        return ShownTable(self._rows, columns=COLUMNS)


def first_variables(trace: pd.DataFrame, m: int) -> pd.DataFrame:
    """The same steps, seen by the first ``m`` variables."""
    mine = [variables < m for variables in trace["variables"]]
    names = ("variables", "rows", "before", "after")
    cut = {name: [one[keep] for one, keep in zip(trace[name], mine, strict=True)] for name in names}
    return trace.assign(**cut)


def joined(traces: list[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate the traces of consecutive solves, with continuous step numbers."""
    table = pd.concat(traces, ignore_index=True)
    return table.assign(step=np.arange(len(table)))


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
        return [_multipliers(steps) for steps in machines]
    if "coefficient" in trace:
        return [_coefficients(steps) for steps in machines]
    if X is None:
        raise ValueError("the trace of an online learner needs X, the training rows: replay(trace, X).")
    table = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
    if not average:
        return [list(_iterates(steps, table))[-1] for steps in machines]
    return [steps["share"].to_numpy() @ np.array(list(_iterates(steps, table))) for steps in machines]


def _coefficients(trace: pd.DataFrame) -> FloatArray:
    """The coefficients of a kernel perceptron; every update sets one."""
    sums = np.zeros(int(trace["n_rows"].iloc[0]))
    for row, coefficient in zip(trace["row"], trace["coefficient"], strict=True):
        sums[row] = coefficient
    return sums


def _iterates(trace: pd.DataFrame, X: Any) -> Iterator[FloatArray]:
    """(w, b) after every step: w <- shrink (keep w + change x), x a row or a sum of rows."""
    w = np.zeros(X.shape[1])
    batch = "slopes" in trace
    columns = ["slopes" if batch else "row", "keep", "change", "shrink", "intercept"]
    for who, keep, change, shrink, b in zip(*(trace[name] for name in columns), strict=True):
        x = X.T @ who if batch else X[[int(who)]].sum(axis=0)
        w = shrink * (keep * w + change * np.asarray(x).ravel())
        yield np.append(w, b)


def _multipliers(trace: pd.DataFrame) -> FloatArray:
    """The final multipliers of a trace, recomputed step by step; an error if a step does not fit."""
    a = np.zeros(1 + max(int(variables.max(initial=-1)) for variables in trace["variables"]))
    for step, variables, before, after in zip(
        trace["step"], trace["variables"], trace["before"], trace["after"], strict=True
    ):
        start = len(variables) == len(a) and not before.any()
        if not start and not np.array_equal(a[variables], before):
            raise ValueError(f"step {step} does not start where the last one ended: is the trace complete?")
        a[variables] = after
    return a
