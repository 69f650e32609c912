"""What the support vector classifiers share: binary machines, and their decisions combined."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import check_choice, check_flags
from maxmargin.base.tables import class_codes, example_weights
from maxmargin.base.threads import run
from maxmargin.base.typing import AnyArray, BoolArray, FloatArray, IntArray
from maxmargin.machines.svm.base import KernelMachine, columns_of, not_the_training_rows
from maxmargin.machines.svm.fitted_problem import Machine, fit_machine, progress_printer
from maxmargin.machines.svm.pair_layout import compact_pairs, spread_pairs
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.certificate import worst
from maxmargin.problems.formulations import Formulation
from maxmargin.problems.multiclass import (
    BinaryTask,
    binary_tasks,
    check_strategy,
    predict_codes,
    summed_decisions,
)
from maxmargin.problems.solution import Solution

_ONE_BY_ONE = 4000  # rows from which a binary problem uses all threads itself


class Classifier(ClassifierMixin, KernelMachine):
    """Fit binary machines, combine their decisions."""

    multiclass: Literal["ovo", "ovr"]
    class_weight: Any
    break_ties: bool
    decision_function_shape: Literal["ovr", "ovo"]
    probability: bool

    def formulation(self) -> Formulation:
        raise NotImplementedError  # SVC and NuSVC say which

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : table, array, sparse matrix (or kernel values) of shape (n_samples, n_features)
        y : labels of shape (n_samples,), two classes or more
        sample_weight : array of shape (n_samples,), factors on C; rows of weight zero are left out
        """
        self.check_parameters()
        kernel, points = self.prepare_rows(X)
        classes, codes = class_codes(y, len(points), self)
        weight = example_weights(sample_weight, self.class_weight, classes, codes)
        tasks = self._tasks(codes, weight, classes)
        machines = self._fit_machines(kernel, points, tasks, weight)
        self.classes_ = classes
        self.machines_ = machines
        self.class_codes_ = codes
        self.binary_tasks_ = tasks
        self._assemble(kernel, points, X, codes)
        self._store_traces(machines)
        self._fit_probabilities(X, y, sample_weight)
        return self

    # -- the binary problems -------------------------------------------------------------------------

    def check_parameters(self) -> None:
        super().check_parameters()
        check_strategy(self.multiclass)
        check_flags(self, "break_ties", "probability")
        check_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'.")

    def _tasks(self, codes: IntArray, weight: FloatArray, classes: AnyArray) -> list[BinaryTask]:
        """Binary problems without the rows of weight zero."""
        tasks = []
        for task in binary_tasks(codes, len(classes), self.multiclass):
            keep = weight[task.rows] > 0
            tasks.append(BinaryTask(task.rows[keep], task.signs[keep], task.positive, task.negative))
        return tasks

    def _fit_machines(
        self, kernel: Any, points: Any, tasks: list[BinaryTask], weight: FloatArray
    ) -> list[Machine]:
        kernel, points = self._for_training(kernel, points)
        solver = self.dual_solver()
        form = self.formulation()
        starts = self._starts(tasks, weight)

        def fit_one(k: int, n_threads: int) -> Machine:
            task = tasks[k]
            everything = len(task.rows) == len(points)
            return fit_machine(
                form,
                kernel,
                points if everything else points.take(task.rows),
                task.signs,
                weight[task.rows],
                replace(solver, n_threads=n_threads),
                rows=task.rows,
                full=self.certify == "full",
                start=starts[k],
                callback=progress_printer(self.verbose, f"{type(self).__name__} {k + 1}/{len(tasks)}"),
            )

        if len(tasks) > 1 and max(len(task.rows) for task in tasks) < _ONE_BY_ONE:
            return run([partial(fit_one, k, 1) for k in range(len(tasks))], solver.n_threads)
        return [fit_one(k, solver.n_threads) for k in range(len(tasks))]

    def _starts(self, tasks: list[BinaryTask], weight: FloatArray) -> list[FloatArray | None]:
        """With warm_start the multipliers of the last fit, scaled into the new bounds."""
        old = getattr(self, "machines_", None)
        if not self.warm_start or old is None or len(old) != len(tasks):
            return [None] * len(tasks)
        return [
            self._start(machine, task, weight[task.rows]) for machine, task in zip(old, tasks, strict=True)
        ]

    def _start(self, machine: Machine, task: BinaryTask, weight: FloatArray) -> FloatArray | None:
        return None

    # -- scikit-learn's attributes -------------------------------------------------------------------

    def _assemble(self, kernel: Any, points: Any, X: Any, codes: IntArray) -> None:
        n, n_classes = len(points), len(self.classes_)
        betas = np.zeros((len(self.machines_), n))
        for k, machine in enumerate(self.machines_):
            betas[k, machine.rows] = machine.beta
        used = betas.any(axis=0)
        support = np.concatenate([np.flatnonzero(used & (codes == k)) for k in range(n_classes)])
        self.n_support_ = np.array(
            [int((used & (codes == k)).sum()) for k in range(n_classes)], dtype=np.int32
        )
        chosen: FloatArray = betas[:, support]
        if n_classes > 2 and self.multiclass == "ovo":
            chosen = compact_pairs(chosen, codes[support], n_classes)
        self._store_expansion(kernel, points, X, support, chosen)
        self.intercept_ = np.array([machine.intercept for machine in self.machines_])
        self.n_iter_ = np.array([machine.solution.n_iter for machine in self.machines_], dtype=np.int64)
        self.certificate_ = worst([machine.certificate for machine in self.machines_])

    @property
    def solution_(self) -> Solution:
        """The solver's answer of a binary machine."""
        return self._only_machine("solution_").solution

    def _only_machine(self, what: str) -> Machine:
        check_is_fitted(self)
        if len(self.machines_) != 1:
            raise AttributeError(
                f"{what} exists for binary machines; with {len(self.classes_)} classes see machines_."
            )
        machine: Machine = self.machines_[0]
        return machine

    @property
    def alpha_(self) -> FloatArray:
        """Multipliers of the training rows, of shape (n_samples,), for binary machines."""
        machine = self._only_machine("alpha_")
        return self._per_row(machine.alpha, machine)

    @property
    def margin_(self) -> float:
        """Half of the width of the band: M = 1 / ||w||."""
        return self._only_machine("margin_").margin

    @property
    def slack_(self) -> FloatArray:
        """max(0, 1 - y f(x)) of the training rows, of shape (n_samples,); 0 for rows of weight zero."""
        machine = self._only_machine("slack_")
        return self._per_row(np.maximum(0.0, 1.0 - machine.signs * machine.decisions), machine)

    @property
    def point_kinds_(self) -> AnyArray:
        """What each training row is: "outside", "free", "inside" or "misclassified".

        Outside the band with alpha = 0; free on the margin; at its bound inside the band (slack <= 1) or
        beyond the boundary. The squared hinge has no bound, so the kind follows y f(x) there.
        """
        machine = self._only_machine("point_kinds_")
        kinds = np.full(self.shape_fit_[0], "outside", dtype="<U13")
        kinds[machine.rows] = self._kinds(machine)
        return kinds

    def _kinds(self, machine: Machine) -> AnyArray:
        margins = machine.signs * machine.decisions
        support = machine.alpha > 0
        bounded = support & self._beyond_margin(machine)
        kinds = np.where(support, "free", "outside").astype("<U13")
        kinds[bounded & (margins >= 0)] = "inside"
        kinds[bounded & (margins < 0)] = "misclassified"
        return kinds

    def _beyond_margin(self, machine: Machine) -> BoolArray:
        """Support vectors that are not on the margin: those at their bound."""
        return machine.bounded

    # -- prediction ----------------------------------------------------------------------------------

    def binary_decisions(self, X: Any) -> FloatArray:
        """Decisions of the binary machines, of shape (n_samples, n_machines)."""
        points = self.points_of(X)
        n_classes = len(self.classes_)
        if n_classes == 2 or self.multiclass == "ovr":
            sums = self._sums(points, slice(0, len(self.support_)), np.ascontiguousarray(self.dual_coef_.T))
            return sums + self.intercept_
        return self._pairwise_decisions(points, n_classes)

    def _pairwise_decisions(self, points: Any, n_classes: int) -> FloatArray:
        """Class by class: a support vector takes part in n_classes - 1 machines only."""
        decisions = np.tile(self.intercept_, (len(points), 1))
        pairs = list(combinations(range(n_classes), 2))
        stops = np.cumsum(self.n_support_)
        for k, stop in enumerate(stops):
            block = slice(int(stop - self.n_support_[k]), int(stop))
            machines = [m for m, pair in enumerate(pairs) if k in pair]
            if block.stop > block.start:
                weights = np.ascontiguousarray(self.dual_coef_[:, block].T)
                decisions[:, machines] += self._sums(points, block, weights)
        return decisions

    def _linear_coefficients(self) -> AnyArray:
        """Weights of the columns for every machine; the compact layout of pairs is spread out first."""
        n_classes = len(self.classes_)
        if n_classes == 2 or self.multiclass == "ovr":
            return super()._linear_coefficients()
        codes = np.repeat(np.arange(n_classes), self.n_support_)
        return columns_of(spread_pairs(self.dual_coef_, codes, n_classes) @ self.support_points_.X)

    def decision_function(self, X: Any) -> FloatArray:
        """f(x) of shape (n_samples,) for two classes; else one column per class ("ovr") or pair ("ovo")."""
        decisions = self.binary_decisions(X)
        if len(self.classes_) == 2:
            return decisions[:, 0]
        if self.multiclass == "ovr":
            if self.decision_function_shape == "ovo":
                raise ValueError(
                    "multiclass='ovr' has one decision per class: decision_function_shape must be 'ovr'."
                )
            return decisions
        if self.decision_function_shape == "ovo":
            return decisions
        return summed_decisions(decisions, len(self.classes_))

    def predict(self, X: Any) -> AnyArray:
        """Classes of the rows, of shape (n_samples,)."""
        decisions = self.binary_decisions(X)
        codes = predict_codes(decisions, len(self.classes_), self.multiclass, break_ties=self.break_ties)
        predicted: AnyArray = self.classes_[codes]
        return predicted

    # -- probabilities -------------------------------------------------------------------------------

    def _fit_probabilities(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._calibrated = None
        if self.probability:
            plain = clone(self).set_params(probability=False, trace=False)
            self._calibrated = CalibratedClassifierCV(plain, ensemble=False, cv=5)
            self._calibrated.fit(X, y, sample_weight=sample_weight)

    def _has_probabilities(self) -> bool:
        if not self.probability:
            raise AttributeError("predict_proba is not available when probability=False")
        return True

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities of shape (n_samples, n_classes), by a sigmoid on cross-validated decisions."""
        check_is_fitted(self)
        if self._calibrated is None:
            raise AttributeError("predict_proba needs probability=True before fit.")
        probabilities: FloatArray = self._calibrated.predict_proba(X)
        return probabilities

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    # -- certificates --------------------------------------------------------------------------------

    def _problems(self, X: Any, y: Any, sample_weight: Any) -> list[BoxQP]:
        points = self.kernel_.prepare(X, like=None)
        classes, codes = class_codes(y, len(points), self)
        if not np.array_equal(classes, self.classes_):
            raise ValueError(f"the model was fitted on the classes {self.classes_}, y has {classes}.")
        weight = example_weights(sample_weight, self.class_weight, classes, codes)
        form = self.formulation()
        problems = []
        for task, machine in zip(self._tasks(codes, weight, classes), self.machines_, strict=True):
            if not np.array_equal(task.rows, machine.rows):
                raise ValueError(not_the_training_rows(len(task.rows), len(machine.rows)))
            problems.append(form.build(self.kernel_, points.take(task.rows), task.signs, weight[task.rows]))
        return problems
