"""Subgradient descent on the mean hinge, with the step rules and the bounds of the theorems."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.parameters import check_choice, check_flags, check_positive
from maxmargin.base.typing import FloatArray, TableLike, TargetLike, WeightLike
from maxmargin.compute.tables.inner_products import squared_norms
from maxmargin.machines.online.base import OnlineClassifier, rows_of_task
from maxmargin.problems.multiclass import BinaryTask
from maxmargin.solvers.online.convex_descent import (
    lipschitz_steps,
    strongly_convex_bound,
    strongly_convex_steps,
)
from maxmargin.solvers.online.online_loop import OnlineLoop, OnlineState, Schedule


@dataclass(eq=False, repr=False, kw_only=True)
class HingeDescent(OnlineClassifier):
    """Base class of `Pegasos` and `SubgradientDescent`: lambda/2 (||w||^2 + b^2) + the weighted mean hinge.

    A full fit scales the positive weights of the rows of a binary model to a mean of one, so that steps
    follow the gradient of the weighted mean. Rows of weight zero have no effect. The returned average is over
    the iterates 1 to T, each before one of the T steps, as in the theorems.
    """

    shuffle: bool | Literal["replacement"] = "replacement"

    _reports = ("bound_", "bound_note_", "objective_", "rho_")

    def _decay(self) -> float:
        """The weight lambda of the penalty, 0 for none."""
        raise NotImplementedError  # each learner has its own

    def _prepare(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> None:
        self._counts = np.empty(len(tasks))  # rows of positive weight
        self._heaviest = np.empty(len(tasks))  # the largest weight, scaled
        for k, task in enumerate(tasks):
            mine = rows_of_task(weights, task)
            self._counts[k] = np.count_nonzero(mine)
            if self._counts[k] == 0:
                raise ValueError("two classes have no row of positive weight: drop them or use 'ovr'.")
            self._scales[k] = self._counts[k] / mine.sum()
            self._heaviest[k] = self._scales[k] * mine.max()

    def _theta(self, state: OnlineState) -> FloatArray:
        last = state.theta(average=False)
        if not self.average:
            return last
        return np.asarray(state.theta(average=True) - last / max(state.steps, 1.0))  # the first one is zero

    def _shares(self, state: OnlineState, n_steps: int) -> FloatArray:
        shares = np.full(n_steps, 1.0 / n_steps)
        shares[-1:] = 0.0
        return shares

    def _conclude(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> None:
        reason = self._outside()
        measured = self._measure(X, tasks, weights, norms=not reason)
        self.objective_ = np.array([found.certificate.primal for found in measured])
        radii = np.hypot([found.longest for found in measured], float(self.fit_intercept))
        self.rho_ = np.full(len(tasks), np.nan) if reason else self._slopes(radii)
        T = np.array([state.steps for state in self._states])
        self.bound_ = float(self._bounds(T).max())
        self.bound_note_ = f"no bound: {reason}" if reason else self._theorem()

    def _slopes(self, radii: FloatArray) -> FloatArray:
        """Bounds rho on the steps' subgradients, from the largest ||(x, 1)|| of every binary model."""
        raise NotImplementedError  # each learner has its own

    def _bounds(self, T: FloatArray) -> FloatArray:
        """The theorem's bounds after T steps."""
        return np.asarray(strongly_convex_bound(self.rho_, self._decay(), T, self._shift()))

    def _shift(self) -> float:
        """The bound has log(T + shift)."""
        return 0.0

    def _theorem(self) -> str:
        return "Valera, theorem 5.14: on the expected distance of objective_ from the optimum"

    def _outside(self) -> str:
        """Why the theorem does not apply; "" if it does."""
        if not self.average:
            return "the theorem is about the average of the iterates, not about the last one"
        if self.shuffle != "replacement":
            return "the theorem needs rows drawn at random with replacement (shuffle='replacement')"
        return ""

    def steps_for(self, epsilon: float) -> int:
        """The number of steps T after which the theorem's bound is at most ``epsilon``, on the fitted data.

        One step sees one row (all rows in batch mode); a pass makes as many steps as there are rows.
        """
        self._check_theorem()
        steps = [strongly_convex_steps(float(r), self._decay(), epsilon, self._shift()) for r in self.rho_]
        return max(steps)

    def _check_theorem(self) -> None:
        check_is_fitted(self, "rho_")
        if np.isnan(self.bound_):
            raise ValueError(f"steps_for needs the setting of the theorem, and there is {self.bound_note_}.")


