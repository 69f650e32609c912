"""The wrapper's inner loop for our own classifier: all folds of a subset over one Gram matrix.

The statistic behind the Gram matrix is kept for one subset, the centre, and a candidate is reached from it by
adding or removing a few columns. A fold is a mask over the same matrix, started at the solution for all rows.
Rows that the subset cannot tell apart are one variable.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from maxmargin.base.tables import Classes
from maxmargin.base.threads import effective_threads, run
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.dual.fold_problems import solve_folds
from maxmargin.feature_selection.criteria import Subset
from maxmargin.feature_selection.machine import MAX_STEPS, Machine, warn_not_converged
from maxmargin.kernels import RBF
from maxmargin.problems.multiclass import binary_tasks, predict_codes
from maxmargin.solvers.dual.gram.repeated_rows import Merged, RepeatedRows
from maxmargin.solvers.dual.gram.subset_kernels import SubsetKernel, exponentiate

Splits = list[tuple[IntArray, IntArray]]
LARGEST_STRETCH = 1 / 4  # relative difference of gammas up to which one matrix serves them
_AT_ONCE = 64  # rows left out in one call
_REFRESH = 64  # moves of the centre before its statistic is summed afresh, so that rounding cannot pile up


class FoldErrors:
    """Mean error over the folds for many subsets; calling it with subsets gives their errors."""

    def __init__(self, machine: Machine, X: FloatArray, classes: Classes, splits: Splits) -> None:
        self.machine = machine
        self.classes = classes
        self.splits = splits
        self._views = _views(machine.scaler, X, splits)
        self._tasks = binary_tasks(classes.codes, len(classes.labels), machine.strategy)
        self._signs = self._make_signs()
        self._bounds = self._make_bounds()
        self._gammas = _Gammas(machine.kernel, self._views, splits)
        self._held_out = np.zeros((len(splits), len(X)), dtype=np.int64)
        for f, (_, test) in enumerate(splits):
            self._held_out[f, test] = 1
        self._repeats = RepeatedRows(X, classes.codes)
        self._room = threading.local()
        self._dtype = np.float32 if machine.tol >= 1e-5 else np.float64
        self._n_threads = effective_threads(machine.n_jobs)
        self._centre: Subset = ()
        self._totals: list[FloatArray] = [np.zeros((len(X), len(X))) for _ in self._views]
        self._n_moves = 0

    @staticmethod
    def bytes_needed(machine: Machine, n: int, n_classes: int, n_folds: int) -> int:
        """A statistic for every scaling, matrices for every thread, and a few vectors for every problem."""
        n_views = 1 if machine.scaler is None else n_folds
        n_machines = 1 if n_classes == 2 else n_classes * (n_classes - 1) // 2
        n_threads = effective_threads(machine.n_jobs)
        return 8 * n * (n * (n_views + 2 * n_threads) + (2 + 3 * n_threads) * n_folds * n_machines)

    def __call__(self, subsets: Sequence[Subset]) -> FloatArray:
        self._move_to(_majority(subsets))
        return np.array(run([partial(self._error, subset) for subset in subsets], self._n_threads))

    def _error(self, subset: Subset) -> float:
        merged = self._merged(subset)
        return mean_error(self._accuracies(self._decisions(subset, merged)[0], merged))

    def _merged(self, subset: Subset) -> Merged:
        return self._repeats.groups(subset)

    def _accuracies(self, decisions: FloatArray, merged: Merged) -> FloatArray:
        """Share of right predictions among the held-out rows of every fold."""
        n_folds, _, n = decisions.shape
        by_row = decisions.transpose(0, 2, 1).reshape(n_folds * n, -1)
        predicted = predict_codes(
            by_row, len(self.classes.labels), self.machine.strategy, break_ties=self.machine.break_ties
        )
        right = predicted.reshape(n_folds, n) == merged.take(self.classes.codes)
        held_out = merged.sums(self._held_out)
        accuracies: FloatArray = (right * held_out).sum(axis=1) / held_out.sum(axis=1)
        return accuracies

    def _decisions(self, subset: Subset, merged: Merged) -> tuple[FloatArray, FloatArray]:
        """Decision values of shape (n_folds, n_machines, n_groups), and the solutions behind them."""
        bounds, signs = merged.sums(self._bounds), merged.take(self._signs)
        decisions, t = np.empty_like(bounds), np.empty_like(bounds)
        start = np.zeros_like(bounds[0])
        for folds, view, gammas in self._gammas.groups(subset):
            K, logs, stretch = self._matrices(subset, view, gammas, merged)
            scratch = K if logs is K else self._square("scratch", len(K))
            decisions[folds], t[folds], steps = solve_folds(
                K, logs, stretch, signs, bounds[folds], start, self.machine.tol, MAX_STEPS, scratch
            )
            if (steps >= MAX_STEPS).any():
                warn_not_converged(self.machine.tol)
            start = t[folds[-1]]
        return decisions, t

    def _matrices(
        self, subset: Subset, view: int, gammas: FloatArray | None, merged: Merged
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The Gram matrix, its logarithm where folds need it, and by how much their gammas differ."""
        kernel = self.machine.kernel
        total, columns, factors = self._route(subset, view)
        route, rows = (total, merged.take(columns), factors), merged.rows
        K = self._square("K", len(rows))
        if gammas is None:
            kernel.gram(*route, rows=rows, out=K)
            return K, K, np.zeros(len(self.splits))
        middle = float(gammas.min() + gammas.max()) / 2
        kernel = kernel.with_gamma(middle)
        if np.ptp(gammas) == 0:
            kernel.gram(*route, rows=rows, out=K)
            return K, K, np.zeros(len(gammas))
        logs = kernel.log_gram(*route, rows=rows, out=self._square("logs", len(rows)))
        K[:] = logs
        exponentiate(K, kernel.kernel.variance)
        return K, logs, gammas / middle - 1.0

    def _square(self, name: str, size: int) -> FloatArray:
        """A matrix in memory that the thread keeps: fresh pages cost as much as filling them."""
        room = self._room.__dict__
        if name not in room:
            room[name] = np.empty(self._held_out.shape[1] ** 2, dtype=self._dtype)
        square: FloatArray = room[name][: size * size].reshape(size, size)
        return square

    def _route(self, subset: Subset, view: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """A statistic, and the columns with their factors that lead from it to the subset's."""
        removed = [j for j in self._centre if j not in set(subset)]
        added = [j for j in subset if j not in set(self._centre)]
        columns = self._views[view]
        if len(removed) + len(added) <= len(subset):
            factors = np.r_[np.full(len(removed), -1.0), np.ones(len(added))]
            return self._totals[view], columns[removed + added], factors
        return self.machine.kernel.statistic(columns[list(subset)]), columns[:0], np.empty(0)

    def _move_to(self, centre: Subset) -> None:
        changed = sorted(set(centre) ^ set(self._centre))
        if not changed:
            return
        self._n_moves += 1
        afresh = len(changed) >= len(centre) or self._n_moves % _REFRESH == 0
        inside = set(centre)
        factors = np.array([1.0 if j in inside else -1.0 for j in changed])
        for view, columns in enumerate(self._views):
            if afresh:
                self._totals[view] = self.machine.kernel.statistic(columns[list(centre)])
            else:
                self.machine.kernel.change(self._totals[view], columns[changed], factors)
        self._centre = centre

    def _make_signs(self) -> FloatArray:
        """Signs of shape (n_machines, n_samples), 0 for rows of neither side."""
        signs = np.zeros((len(self._tasks), len(self.classes.codes)))
        for m, task in enumerate(self._tasks):
            signs[m, task.rows] = task.signs
        return signs

    def _make_bounds(self) -> FloatArray:
        codes, labels = self.classes.codes, self.classes.labels
        bounds = np.stack([self.machine.bounds(codes, labels, train) for train, _ in self.splits])
        return bounds[:, None, :] * np.abs(self._signs)


class _Gammas:
    """Which folds share a Gram matrix, and the number behind gamma = "scale" for every subset and fold."""

    def __init__(self, kernel: SubsetKernel, views: list[FloatArray], splits: Splits) -> None:
        self._kind = kernel.open_gamma
        self._n_folds = len(splits)
        # folds share a matrix when they see the same columns, and an RBF kernel bridges small steps of gamma
        self._shared = len(views) == 1
        self._bridged = isinstance(kernel.kernel, RBF)
        if self._kind == "scale":
            self._first, self._second = self._moments(views, splits)

    def groups(self, subset: Subset) -> list[tuple[IntArray, int, FloatArray | None]]:
        """Folds that share a matrix, their view of the columns, and their gammas where these were open."""
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
        return self._scaled(columns)

    def _scaled(self, columns: list[int]) -> FloatArray:
        variance = self._second[:, columns].mean(axis=1) - self._first[:, columns].mean(axis=1) ** 2
        scaled: FloatArray = 1.0 / np.where(variance > 0, len(columns) * variance, 1.0)
        return scaled

    def _moments(self, views: list[FloatArray], splits: Splits) -> tuple[FloatArray, FloatArray]:
        """First and second moments of every column in every training set.

        About one common number, so that they do not cancel; the variance of all entries does not mind.
        """
        seen = views * self._n_folds if self._shared else views
        parts = [view[:, train] - view.mean() for view, (train, _) in zip(seen, splits, strict=True)]
        return np.stack([p.mean(axis=1) for p in parts]), np.stack([(p**2).mean(axis=1) for p in parts])


def mean_error(accuracies: FloatArray) -> float:
    """One minus the mean accuracy over folds.

    Not the mean of the errors, which rounds differently: subsets whose errors are equal up to rounding are
    then taken in the same order as by everybody who compares mean accuracies.
    """
    return float(1.0 - np.mean(accuracies))


class LeaveOneOutErrors(FoldErrors):
    """Leave-one-out error: a row that is no support vector changes nothing when it is left out.

    So one fit of all rows answers for those, and only support vectors are left out in earnest, each time from
    that fit. Not for machines whose scaling, gamma or class weights depend on the training rows.
    """

    def __init__(self, machine: Machine, X: FloatArray, classes: Classes) -> None:
        everything = np.arange(len(X))
        super().__init__(machine, X, classes, [(everything, everything)])

    @staticmethod
    def suits(machine: Machine) -> bool:
        fixed_weights = machine.class_weight is None or isinstance(machine.class_weight, dict)
        return machine.scaler is None and machine.kernel.open_gamma != "scale" and fixed_weights

    def _merged(self, subset: Subset) -> Merged:
        return Merged.nothing(len(self.classes.codes))  # each row is left out by itself

    def _decisions(self, subset: Subset, merged: Merged) -> tuple[FloatArray, FloatArray]:
        decisions, t = super()._decisions(subset, merged)
        _, view, gammas = self._gammas.groups(subset)[0]
        K, logs, _ = self._matrices(subset, view, gammas, merged)
        for m, solution in enumerate(t[0]):
            support = self._to_leave_out(solution, self._bounds[0, m])
            for rows in np.array_split(support, max(1, -(-len(support) // _AT_ONCE))):
                bounds = np.repeat(self._bounds[:1, m : m + 1], len(rows), axis=0)
                bounds[np.arange(len(rows)), 0, rows] = 0.0
                values, _, steps = solve_folds(
                    K,
                    logs,
                    np.zeros(len(rows)),
                    self._signs[m : m + 1],
                    bounds,
                    solution[None],
                    self.machine.tol,
                    MAX_STEPS,
                    K,
                )
                if (steps >= MAX_STEPS).any():
                    warn_not_converged(self.machine.tol)
                decisions[0, m, rows] = values[np.arange(len(rows)), 0, rows]
        return decisions, t

    @staticmethod
    def _to_leave_out(t: FloatArray, bounds: FloatArray) -> IntArray:
        """Rows that count; all of them where no variable is free, because the bias then depends on all."""
        free = (t != 0) & (np.abs(t) < bounds)
        return np.flatnonzero(t if free.any() else bounds)


def _neighbours(gammas: FloatArray) -> list[IntArray]:
    """Folds in groups whose gammas one matrix can serve: they differ little from the middle of the group."""
    order = np.argsort(gammas, kind="stable")
    widest = (1 + LARGEST_STRETCH) / (1 - LARGEST_STRETCH)
    groups: list[list[int]] = []
    for fold in order.tolist():
        if groups and gammas[fold] <= widest * gammas[groups[-1][0]]:
            groups[-1].append(fold)
        else:
            groups.append([fold])
    return [np.sort(group) for group in groups]


def _views(scaler: Any, X: FloatArray, splits: Splits) -> list[FloatArray]:
    """Columns as rows (n_features, n_samples): one view for all folds, or one for each fold's scaling."""
    if scaler is None:
        return [np.ascontiguousarray(X.T)]
    return [np.ascontiguousarray(clone(scaler).fit(X[train]).transform(X).T) for train, _ in splits]


def _majority(subsets: Sequence[Subset]) -> Subset:
    """Columns in more than half of the subsets: the set they are all close to when they are neighbours."""
    columns, counts = np.unique(np.concatenate([np.array(s, dtype=int) for s in subsets]), return_counts=True)
    return tuple(columns[counts > len(subsets) / 2].tolist())
