"""Outlier detection: OneClassSVM, SVDD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import OutlierMixin

from maxmargin.base.interruption import all_or_nothing, of_one_fit
from maxmargin.base.parameters import check_positive, check_share
from maxmargin.base.progress import Callback
from maxmargin.base.typing import FloatArray, IntArray, TableLike, TargetLike, WeightLike
from maxmargin.kernels.kernel_products import kernel_times
from maxmargin.machines.svm.base import SingleMachine
from maxmargin.problems.formulations import Formulation, OneClass, Sphere


class _Detector(OutlierMixin, SingleMachine):
    @all_or_nothing
    def fit(
        self,
        X: TableLike,
        y: TargetLike | None = None,
        sample_weight: WeightLike | None = None,
        *,
        callback: Callback | None = None,
    ) -> Self:
        """Fit the region of ordinary rows; ``y`` is not used, ``callback`` as in `SVC`."""
        self._fit_single(X, y, sample_weight, callback=callback)
        self.offset_ = -self.intercept_
        return self

    def _target(self, y: Any, n: int) -> FloatArray:
        return np.zeros(n)

    def decision_function(self, X: TableLike) -> FloatArray:
        """f(x) of shape (n_samples,): >= 0 inside the region."""
        return self.single_decision(X)

    @of_one_fit
    def score_samples(self, X: TableLike) -> FloatArray:
        """f(x) without its offset."""
        return self.decision_function(X) + self.offset_[0]

    def predict(self, X: TableLike) -> IntArray:
        """+1 for ordinary rows (f(x) >= 0), -1 for outliers."""
        return np.where(self.decision_function(X) >= 0, 1, -1)


@dataclass(eq=False, repr=False)
class OneClassSVM(_Detector):
    """The hyperplane furthest from the origin in feature space with at most a share nu of the rows behind it.

    Parameters as in `SVC`, with ``nu`` in (0, 1] and without those of a classifier.
    f(x) = sum_i a_i K(x_i, x) - rho.

    Examples
    --------
    >>> import maxmargin as mm
    >>> model = mm.OneClassSVM(nu=0.5, gamma="auto").fit([[0.0], [0.44], [0.45], [0.46], [1.0]])
    >>> model.predict([[0.45], [3.0]]).tolist()
    [1, -1]
    """

    nu: float = 0.5
    shifts_rows = False  # the origin matters

    def check_parameters(self) -> None:
        super().check_parameters()
        check_share("nu", self.nu)

    def formulation(self) -> Formulation:
        return OneClass(nu=float(self.nu))


@dataclass(eq=False, repr=False)
class SVDD(_Detector):
    """The smallest ball around the rows in feature space; rows outside it cost C times their distance.

    f(x) = R^2 - ||phi(x) - centre||^2. C >= 1 (and any C with C w_i >= 1) encloses every row; C = 1 / (nu n)
    leaves at most a share nu outside. For kernels with constant K(x, x) it agrees with `OneClassSVM`.

    Attributes
    ----------
    radius_ : R; the rest as in `OneClassSVM`.

    >>> import maxmargin as mm
    >>> ball = mm.SVDD(C=1.0, kernel="linear").fit([[0.0], [1.0], [2.0]])
    >>> ball.predict([[1.5], [5.0]]).tolist()
    [1, -1]
    """

    C: float = 1.0

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.kernel == "precomputed":
            raise ValueError("SVDD needs K(x, x) of new rows, which kernel='precomputed' does not provide.")
        check_positive("C", self.C)

    def formulation(self) -> Formulation:
        return Sphere(C=float(self.C))

    @property
    def radius_(self) -> float:
        """Radius of the ball: R^2 = a'Ka + intercept."""
        problem = self._problem
        used = problem.beta != 0
        double = problem.decisions[used] - problem.intercept + self.kernel_.diagonal(self.support_points_)
        centre = 0.25 * float(problem.beta[used] @ double)
        return float(np.sqrt(max(centre + problem.intercept, 0.0)))

    @of_one_fit
    def single_decision(self, X: TableLike) -> FloatArray:
        points = self.points_of(X)
        sums = kernel_times(self.kernel_, points, self.support_points_, self.dense_dual_coef[0])
        return sums - self.kernel_.diagonal(points) + self.intercept_[0]