@dataclass(eq=False, repr=False)
class Pegasos(HingeDescent):
    """Stochastic subgradient descent on the SVM primal (Shalev-Shwartz et al. 2011).

        min over w, b   lambda/2 (||w||^2 + b^2) + mean_i hinge(y_i (<w, x_i> + b))

    with steps 1/(lambda t) (Fuentes, algorithm 5, prints 1/t), and with ``project`` a projection onto the
    ball of radius 1/sqrt(lambda), which contains the optimum. The bound needs a strongly convex objective, so
    the intercept is penalised like a weight. Cost of a pass: n p.

    Parameters
    ----------
    lam : lambda; 1/(n C) in the notation of the other estimators.
    average : return the average of the iterates 1 to T, for which the bound holds.
    project : project onto the ball.
    shuffle : "replacement" to draw a row at random for every step, as the theorem assumes; True or False as
        in `Perceptron`.
    fit_intercept, max_iter, multiclass, class_weight, random_state, verbose, trace : as in `Perceptron`.

    Attributes
    ----------
    coef_, intercept_, history_, n_iter_ : as in `Perceptron`.
    objective_ : value of the problem above, of shape (n_machines,).
    certificate_ : the objective of the binary model with the largest gap, and the best lower bound from a few
        dual points. For fewer than 30 passes over more than 100 000 numbers this bound is 0; `certify`
        computes the better one. ``certificates_`` has all.
    bound_ : rho^2 (1 + log T)/(2 lambda T) after T steps, on the expected distance of the objective from the
        optimum, the largest of the binary models; NaN outside the setting of the theorem. ``bound_note_``
        names the theorem or the reason.
    rho_ : bounds on the lengths of the subgradients, of shape (n_machines,); NaN if ``bound_`` is.

    Examples
    --------
    >>> import maxmargin as mm
    >>> model = mm.Pegasos(lam=0.1, random_state=0).fit([[1.0], [2.0], [-1.0], [-3.0]], [1, 1, 0, 0])
    >>> model.predict([[1.5], [-1.5]]).tolist()
    [1, 0]
    """

    lam: float = 1e-3
    _: KW_ONLY
    average: bool = True
    project: bool = True
    max_iter: int = 20

    def _check(self) -> None:
        super()._check()
        check_flags(self, "project")
        check_positive("lam", self.lam)

    def _decay(self) -> float:
        return self.lam

    def _loop(self) -> OnlineLoop:
        return OnlineLoop(
            rule="hinge",
            schedule=Schedule("strongly_convex"),
            decay=self.lam,
            fit_intercept=self.fit_intercept,
            decay_bias=True,
            average=self.average,
            radius=1.0 / np.sqrt(self.lam) if self.project else 0.0,
        )

    def _slopes(self, radii: FloatArray) -> FloatArray:
        # without the projection every iterate is an average of rows / lambda
        slopes = radii * self._heaviest
        return slopes + np.sqrt(self.lam) if self.project else 2.0 * slopes


