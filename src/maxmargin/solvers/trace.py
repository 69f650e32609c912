"""What each step of a dual solver did, as a table; and the way back from the table to the multipliers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.problems.box_qp import BoxQP

COLUMNS = [
    "step", "variables", "rows", "before", "after", "objective", "gap", "violation", "n_active",
    "kernel_values", "cache_hits",
]  # fmt: skip


class Work:
    """What a solve has cost so far."""

    def __init__(self) -> None:
        self.kernel_values = 0
        self.cache_hits = 0


class Tracer:
    """Collects one row per step.

    variables, before, after : what was chosen, and its multipliers before and after the step.
    rows : the points of these variables.
    objective : 1/2 a'(Q + d)a + p'a after the step (the dual value is its negative).
    gap : duality gap before the step; NaN where the solver does not hold all gradients (shrinking).
    violation : largest KKT violation before the step, over the active variables.
    n_active : points that take part; kernel_values, cache_hits : counted from the start.

    Step 0 puts the start: its ``after`` are the multipliers that the solver began with.
    """

    def __init__(self, problem: BoxQP, start: FloatArray, v: FloatArray, work: Work) -> None:
        self.problem = problem
        self.work = work
        self.objective = -problem.values(start, v)[1]
        self._rows: list[tuple[Any, ...]] = []
        everything = np.arange(len(start))
        self._add(everything, np.zeros(len(start)), start.copy(), np.nan, np.nan, len(problem.Q.points))

    def _add(
        self,
        variables: IntArray,
        before: FloatArray,
        after: FloatArray,
        gap: float,
        violation: float,
        n_active: int,
    ) -> None:
        self._rows.append(
            (len(self._rows), variables, self.problem.Q.row[variables], before, after, self.objective, gap,
             violation, n_active, self.work.kernel_values, self.work.cache_hits)
        )  # fmt: skip

    def gap(self, a: FloatArray, v: FloatArray) -> float:
        """The duality gap of a solver that holds v = K weights at all points."""
        if not self.problem.convex:
            return float("nan")
        primal, dual = self.problem.values(a, v)
        return primal - dual

    def step(
        self,
        variables: IntArray,
        before: FloatArray,
        after: FloatArray,
        slopes: FloatArray,
        *,
        violation: float,
        n_active: int,
        gap: float = float("nan"),
    ) -> None:
        """One step; ``slopes`` are the gradients of the chosen variables before plus after it.

        The objective is quadratic, so that it changes by half of <change, slopes>.
        """
        self.objective += 0.5 * float((after - before) @ slopes)
        self._add(variables, before, after, gap, violation, n_active)

    def frame(self) -> pd.DataFrame:
        return pd.DataFrame(self._rows, columns=COLUMNS)


def joined(traces: list[pd.DataFrame]) -> pd.DataFrame:
    """Traces of solves that went on from each other, with steps counted on."""
    table = pd.concat(traces, ignore_index=True)
    return table.assign(step=np.arange(len(table)))


def replay_multipliers(trace: pd.DataFrame) -> FloatArray:
    """The multipliers that a trace ends with, made again step by step; an error where a step does not fit."""
    a = np.zeros(1 + max(int(variables.max(initial=-1)) for variables in trace["variables"]))
    for step, variables, before, after in zip(
        trace["step"], trace["variables"], trace["before"], trace["after"], strict=True
    ):
        start = len(variables) == len(a) and not before.any()
        if not start and not np.array_equal(a[variables], before):
            raise ValueError(f"step {step} does not begin where the last one ended: is the trace whole?")
        a[variables] = after
    return a
