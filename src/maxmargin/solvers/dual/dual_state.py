"""The state of a dual solver: multipliers, gradient, kernel rows, and their cost."""

from __future__ import annotations

import numpy as np

from maxmargin.base.memory import cache_bytes
from maxmargin.base.progress import Callback
from maxmargin.base.typing import AnyArray, BoolArray, FloatArray
from maxmargin.compute.dual import block_solver as dual
from maxmargin.kernels.kernel_products import kernel_times
from maxmargin.kernels.points import for_engine
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.settings import DualSolver
from maxmargin.solvers.stopping import SAFETY, Budget, Referee
from maxmargin.solvers.trace import Tracer, Work


class SignedState:
    """The variables of a problem in the signed form t = s a, limits, progress and cost.

    A step raises one t and lowers another of its group by the same amount. g is the gradient with respect
    to t: the solution is optimal if no variable that can rise has a smaller g than one of its group that can
    fall. v = K beta is kept for all points, so g = tau v + d t + c needs no kernel values.
    """

    def __init__(
        self, solver: DualSolver, problem: BoxQP, start: FloatArray | None, callback: Callback | None
    ) -> None:
        a = np.array(problem.start if start is None else start, dtype=np.float64)
        s = problem.s
        self.problem = problem
        self.budget = Budget(solver.max_iter, solver.time_limit)
        self.target = SAFETY * solver.tol
        self.referee = Referee(self.target, self.budget, callback, len(a))
        self.work = Work()
        self.tracer: Tracer | None = None
        self.n_iter = 0  # as the solver counts
        self.t = s * a
        self.lo, self.hi = problem.signed_bounds
        self.c, self.d, self.tau = s * problem.p, problem.d, s * problem.Q.sign
        self.row, self.group = problem.Q.row.astype(np.int64), problem.group.astype(np.int64)
        self.v: FloatArray = np.zeros(len(problem.Q.points))

    @property
    def a(self) -> FloatArray:
        return np.abs(self.t)

    def ended(self, status: Status, g: FloatArray) -> Solution:
        a = self.a
        multipliers = self.problem.multipliers(g, a)
        if self.tracer is not None:
            self.tracer.describe_all(a, self.v, multipliers)
        return Solution(
            x=a,
            multipliers=multipliers,
            status=status,
            n_iter=self.n_iter,
            seconds=self.budget.seconds,
            gradient=g,
            trace=None if self.tracer is None else self.tracer.frame(),
            kernel_values=self.work.kernel_values,
            cache_hits=self.work.cache_hits,
        )


class DualState(SignedState):
    """All variables and kernel values in float64, as the textbook solvers need them."""

    def __init__(
        self, solver: DualSolver, problem: BoxQP, start: FloatArray | None, callback: Callback | None
    ) -> None:
        super().__init__(solver, problem, start, callback)
        self.solver, self.bytes = solver, cache_bytes(solver.cache_size)
        self.n_pairs = 0  # pair steps, including those inside working sets
        self.points = for_engine(problem.Q.points, np.float64)
        self.n_groups = len(problem.delta)
        self.g: FloatArray = np.empty(len(self.t))
        self.add_rows(self.tau * self.t)
        self.tracer = Tracer(problem, self.a, self.v, self.work) if solver.trace else None

    # -- kernel values -------------------------------------------------------------------------------

    def block(self, ws: AnyArray) -> FloatArray:
        """B_ij = tau_i tau_j K(x_i, x_j) + d_i [i = j] among the working set."""
        if (needed := 8 * len(ws) ** 2) > self.bytes:
            raise ValueError(
                f"a working set of {len(ws)} multipliers needs {needed / 2**20:.3g} MB, cache_size allows "
                f"{self.bytes / 2**20:.3g} MB: raise it, or use solver='smo'."
            )
        B = self.problem.Q.kernel.gram(self.points.take(self.row[ws]), n_threads=self.solver.n_threads)
        dual.scale_block(B, self.tau[ws], self.d[ws])
        self.work.kernel_values += len(ws) ** 2
        return B

    def add_rows(self, change: FloatArray) -> None:
        """Update v and g after the coefficients tau t changed by ``change``."""
        by_point = np.bincount(self.row, change, len(self.v)).astype(np.float64, copy=False)
        moved = np.flatnonzero(by_point)
        if len(moved):
            right = self.points.take(moved)
            self.v += kernel_times(
                self.problem.Q.kernel, self.points, right, by_point[moved], n_threads=self.solver.n_threads
            )
            self.work.kernel_values += len(self.v) * len(moved)
        self.refresh()

    def refresh(self) -> None:
        dual.gradient(self.v, self.row, self.tau, self.d, self.t, self.c, self.g)

    # -- checking ------------------------------------------------------------------------------------

    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """For every group the smallest g that can rise and the largest that can fall."""
        low, high = dual.extremes(self.g, self.t, self.lo, self.hi, self.group, self.n_groups)
        return low, high

    def judge(self, violation: float, n_active: int, *, stuck: bool = False) -> Status | None:
        """Report progress; the reason to stop, or None to continue."""
        return self.referee.judge(
            violation, n_iter=self.n_iter, n_pairs=self.n_pairs, n_active=n_active, stuck=stuck
        )

    # -- moving --------------------------------------------------------------------------------------

    def solve_block(self, ws: AnyArray, violation: float) -> int:
        """Solve the quadratic problem of the working set with all others fixed; returns its pair steps."""
        order, starts, stops = dual.group_layout(self.group[ws], self.n_groups)
        ws = ws[order]
        g, t = self.g[ws], self.t[ws].copy()
        before = self.t[ws].copy()
        steps: int = dual.solve_block(
            self.block(ws), g, t, self.lo[ws], self.hi[ws], starts, stops,
            max(0.5 * self.target, 0.1 * violation), 1_000_000,
        )  # fmt: skip
        if self.tracer is not None:
            self.tracer.describe_all(self.a, self.v)
        slopes = self.g[ws] + g
        change = np.zeros(len(self.t))
        change[ws] = self.tau[ws] * (t - before)
        self.t[ws] = t
        self.add_rows(change)
        if self.tracer is not None:
            s = self.problem.s[ws]
            self.tracer.step(ws, np.abs(before), np.abs(t), s * slopes, n_active=len(self.v))
        self.n_pairs += steps
        return steps

    def solution(self, status: Status) -> Solution:
        return self.ended(status, self.g)


def settled(
    g: FloatArray, t: FloatArray, lo: FloatArray, hi: FloatArray, low: FloatArray, high: FloatArray
) -> BoolArray:
    """Variables at a bound that form no violating pair with any other.

    ``low`` and ``high`` are, for each variable, the smallest g of its group that can rise and the
    largest that can fall.
    """
    return ((t <= lo) & (g > high)) | ((t >= hi) & (g < low))
