"""Support vector regression: SVR, NuSVR."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import check_choice, check_not_negative, check_positive, check_share
from maxmargin.base.tables import checked_numbers
from maxmargin.base.typing import FloatArray
from maxmargin.machines.svm.single_problem import SingleMachine
from maxmargin.problems.formulations import Formulation, NuRegression, Regression


class _Regressor(RegressorMixin, SingleMachine):
    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine to rows ``X`` and targets ``y`` of shape (n_samples,)."""
        self.epsilon_ = self._fit_single(X, y, sample_weight).epsilon
        return self

    def _target(self, y: Any, n: int) -> FloatArray:
        return checked_numbers(y, n, self)

    def predict(self, X: Any) -> FloatArray:
        """f(x) of shape (n_samples,)."""
        return self.single_decision(X)

    @property
    def margin_(self) -> float:
        """1 / ||w||: how flat the function is."""
        return self._machine.margin

    @property
    def slack_(self) -> FloatArray:
        """max(0, |y - f(x)| - epsilon) of the training rows, of shape (n_samples,)."""
        machine = self._machine
        residuals = np.abs(machine.signs - machine.decisions)
        return self._per_row(np.maximum(0.0, residuals - self.epsilon_), machine)


class SVR(_Regressor):
    """Support vector regression, exact and certified.

        min 1/2 ||w||^2 + C sum_i w_i max(0, |y_i - f(x_i)| - epsilon)    (or the square of the loss)

    Parameters as in `SVC`, with ``epsilon`` >= 0 and ``loss`` "epsilon_insensitive" or
    "squared_epsilon_insensitive".

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X = np.linspace(0, 1, 20).reshape(-1, 1)
    >>> model = mm.SVR(kernel="linear", C=100, epsilon=0.01).fit(X, 2 * X[:, 0] + 1)
    >>> bool(abs(model.predict([[0.5]])[0] - 2) <= 0.011)
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        epsilon: float = 0.1,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        coef0: float = 0.0,
        degree: int = 3,
        loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = "epsilon_insensitive",
        tol: float = 1e-3,
        certify: Literal["auto", "full"] = "auto",
        max_iter: int = -1,
        time_limit: float | None = None,
        solver: Any = "working_set",
        cache_size: float | None = None,
        shrinking: bool = True,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        trace: bool = False,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.loss = loss
        self.tol = tol
        self.certify = certify
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.solver = solver
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.trace = trace

    def check_parameters(self) -> None:
        super().check_parameters()
        check_positive("C", self.C)
        check_not_negative("epsilon", self.epsilon)
        check_choice("loss", self.loss, ("epsilon_insensitive", "squared_epsilon_insensitive"))

    def formulation(self) -> Formulation:
        return Regression(C=float(self.C), epsilon=float(self.epsilon), loss=self.loss)

    def _start(self, rows: Any, weight: FloatArray) -> FloatArray | None:
        machine = getattr(self, "machines_", [None])[0]
        if not self.warm_start or machine is None or not np.array_equal(machine.rows, rows):
            return None
        alpha: FloatArray = machine.alpha
        if self.loss == "squared_epsilon_insensitive":
            return alpha
        used = alpha > 0
        upper = np.tile(self.C * weight, 2)
        return alpha * float(np.min(upper[used] / alpha[used], initial=1.0))


class NuSVR(_Regressor):
    """Support vector regression that finds epsilon: at most a share nu of the rows lies outside the tube.

    Parameters as in `SVR`, with ``nu`` in place of ``epsilon``; ``epsilon_`` is what was found.
    """

    def __init__(
        self,
        nu: float = 0.5,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        coef0: float = 0.0,
        degree: int = 3,
        tol: float = 1e-3,
        certify: Literal["auto", "full"] = "auto",
        max_iter: int = -1,
        time_limit: float | None = None,
        solver: Any = "working_set",
        cache_size: float | None = None,
        shrinking: bool = True,
        n_jobs: int | None = None,
        verbose: int = 0,
        trace: bool = False,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.tol = tol
        self.certify = certify
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.solver = solver
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.trace = trace

    def check_parameters(self) -> None:
        super().check_parameters()
        check_positive("C", self.C)
        check_share("nu", self.nu)

    def formulation(self) -> Formulation:
        return NuRegression(C=float(self.C), nu=float(self.nu))
