"""Sequential minimal optimisation: two multipliers at a time, the smallest change that keeps the equality.

1. Choose the pair: i violates most among the variables that can rise; j violates most among those that can
   fall ("first", Keerthi et al. 2001), or promises the largest decrease with i ("second", Fan, Chen & Lin
   2005).
2. Along t_i + delta, t_j - delta the objective is a parabola: go to its minimum, or to the edge of the box.
3. Update the gradient of all variables with the kernel rows of i and j.

Rows are kept in a cache. From time to time variables at a bound that do not violate their condition are set
aside (shrinking), and checked again before the end. Platt (1998); LIBSVM (Chang & Lin 2011).
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from maxmargin.base.parameters import check_choice
from maxmargin.base.progress import Callback
from maxmargin.base.threads import single_threaded_blas
from maxmargin.base.typing import BoolArray, FloatArray, IntArray
from maxmargin.compute.dual import block_solver as dual
from maxmargin.compute.dual import pair_steps
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.kernel_products import kernel_times
from maxmargin.kernels.points import Points
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.dual.dual_state import DualState, settled
from maxmargin.solvers.settings import DualSolver
from maxmargin.solvers.trace import Tracer, Work

_LOOK_EVERY = 1000  # steps between two checks of the clock and for variables to set aside
_SHRINK_BELOW = 0.8  # set points aside if at most this share stays


@dataclass(frozen=True, kw_only=True, repr=False)
class SMO(DualSolver):
    """SMO on pairs of multipliers, as in LIBSVM.

    Parameters
    ----------
    selection : "second" (largest decrease) or "first" (largest violation).
    cache : keep kernel rows up to ``cache_size``; False recomputes every row.
    precision : of the kernel rows. "float32" takes half the memory and makes the same steps as LIBSVM, which
        matters if the solution depends on the path (kernels that are not positive semidefinite). The
        certificate is always computed in float64, and shows if float32 rows are too coarse for ``tol``.

    ``max_iter`` counts pairs. Cost of a step: O(n), plus n kernel values for a row that is not in the cache.

    >>> import maxmargin as mm
    >>> mm.SVC(solver=mm.solvers.SMO(selection="first"), shrinking=False).fit([[0.0], [1.0]], [0, 1]).n_iter_
    array([1])
    """

    selection: Literal["first", "second"] = "second"
    cache: bool = True
    precision: Literal["float64", "float32"] = "float64"

    def solve(
        self, problem: BoxQP, *, start: FloatArray | None = None, callback: Callback | None = None
    ) -> Solution:
        check_choice("selection", self.selection, ("first", "second"))
        check_choice("precision", self.precision, ("float64", "float32"))
        with single_threaded_blas():
            state = DualState(self, problem, start, callback)
            status = _Active.everything(self, state).optimise()
            return state.solution(status)


class _Active:
    """The active points and their variables, as views of the arrays of a larger set."""

    points: Any
    cache: RowCache
    row: IntArray
    group: IntArray
    t: FloatArray
    g: FloatArray
    v: FloatArray
    lo: FloatArray
    hi: FloatArray
    c: FloatArray
    d: FloatArray
    tau: FloatArray
    curvature: FloatArray
    linear: FloatArray  # tau, d and c of the gradient

    def __init__(self, solver: SMO, state: DualState, variables: IntArray) -> None:
        self.solver, self.state, self.variables = solver, state, variables

    @classmethod
    def everything(cls, solver: SMO, state: DualState) -> _Active:
        self = cls(solver, state, np.arange(len(state.t)))
        self.points, self.v = state.points, state.v
        self.t, self.g, self.row, self.group = state.t, state.g, state.row, state.group
        self.lo, self.hi, self.c, self.d, self.tau = state.lo, state.hi, state.c, state.d, state.tau
        kernel = state.problem.Q.kernel
        n_bytes = state.bytes if solver.cache else 0
        self.cache = RowCache(kernel, self.points, solver.precision, n_bytes, solver.n_threads, state.work)
        diagonal = np.asarray(kernel.diagonal(self.points), dtype=np.float64)
        self.curvature = self.tau**2 * diagonal[self.row] + self.d
        self.linear = np.stack([self.tau, self.d, self.c])
        return self

    def _without(self, aside: BoolArray) -> _Active:
        """The rest when the points ``aside`` become inactive."""
        keep = np.flatnonzero(~aside)
        mine = np.flatnonzero(~aside[self.row])
        position = np.cumsum(~aside) - 1
        part = _Active(self.solver, self.state, self.variables[mine])
        part.points, part.v = self.points.take(keep), self.v[keep]
        part.t, part.g, part.group = self.t[mine], self.g[mine], self.group[mine]
        part.row = position[self.row[mine]]
        part.lo, part.hi, part.c, part.d = self.lo[mine], self.hi[mine], self.c[mine], self.d[mine]
        part.tau, part.curvature = self.tau[mine], self.curvature[mine]
        part.linear = np.ascontiguousarray(self.linear[:, mine])
        part.cache = self.cache.cut(part.points, keep)
        return part

    # -- the algorithm -------------------------------------------------------------------------------

    def optimise(self) -> Status:
        """Pairs until these variables are solved, or time or steps run out."""
        while True:
            violation = self._pairs(self.state.budget.steps_left(self.state.n_iter, _LOOK_EVERY))
            status = self.state.judge(violation, len(self.v))
            if status is not None:
                return status
            aside = self._settled_points()
            if self.solver.shrinking and aside.mean() >= 1 - _SHRINK_BELOW:
                part = self._without(aside)
                status = part.optimise()
                self._take_back(part, aside)
                if status is not Status.CONVERGED:
                    return status

    def _pairs(self, max_steps: int) -> float:
        """Up to ``max_steps`` pairs; returns the remaining violation."""
        for _ in range(max_steps):
            i, j, violation = self._worst_pair()
            if violation <= self.state.target:
                return violation
            Ki = self.cache.row(int(self.row[i]))
            if self.solver.selection == "second":
                j = pair_steps.best_partner(
                    self.g, self.t, self.lo, self.group, self.row, self.tau, self.curvature, Ki, i
                )
            Kj = self.cache.row(int(self.row[j]))
            self._step(i, j, Ki, Kj, violation)
        return self._worst_pair()[2]

    def _worst_pair(self) -> tuple[int, int, float]:
        i, j, violation = pair_steps.worst_pair(
            self.g, self.t, self.lo, self.hi, self.group, self.state.n_groups
        )
        return i, j, violation

    def _step(self, i: int, j: int, Ki: FloatArray, Kj: FloatArray, violation: float) -> None:
        tracer = self.state.tracer
        if tracer is not None:
            pair = np.array([i, j])
            before, slopes = self.t[pair], self.g[pair]
            self._describe(tracer, violation)
        pair_steps.move_pair(
            self.t, self.g, self.v, self.lo, self.hi, self.row, self.linear, self.curvature, Ki, Kj, i, j
        )  # fmt: skip
        self.state.n_iter += 1
        self.state.n_pairs += 1
        if tracer is not None:
            s = self.state.problem.s[self.variables[pair]]
            tracer.step(
                self.variables[pair], np.abs(before), np.abs(self.t[pair]), s * (slopes + self.g[pair]),
                n_active=len(self.v),
            )  # fmt: skip

    def _describe(self, tracer: Tracer, violation: float) -> None:
        """The complete state while all points are active; only the violation while some are set aside."""
        if self.v is self.state.v:
            tracer.describe_all(np.abs(self.t), self.v)
        else:
            tracer.describe(violation)

    # -- shrinking -----------------------------------------------------------------------------------

    def _settled_points(self) -> BoolArray:
        """Points all of whose variables are at a bound and form no violating pair."""
        low, high = dual.extremes(self.g, self.t, self.lo, self.hi, self.group, self.state.n_groups)
        still = settled(self.g, self.t, self.lo, self.hi, low[self.group], high[self.group])
        aside = np.ones(len(self.v), dtype=bool)
        aside[self.row[~still]] = False
        return aside

    def _take_back(self, part: _Active, aside: BoolArray) -> None:
        """Apply the solution of the part, and update the gradient of the points that were set aside."""
        mine = np.flatnonzero(~aside[self.row])
        weights = self.tau[mine] * (part.t - self.t[mine])
        change = np.bincount(self.row[mine], weights, len(self.v)).astype(np.float64, copy=False)
        moved = np.flatnonzero(change)
        self.t[mine] = part.t
        self.v[~aside] = part.v
        rest = np.flatnonzero(aside)
        if len(moved):
            self.v[rest] += kernel_times(
                self.state.problem.Q.kernel, self.points.take(rest), self.points.take(moved), change[moved],
                n_threads=self.solver.n_threads,
            )  # fmt: skip
            self.state.work.kernel_values += len(rest) * len(moved)
        dual.gradient(self.v, self.row, self.tau, self.d, self.t, self.c, self.g)


class RowCache:
    """Rows K(x_i, .) over ``points`` rounded to ``dtype``, up to ``n_bytes``; 0 recomputes every row."""

    def __init__(
        self, kernel: Kernel, points: Points, dtype: DTypeLike, n_bytes: int, n_threads: int, work: Work
    ) -> None:
        self.kernel, self.points, self.dtype = kernel, points, np.dtype(dtype)
        self.n_bytes, self.n_threads, self.work = n_bytes, n_threads, work
        self.capacity = max(2, n_bytes // (self.dtype.itemsize * len(points))) if n_bytes else 0
        self._rows: OrderedDict[int, FloatArray] = OrderedDict()

    def row(self, i: int) -> FloatArray:
        found = self._rows.get(i)
        if found is not None:
            self._rows.move_to_end(i)
            self.work.cache_hits += 1
            return found
        i_alone = self.points.take(slice(i, i + 1))
        exact = self.kernel.gram(i_alone, self.points, n_threads=self.n_threads)[0]
        row: FloatArray = exact.astype(self.dtype, copy=False)
        self.work.kernel_values += len(self.points)
        if self.capacity > 0:
            if len(self._rows) >= self.capacity:
                self._rows.popitem(last=False)
            self._rows[i] = row
        return row

    def cut(self, points: Points, keep: IntArray) -> RowCache:
        """A cache over ``points``, the ones called ``keep`` here, that starts with the rows stored so far."""
        smaller = RowCache(self.kernel, points, self.dtype, self.n_bytes, self.n_threads, self.work)
        for new, old in enumerate(keep):
            if int(old) in self._rows and len(smaller._rows) < smaller.capacity:
                smaller._rows[new] = self._rows[int(old)][keep]
        self._rows.clear()
        return smaller
