"""A hinge classifier on subsets of columns: all folds of a subset over one kernel matrix.

The statistic of the kernel matrix is kept for one subset, the centre, and a candidate is reached from it by
adding or removing a few columns. A fold is a mask over the same matrix, started at the solution for all rows.
Rows that are equal in the subset are one variable.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from maxmargin.base.threads import check_stop, single_threaded_blas
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.dual.bounds import multiplier_of
from maxmargin.compute.dual.fold_problems import FoldAnswers, FoldMatrix, solve_folds
from maxmargin.compute.tables.design import design
from maxmargin.kernels import RBF, Linear
from maxmargin.kernels.vector_base import resolve_gamma
from maxmargin.problems.loss_penalty import LossPenalty
from maxmargin.problems.losses import Hinge
from maxmargin.problems.penalties import Penalty
from maxmargin.problems.solution import Ending, Status, worst_ending
from maxmargin.solvers.dual.gram.certified_hinge import certified_hinge
from maxmargin.solvers.dual.gram.chains import ChainCell, watch_of
from maxmargin.solvers.dual.gram.class_pairs import ending_of, hinge_problem
from maxmargin.solvers.dual.gram.free_system import hand_out
from maxmargin.solvers.dual.gram.gram_problem import interior_patience, on_bounds
from maxmargin.solvers.dual.gram.leave_one_out import leave_out
from maxmargin.solvers.dual.gram.repeated_rows import MergedRows, RepeatedRows, Subset
from maxmargin.solvers.dual.gram.shared_gram import can_hide_gap
from maxmargin.solvers.dual.gram.subset_kernels import SubsetKernel, exponentiate
from maxmargin.solvers.primal.augmented import AugmentedLagrangian

Splits = list[tuple[IntArray, IntArray]]
LARGEST_STRETCH = 1 / 4  # relative difference of gammas up to which they share a matrix
_REFRESH = 64  # moves of the centre before its statistic is recomputed, because rounding errors add up
_PRIMAL_GAP = 1e-6  # relative, of a primal solution that starts the dual one
_QUICK = 1_000_000  # numbers that the first attempt by pairwise steps may read on fewer columns
_SMALL = 64  # up to so many rows pairwise steps on a singular matrix take no longer than the primal problem
_NO_STRETCH = np.zeros(1)
_CLOSE_UP = 0.9  # when this share of the columns is left, the others are dropped from memory


@dataclass(frozen=True)
class SubsetProblems:
    """Settings and data shared by the problems on all subsets.

    Attributes
    ----------
    kernel : the kernel on any columns. cell : the limits of the solver.
    views : columns as rows (n_features, n_samples): one for all folds, or one for each fold's scaling.
    splits : training and test rows of the folds.
    signs : +1 and -1 of shape (n_machines, n_samples), 0 for rows of neither side.
    bounds : upper bounds of shape (n_folds, n_machines, n_samples), 0 for rows that do not train.
    """

    kernel: SubsetKernel
    cell: ChainCell
    views: list[FloatArray]
    splits: Splits
    signs: FloatArray
    bounds: FloatArray

    @property
    def n_rows(self) -> int:
        return self.signs.shape[1]

    @cached_property
    def hides_gaps(self) -> bool:
        """True for bounds so large that a gap can be wide although tol is reached."""
        kernel, columns = self.kernel, self.views[0]
        if kernel.open_gamma is not None:
            kernel = kernel.with_gamma(resolve_gamma(kernel.open_gamma, columns.T))
        return bool(can_hide_gap(kernel.kernel, kernel.largest(columns), self.bounds.max()))


class SubsetFolds:
    """Solves the folds of one subset after the other."""

    def __init__(self, problems: SubsetProblems, repeats: RepeatedRows) -> None:
        self.problems = problems
        self._repeats = repeats
        self._gammas = _Gammas(problems.kernel, problems.views, problems.splits)
        self._room = threading.local()
        coarse = problems.cell.solver.tol >= 1e-5 and not problems.hides_gaps
        self._dtype = np.float32 if coarse else np.float64
        self._centre: Subset = ()
        n = problems.n_rows
        self._totals: list[FloatArray] = [np.zeros((n, n)) for _ in problems.views]
        self._n_moves = 0

    def merged(self, subset: Subset) -> MergedRows:
        """Groups of rows that are equal in the subset."""
        return self._repeats.groups(subset)

    def solve(self, subset: Subset, merged: MergedRows) -> tuple[FloatArray, FloatArray, Ending]:
        """Decisions and variables of shape (n_folds, n_machines, n_groups), and how the problems ended."""
        bounds, signs = merged.sums(self.problems.bounds), merged.take(self.problems.signs)
        start = np.zeros_like(bounds[0])
        groups = self._gammas.groups(subset)
        if len(groups) == 1:  # in their order
            matrix, stretch = self.matrix(subset, *groups[0][1:], merged)
            answers, ending = self._solve_folds(matrix, stretch, signs, bounds, start)
            return answers.decisions, answers.t, ending
        decisions, t = np.empty_like(bounds), np.empty_like(bounds)
        endings = []
        for folds, view, gammas in groups:
            matrix, stretch = self.matrix(subset, view, gammas, merged)
            answers, ending = self._solve_folds(matrix, stretch, signs, bounds[folds], start)
            decisions[folds], t[folds] = answers.decisions, answers.t
            endings.append(ending)
            start = answers.t[-1].copy()
        return decisions, t, worst_ending(endings)

    def _solve_folds(
        self,
        matrix: FoldMatrix,
        stretch: FloatArray,
        signs: FloatArray,
        bounds: FloatArray,
        start: FloatArray,
    ) -> tuple[FoldAnswers, Ending]:
        tol = self.problems.cell.solver.tol
        most_steps = interior_patience(signs.shape[1])
        answers, cursor = FoldAnswers.empty(bounds.shape), np.array([0, -1])
        done = False
        while not done:
            check_stop()
            done = solve_folds(matrix, stretch, signs, bounds, start, tol, most_steps, answers, cursor)
        endings = [ending_of(int(answers.steps.sum()), 0.0, tol, most_steps)]
        again = (answers.violations > tol) | self.problems.hides_gaps
        for f, m in zip(*np.nonzero(again), strict=True):
            K = matrix.K.astype(np.float64)
            if stretch[f]:
                K *= np.exp(stretch[f] * matrix.logs.astype(np.float64))
            t, decisions = answers.t[f, m], answers.decisions[f, m]
            endings.append(self._finish(K, signs[m], bounds[f, m], t, decisions))
        return answers, worst_ending(endings)

    def _finish(
        self, K: FloatArray, y: FloatArray, bound: FloatArray, t: FloatArray, decisions: FloatArray
    ) -> Ending:
        """Solve a fold in float64, because pairwise steps are too slow or may have left a wide gap."""
        if self.problems.hides_gaps:
            t[:], decisions[:], ending = certified_hinge(K, y, bound, self.problems.cell, t)
            return ending
        problem, point = hinge_problem(K, y, bound)
        new = t[point]
        v = problem.sums_of(new)
        ending = problem.solve(new, v, watch_of(self.problems.cell, len(new)))
        s = problem.signed
        t[point] = new
        decisions[:] = v - multiplier_of(problem.gradient(new, v), new, s.lo, s.hi)
        return ending

    def matrix(
        self, subset: Subset, view: int, gammas: FloatArray | None, merged: MergedRows
    ) -> tuple[FoldMatrix, FloatArray]:
        """The kernel matrix, with its logarithm where folds need it, and by how much their gammas differ."""
        kernel = self.problems.kernel
        total, columns, factors = self._route(subset, view)
        route, rows = (total, merged.take(columns), factors), merged.rows
        K = self._square("K", len(rows))
        if gammas is None:
            kernel.gram(*route, rows=rows, out=K)
            return FoldMatrix(K, K, K), np.zeros(len(self.problems.splits))
        smallest, largest = float(gammas.min()), float(gammas.max())
        middle = (smallest + largest) / 2
        if smallest == largest:
            kernel.with_gamma(middle).gram(*route, rows=rows, out=K)
            return FoldMatrix(K, K, K), np.zeros(len(gammas))
        out = self._square("logs", len(rows))
        logs = kernel.log_gram(*route, rows=rows, out=out, gamma=middle)
        K[:] = logs
        exponentiate(K, kernel.kernel.variance)
        return FoldMatrix(K, logs, self._square("scratch", len(K))), gammas / middle - 1.0

    def _square(self, name: str, size: int) -> FloatArray:
        """A matrix in memory kept by the thread, because fresh pages cost as much as filling them."""
        room = self._room.__dict__
        if name not in room:
            room[name] = np.empty(self.problems.n_rows**2, dtype=self._dtype)
        return room[name][: size * size].reshape(size, size)

    def _route(self, subset: Subset, view: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """A statistic, and the columns with factors that lead from it to that of the subset."""
        removed = [j for j in self._centre if j not in set(subset)]
        added = [j for j in subset if j not in set(self._centre)]
        columns = self.problems.views[view]
        if len(removed) + len(added) <= len(subset):
            factors = np.r_[np.full(len(removed), -1.0), np.ones(len(added))]
            return self._totals[view], columns[removed + added], factors
        return self.problems.kernel.statistic(columns[list(subset)]), columns[:0], np.empty(0)

    def move_between(self, subsets: Sequence[Subset]) -> None:
        """Keep the statistic of the columns in more than half of the subsets, which is close to all."""
        chosen = np.concatenate([np.array(s, dtype=int) for s in subsets])
        every, counts = np.unique(chosen, return_counts=True)
        centre = tuple(every[counts > len(subsets) / 2].tolist())
        changed = sorted(set(centre) ^ set(self._centre))
        if not changed:
            return
        self._n_moves += 1
        kernel = self.problems.kernel
        afresh = len(changed) >= len(centre) or self._n_moves % _REFRESH == 0
        factors = np.array([1.0 if j in set(centre) else -1.0 for j in changed])
        for view, columns in enumerate(self.problems.views):
            if afresh:
                self._totals[view] = kernel.statistic(columns[list(centre)])
            else:
                kernel.change(self._totals[view], columns[changed], factors)
        self._centre = centre


class SubsetLeaveOneOut(SubsetFolds):
    """Decisions for every row by the problem without it, from one solve of all rows for each subset.

    Only for problems whose scaling, gamma and class weights do not depend on the training rows.
    """

    def merged(self, subset: Subset) -> MergedRows:
        return MergedRows.nothing(self.problems.n_rows)  # each row is left out alone

    def solve(self, subset: Subset, merged: MergedRows) -> tuple[FloatArray, FloatArray, Ending]:
        decisions, t, ending = super().solve(subset, merged)
        _, view, gammas = self._gammas.groups(subset)[0]
        matrix, _ = self.matrix(subset, view, gammas, merged)
        endings = [ending]
        for m, solution in enumerate(t[0]):
            problem, point = hinge_problem(matrix.K, self.problems.signs[m], self.problems.bounds[0, m])
            start = solution[point]
            again = partial(self._without, matrix.K, m)
            places, cell = (start, problem.sums_of(start)), self.problems.cell
            hides_gap = self.problems.hides_gaps
            endings.append(leave_out(problem, places, cell, decisions[0, m], again, 1, hides_gap=hides_gap))
        return decisions, t, worst_ending(endings)

    def _without(self, K: FloatArray, m: int, row: int) -> tuple[float, Ending]:
        """The decision for a row by the problem without it."""
        bound = self.problems.bounds[0, m].copy()
        bound[row] = 0.0
        _, decisions, ending = certified_hinge(K, self.problems.signs[m], bound, self.problems.cell, None)
        return float(decisions[row]), ending


class FewerColumns:
    """The problems of one training set on fewer and fewer columns, each from the last solution.

    With a linear kernel and fewer columns than rows, kernel matrices are singular and pairwise steps slow.
    The primal problem, with a weight for each column, is then solved first. It says which variables are at
    their bounds, and a Newton step finds the others.

    After `solve`: ``t`` (n_machines, n_samples) are the signed variables and ``decisions`` those of all rows.
    """

    def __init__(self, problems: SubsetProblems) -> None:
        self.problems = problems
        self.columns = problems.views[0]
        self.left = np.arange(len(self.columns))  # rows of `columns` that are left
        self.total = problems.kernel.statistic(self.columns)
        self.t = np.zeros_like(problems.signs)
        self.decisions = np.zeros_like(problems.signs)
        self._answers = FoldAnswers.empty((1, *problems.signs.shape))
        self._n_summed = len(self.columns)  # columns when the statistic was last recomputed

    def kernel(self) -> SubsetKernel:
        """The kernel on the remaining columns, with their own gamma if it depends on the data."""
        kernel = self.problems.kernel
        if kernel.open_gamma is None:
            return kernel
        rows = self.columns[np.ix_(self.left, self.problems.splits[0][0])]
        return kernel.with_gamma(resolve_gamma(kernel.open_gamma, rows.T))

    def solve(self, K: FloatArray) -> Ending:
        """Solve on the kernel matrix of the remaining columns."""
        tol, signs, bounds = self.problems.cell.solver.tol, self.problems.signs, self.problems.bounds[0]
        most, found = self._quick_steps(K), self._answers
        if (violation := float(found.violations.max())) <= tol:
            self.t[:], self.decisions[:] = found.t[0], found.decisions[0]
            return Ending(Status.CONVERGED, int(found.steps.sum()), violation)
        endings = []
        with single_threaded_blas():
            for m, (steps, violation) in enumerate(zip(found.steps[0], found.violations[0], strict=True)):
                if violation <= tol:
                    self.t[m], self.decisions[m] = found.t[0, m], found.decisions[0, m]
                    endings.append(ending_of(int(steps), float(violation), tol, most))
                else:
                    endings.append(self._solve_one(K, m, signs[m], bounds[m]))
        return worst_ending(endings)

    def _quick_steps(self, K: FloatArray) -> int:
        """A limited number of pairwise steps in one compiled call; Python would take longer than they do."""
        solver, answers = self.problems.cell.solver, self._answers
        answers.steps[:], answers.violations[:] = 0, np.inf
        most = _QUICK // len(K)
        most = most if solver.max_iter < 0 else min(most, solver.max_iter)
        if not self.problems.hides_gaps and (len(K) <= _SMALL or not self._is_tall(len(K))):
            matrix, problems = FoldMatrix(K, K, K), (self.problems.signs, self.problems.bounds[:1])
            cursor = np.array([0, -1])
            solve_folds(matrix, _NO_STRETCH, *problems, self.t, solver.tol, most, answers, cursor)
        return most

    def _solve_one(self, K: FloatArray, m: int, y: FloatArray, bound: FloatArray) -> Ending:
        problem, point = hinge_problem(K, y, bound)
        watch = watch_of(self.problems.cell, len(point))
        is_primal = self._is_tall(len(point)) and bool(np.isfinite(bound).all())
        t = self._primal_start(y[point], bound[point], point) if is_primal else self.t[m, point]
        v = problem.sums_of(t)
        if is_primal:
            problem.refine(t, v, watch.tol)
        ending = problem.solve(t, v, watch)
        self.t[m, point] = t
        if self.problems.hides_gaps:
            self.t[m], self.decisions[m], ending = certified_hinge(K, y, bound, self.problems.cell, self.t[m])
            return ending
        s = problem.signed
        self.decisions[m] = v - multiplier_of(problem.gradient(t, v), t, s.lo, s.hi)
        return ending

    def _is_tall(self, n_rows: int) -> bool:
        """True if a kernel matrix of so many rows is singular."""
        return isinstance(self.problems.kernel.kernel, Linear) and len(self.left) < n_rows

    def _primal_start(self, y: FloatArray, upper: FloatArray, rows: IntArray) -> FloatArray:
        """Signed variables from the multipliers of the primal problem, the slopes of its losses."""
        table = design(np.ascontiguousarray(self.columns[np.ix_(self.left, rows)].T), 1)
        problem = LossPenalty(
            X=table, y=y, c=upper, loss=Hinge(), penalty=Penalty(l2=1.0), fit_intercept=True
        )
        found = AugmentedLagrangian(tol=_PRIMAL_GAP).solve(problem)
        lo, hi = np.minimum(y * upper, 0.0), np.maximum(y * upper, 0.0)
        t = np.clip(-found.multipliers, lo, hi)
        hand_out(-float(t.sum()), np.ones(len(t), dtype=bool), t, lo, hi)
        return on_bounds(t, lo, hi)

    def drop(self, places: IntArray) -> None:
        """Remove the columns at these positions among the remaining ones."""
        kernel = self.problems.kernel
        gone = self.left[places]
        self.left = np.delete(self.left, places)
        if 2 * len(self.left) < self._n_summed:
            # recomputed, so that rounding errors do not accumulate
            self._n_summed = len(self.left)
            self.total = kernel.statistic(self.columns[self.left])
        else:
            kernel.change(self.total, self.columns[gone], np.full(len(gone), -1.0))
        if len(self.left) < _CLOSE_UP * len(self.columns):
            self.columns = np.ascontiguousarray(self.columns[self.left])
            self.left = np.arange(len(self.left))


class _Gammas:
    """Which folds share a kernel matrix, and the value of gamma = "scale" for every subset and fold."""

    def __init__(self, kernel: SubsetKernel, views: list[FloatArray], splits: Splits) -> None:
        self._kind = kernel.open_gamma
        self._n_folds = len(splits)
        # folds share a matrix if they see the same columns; an RBF kernel allows small differences of gamma
        self._shared = len(views) == 1
        self._bridged = isinstance(kernel.kernel, RBF)
        if self._kind == "scale":
            self._first, self._second = self._moments(views, splits)

    def groups(self, subset: Subset) -> list[tuple[IntArray, int, FloatArray | None]]:
        """Folds that share a matrix, their view of the columns, and gammas that depend on the data."""
        each = np.arange(self._n_folds)[:, None]
        gammas = self._open_gammas(list(subset))
        if not self._shared:
            return [(f, int(f[0]), None if gammas is None else gammas[f]) for f in each]
        if gammas is None:
            return [(each.ravel(), 0, None)]
        if not self._bridged and self._kind == "scale":
            return [(f, 0, gammas[f]) for f in each]
        return [(folds, 0, gammas[folds]) for folds in _neighbours(gammas)]

    def _open_gammas(self, columns: list[int]) -> FloatArray | None:
        if self._kind is None:
            return None
        if self._kind == "auto":
            return np.full(self._n_folds, 1.0 / len(columns))
        variance = self._second[:, columns].mean(axis=1) - self._first[:, columns].mean(axis=1) ** 2
        return 1.0 / np.where(variance > 0, len(columns) * variance, 1.0)

    def _moments(self, views: list[FloatArray], splits: Splits) -> tuple[FloatArray, FloatArray]:
        """First and second moments of every column in every training set.

        About one common number to avoid cancellation, which does not change the variance of all entries.
        """
        seen = views * self._n_folds if self._shared else views
        parts = [view[:, train] - view.mean() for view, (train, _) in zip(seen, splits, strict=True)]
        return np.stack([p.mean(axis=1) for p in parts]), np.stack([(p**2).mean(axis=1) for p in parts])


def _neighbours(gammas: FloatArray) -> list[IntArray]:
    """Folds in groups that can share a matrix: their gammas differ little from the middle of the group."""
    order = np.argsort(gammas, kind="stable")
    widest = (1 + LARGEST_STRETCH) / (1 - LARGEST_STRETCH)
    groups: list[list[int]] = []
    for fold in order.tolist():
        if groups and gammas[fold] <= widest * gammas[groups[-1][0]]:
            groups[-1].append(fold)
        else:
            groups.append([fold])
    return [np.sort(group) for group in groups]
