"""Subgradient descent with the step rules and bounds of Valera, chapter 5."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd

from maxmargin.base.parameters import check_choice, check_positive
from maxmargin.base.typing import FloatArray
from maxmargin.compute.tables.inner_products import squared_norms
from maxmargin.machines.online.base import rows_of_task
from maxmargin.machines.online.mean_hinge import MeanHinge
from maxmargin.problems.multiclass import BinaryTask
from maxmargin.solvers.online.online_loop import OnlineLoop, Schedule


class SubgradientDescent(MeanHinge):
    """Subgradient descent on the hinge, batch or stochastic; the average iterate is returned.

        step="constant"          mean_i hinge_i,                     eta = B/(rho sqrt T)   bound B rho/sqrt T
        step="strongly_convex"   lambda/2 ||theta||^2 + mean hinge,  eta = 1/(lambda t)
                                                             bound rho^2 (1 + log T)/(2 lambda T)

    T is the number of steps (passes, times n when stochastic), rho a bound on the subgradients, B one on the
    length of the optimal theta = (w, b). The bounds (Valera, theorems 5.9 and 5.14) hold for the average
    iterate, in expectation when stochastic. Cost of a step: n p in batch mode, p when stochastic.

    Parameters
    ----------
    mode : "batch" (every step sees all rows) or "stochastic" (one row).
    step : "constant" or "strongly_convex".
    B : the length bound of the constant rule.
    lam : lambda of the strongly convex rule.
    fit_intercept, max_iter, shuffle, multiclass, class_weight, random_state, verbose, trace :
        as in `Perceptron`.

    Attributes
    ----------
    coef_, intercept_, history_, n_iter_ : as in `Perceptron`.
    objective_ : value reached by the average iterate, of shape (n_machines,).
    bound_ : the theorem's bound on its distance from the best value, the largest of the machines.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = [[1.0], [2.0], [-1.0], [-3.0]], [1, 1, 0, 0]
    >>> model = mm.SubgradientDescent(mode="batch", step="strongly_convex", lam=0.1, max_iter=500).fit(X, y)
    >>> model.predict([[1.5], [-1.5]]).tolist(), round(float(model.objective_[0]), 2)
    ([1, 0], 0.06)
    """

    average = True

    def __init__(
        self,
        *,
        mode: Literal["batch", "stochastic"] = "stochastic",
        step: Literal["constant", "strongly_convex"] = "strongly_convex",
        B: float = 1.0,
        lam: float = 1e-2,
        fit_intercept: bool = True,
        max_iter: int = 50,
        shuffle: bool = True,
        multiclass: Literal["ovr", "ovo"] = "ovr",
        class_weight: Any = None,
        random_state: Any = None,
        verbose: int = 0,
        trace: bool = False,
    ) -> None:
        self.mode = mode
        self.step = step
        self.B = B
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose
        self.trace = trace

    def _check(self) -> None:
        super()._check()
        check_positive("B", self.B)
        check_positive("lam", self.lam)
        check_choice("mode", self.mode, ("batch", "stochastic"))
        check_choice("step", self.step, ("constant", "strongly_convex"))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """As in `Perceptron`; for the stochastic mode with the strongly convex rule, which needs no T."""
        if self.mode != "stochastic" or self.step != "strongly_convex":
            raise ValueError("partial_fit needs mode='stochastic' and step='strongly_convex'.")
        return super().partial_fit(X, y, classes, sample_weight)

    def _prepare(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> None:
        super()._prepare(X, tasks, weights)
        lengths = np.sqrt(squared_norms(X) + (1.0 if self.fit_intercept else 0.0)) * (weights > 0)
        self._rho = np.array([rows_of_task(lengths, task).max() for task in tasks])
        T = np.full(len(tasks), float(self.max_iter))
        if self.mode == "stochastic":  # a batch step is a mean of slopes, none longer than its row
            self._rho, T = self._rho * self._heaviest, T * self._counts
        steps = self.B / (np.maximum(self._rho, 1e-300) * np.sqrt(T))
        for state, eta in zip(self._states, steps, strict=True):
            state.eta = eta

    def _decay(self) -> float:
        return self.lam if self.step == "strongly_convex" else 0.0

    def _loop(self) -> OnlineLoop:
        return OnlineLoop(
            rule="hinge",
            schedule=Schedule(self.step),
            decay=self._decay(),
            fit_intercept=self.fit_intercept,
            decay_bias=True,
            average=True,
        )

    def _pass(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> tuple[int, float]:
        if self.mode == "stochastic":
            return super()._pass(X, tasks, weights)
        return self._batch_step(X, tasks, weights)

    def _batch_step(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> tuple[int, float]:
        """One step along a subgradient of the whole objective, in the variables of the online state."""
        losses = []
        for k, (task, state) in enumerate(zip(tasks, self._states, strict=True)):
            rows, share = rows_of_task(X, task), weights[task.rows] / weights[task.rows].sum()
            f = np.asarray(rows @ state.v).ravel() + state.b
            m = task.signs * f
            self._last_mistakes[k] = np.count_nonzero((m <= 0) & (share > 0))
            losses.append(float(share @ np.maximum(0.0, 1.0 - m)))
            u = np.where(m < 1.0, share * task.signs, 0.0)
            t = state.steps = state.steps + 1.0
            decay = self._decay()
            eta = 1.0 / (decay * t) if decay else state.eta
            state.v = (1.0 - eta * decay) * state.v + eta * np.asarray(rows.T @ u).ravel()
            state.b = (1.0 - eta * decay) * state.b + eta * u.sum() * self.fit_intercept
            state.z += state.v  # with tau = 0 the sum of the iterates is z
            state.sum_b += state.b
            if self.trace:
                self._record_batch(k, task, u, losses[-1], 1.0 - eta * decay, eta, X.shape[0])
        total = int(self._last_mistakes.sum())
        self._rows.append((len(self._rows) + 1, total, float(np.mean(losses))))
        return total, self._rows[-1][2]

    def _record_batch(
        self, k: int, task: BinaryTask, u: FloatArray, loss: float, keep: float, change: float, n: int
    ) -> None:
        """A step of all rows: in place of a row the slopes of all of them."""
        slopes = np.zeros(n)
        slopes[task.rows] = u
        step = {"slopes": [slopes], "loss": loss, "keep": keep, "change": change, "shrink": 1.0}
        self._record(k, pd.DataFrame({**step, "intercept": self._states[k].b}), task)

    def _conclude(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> None:
        if self.step == "constant":
            T = np.array([state.steps for state in self._states])
            self.bound_ = float(np.max(self.B * self._rho / np.sqrt(T)))
        else:  # without projection every iterate is an average of rows / lambda, so that rho <= 2 R
            self.bound_ = self._bound(2.0 * self._rho)
        self.objective_ = self._objectives(X, tasks, weights)
