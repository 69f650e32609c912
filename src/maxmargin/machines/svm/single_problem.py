"""Machines with one problem over all rows: regression and outlier detection."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.tables import row_weights
from maxmargin.base.typing import FloatArray
from maxmargin.machines.svm.base import KernelMachine, not_the_training_rows
from maxmargin.machines.svm.fitted_problem import Machine, fit_machine, progress_printer
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.formulations import Formulation


class SingleMachine(KernelMachine):
    """Fit one machine and keep it under scikit-learn's names."""

    def formulation(self) -> Formulation:
        raise NotImplementedError  # each machine says which

    def _target(self, y: Any, n: int) -> FloatArray:
        """The validated target of n rows."""
        raise NotImplementedError  # regressors read y, detectors have none

    def _fit_single(self, X: Any, y: Any, sample_weight: Any) -> Machine:
        """Validate, solve, store."""
        self.check_parameters()
        kernel, points = self.prepare_rows(X)
        values = self._target(y, len(points))
        weight = row_weights(sample_weight, len(points))
        rows = np.flatnonzero(weight > 0)
        seen, known = self._for_training(kernel, points)
        machine = fit_machine(
            self.formulation(),
            seen,
            known if len(rows) == len(points) else known.take(rows),
            values[rows],
            weight[rows],
            self.dual_solver(),
            rows=rows,
            full=self.certify == "full",
            start=self._start(rows, weight[rows]),
            callback=progress_printer(self.verbose, type(self).__name__),
        )
        self.machines_ = [machine]
        self._store_traces(self.machines_)
        support = rows[machine.beta != 0]
        self._store_expansion(kernel, points, X, support, machine.beta[machine.beta != 0].reshape(1, -1))
        self.intercept_ = np.array([machine.intercept])
        self.n_support_ = np.array([len(support)], dtype=np.int32)
        self.n_iter_ = machine.solution.n_iter
        self.solution_ = machine.solution
        self.certificate_ = machine.certificate
        return machine

    def _start(self, rows: Any, weight: FloatArray) -> FloatArray | None:
        return None

    @property
    def _machine(self) -> Machine:
        check_is_fitted(self)
        return self.machines_[0]

    @property
    def alpha_(self) -> FloatArray:
        """Multipliers of the training rows, of shape (n_samples,); in regression up minus down."""
        machine = self._machine
        two_sided = len(machine.alpha) != len(machine.rows)
        return self._per_row(machine.beta if two_sided else machine.alpha, machine)

    def single_decision(self, X: Any) -> FloatArray:
        points = self.points_of(X)
        sums = self._sums(points, slice(0, len(self.support_)), self.dual_coef_[0])
        decisions: FloatArray = sums + self.intercept_[0]
        return decisions

    def _problems(self, X: Any, y: Any, sample_weight: Any) -> list[BoxQP]:
        points = self.kernel_.prepare(X)
        weight = row_weights(sample_weight, len(points))
        rows = np.flatnonzero(weight > 0)
        target = self._target(y, len(points))
        if not np.array_equal(rows, self._machine.rows):
            raise ValueError(not_the_training_rows(len(rows), len(self._machine.rows)))
        return [self.formulation().build(self.kernel_, points.take(rows), target[rows], weight[rows])]
