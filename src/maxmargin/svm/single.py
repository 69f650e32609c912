"""Machines with one problem over all rows: regression and outlier detection."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.formulations import Formulation
from maxmargin.problems.box_qp import BoxQP
from maxmargin.svm.base import KernelMachine
from maxmargin.svm.machine import Machine, fit_machine, progress_printer
from maxmargin.typing import FloatArray


class SingleMachine(KernelMachine):
    """Fit one machine and keep it under scikit-learn's names."""

    def _formulation(self) -> Formulation:
        raise NotImplementedError  # each machine says which

    def _fit_single(self, X: Any, target: Any, sample_weight: Any) -> Machine:
        """Validate, solve, store; ``target(n)`` gives the validated target of n rows."""
        self._check_parameters()
        kernel, points = self._prepare(X)
        values = target(len(points))
        weight = self._weights(sample_weight, points)
        rows = np.flatnonzero(weight > 0)
        seen, known = self._for_training(kernel, points)
        machine = fit_machine(
            self._formulation(),
            seen,
            known if len(rows) == len(points) else known.take(rows),
            values[rows],
            weight[rows],
            self._solver(),
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
        self.shape_fit_ = (
            (len(points), self.n_features_in_) if hasattr(self, "n_features_in_") else (len(points),)
        )
        return machine

    def _start(self, rows: Any, weight: FloatArray) -> FloatArray | None:
        return None

    @property
    def alpha_(self) -> FloatArray:
        """Multipliers of the training rows, of shape (n_samples,); in regression up minus down."""
        machine = self.machines_[0]
        full = np.zeros(self.shape_fit_[0])
        full[machine.rows] = machine.beta if len(machine.alpha) != len(machine.rows) else machine.alpha
        return full

    def _decision(self, X: Any) -> FloatArray:
        points = self._points(X)
        sums = self._sums(points, slice(0, len(self.support_)), self.dual_coef_[0])
        decisions: FloatArray = sums + self.intercept_[0]
        return decisions

    def _problems(self, X: Any, y: Any, sample_weight: Any) -> list[BoxQP]:
        points = self.kernel_.prepare(X)
        weight = self._weights(sample_weight, points)
        rows = np.flatnonzero(weight > 0)
        machine = self.machines_[0]
        if len(rows) != len(machine.rows):
            raise ValueError("certify needs the rows that the model was fitted on.")
        target = np.zeros(len(points)) if y is None else np.asarray(y, dtype=np.float64)
        return [self._formulation().build(self.kernel_, points.take(rows), target[rows], weight[rows])]
