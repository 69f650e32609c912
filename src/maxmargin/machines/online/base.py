"""What the online classifiers share: fit in passes, partial_fit, history."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import check_count, check_flags
from maxmargin.base.tables import checked_labels, class_factors, numbers_or_csr, row_weights
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.machines.linear.base import LinearClassifier
from maxmargin.problems.multiclass import (
    BinaryTask,
    binary_tasks,
    check_strategy,
    stream_classes,
    stream_codes,
)
from maxmargin.solvers.online.online_loop import LOG, OnlineLoop, OnlineState


class OnlineClassifier(LinearClassifier):
    """Base: a subclass gives `_loop` and may override `_prepare`, `_finished` and `_conclude`.

    ``history_`` is a table with the columns pass, mistakes and loss (sums and means over the machines).
    With ``trace=True``, ``trace_`` has a row for every row seen: machine, step, pass, row, its score and loss
    before, and what it did: w <- shrink (keep w + change x), with the intercept after it.
    """

    fit_intercept: bool
    max_iter: int
    shuffle: bool
    average: bool
    random_state: Any
    verbose: int
    trace: bool

    _concluded: tuple[str, ...] = ()  # what `_conclude` says of a whole fit, which more rows make untrue

    @property
    def history_(self) -> pd.DataFrame:
        """Table of pass, mistakes and mean loss."""
        check_is_fitted(self)
        return pd.DataFrame(self._rows, columns=["pass", "mistakes", "loss"])

    def _loop(self) -> OnlineLoop:
        """The rule and its steps."""
        raise NotImplementedError  # each learner names its rule

    def _check(self) -> None:
        """Errors for parameters that make no sense."""
        check_flags(self, "fit_intercept", "shuffle", "average", "trace")

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Passes over X of shape (n_samples, n_features) with labels y until done or ``max_iter``."""
        self._check()
        check_count("max_iter", self.max_iter)
        X, codes, weights = self._validate(X, y, sample_weight)
        self._begin(X.shape[1])
        tasks = self._tasks(codes)
        self._prepare(X, tasks, weights)
        for _ in range(self.max_iter):
            mistakes, loss = self._pass(X, tasks, weights)
            if self.verbose:
                print(f"{type(self).__name__}: pass {len(self._rows)}, mistakes {mistakes}, loss {loss:.6g}")
            if self._finished(mistakes):
                break
        self._store()
        self._conclude(X, tasks, weights)
        return self

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """One pass over a chunk of rows; ``classes`` (all labels) is needed the first time.

        Memory does not grow with the number of chunks, but for a line of ``history_``.
        """
        self._check()
        first = not hasattr(self, "_states")
        X = numbers_or_csr(self, X, reset=first, learns=True)
        y = checked_labels(y, X.shape[0], self)
        if first:
            check_strategy(self._strategy())
            self.classes_ = stream_classes(classes)
            self._begin(X.shape[1])
        codes = stream_codes(y, self.classes_, announced=classes)
        weights = row_weights(sample_weight, X.shape[0])
        if self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' needs all rows at once: give a dict to partial_fit.")
        weights = weights * class_factors(self.class_weight, self.classes_, codes)
        self._pass(X, self._tasks(codes), weights)
        self._store()
        for name in self._concluded:
            self.__dict__.pop(name, None)
        return self

    def _begin(self, n_features: int) -> None:
        n_machines = {2: 1}.get(len(self.classes_), len(self.classes_))
        if self._strategy() == "ovo" and len(self.classes_) > 2:
            n_machines = len(self.classes_) * (len(self.classes_) - 1) // 2
        loop = self._loop()
        self._states: list[OnlineState] = [
            loop.start(n_features, self.random_state) for _ in range(n_machines)
        ]
        self._rows: list[tuple[int, int, float]] = []
        self._last_mistakes = np.zeros(n_machines, dtype=np.int64)
        self._scales = np.ones(n_machines)  # what the weights of each machine's rows are multiplied by
        self._steps_taken: list[pd.DataFrame] = []

    def _tasks(self, codes: IntArray) -> list[BinaryTask]:
        return binary_tasks(codes, len(self.classes_), self._strategy())

    def _pass(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> tuple[int, float]:
        loop = self._loop()
        losses = []
        for k, (task, state) in enumerate(zip(tasks, self._states, strict=True)):
            part = rows_of_task(X, task)
            if part.shape[0] == 0:
                continue
            mine = weights if part is X else weights[task.rows]
            if self._scales[k] != 1.0:
                mine = self._scales[k] * mine
            log = np.empty((np.count_nonzero(mine), len(LOG))) if self.trace else None
            mistakes, loss = loop.run(state, part, task.signs, mine, shuffle=self.shuffle, log=log)
            if log is not None:
                self._record(k, pd.DataFrame(log, columns=list(LOG)), task)
            self._last_mistakes[k] = mistakes
            losses.append(loss)
        total = int(self._last_mistakes.sum())
        self._rows.append((len(self._rows) + 1, total, float(np.mean(losses)) if losses else 0.0))
        return total, self._rows[-1][2]

    def _record(self, machine: int, steps: pd.DataFrame, task: BinaryTask) -> None:
        """Keep the steps of one pass of one machine for ``trace_``."""
        if "row" in steps:
            steps["row"] = task.rows[steps["row"].astype(np.int64)]
        steps.insert(0, "machine", machine)
        steps.insert(1, "pass", len(self._rows) + 1)
        self._steps_taken.append(steps)

    def _prepare(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> None:
        """What a full fit settles before its first pass."""

    def _finished(self, mistakes: int) -> bool:
        return False

    def _store(self) -> None:
        thetas = np.array([state.theta(self.average) for state in self._states])
        self.coef_, self.intercept_ = thetas[:, :-1], thetas[:, -1]
        self.n_iter_ = len(self._rows)
        if self.trace and self._steps_taken:
            table = pd.concat(self._steps_taken, ignore_index=True)
            table.insert(1, "step", table.groupby("machine").cumcount() + 1)
            self.trace_ = table

    def _conclude(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> None:
        """What a full fit can report beyond the weights."""

    def _radii(self) -> FloatArray:
        """R = max ||(x, 1)||, or max ||x|| without an intercept, of every machine, from its first pass."""
        longest = np.array([state.longest_row() for state in self._states])
        return np.hypot(longest, 1.0 if self.fit_intercept else 0.0)

    def _gave_up(self, why: str) -> None:
        warnings.warn(f"{type(self).__name__}: {why}", ConvergenceWarning, stacklevel=5)


def rows_of_task(X: Any, task: BinaryTask) -> Any:
    """The rows of one binary problem, without a copy when they are all rows."""
    return X if len(task.rows) == X.shape[0] else X[task.rows]