@dataclass(eq=False, repr=False, kw_only=True)
class SubgradientDescent(HingeDescent):
    """Subgradient descent on the hinge, batch or stochastic; the average of the iterates is returned.

        step="constant"          mean_i hinge_i,                     eta = B/(rho sqrt T)   bound B rho/sqrt T
        step="strongly_convex"   lambda/2 ||theta||^2 + mean hinge,  eta = 1/(lambda t)
                                                             bound rho^2 (1 + log T)/(2 lambda T)
        step="soft_svm"          the same objective,                 eta = 1/(lambda (t + 1))
                                                             bound rho^2 (1 + log(T + 1))/(2 lambda T)

    T is the number of steps (passes, times n when stochastic), rho a bound on the subgradients, B one on the
    length of the optimal theta = (w, b). The bounds (Valera, theorems 5.9 and 5.14) hold for the average of
    the iterates 1 to T; when stochastic in expectation, with rows drawn at random with replacement. Valera
    prints two forms of the stochastic descent for the soft margin: equation (5.15) is "strongly_convex", the
    box below it, theta(t)/(lambda t), is "soft_svm". Cost of a step: n p in batch mode, p when stochastic.

    Parameters
    ----------
    mode : "batch" (every step sees all rows) or "stochastic" (one row).
    step : "constant", "strongly_convex" or "soft_svm".
    B : the length bound of the constant rule.
    lam : lambda of the other rules.
    shuffle : as in `Pegasos`, for the stochastic mode.
    fit_intercept, max_iter, multiclass, class_weight, random_state, verbose, trace : as in `Perceptron`.

    Attributes
    ----------
    coef_, intercept_, history_, n_iter_ : as in `Perceptron`.
    objective_, certificate_, bound_, bound_note_, rho_ : as in `Pegasos`. For the constant rule the bound
        compares with the best theta of length at most B; it is B^2/(2 eta T) + eta rho^2/2.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = [[1.0], [2.0], [-1.0], [-3.0]], [1, 1, 0, 0]
    >>> model = mm.SubgradientDescent(mode="batch", step="strongly_convex", lam=0.1, max_iter=500).fit(X, y)
    >>> model.predict([[1.5], [-1.5]]).tolist(), round(float(model.objective_[0]), 2)
    ([1, 0], 0.06)
    """

    average = True

    mode: Literal["batch", "stochastic"] = "stochastic"
    step: Literal["constant", "strongly_convex", "soft_svm"] = "strongly_convex"
    B: float = 1.0
    lam: float = 1e-2
    max_iter: int = 50

    def _check(self) -> None:
        super()._check()
        check_positive("B", self.B)
        check_positive("lam", self.lam)
        check_choice("mode", self.mode, ("batch", "stochastic"))
        check_choice("step", self.step, ("constant", "strongly_convex", "soft_svm"))

    def partial_fit(
        self,
        X: TableLike,
        y: TargetLike,
        classes: TargetLike | None = None,
        sample_weight: WeightLike | None = None,
    ) -> Self:
        """As in `Perceptron`, for the stochastic mode with a decaying step, which does not depend on T."""
        if self.mode != "stochastic" or self.step == "constant":
            raise ValueError("partial_fit needs mode='stochastic' and step='strongly_convex' or 'soft_svm'.")
        return super().partial_fit(X, y, classes, sample_weight)

    def _prepare(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> None:
        super()._prepare(X, tasks, weights)
        if self.step != "constant":
            return
        lengths = np.sqrt(squared_norms(X) + (1.0 if self.fit_intercept else 0.0)) * (weights > 0)
        self.rho_ = self._slopes(np.array([rows_of_task(lengths, task).max() for task in tasks]))
        T = self.max_iter * (self._counts if self.mode == "stochastic" else np.ones(len(tasks)))
        for state, eta in zip(
            self._states, self.B / (np.maximum(self.rho_, 1e-300) * np.sqrt(T)), strict=True
        ):
            state.eta = eta

    def _decay(self) -> float:
        return 0.0 if self.step == "constant" else self.lam

    def _ball(self) -> float:
        return self.B if self.step == "constant" else np.inf

    def _loop(self) -> OnlineLoop:
        # 1/(lambda (t + 1)) is the inverse decay that begins at 1/lambda
        soft = Schedule("inverse_decay", 1.0 / self.lam)
        return OnlineLoop(
            rule="hinge",
            schedule=soft if self.step == "soft_svm" else Schedule(self.step),
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
        losses, decay = [], self._decay()
        for k, (task, state) in enumerate(zip(tasks, self._states, strict=True)):
            rows, share = rows_of_task(X, task), weights[task.rows] / weights[task.rows].sum()
            m = task.signs * (np.asarray(rows @ state.v).ravel() + state.b)
            self._last_mistakes[k] = np.count_nonzero((m <= 0) & (share > 0))
            losses.append(float(share @ np.maximum(0.0, 1.0 - m)))
            u = np.where(m < 1.0, share * task.signs, 0.0)
            state.steps += 1.0
            eta = 1.0 / (decay * (state.steps + self._shift())) if decay else state.eta
            state.v = (1.0 - eta * decay) * state.v + eta * np.asarray(rows.T @ u).ravel()
            state.b = (1.0 - eta * decay) * state.b + eta * float(u.sum()) * self.fit_intercept
            state.z += state.v  # with a mass of 0 the sum of the iterates is z
            state.sum_b += state.b
            if self.trace:
                slopes = np.zeros(X.shape[0])
                slopes[task.rows] = u
                step = {"slopes": [slopes], "loss": losses[-1], "keep": 1.0 - eta * decay, "change": eta}
                self._record(k, pd.DataFrame({**step, "shrink": 1.0, "intercept": state.b}), task)
        total = int(self._last_mistakes.sum())
        self._rows.append((len(self._rows) + 1, total, float(np.mean(losses))))
        return total, self._rows[-1][2]

    def _slopes(self, radii: FloatArray) -> FloatArray:
        # a batch step is a mean of slopes, none longer than its row; see `Pegasos` for the factor 2
        rho = radii * self._heaviest if self.mode == "stochastic" else radii
        return rho if self.step == "constant" else 2.0 * rho

    def _bounds(self, T: FloatArray) -> FloatArray:
        if self.step == "constant":
            # the step is B/(rho sqrt T) for all T steps of the fit, and a callback may stop it earlier
            eta = np.array([state.eta for state in self._states])
            return np.asarray(0.5 * (self.B**2 / (eta * T) + eta * self.rho_**2))
        return super()._bounds(T)

    def _shift(self) -> float:
        return float(self.step == "soft_svm")

    def _theorem(self) -> str:
        expected = "" if self.mode == "batch" else "expected "
        if self.step != "constant":
            return f"Valera, theorem 5.14: on the {expected}distance of objective_ from the optimum"
        name = "corollary 5.2" if self.mode == "batch" else "theorem 5.9"
        return f"Valera, {name}: on the {expected}distance of objective_ from the best value of length B"

    def _outside(self) -> str:
        return "" if self.mode == "batch" else super()._outside()

    def steps_for(self, epsilon: float) -> int:
        """As in `Pegasos`."""
        if self.step != "constant":
            return super().steps_for(epsilon)
        self._check_theorem()
        return max(lipschitz_steps(self.B, float(rho), epsilon) for rho in self.rho_)
