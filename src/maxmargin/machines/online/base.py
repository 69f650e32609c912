"""Base class of the online classifiers: passes over the rows, partial_fit, history, certificates."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import check_count, check_flags
from maxmargin.base.progress import Callback, show_line, tell
from maxmargin.base.tables import checked_labels, example_weights, numbers_or_csr, stream_weights
from maxmargin.base.typing import (
    ClassWeightLike,
    FloatArray,
    IntArray,
    RandomStateLike,
    TableLike,
    TargetLike,
    WeightLike,
)
from maxmargin.machines.linear.base import LinearClassifier, finite_or_refused
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.mean_hinge import MeanHinge, Measured, widest_gap
from maxmargin.problems.multiclass import (
    BinaryTask,
    binary_tasks,
    check_strategy,
    class_pairs,
    stream_classes,
    stream_codes,
)
from maxmargin.solvers.online.online_loop import LOG, OnlineLoop, OnlineState

_MANY_PASSES, _SMALL_TABLE = 30, 100_000  # passes, and numbers in a table


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineClassifier(LinearClassifier):
    """Base class: a subclass provides `_loop` and may override `_prepare`, `_finished` and `_conclude`.

    ``history_`` is a table with the columns pass, mistakes and loss (sums and means over the binary models).
    With ``trace=True``, ``trace_`` has a row for every step: machine, step, pass, row, its score and loss
    before, its effect w <- shrink (keep w + change x) with the intercept after it, and the share of this
    iterate in the average.
    """

    fit_intercept: bool = True
    max_iter: int = 100
    shuffle: bool | Literal["replacement"] = True
    multiclass: Literal["ovr", "ovo"] = "ovr"
    class_weight: ClassWeightLike | None = None
    random_state: RandomStateLike | None = None
    verbose: int = 0
    trace: bool = False

    _reports: ClassVar[tuple[str, ...]] = ()  # attributes of a whole fit, invalid after a partial_fit

    @property
    def history_(self) -> pd.DataFrame:
        """Table of pass, mistakes and mean loss."""
        check_is_fitted(self)
        return pd.DataFrame(self._rows[: self.n_iter_], columns=["pass", "mistakes", "loss"])

    def _loop(self) -> OnlineLoop:
        """The update rule and its step lengths."""
        raise NotImplementedError  # implemented by every learner

    def _check(self) -> None:
        """Errors for invalid parameters."""
        check_flags(self, "fit_intercept", "average", "trace")
        if self.shuffle != "replacement":
            check_flags(self, "shuffle")

    @all_or_nothing
    def fit(
        self,
        X: TableLike,
        y: TargetLike,
        sample_weight: WeightLike | None = None,
        *,
        callback: Callback | None = None,
    ) -> Self:
        """Passes over X of shape (n_samples, n_features) with labels y until done or ``max_iter``.

        ``callback`` is called with a `SolverProgress` after every pass; the fit ends if it returns True.
        """
        return self._learn(X, y, sample_weight)

    def _learn(self, X: Any, y: Any, sample_weight: Any, **start: Any) -> Self:
        """`fit`; ``start`` goes to `_begin`."""
        self._check()
        check_count("max_iter", self.max_iter)
        X, codes, weights = self._validate(X, y, sample_weight)
        self._begin(X.shape[1], **start)
        tasks = self._tasks(codes)
        with finite_or_refused(self):
            self._prepare(X, tasks, weights)
            for _ in range(self.max_iter):
                mistakes, loss = self._pass(X, tasks, weights)
                if self.verbose:
                    name = type(self).__name__
                    show_line(f"{name}: pass {len(self._rows)}, mistakes {mistakes}, loss {loss:.6g}")
                if tell(len(self._rows), loss, "loss"):
                    break
                if self._finished(mistakes):
                    self._complete_passes(weights, tasks)
                    break
            self._store()
            self._conclude(X, tasks, weights)
        return self

    @all_or_nothing
    def partial_fit(
        self,
        X: TableLike,
        y: TargetLike,
        classes: TargetLike | None = None,
        sample_weight: WeightLike | None = None,
    ) -> Self:
        """One pass over a chunk of rows; ``classes`` (all labels) is needed the first time.

        Memory does not grow with the number of chunks, except for a line of ``history_``.
        """
        self._check()
        first = not hasattr(self, "_states")
        X = numbers_or_csr(self, X, reset=first, learns=True)
        y = checked_labels(y, X.shape[0], self)
        if first:
            self.classes_ = stream_classes(classes)
            self._begin(X.shape[1])
        else:  # a pass that fails or is interrupted must not change the model
            self._copy_state()
        codes = stream_codes(y, self.classes_, announced=classes)
        weights = stream_weights(sample_weight, self.class_weight, self.classes_, codes)
        self._pass(X, self._tasks(codes), weights)
        self._store()
        for name in (*self._reports, "certificate_", "certificates_"):
            self.__dict__.pop(name, None)
        return self

    def _begin(self, n_features: int) -> None:
        check_strategy(self._strategy())
        loop = self._loop()
        pairs = class_pairs(len(self.classes_), self._strategy())
        self._states: list[OnlineState] = [loop.start(n_features, self.random_state) for _ in pairs]
        self._rows: list[tuple[int, int, float]] = []
        self._last_mistakes = np.zeros(len(pairs), dtype=np.int64)
        self._scales = np.ones(len(pairs))  # factors of the weights, one for each binary model
        self._logs: list[pd.DataFrame] = []

    def _copy_state(self) -> None:
        """Copy what a pass changes in place, and drop what an interrupted pass left behind."""
        self._states = [replace(state, v=state.v.copy(), z=state.z.copy()) for state in self._states]
        self._last_mistakes, self._logs = self._last_mistakes.copy(), [*self._logs]
        del self._rows[self.n_iter_ :]

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
        """Keep the steps of one pass of one binary model for ``trace_``."""
        if "row" in steps:
            steps["row"] = task.rows[steps["row"].astype(np.int64)]
        steps.insert(0, "machine", machine)
        steps.insert(1, "pass", len(self._rows) + 1)
        self._logs.append(steps)

    def _prepare(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> None:
        """What a full fit computes before its first pass."""

    def _finished(self, mistakes: int) -> bool:
        return False

    def _complete_passes(self, weights: FloatArray, tasks: list[BinaryTask]) -> None:
        """Account for passes that were skipped because they would change nothing."""

    def _theta(self, state: OnlineState) -> FloatArray:
        """The (w, b) that is returned."""
        return state.theta(self.average)

    def _shares(self, state: OnlineState, n_steps: int) -> FloatArray:
        """The weight in the average of the iterate after each step."""
        shares = np.full(n_steps, 1.0 / max(state.steps, 1.0))
        shares[-1:] += 1.0 - n_steps / max(state.steps, 1.0)  # skipped passes repeat the last one
        return shares

    def _store(self) -> None:
        thetas = np.array([self._theta(state) for state in self._states])
        self.coef_, self.intercept_ = thetas[:, :-1], thetas[:, -1]
        self.n_iter_ = len(self._rows)
        if self.trace and self._logs:
            table = pd.concat(self._logs, ignore_index=True)
            table.insert(1, "step", table.groupby("machine").cumcount() + 1)
            shares = np.empty(len(table))
            for k, state in enumerate(self._states):
                mine = np.flatnonzero(table["machine"] == k)
                shares[mine] = self._shares(state, len(mine))
            self.trace_ = table.assign(share=shares)

    def _conclude(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> None:
        """What a full fit reports beyond the weights."""
        if self._is_cheap(X):
            self._measure(X, tasks, weights, norms=False)
        else:
            self._leave_unchecked()

    def _leave_unchecked(self) -> None:
        """Set a certificate that states that no row was checked."""
        self.certificates_ = [Certificate(complete=False) for _ in self._states]
        self.certificate_ = self.certificates_[0]

    def full_certificate(
        self, X: TableLike, y: TargetLike, sample_weight: WeightLike | None = None
    ) -> Certificate:
        """The certificate of the fitted model on its training rows: value and best lower bound."""
        check_is_fitted(self)
        table = numbers_or_csr(self, X, reset=False)
        labels = checked_labels(y, table.shape[0], self)
        codes = stream_codes(labels, self.classes_, announced=None)
        weights = example_weights(sample_weight, self.class_weight, self.classes_, codes, balance_sums=True)
        problems = self._problems(table, self._tasks(codes), weights)
        thetas = np.column_stack([self.coef_, self.intercept_])
        return widest_gap([problem.certify(v) for problem, v in zip(problems, thetas, strict=True)])

    def _warn(self, why: str) -> None:
        warnings.warn(f"{type(self).__name__}: {why}", ConvergenceWarning, stacklevel=6)

    def _problems(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> list[MeanHinge]:
        """The objective of every binary model."""
        loop, problems = self._loop(), []
        for task in tasks:
            mine = rows_of_task(weights, task)
            problems.append(
                MeanHinge(
                    X=rows_of_task(X, task),
                    y=task.signs,
                    share=mine / mine.sum(),
                    edge=0.0 if loop.rule == "perceptron" else 1.0,
                    decay=loop.decay,
                    bias=float(self.fit_intercept),
                    ball=self._ball(),
                )
            )
        return problems

    def _ball(self) -> float:
        """The radius of the ball to which the optimum is restricted."""
        return np.inf

    def _measure(
        self, X: Any, tasks: list[BinaryTask], weights: FloatArray, *, norms: bool = True
    ) -> list[Measured]:
        """Certify the returned models; ``certificate_`` is the one with the largest gap.

        Checking all rows costs about one pass, or two with a lower bound.
        """
        bounded = self._is_cheap(X)
        problems = self._problems(X, tasks, weights)
        thetas = np.column_stack([self.coef_, self.intercept_])
        measured = [
            problem.measure(theta, bounded=bounded, norms=norms)
            for problem, theta in zip(problems, thetas, strict=True)
        ]
        self.certificates_ = [found.certificate for found in measured]
        self.certificate_ = widest_gap(self.certificates_)
        return measured

    def _is_cheap(self, X: Any) -> bool:
        """True if two more passes are cheap compared with those already made."""
        return bool(self.n_iter_ >= _MANY_PASSES or X.shape[0] * X.shape[1] <= _SMALL_TABLE)


def rows_of_task(X: Any, task: BinaryTask) -> Any:
    """The rows of one binary problem, without a copy when they are all rows."""
    return X if len(task.rows) == X.shape[0] else X[task.rows]
