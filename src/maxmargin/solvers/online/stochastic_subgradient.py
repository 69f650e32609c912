"""Pegasos on the primal of the support vector classifier: one row per step.

    row i with y_i f(x_i) < 1:   w <- (1 - 1/t) w + (1/(lambda t)) y_i x_i,   else   w <- (1 - 1/t) w,

with lambda = 1 / sum_i C_i (Shalev-Shwartz et al. 2011; Valera, chapter 5; Fuentes, algorithm 5, prints 1/t).
After k passes over all rows w = sum_i a_i y_i x_i with a_i = C_i times the share of the passes in which row i
made a step: between 0 and C_i, so a is feasible in the dual except for the equality. Scaling down the class
with the larger sum repairs that, and the duality gap measures the quality of w.

The intercept is not penalised, so its steps have no decay; they are capped at 0.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.base.progress import Callback
from maxmargin.base.threads import single_threaded_blas
from maxmargin.base.typing import FloatArray
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.solution import Solution
from maxmargin.solvers.online.online_loop import LOG, OnlineLoop, Schedule
from maxmargin.solvers.primal.primal_gap import PrimalSolver, answer, record, since_a_power_of_two, times
from maxmargin.solvers.stopping import Budget
from maxmargin.solvers.trace import Tracer, Work

_PASSES = 200  # if max_iter sets no limit: a stochastic method would not end
_LONGEST_BIAS_STEP = 0.1  # in units of f, whose margin is 1


@dataclass(frozen=True, kw_only=True, repr=False)
class StochasticSubgradient(PrimalSolver):
    """Stochastic subgradient descent, one row per step, for `SVC` with the linear kernel and the hinge.

    The multipliers are averaged over the passes since the last power of two. ``tol`` bounds the relative
    duality gap, ``max_iter`` counts passes (-1 means 200). A pass costs n p.

    Parameters
    ----------
    random_state : seed of the order of the rows.

    >>> import maxmargin as mm
    >>> X, y = [[1.0], [2.0], [-1.0], [-3.0]], [1, 1, 0, 0]
    >>> model = mm.SVC(kernel="linear", solver="pegasos", tol=0.05, max_iter=2000).fit(X, y)
    >>> model.certificate_.relative_gap <= 0.05
    True
    """

    random_state: int = 0
    name = "pegasos"

    def check(self, problem: BoxQP) -> None:
        super().check(problem)
        if not (np.array_equal(problem.Q.sign, problem.s) and (problem.p == -1.0).all()):
            raise ValueError(
                "solver='pegasos' only solves classification with the hinge (SVC): use solver='subgradient'."
            )

    def solve(
        self, problem: BoxQP, *, start: FloatArray | None = None, callback: Callback | None = None
    ) -> Solution:
        self.check(problem)
        budget = Budget(self.max_iter if self.max_iter >= 0 else _PASSES, self.time_limit)
        X, y, C = problem.Q.points.astype(np.float64).X, problem.s, problem.C
        loop = OnlineLoop(
            rule="hinge",
            schedule=Schedule("strongly_convex"),
            decay=1.0 / float(C.sum()),
            bias_step=_LONGEST_BIAS_STEP,
            fit_intercept=problem.fixed_sums,
        )
        state = loop.start(X.shape[1], self.random_state)
        log = np.empty((len(y), len(LOG)))
        stepped, mean = np.zeros(len(y)), np.zeros(len(y))
        a: FloatArray = mean
        v: FloatArray = np.zeros(len(y))
        tracer = Tracer(problem, a, v, Work()) if self.trace else None
        k, status = 0, None
        with single_threaded_blas():
            while status is None:
                k += 1
                loop.run(state, X, y, C / C.mean(), log=log)
                stepped[log[log[:, LOG.index("change")] != 0, 0].astype(np.int64)] += 1
                mean = mean + (C * stepped / k - mean) / since_a_power_of_two(k)
                before, (a, v) = a, _feasible(problem, X, mean)
                if tracer is not None:
                    record(tracer, problem, before, a, v)
                status = self.judge(problem, a, v, k, budget, callback)
        return answer(problem, a, v, status, k, budget, tracer)


def _feasible(problem: BoxQP, X: Any, a: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The multipliers with both classes of the same sum (where they must be), and v = X w for them."""
    balanced = a
    if problem.fixed_sums:
        positive = problem.s > 0
        up, down = float(a[positive].sum()), float(a[~positive].sum())
        target = min(up, down)
        balanced = a * np.where(positive, target / max(up, 1e-300), target / max(down, 1e-300))
    return balanced, times(X, times(X.T, problem.Q.weights(balanced)))
