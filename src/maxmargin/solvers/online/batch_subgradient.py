"""Subgradient descent on the primal, with all rows in every step.

    min over w, b   1/2 ||w||^2 + sum_i C_i max(0, 1 - y_i f(x_i)),        steps 1/t (Valera, theorem 5.14)

(and similarly for regression and one-class machines). A subgradient of the sum at w is -sum_i u_i y_i x_i
with u_i = C_i for the rows inside the margin and 0 for those outside. The intercept is not updated by steps
but minimised exactly, which determines the rows on the margin: the u satisfy the equality of the dual. So w_t
is the mean of the u y x seen so far, the mean of the u is a feasible point of the dual, and the two together
have a duality gap: G'(a - u), with G the gradient of the dual at a.

The theorem's bound holds for the average of all iterates. The average since the last power of two is
returned: the first iterates are poor, and dropping them removes the logarithm from the bound (Rakhlin,
Shamir & Sridharan 2012).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.base.progress import Callback
from maxmargin.base.threads import single_threaded_blas
from maxmargin.base.typing import FloatArray
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.solution import Solution
from maxmargin.solvers.primal.primal_gap import (
    PrimalSolver,
    answer,
    best_corner,
    gradient,
    record,
    since_a_power_of_two,
    times,
)
from maxmargin.solvers.stopping import Budget
from maxmargin.solvers.trace import Tracer, Work

_STEPS = 2000  # if max_iter sets no limit: a subgradient method would not end
_LOOK_EVERY = 10


@dataclass(frozen=True, kw_only=True, repr=False)
class BatchSubgradient(PrimalSolver):
    """Subgradient descent with steps 1/t and averaging; for linear kernels and bounded multipliers.

    ``tol`` bounds the relative duality gap, ``max_iter`` counts steps (-1 means 2000). A step costs two
    products with X and a sort.

    >>> import maxmargin as mm
    >>> X, y = [[1.0], [2.0], [-1.0], [-3.0]], [1, 1, 0, 0]
    >>> model = mm.SVC(kernel="linear", solver="subgradient", tol=0.01).fit(X, y)
    >>> model.certificate_.relative_gap <= 0.01
    True
    """

    name = "subgradient"

    def solve(
        self, problem: BoxQP, *, start: FloatArray | None = None, callback: Callback | None = None
    ) -> Solution:
        self.check(problem)
        budget = Budget(self.max_iter if self.max_iter >= 0 else _STEPS, self.time_limit)
        X = problem.Q.points.astype(np.float64).X
        a: FloatArray = np.array(problem.start, dtype=np.float64)
        with single_threaded_blas():
            w = times(X.T, problem.Q.weights(a))
            v = times(X, w)
            mean: FloatArray = np.zeros(len(a))
            mean_v: FloatArray = np.zeros(len(v))
            tracer = Tracer(problem, a, v, Work()) if self.trace else None
            t, status, before = 0, None, a
            while status is None:
                t += 1
                corner, _ = best_corner(problem, gradient(problem, v))
                a = a + (corner - a) / t
                w = w + (times(X.T, problem.Q.weights(corner)) - w) / t
                v = times(X, w)
                averaged = since_a_power_of_two(t)
                mean = mean + (a - mean) / averaged
                mean_v = mean_v + (v - mean_v) / averaged
                last = not budget.steps_left(t, 1)
                if t % _LOOK_EVERY == 0 or t == 1 or last or tracer is not None:
                    status = self.judge(problem, mean, mean_v, t, budget, callback)
                if tracer is not None:
                    before = record(tracer, problem, before, mean, mean_v)
        return answer(problem, mean, mean_v, status, t, budget, tracer)
