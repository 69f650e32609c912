"""The kernel perceptron."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.interruption import all_or_nothing, of_one_fit
from maxmargin.base.parameters import check_count, check_flags
from maxmargin.base.progress import Callback, show_line, tell
from maxmargin.base.tables import checked_labels, class_codes, example_weights, stream_weights
from maxmargin.base.threads import effective_threads
from maxmargin.base.typing import (
    AnyArray,
    ClassWeightLike,
    FloatArray,
    IntArray,
    RandomStateLike,
    TableLike,
    TargetLike,
    WeightLike,
)
from maxmargin.compute.online.perceptron_block import perceptron_block
from maxmargin.kernels.kernel_products import kernel_times
from maxmargin.machines.kernel_estimator import KernelExpansion, stack_rows, take_rows
from maxmargin.machines.linear.base import check_weight_sizes
from maxmargin.machines.online.online_learners import why_stopped
from maxmargin.problems.mean_hinge import lower_bounded, widest_gap
from maxmargin.problems.multiclass import (
    binary_tasks,
    check_strategy,
    predict_codes,
    stream_classes,
    stream_codes,
)

_BLOCK = 256


@dataclass(eq=False, repr=False)
class KernelPerceptron(ClassifierMixin, KernelExpansion):
    """The perceptron in feature space: f(x) = sum_i a_i y_i (K(x_i, x) + 1), a_i counting mistakes on row i.

    Fuentes, section 5.1. The 1 adds the intercept. Rows are processed in blocks: the scores of a block cost
    one product of its kernel matrix with the coefficients. Memory: the support vectors and one block.

    Parameters
    ----------
    kernel, gamma, coef0, degree : as in `SVC`.
    average : return the average of the iterates over all steps of ``max_iter`` passes. Passes after one
        without a mistake change nothing: they are skipped, but count in the average.
    budget : maximum number of support vectors of a binary model, or None. Above it those with the fewest
        mistakes are removed, the oldest first. Not with ``average``, which needs all support vectors.
    max_iter : maximum number of passes; it stops earlier after a pass without a mistake.
    shuffle, multiclass, class_weight, random_state, n_jobs, verbose, trace : as in `Perceptron`.

    Attributes
    ----------
    dual_coef_ : a_i y_i (averaged with ``average``) of shape (n_machines, n_support).
    intercept_ : the sums of the rows of dual_coef_.
    support_ : training rows with a coefficient in some binary model.
    n_mistakes_, n_errors_, converged_, stopped_, history_, n_iter_, certificate_ : as in `Perceptron`.
    trace_ : table of the updates, with ``trace=True``: machine, step (the time), row, its score before, its
        coefficient after (0 if the budget removed it), n_rows of the table, n_steps in all; only after `fit`.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
    >>> mm.KernelPerceptron(kernel="rbf", gamma=2.0, random_state=0).fit(X, y).predict(X).tolist()
    [0, 0, 1, 1]
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    average: bool = False
    budget: int | None = None
    max_iter: int = 100
    shuffle: bool = True
    multiclass: Literal["ovr", "ovo"] = "ovr"
    class_weight: ClassWeightLike | None = None
    random_state: RandomStateLike | None = None
    verbose: int = 0
    trace: bool = False

    @all_or_nothing
    def fit(
        self,
        X: TableLike,
        y: TargetLike,
        sample_weight: WeightLike | None = None,
        *,
        callback: Callback | None = None,
    ) -> KernelPerceptron:
        """Fit to rows X and labels y of shape (n_samples,); ``callback`` as in `Perceptron`."""
        self.check_parameters()
        self.kernel_, points = self.prepare_rows(X)
        self.classes_, codes = class_codes(y, len(points), self)
        weights = example_weights(sample_weight, self.class_weight, self.classes_, codes, balance_sums=True)
        check_weight_sizes(weights)
        machines = self._machines(points, codes, weights, 0)
        self._begin(len(machines))
        self._run(machines)
        self._conclude(machines)
        self._keep(machines, points, X, np.arange(len(points)))
        if self.trace:
            tables = [machine.updates(k) for k, machine in enumerate(machines)]
            self.trace_ = pd.concat(tables, ignore_index=True)
        return self

    @all_or_nothing
    def partial_fit(
        self,
        X: TableLike,
        y: TargetLike,
        classes: TargetLike | None = None,
        sample_weight: WeightLike | None = None,
    ) -> KernelPerceptron:
        """One pass over a chunk of rows; ``classes`` (all labels) is needed the first time.

        Memory: the support vectors, which ``budget`` bounds, and the chunk. Data-dependent parameters of the
        kernel, such as gamma="scale", come from the first chunk. ``support_`` counts the rows of all chunks.
        """
        self.check_parameters()
        if self.kernel == "precomputed":
            raise ValueError("partial_fit needs rows: a precomputed kernel only covers its training rows.")
        past: PerceptronPast | None = getattr(self, "_past", None)
        if past is None:
            known = stream_classes(classes)
            self.kernel_, fresh = self.prepare_rows(X)
            y, self.classes_ = checked_labels(y, len(fresh), self), known
        else:
            fresh = self.points_like(X, self._points)
            y = checked_labels(y, len(fresh), self)
        codes = stream_codes(y, self.classes_, announced=classes)
        held = 0 if past is None else len(past.positions)
        rows = X if not held or past is None else stack_rows(past.rows, X)
        points = self.kernel_.prepare(rows) if held else fresh
        weights = stream_weights(sample_weight, self.class_weight, self.classes_, codes)
        machines = self._machines(points, codes, weights, held)
        if past is None:
            self._begin(len(machines))
        else:
            del self._history[self.n_iter_ :]  # of a pass that was interrupted
            for k, machine in enumerate(machines):
                machine.recall(past, k)
        self._one_pass(machines, check_random_state(self.random_state))
        seen = 0 if past is None else past.n_seen
        positions = np.arange(seen, seen + len(y))
        self._keep(
            machines, points, rows, positions if past is None else np.append(past.positions, positions)
        )
        for name in ("n_errors_", "certificate_", "certificates_", "converged_", "stopped_", "trace_"):
            self.__dict__.pop(name, None)
        return self

    def _machines(self, points: Any, codes: IntArray, weights: FloatArray, held: int) -> list[_Machine]:
        """One machine per binary task; the tasks' rows come after ``held`` points of earlier chunks."""
        threads = effective_threads(self.n_jobs)
        return [
            _Machine(
                self.kernel_, points, task.rows + held, task.signs, weights[task.rows], threads, self.trace
            )
            for task in binary_tasks(codes, len(self.classes_), self.multiclass)
        ]

    def _begin(self, n_machines: int) -> None:
        self._history: list[tuple[int, int, float]] = []
        self.n_mistakes_ = np.zeros(n_machines, dtype=np.int64)

    def _keep(self, machines: list[_Machine], points: Any, rows: Any, positions: IntArray) -> None:
        """Store the expansion, and the state for a later `partial_fit`."""
        coefficients = np.array([machine.coefficients(self.average) for machine in machines])
        steps = np.array([machine.sums for machine in machines])
        # a step that was undone still counts in the average
        used = np.flatnonzero(np.any((coefficients != 0) | (steps != 0), axis=0))
        self.support_ = positions[used]
        self._points = points.take(used)
        self.dual_coef_ = coefficients[:, used]
        self.intercept_ = self.dual_coef_.sum(axis=1)
        self._past = PerceptronPast(
            rows=take_rows(rows, used) if self.kernel != "precomputed" else None,
            positions=self.support_,
            n_seen=int(positions[-1]) + 1,
            sums=steps[:, used],
            timed=np.array([machine.timed[used] for machine in machines]),
            born=np.array([machine.born[used] for machine in machines]),
            times=np.array([machine.t for machine in machines]),
        )
        self.n_iter_ = len(self._history)

    @property
    def history_(self) -> pd.DataFrame:
        """Table of pass, mistakes and mean loss."""
        check_is_fitted(self)
        return pd.DataFrame(self._history[: self.n_iter_], columns=["pass", "mistakes", "loss"])

    def check_parameters(self) -> None:
        check_strategy(self.multiclass)
        check_flags(self, "average", "shuffle", "trace")
        check_count("max_iter", self.max_iter)
        if self.budget is not None:
            check_count("budget", self.budget)
        if self.budget is not None and self.average:
            raise ValueError("budget and average exclude each other: an average keeps every support vector.")

    def _one_pass(self, machines: list[_Machine], rng: Any) -> int:
        passes = [m.one_pass(rng if self.shuffle else None, self.budget) for m in machines]
        mistakes, losses = np.array([made for made, _ in passes]), [loss for _, loss in passes]
        self.n_mistakes_ = self.n_mistakes_ + mistakes  # a new array: an interrupted pass keeps the old one
        total = int(mistakes.sum())
        number = len(self._history) + 1
        self._history.append((number, total, float(np.mean(losses))))
        if self.verbose:
            show_line(f"KernelPerceptron: pass {number}, mistakes {total}")
        return total

    def _run(self, machines: list[_Machine]) -> None:
        rng = check_random_state(self.random_state)
        last = 0
        for number in range(self.max_iter):
            last = self._one_pass(machines, rng)
            if tell(number + 1, self._history[-1][2], "loss"):
                break
            if last == 0:
                for machine in machines:  # the skipped passes would change nothing
                    machine.t += (self.max_iter - number - 1) * np.count_nonzero(machine.weights)
                break
        self._last_mistakes = last

    def _conclude(self, machines: list[_Machine]) -> None:
        """Set the attributes that describe the returned models."""
        clean = self._last_mistakes == 0
        checks = [(0, 0.0) if clean and not self.average else m.check(self.average) for m in machines]
        self.n_errors_ = np.array([errors for errors, _ in checks])
        self.certificates_ = [
            lower_bounded(loss, 0.0, len(m.y)) for m, (_, loss) in zip(machines, checks, strict=True)
        ]
        self.certificate_ = widest_gap(self.certificates_)
        self.converged_ = not self.n_errors_.any()
        self.stopped_ = why_stopped(
            len(self._history),
            self._last_mistakes,
            int(self.n_errors_.sum()),
            self.max_iter if self.average else 0,
        )
        if not self.converged_ and self.max_iter > 1:
            warnings.warn(
                f"KernelPerceptron: {self.stopped_}; raise max_iter={self.max_iter} or use SVC.",
                ConvergenceWarning,
                stacklevel=4,
            )

    @of_one_fit
    def decision_function(self, X: TableLike) -> FloatArray:
        """Signed scores: of shape (n_samples,) for two classes, else (n_samples, n_machines)."""
        sums = self._sums(X, getattr(self, "dual_coef_", np.empty((0, 0))).T)
        scores = sums + self.intercept_
        return np.asarray(scores.ravel() if len(self.classes_) == 2 else scores)

    @of_one_fit
    def predict(self, X: TableLike) -> AnyArray:
        """Class labels of shape (n_samples,)."""
        codes = predict_codes(self.decision_function(X), len(self.classes_), self.multiclass)
        return self.classes_[codes]


