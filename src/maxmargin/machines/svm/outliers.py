"""Outlier detection: OneClassSVM, SVDD."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import OutlierMixin

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import check_positive, check_share
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.machines.svm.single_problem import SingleMachine
from maxmargin.problems.formulations import Formulation, OneClass, Sphere


class _Detector(OutlierMixin, SingleMachine):
    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the region of ordinary rows; ``y`` is not used."""
        self._fit_single(X, y, sample_weight)
        self.offset_ = -self.intercept_
        return self

    def _target(self, y: Any, n: int) -> FloatArray:
        return np.zeros(n)

    def decision_function(self, X: Any) -> FloatArray:
        """f(x) of shape (n_samples,): >= 0 inside the region."""
        return self.single_decision(X)

    def score_samples(self, X: Any) -> FloatArray:
        """f(x) without its offset."""
        return self.decision_function(X) + self.offset_[0]

    def predict(self, X: Any) -> IntArray:
        """+1 for ordinary rows (f(x) >= 0), -1 for outliers."""
        return np.where(self.decision_function(X) >= 0, 1, -1)


class OneClassSVM(_Detector):
    """The hyperplane furthest from the origin in feature space with at most a share nu of the rows behind it.

    Parameters as in `SVC`, with ``nu`` in (0, 1]. f(x) = sum_i a_i K(x_i, x) - rho.

    Examples
    --------
    >>> import maxmargin as mm
    >>> model = mm.OneClassSVM(nu=0.5, gamma="auto").fit([[0.0], [0.44], [0.45], [0.46], [1.0]])
    >>> model.predict([[0.45], [3.0]]).tolist()
    [1, -1]
    """

    def __init__(
        self,
        nu: float = 0.5,
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
        check_share("nu", self.nu)

    def formulation(self) -> Formulation:
        return OneClass(nu=float(self.nu))


class SVDD(_Detector):
    """The smallest ball around the rows in feature space; rows outside it cost C times their distance.

    f(x) = R^2 - ||phi(x) - centre||^2. C >= 1 (and any C with C w_i >= 1) encloses every row; C = 1 / (nu n)
    leaves at most a share nu outside. For kernels with constant K(x, x) it agrees with `OneClassSVM`.

    Attributes
    ----------
    radius_ : R; the rest as in `OneClassSVM`.
    """

    def __init__(
        self,
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
        if self.kernel == "precomputed":
            raise ValueError("SVDD needs K(x, x) of new rows, which kernel='precomputed' cannot give.")
        check_positive("C", self.C)

    def formulation(self) -> Formulation:
        return Sphere(C=float(self.C))

    @property
    def radius_(self) -> float:
        """Radius of the ball: R^2 = a'Ka + intercept."""
        machine = self._machine
        centre = 0.25 * float(machine.beta @ (machine.decisions - machine.intercept))
        return float(np.sqrt(max(centre + machine.intercept, 0.0)))

    def single_decision(self, X: Any) -> FloatArray:
        points = self.points_of(X)
        sums = self._sums(points, slice(0, len(self.support_)), self.dual_coef_[0])
        decisions: FloatArray = sums - self.kernel_.diagonal(points) + self.intercept_[0]
        return decisions
