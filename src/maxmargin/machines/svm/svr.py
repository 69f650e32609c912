"""Support vector regression: SVR, NuSVR."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import check_choice, check_not_negative, check_positive, check_share
from maxmargin.base.progress import Callback
from maxmargin.base.tables import checked_numbers
from maxmargin.base.typing import FloatArray, IntArray, TableLike, TargetLike, WeightLike
from maxmargin.machines.svm.base import SingleMachine, check_warm_start, scaled_start
from maxmargin.machines.svm.fitted_problem import FittedProblem
from maxmargin.problems.formulations import Formulation, NuRegression, Regression

_HARD = 1e10  # used for C=inf: no multiplier reaches it if a function fits into the tube


class _Regressor(RegressorMixin, SingleMachine):
    @all_or_nothing
    def fit(
        self,
        X: TableLike,
        y: TargetLike,
        sample_weight: WeightLike | None = None,
        *,
        callback: Callback | None = None,
    ) -> Self:
        """Fit the model to rows ``X`` and targets ``y`` of shape (n_samples,); ``callback`` as in `SVC`."""
        self.epsilon_ = self._fit_single(X, y, sample_weight, callback=callback).epsilon
        return self

    @all_or_nothing
    def fit_from(
        self, X: TableLike, y: TargetLike, sample_weight: WeightLike | None, coefficients: FloatArray
    ) -> Self:
        """As `fit`, starting from coefficients of shape (n_samples,)."""
        self.epsilon_ = self._fit_single(X, y, sample_weight, coefficients).epsilon
        return self

    def _target(self, y: Any, n: int) -> FloatArray:
        return checked_numbers(y, n, self)

    def predict(self, X: TableLike) -> FloatArray:
        """f(x) of shape (n_samples,)."""
        return self.single_decision(X)

    @property
    def margin_(self) -> float:
        """1 / ||w||: how flat the function is."""
        return self._problem.margin

    @property
    def slack_(self) -> FloatArray:
        """max(0, |y - f(x)| - epsilon) of the training rows, of shape (n_samples,)."""
        problem = self._problem
        residuals = np.abs(problem.signs - problem.decisions)
        return self._per_row(np.maximum(0.0, residuals - self.epsilon_), problem)


@dataclass(eq=False, repr=False)
class SVR(_Regressor):
    """Support vector regression, exact and certified.

        min 1/2 ||w||^2 + C sum_i w_i max(0, |y_i - f(x_i)| - epsilon)    (or the square of the loss)

    Parameters as in `SVC`, with ``epsilon`` >= 0 and ``loss`` "epsilon_insensitive" or
    "squared_epsilon_insensitive". C = inf allows no residual above epsilon; if no function achieves that, the
    fit is refused.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X = np.linspace(0, 1, 20).reshape(-1, 1)
    >>> model = mm.SVR(kernel="linear", C=100, epsilon=0.01).fit(X, 2 * X[:, 0] + 1)
    >>> bool(abs(model.predict([[0.5]])[0] - 2) <= 0.011)
    True
    """

    C: float = 1.0
    epsilon: float = field(default=0.1, kw_only=True)
    loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = field(
        default="epsilon_insensitive", kw_only=True
    )
    warm_start: bool = field(default=False, kw_only=True)

    def check_parameters(self) -> None:
        super().check_parameters()
        check_warm_start(self)
        check_positive("C", self.C, infinite=True)
        check_not_negative("epsilon", self.epsilon)
        check_choice("loss", self.loss, ("epsilon_insensitive", "squared_epsilon_insensitive"))

    def formulation(self) -> Formulation:
        C = _HARD if np.isinf(self.C) else float(self.C)
        return Regression(C=C, epsilon=float(self.epsilon), loss=self.loss)

    def _fit_single(self, *args: Any, **options: Any) -> FittedProblem:
        problem = super()._fit_single(*args, **options)
        if np.isinf(self.C) and self.loss == "epsilon_insensitive" and problem.bounded.any():
            raise ValueError(
                f"C=inf allows no residual above epsilon={self.epsilon:g}, and no function of this kernel "
                "stays so close to all targets: use a finite C, or raise epsilon."
            )
        return problem

    def _start(self, rows: IntArray, weight: FloatArray) -> FloatArray | None:
        last = getattr(self, "machines_", [None])[0]
        if not self.warm_start or last is None or not np.array_equal(last.rows, rows):
            return None
        squared = self.loss == "squared_epsilon_insensitive"
        return last.alpha if squared else scaled_start(last.alpha, np.tile(self.C * weight, 2))


@dataclass(eq=False, repr=False)
class NuSVR(_Regressor):
    """Support vector regression that finds epsilon: at most a share nu of the rows lies outside the tube.

    Parameters as in `SVR`, with ``nu`` in place of ``epsilon`` and without loss and warm_start; ``epsilon_``
    is the width that was found.

    >>> import maxmargin as mm
    >>> x, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0]
    >>> model = mm.NuSVR(nu=0.5, C=10.0, kernel="linear").fit(x, y)
    >>> round(float(model.predict([[4.0]])[0]), 1)
    4.0
    """

    nu: float = 0.5
    C: float = 1.0

    def check_parameters(self) -> None:
        super().check_parameters()
        check_positive("C", self.C)
        check_share("nu", self.nu)

    def formulation(self) -> Formulation:
        return NuRegression(C=float(self.C), nu=float(self.nu))