@dataclass(frozen=True)
class PerceptronPast:
    """State kept for the next chunk: the support vectors as rows, and the steps of every machine.

    ``sums``, ``timed`` and ``born`` are of shape (n_machines, n_support), ``times`` of shape (n_machines,).
    """

    rows: Any
    positions: IntArray
    n_seen: int
    sums: FloatArray
    timed: FloatArray
    born: FloatArray
    times: FloatArray


class _Machine:
    """One binary kernel perceptron during training: it passes over ``rows`` of ``points``."""

    def __init__(
        self,
        kernel: Any,
        points: Any,
        rows: IntArray,
        y: FloatArray,
        weights: FloatArray,
        threads: int,
        trace: bool,
    ) -> None:
        self.kernel, self.points, self.threads = kernel, points, threads
        self.rows, self.y, self.weights = rows, y, weights
        n = len(points)
        self.sums, self.timed = np.zeros(n), np.zeros(n)  # of the steps, and of the steps times their time
        self.born = np.zeros(n)
        self.t = 0.0
        self.largest = float(np.abs(kernel.diagonal(points)).max(initial=0.0))  # bounds all kernel values
        self.trace = trace
        self.log: list[tuple[float, int, float, float]] = []  # time, row, score before, coefficient after

    def recall(self, past: PerceptronPast, k: int) -> None:
        """Continue machine k of the earlier chunks; its support vectors are the first points."""
        held = len(past.positions)
        self.sums[:held], self.timed[:held], self.born[:held] = past.sums[k], past.timed[k], past.born[k]
        self.t = float(past.times[k])

    def one_pass(self, rng: Any, budget: int | None) -> tuple[int, float]:
        """The mistakes of a pass and its weighted mean loss."""
        n = len(self.y)
        order = rng.permutation(n) if rng is not None else np.arange(n)
        size = _BLOCK if budget is None else max(1, min(_BLOCK, budget))
        blocks = [self._block(order[start : start + size], budget) for start in range(0, n, size)]
        mistakes, loss = np.sum(blocks, axis=0) if blocks else (0, 0.0)
        return int(mistakes), float(loss) / max(float(self.weights.sum()), 1e-300)

    def _block(self, chosen: IntArray, budget: int | None) -> tuple[int, float]:
        rows, y, weights = self.rows[chosen], self.y[chosen], self.weights[chosen]
        block = self.points.take(rows)
        used = np.flatnonzero(self.sums)
        f = np.zeros(len(rows))
        if len(used):
            held = self.points.take(used)
            f += kernel_times(self.kernel, block, held, self.sums[used], n_threads=self.threads)
            f += self.sums[used].sum()
        G = np.asarray(self.kernel.gram(block), dtype=np.float64)
        steps, times, scores = np.zeros(len(rows)), np.zeros(len(rows)), np.zeros(len(rows))
        mistakes, loss = perceptron_block(G, f, y, weights, steps, times, scores, self.t)
        self.t += np.count_nonzero(weights)
        fresh = (self.sums[rows] == 0) & (steps != 0)
        self.born[rows[fresh]] = times[fresh]
        self.sums[rows] += steps
        with np.errstate(over="ignore", invalid="ignore"):
            reach = 4.0 * float(np.abs(self.sums).sum()) * self.largest
            reach *= max(1.0, float(self.weights.sum()))  # of the weighted losses
        if not np.isfinite(reach):
            raise ValueError(
                f"decisions are too large for floating-point numbers: kernel values up to {self.largest:.2g} "
                "with these weights. Scale the columns or divide all weights by a number."
            )
        if self.trace:
            made = np.flatnonzero(steps)
            self.log += zip(times[made], rows[made], scores[made], self.sums[rows[made]], strict=True)
        self.timed[rows] += steps * (times - 1.0)
        if budget is not None:
            self._forget(budget)
        return int(mistakes), float(loss)

    def _forget(self, budget: int) -> None:
        used = np.flatnonzero(self.sums)
        if len(used) > budget:
            ranked = used[np.lexsort((self.born[used], np.abs(self.sums[used])))]
            leaving = ranked[: len(used) - budget]
            self.sums[leaving] = 0.0
            if self.trace:
                self.log += [(self.t, i, np.nan, 0.0) for i in leaving]

    def check(self, average: bool) -> tuple[int, float]:
        """Errors of the returned model on its rows of positive weight, and its weighted mean loss."""
        coefficients = self.coefficients(average)
        used, rows = np.flatnonzero(coefficients), self.points.take(self.rows)
        f = np.full(len(self.y), coefficients.sum())
        if len(used):
            held = self.points.take(used)
            f += kernel_times(self.kernel, rows, held, coefficients[used], n_threads=self.threads)
        m = self.y * f
        loss = float(self.weights @ np.maximum(0.0, -m)) / float(self.weights.sum())
        return int(np.count_nonzero((m <= 0) & (self.weights > 0))), loss

    def updates(self, number: int) -> pd.DataFrame:
        """What every update did, by training row."""
        table = pd.DataFrame(self.log, columns=["step", "row", "score", "coefficient"])
        table = table.astype({"step": np.int64, "row": np.int64})
        table.insert(0, "machine", number)
        return table.assign(n_rows=len(self.points), n_steps=int(self.t))

    def coefficients(self, average: bool) -> FloatArray:
        """Of the last iterate, or of the average, in which a step at time t counts T - t + 1 times of T."""
        if not average or self.t == 0:
            return self.sums
        return self.sums - self.timed / self.t
