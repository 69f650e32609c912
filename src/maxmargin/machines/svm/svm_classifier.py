"""Base class of the support vector classifiers: binary problems and the combination of their decisions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.interruption import all_or_nothing, of_one_fit
from maxmargin.base.parameters import check_choice, check_flags
from maxmargin.base.progress import Callback
from maxmargin.base.tables import class_codes, class_weights, example_weights
from maxmargin.base.threads import run
from maxmargin.base.typing import (
    AnyArray,
    BoolArray,
    FloatArray,
    IntArray,
    RandomStateLike,
    TableLike,
    TargetLike,
    WeightLike,
)
from maxmargin.machines.svm.base import KernelMachine, check_training_rows
from maxmargin.machines.svm.fitted_problem import FittedProblem, fit_problem, progress_lines
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.multiclass import (
    BinaryTask,
    binary_tasks,
    check_strategy,
    predict_codes,
    summed_decisions,
)
from maxmargin.problems.solution import Solution

_ONE_BY_ONE = 4000  # rows from which one binary problem uses all threads


@dataclass(eq=False, repr=False, kw_only=True)
class Classifier(ClassifierMixin, KernelMachine):
    """Fit the binary problems, combine their decisions."""

    multiclass: Literal["ovo", "ovr"] = "ovo"
    class_weight: Any = None
    break_ties: bool = False
    decision_function_shape: Literal["ovr", "ovo"] = "ovr"
    probability: bool = False
    random_state: RandomStateLike | None = None

    @all_or_nothing
    def fit(
        self,
        X: TableLike,
        y: TargetLike,
        sample_weight: WeightLike | None = None,
        *,
        callback: Callback | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : table, array, sparse matrix (or kernel values) of shape (n_samples, n_features)
        y : labels of shape (n_samples,), two classes or more
        sample_weight : array of shape (n_samples,), factors on C; rows of weight zero are left out
        callback : called regularly with a `SolverProgress` (n_iter, violation, n_active, seconds); the
            solver stops if it returns True. Binary problems on threads share it.
        """
        return self._fit(X, y, sample_weight, callback=callback)

    @all_or_nothing
    def fit_from(
        self, X: TableLike, y: TargetLike, sample_weight: WeightLike | None, coefficients: list[FloatArray]
    ) -> Self:
        """As `fit`, starting from coefficients of shape (n_samples,) for each binary problem."""
        return self._fit(X, y, sample_weight, coefficients)

    def _fit(
        self,
        X: TableLike,
        y: TargetLike,
        sample_weight: WeightLike | None,
        given: list[FloatArray] | None = None,
        callback: Callback | None = None,
    ) -> Self:
        self.check_parameters()
        kernel, points = self.prepare_rows(X)
        classes, codes = class_codes(y, len(points), self)
        weight = example_weights(sample_weight, self.class_weight, classes, codes)
        tasks = self._tasks(codes, weight, classes)
        if given is None:
            starts = self._starts(tasks, weight)
        else:
            starts = [np.abs(beta[task.rows]) for beta, task in zip(given, tasks, strict=True)]
        problems = self._fit_problems(kernel, points, tasks, weight, starts, callback)
        self.classes_ = classes
        self.class_codes_ = codes
        self.binary_tasks_ = tasks
        self._store_problems(problems)
        self._assemble(kernel, points, X, codes)
        self._fit_probabilities(X, y, sample_weight)
        return self

    # -- the binary problems -------------------------------------------------------------------------

    def check_parameters(self) -> None:
        super().check_parameters()
        check_strategy(self.multiclass)
        check_flags(self, "break_ties", "probability")
        check_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))

    def _tasks(self, codes: IntArray, weight: FloatArray, classes: AnyArray) -> list[BinaryTask]:
        """Binary problems without the rows of weight zero."""
        tasks = []
        for task in binary_tasks(codes, len(classes), self.multiclass):
            keep = weight[task.rows] > 0
            tasks.append(BinaryTask(task.rows[keep], task.signs[keep], task.positive, task.negative))
        return tasks

    def _fit_problems(
        self,
        kernel: Any,
        points: Any,
        tasks: list[BinaryTask],
        weight: FloatArray,
        starts: list[FloatArray | None],
        callback: Callback | None,
    ) -> list[FittedProblem]:
        kernel, points = self._for_training(kernel, points)
        solver = self.dual_solver()
        form = self.formulation()

        def fit_one(k: int, n_threads: int) -> FittedProblem:
            task = tasks[k]
            everything = len(task.rows) == len(points)
            return fit_problem(
                form,
                kernel,
                points if everything else points.take(task.rows),
                task.signs,
                weight[task.rows],
                replace(solver, n_threads=n_threads),
                rows=task.rows,
                full=self.certify == "full",
                start=starts[k],
                callback=progress_lines(
                    self.verbose, f"{type(self).__name__} {k + 1}/{len(tasks)}", callback
                ),
            )

        if len(tasks) > 1 and max(len(task.rows) for task in tasks) < _ONE_BY_ONE:
            return run([partial(fit_one, k, 1) for k in range(len(tasks))], solver.n_threads)
        return [fit_one(k, solver.n_threads) for k in range(len(tasks))]

    def _starts(self, tasks: list[BinaryTask], weight: FloatArray) -> list[FloatArray | None]:
        """With warm_start the multipliers of the last fit, scaled into the new bounds."""
        return [None] * len(tasks)

    # -- scikit-learn's attributes -------------------------------------------------------------------

    def _assemble(self, kernel: Any, points: Any, X: Any, codes: IntArray) -> None:
        n_classes = len(self.classes_)
        betas = np.zeros((len(self.machines_), len(points)))
        for k, problem in enumerate(self.machines_):
            betas[k, problem.rows] = problem.beta
        used = betas.any(axis=0)
        by_class = [np.flatnonzero(used & (codes == k)) for k in range(n_classes)]
        support = np.concatenate(by_class)
        self.n_support_ = np.array([len(rows) for rows in by_class], dtype=np.int32)
        chosen: FloatArray = betas[:, support]
        if n_classes > 2 and self.multiclass == "ovo":
            chosen = compact_pairs(chosen, codes[support], n_classes)
        self._store_expansion(kernel, points, X, support, chosen)
        self.n_iter_ = np.array([problem.solution.n_iter for problem in self.machines_], dtype=np.int64)

    @property
    def class_weight_(self) -> FloatArray:
        """The factor on C of each class, of shape (n_classes,)."""
        check_is_fitted(self)
        return class_weights(self.class_weight, self.classes_, np.bincount(self.class_codes_))

    @property
    def solution_(self) -> Solution:
        """The solution of the dual problem, for two classes."""
        return self._only_problem("solution_").solution

    def _only_problem(self, what: str) -> FittedProblem:
        check_is_fitted(self)
        if len(self.machines_) != 1:
            raise AttributeError(
                f"{what} exists for two classes; with {len(self.classes_)} classes see machines_."
            )
        return self.machines_[0]

    @property
    def alpha_(self) -> FloatArray:
        """Multipliers of the training rows, of shape (n_samples,), for two classes."""
        problem = self._only_problem("alpha_")
        return self._per_row(problem.alpha, problem)

    @property
    def margin_(self) -> float:
        """Half of the width of the margin band: M = 1 / ||w||."""
        return self._only_problem("margin_").margin

    @property
    def slack_(self) -> FloatArray:
        """max(0, 1 - y f(x)) of the training rows, of shape (n_samples,); 0 for rows of weight zero."""
        problem = self._only_problem("slack_")
        return self._per_row(np.maximum(0.0, 1.0 - problem.signs * problem.decisions), problem)

    @property
    def point_kinds_(self) -> AnyArray:
        """The kind of each training row: "outside", "free", "inside" or "misclassified".

        Outside the band with alpha = 0; free on the margin; at its bound inside the band (slack <= 1) or
        beyond the boundary. The squared hinge has no bound, so the kind follows y f(x) there.
        """
        problem = self._only_problem("point_kinds_")
        full = np.full(self.shape_fit_[0], "outside", dtype="<U13")
        full[problem.rows] = self.kinds_of(problem)
        return full

    def kinds_of(self, problem: FittedProblem) -> AnyArray:
        """The kinds, as in ``point_kinds_``, of the rows of one binary problem."""
        margins = problem.signs * problem.decisions
        support = problem.alpha > 0
        bounded = support & self._beyond_margin(problem)
        kinds = np.where(support, "free", "outside").astype("<U13")
        kinds[bounded & (margins >= 0)] = "inside"
        kinds[bounded & (margins < 0)] = "misclassified"
        return kinds

    def _beyond_margin(self, problem: FittedProblem) -> BoolArray:
        """Support vectors that are not on the margin: those at their bound."""
        return problem.bounded

    # -- prediction ----------------------------------------------------------------------------------

    @property
    def _in_pairs(self) -> bool:
        """True if dual_coef_ has LIBSVM's compact layout of one-versus-one problems."""
        return len(self.classes_) > 2 and self.multiclass == "ovo"

    @of_one_fit
    def binary_decisions(self, X: TableLike) -> FloatArray:
        """Decisions of the binary problems, of shape (n_samples, n_problems)."""
        points = self.points_of(X)
        if self._in_pairs:
            return self._pairwise_decisions(points, len(self.classes_))
        sums = self._sums(points, slice(0, len(self.support_)), np.ascontiguousarray(self.dense_dual_coef.T))
        return sums + self.intercept_

    def _pairwise_decisions(self, points: Any, n_classes: int) -> FloatArray:
        """Class by class: a support vector takes part in only n_classes - 1 problems."""
        decisions = np.tile(self.intercept_, (len(points), 1))
        pairs = list(combinations(range(n_classes), 2))
        stops = np.cumsum(self.n_support_)
        for k, stop in enumerate(stops):
            block = slice(int(stop - self.n_support_[k]), int(stop))
            columns = [m for m, pair in enumerate(pairs) if k in pair]
            if block.stop > block.start:
                weights = np.ascontiguousarray(self.dense_dual_coef[:, block].T)
                decisions[:, columns] += self._sums(points, block, weights)
        return decisions

    def _coefficients(self) -> FloatArray:
        if not self._in_pairs:
            return super()._coefficients()
        n_classes = len(self.classes_)
        return spread_pairs(self.dense_dual_coef, np.repeat(np.arange(n_classes), self.n_support_), n_classes)

    @of_one_fit
    def decision_function(self, X: TableLike) -> FloatArray:
        """f(x) of shape (n_samples,) for two classes; else one column per class ("ovr") or pair ("ovo")."""
        decisions = self.binary_decisions(X)
        if len(self.classes_) == 2:
            return decisions[:, 0]
        if self.multiclass == "ovr" and self.decision_function_shape == "ovo":
            raise ValueError(
                "multiclass='ovr' has one decision per class: decision_function_shape must be 'ovr'."
            )
        if self.multiclass == "ovr" or self.decision_function_shape == "ovo":
            return decisions
        return summed_decisions(decisions, len(self.classes_))

    @of_one_fit
    def predict(self, X: TableLike) -> AnyArray:
        """Classes of the rows, of shape (n_samples,)."""
        if self.break_ties and self.decision_function_shape == "ovo" and len(self.classes_) > 2:
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'.")
        decisions = self.binary_decisions(X)
        codes = predict_codes(decisions, len(self.classes_), self.multiclass, break_ties=self.break_ties)
        return self.classes_[codes]

    # -- probabilities -------------------------------------------------------------------------------

    def _fit_probabilities(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._calibrated = None
        if self.probability:
            plain = clone(self).set_params(probability=False, trace=False)
            self._calibrated = CalibratedClassifierCV(plain, ensemble=False, cv=self._calibration_folds())
            try:
                self._calibrated.fit(X, y, sample_weight=sample_weight)
            except ValueError as refused:  # the fit of all rows was possible
                raise ValueError(
                    f"probability=True also fits the model without a part of the rows, and there {refused} "
                    "Change the parameter so that it holds there too, or use probability=False."
                ) from None

    def _calibration_folds(self) -> Any:
        """Five folds. A class with fewer rows occurs in as many folds as it has rows.

        A single row of a class cannot be held out: its decision is that of the whole fit.
        """
        codes, counts = self.class_codes_, np.bincount(self.class_codes_)
        shuffle = self.random_state is not None
        if counts.min() >= 5:
            return StratifiedKFold(5, shuffle=shuffle, random_state=self.random_state)
        rows = np.arange(len(codes))
        if shuffle:
            rows = check_random_state(self.random_state).permutation(rows)
        rows = rows[np.argsort(codes[rows], kind="stable")]  # class by class
        fold = np.empty(len(codes), dtype=np.int64)
        fold[rows] = np.arange(len(codes)) % 5
        fold[counts[codes] == 1] = 5
        tests = [np.flatnonzero(fold == k) for k in range(6) if (fold == k).any()]
        everything = np.arange(len(codes))
        return [
            (everything if counts[codes[test]].max() == 1 else np.setdiff1d(everything, test), test)
            for test in tests
        ]

    def _has_probabilities(self) -> bool:
        if not self.probability:
            raise AttributeError("predict_proba is not available when probability=False")
        return True

    @available_if(_has_probabilities)
    @of_one_fit
    def predict_proba(self, X: TableLike) -> FloatArray:
        """Class probabilities of shape (n_samples, n_classes), by a sigmoid on cross-validated decisions."""
        check_is_fitted(self)
        if self._calibrated is None:
            raise NotFittedError("predict_proba is not available when fitted with probability=False")
        return self._calibrated.predict_proba(X)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: TableLike) -> FloatArray:
        """Logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    # -- certificates --------------------------------------------------------------------------------

    def rebuilt_problems(
        self, X: TableLike, y: TargetLike | None = None, sample_weight: WeightLike | None = None
    ) -> list[BoxQP]:
        points = self._shifted(self.kernel_, self.kernel_.prepare(X))
        classes, codes = class_codes(y, len(points), self)
        if not np.array_equal(classes, self.classes_):
            raise ValueError(f"the model was fitted on the classes {self.classes_}, y has {classes}.")
        weight = example_weights(sample_weight, self.class_weight, classes, codes)
        form = self.formulation()
        problems = []
        for task, fitted in zip(self._tasks(codes, weight, classes), self.machines_, strict=True):
            check_training_rows(task.rows, fitted.rows)
            problems.append(form.build(self.kernel_, points.take(task.rows), task.signs, weight[task.rows]))
        return problems


# -- coefficients of one-versus-one problems ---------------------------------------------------------------


def compact_pairs(betas: FloatArray, codes: IntArray, n_classes: int) -> FloatArray:
    """Coefficients of shape (n_pairs, n_SV) in LIBSVM's layout of shape (n_classes - 1, n_SV).

    Row r of a support vector of class k belongs to the problem of k and the r-th other class.
    """
    compact = np.zeros((n_classes - 1, betas.shape[1]))
    for pair, (i, j) in enumerate(combinations(range(n_classes), 2)):
        compact[j - 1, codes == i] = betas[pair, codes == i]
        compact[i, codes == j] = betas[pair, codes == j]
    return compact


def spread_pairs(compact: FloatArray, codes: IntArray, n_classes: int) -> FloatArray:
    """The reverse of `compact_pairs`: coefficients of shape (n_pairs, n_SV)."""
    pairs = list(combinations(range(n_classes), 2))
    betas = np.zeros((len(pairs), compact.shape[1]))
    for pair, (i, j) in enumerate(pairs):
        betas[pair, codes == i] = compact[j - 1, codes == i]
        betas[pair, codes == j] = compact[i, codes == j]
    return betas
