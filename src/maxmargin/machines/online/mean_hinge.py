"""What the learners share that descend on a weighted mean of hinges and know a bound."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.base.typing import FloatArray
from maxmargin.machines.online.base import OnlineClassifier, rows_of_task
from maxmargin.problems.multiclass import BinaryTask


class MeanHinge(OnlineClassifier):
    """Base: lambda/2 (||w||^2 + b^2) + the weighted mean of the hinges, of every machine over its own rows.

    A full fit scales the weights of a machine's rows to a mean of one over those that count: only then do the
    steps follow the gradient of its mean, and rows of weight zero do nothing.
    """

    _concluded = ("bound_", "objective_")

    def _decay(self) -> float:
        """The weight lambda of the penalty, 0 for none."""
        raise NotImplementedError  # each learner names its own

    def _prepare(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> None:
        self._counts = np.empty(len(tasks))  # rows that count
        self._heaviest = np.empty(len(tasks))  # the largest weight, scaled
        for k, task in enumerate(tasks):
            mine = rows_of_task(weights, task)
            self._counts[k] = np.count_nonzero(mine)
            if self._counts[k] == 0:
                raise ValueError("two classes have no row of positive weight: drop them or use 'ovr'.")
            self._scales[k] = self._counts[k] / mine.sum()
            self._heaviest[k] = self._scales[k] * mine.max()

    def _bound(self, rho: FloatArray) -> float:
        """rho^2 (1 + log T)/(2 lambda T) after T steps (Valera, theorem 5.14), the largest of all classes."""
        T = np.array([state.steps for state in self._states])
        return float(np.max(rho**2 * (1.0 + np.log(T)) / (2.0 * self._decay() * T)))

    def _objectives(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> FloatArray:
        """The value that every machine reached, of shape (n_machines,)."""
        values = []
        for task, w, b in zip(tasks, self.coef_, self.intercept_, strict=True):
            f = np.asarray(rows_of_task(X, task) @ w).ravel() + b
            share = weights[task.rows] / weights[task.rows].sum()
            hinge = float(share @ np.maximum(0.0, 1.0 - task.signs * f))
            values.append(0.5 * self._decay() * float(w @ w + b * b) + hinge)
        return np.array(values)
