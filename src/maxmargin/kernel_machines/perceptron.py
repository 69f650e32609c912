"""The kernel perceptron."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _check_y, check_consistent_length

from maxmargin._compute.jit import jit_sums
from maxmargin._compute.threads import effective_threads
from maxmargin.kernel_machines._base import KernelExpansion
from maxmargin.kernels.products import kernel_times
from maxmargin.multiclass import BinaryTask, binary_tasks, check_strategy, predict_codes
from maxmargin.typing import AnyArray, FloatArray, IntArray

_BLOCK = 256


@jit_sums
def _block_steps(
    G: FloatArray,
    f: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    steps: FloatArray,
    times: FloatArray,
    scores: FloatArray,
    t: float,
) -> int:
    """The perceptron over one block: f are its scores before, G its kernel values. Returns the mistakes."""
    mistakes = 0
    for i in range(len(f)):
        if weights[i] == 0.0:
            continue
        t += 1.0
        if y[i] * f[i] <= 0.0:
            mistakes += 1
            steps[i] = weights[i] * y[i]
            times[i] = t
            scores[i] = f[i]
            for j in range(len(f)):
                f[j] += steps[i] * (G[i, j] + 1.0)
    return mistakes


class KernelPerceptron(ClassifierMixin, KernelExpansion):
    """The perceptron in feature space: f(x) = sum_i a_i y_i (K(x_i, x) + 1), a_i counting mistakes on row i.

    [1, section 5.1]. The 1 is the intercept. Rows are taken in blocks, whose scores cost one product of
    kernel values with the support vectors; memory is that of the support vectors and one block.

    Parameters
    ----------
    kernel, gamma, coef0, degree : as in `SVC`.
    average : return the average of the iterates over all steps.
    budget : largest number of support vectors of a machine, or None. Above it those with the fewest mistakes
        go, the oldest first. Not with ``average``, whose memory cannot be bounded so.
    max_iter : largest number of passes; it stops earlier after a pass without a mistake.
    shuffle, multiclass, class_weight, random_state, n_jobs, verbose, trace : as in `Perceptron`.

    Attributes
    ----------
    dual_coef_ : a_i y_i (averaged if asked) of shape (n_machines, n_support).
    intercept_ : the sums of the rows of dual_coef_.
    support_ : training rows with a coefficient in some machine.
    n_mistakes_ : of shape (n_machines,).
    converged_, stopped_, history_, n_iter_ : as in `Perceptron`.
    trace_ : table of the updates, with ``trace=True``: machine, step (the time), row, its score before, its
        coefficient after (0 where the budget made it go), n_rows of the table.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
    >>> mm.KernelPerceptron(kernel="rbf", gamma=2.0, random_state=0).fit(X, y).predict(X).tolist()
    [0, 0, 1, 1]
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = "scale",
        coef0: float = 0.0,
        degree: int = 3,
        average: bool = False,
        budget: int | None = None,
        max_iter: int = 100,
        shuffle: bool = True,
        multiclass: Literal["ovr", "ovo"] = "ovr",
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        trace: bool = False,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.average = average
        self.budget = budget
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.trace = trace

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelPerceptron:
        """Fit to rows X and labels y of shape (n_samples,)."""
        self._check()
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        self.kernel_, points = self._prepare(X)
        codes, weights = self._targets(points, y, sample_weight)
        machines = [
            _Machine(self.kernel_, points, task, weights, effective_threads(self.n_jobs), self.trace)
            for task in binary_tasks(codes, len(self.classes_), self.multiclass)
        ]
        self._run(machines)
        coefficients = np.zeros((len(machines), len(points)))
        for row, machine in zip(coefficients, machines, strict=True):
            row[machine.task.rows] = machine.coefficients(self.average)
        self.support_ = np.flatnonzero(np.any(coefficients != 0, axis=0))
        self._points = points.take(self.support_)
        self.dual_coef_ = coefficients[:, self.support_]
        self.intercept_ = self.dual_coef_.sum(axis=1)
        if self.trace:
            tables = [machine.updates(k, len(points)) for k, machine in enumerate(machines)]
            self.trace_ = pd.concat(tables, ignore_index=True)
        return self

    def _check(self) -> None:
        check_strategy(self.multiclass)
        if self.max_iter < 1:
            raise ValueError(f"max_iter={self.max_iter} must be at least 1.")
        if self.budget is not None and self.budget < 1:
            raise ValueError(f"budget={self.budget} must be at least 1, or None.")
        if self.budget is not None and self.average:
            raise ValueError("budget and average exclude each other: an average keeps every support vector.")

    def _targets(self, points: Any, y: Any, sample_weight: Any) -> tuple[IntArray, FloatArray]:
        y = _check_y(y, y_numeric=False, estimator=self)
        check_classification_targets(y)
        check_consistent_length(np.empty(len(points)), y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"KernelPerceptron needs two classes or more; y holds one class, {y[0]!r}.")
        weights = _check_sample_weight(
            sample_weight, np.empty((len(y), 0)), dtype=np.float64, ensure_non_negative=True
        )
        by_class = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        return codes, weights * np.asarray(by_class)[codes]

    def _run(self, machines: list[_Machine]) -> None:
        rng = check_random_state(self.random_state)
        history = []
        self.n_mistakes_ = np.zeros(len(machines), dtype=np.int64)
        last = np.zeros(len(machines), dtype=np.int64)
        for number in range(1, self.max_iter + 1):
            last[:] = [machine.one_pass(rng if self.shuffle else None, self.budget) for machine in machines]
            self.n_mistakes_ += last
            history.append((number, int(last.sum()), float(last.sum() / sum(len(m.y) for m in machines))))
            if self.verbose:
                print(f"KernelPerceptron: pass {number}, mistakes {int(last.sum())}")
            if not last.any():
                break
        self.n_iter_ = len(history)
        self.history_ = pd.DataFrame(history, columns=["pass", "mistakes", "loss"])
        self.converged_ = not last.any()
        self.stopped_ = (
            f"stopped after pass {self.n_iter_}: all points are right"
            if self.converged_
            else f"gave up after {self.n_iter_} passes with {int(last.sum())} mistakes in the last"
        )
        if not self.converged_ and self.max_iter > 1:
            warnings.warn(
                f"KernelPerceptron {self.stopped_}; raise max_iter or use SVC.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def decision_function(self, X: Any) -> FloatArray:
        """Signed scores: of shape (n_samples,) for two classes, else (n_samples, n_machines)."""
        sums = self._sums(X, getattr(self, "dual_coef_", np.empty((0, 0))).T)
        scores = sums + self.intercept_
        return np.asarray(scores.ravel() if len(self.classes_) == 2 else scores)

    def predict(self, X: Any) -> AnyArray:
        """Class labels of shape (n_samples,)."""
        codes = predict_codes(self.decision_function(X), len(self.classes_), self.multiclass)
        labels: AnyArray = self.classes_[codes]
        return labels


class _Machine:
    """One binary kernel perceptron while it learns."""

    def __init__(
        self, kernel: Any, points: Any, task: BinaryTask, weights: FloatArray, threads: int, trace: bool
    ) -> None:
        self.kernel, self.task, self.threads = kernel, task, threads
        self.points = points.take(task.rows)
        self.y, self.weights = task.signs, weights[task.rows]
        n = len(self.y)
        self.sums, self.timed = np.zeros(n), np.zeros(n)  # of the steps, and of the steps times their time
        self.born = np.zeros(n)
        self.t = 0.0
        self.trace = trace
        self.log: list[tuple[float, int, float, float]] = []  # time, row, score before, coefficient after

    def one_pass(self, rng: Any, budget: int | None) -> int:
        n = len(self.y)
        order = rng.permutation(n) if rng is not None else np.arange(n)
        size = _BLOCK if budget is None else max(1, min(_BLOCK, budget))
        return sum(self._block(order[start : start + size], budget) for start in range(0, n, size))

    def _block(self, rows: IntArray, budget: int | None) -> int:
        block = self.points.take(rows)
        used = np.flatnonzero(self.sums)
        f = np.zeros(len(rows))
        if len(used):
            held = self.points.take(used)
            f += kernel_times(self.kernel, block, held, self.sums[used], n_threads=self.threads)
            f += self.sums[used].sum()
        G = np.asarray(self.kernel.gram(block), dtype=np.float64)
        steps, times, scores = np.zeros(len(rows)), np.zeros(len(rows)), np.zeros(len(rows))
        mistakes = _block_steps(G, f, self.y[rows], self.weights[rows], steps, times, scores, self.t)
        self.t += np.count_nonzero(self.weights[rows])
        fresh = (self.sums[rows] == 0) & (steps != 0)
        self.born[rows[fresh]] = times[fresh]
        self.sums[rows] += steps
        if self.trace:
            made = np.flatnonzero(steps)
            self.log += zip(times[made], rows[made], scores[made], self.sums[rows[made]], strict=True)
        self.timed[rows] += steps * (times - 1.0)
        if budget is not None:
            self._forget(budget)
        return int(mistakes)

    def _forget(self, budget: int) -> None:
        used = np.flatnonzero(self.sums)
        if len(used) > budget:
            ranked = used[np.lexsort((self.born[used], np.abs(self.sums[used])))]
            leaving = ranked[: len(used) - budget]
            self.sums[leaving] = 0.0
            if self.trace:
                self.log += [(self.t, i, np.nan, 0.0) for i in leaving]

    def updates(self, number: int, n_rows: int) -> pd.DataFrame:
        """What every update did, by training row."""
        table = pd.DataFrame(self.log, columns=["step", "row", "score", "coefficient"])
        table = table.astype({"step": np.int64, "row": np.int64})
        rows = self.task.rows[table["row"]]
        return table.assign(machine=number, row=rows, n_rows=n_rows)[["machine", *table.columns, "n_rows"]]

    def coefficients(self, average: bool) -> FloatArray:
        """Of the last iterate, or of the average: a step made at time t counts in T - t + 1 of T iterates."""
        if not average or self.t == 0:
            return self.sums
        return self.sums - self.timed / self.t
