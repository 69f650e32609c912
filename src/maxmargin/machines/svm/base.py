"""What all support vector machines share: kernel, solver, validation, prediction."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.memory import cache_bytes
from maxmargin.base.parameters import (
    check_choice,
    check_flags,
    check_max_iter,
    check_positive,
    check_time_limit,
)
from maxmargin.base.threads import effective_threads
from maxmargin.base.typing import AnyArray, FloatArray, IntArray
from maxmargin.kernels import Kernel, Linear
from maxmargin.kernels.kernel_products import kernel_times
from maxmargin.kernels.points import IndexedPoints
from maxmargin.kernels.precomputed import Tabulated
from maxmargin.machines.kernel_estimator import TakesKernel
from maxmargin.machines.svm.fitted_problem import Machine
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.certificate import Certificate, worst
from maxmargin.solvers.by_name import as_solver
from maxmargin.solvers.certified import certify_fully
from maxmargin.solvers.settings import DualSolver


class KernelMachine(TakesKernel):
    """Common base of the kernel machines. Subclasses list their own constructor arguments."""

    tol: float
    certify: str
    max_iter: int
    time_limit: float | None
    solver: Any
    cache_size: float | None
    shrinking: bool
    warm_start: bool = False  # a parameter of those machines that can start from their last fit
    verbose: int
    trace: bool
    machines_: list[Machine]

    # -- parameters ----------------------------------------------------------------------------------

    def check_parameters(self) -> None:
        check_positive("tol", self.tol)
        check_choice("certify", self.certify, ("auto", "full"))
        check_flags(self, "shrinking", "warm_start", "trace")
        check_max_iter(self.max_iter)
        check_time_limit(self.time_limit)
        if self.warm_start and not as_solver(self.solver).warm_starts:
            raise ValueError(f"solver={self.solver!r} cannot start from the last fit: use warm_start=False.")

    def set_params(self, **params: Any) -> Self:
        """Set parameters; options of a solver given as an object as ``solver__selection``."""
        inner = {
            name.removeprefix("solver__"): params.pop(name)
            for name in list(params)
            if name.startswith("solver__")
        }
        super().set_params(**params)
        if inner:
            self.solver = as_solver(self.solver).with_params(**inner)
        return self

    def dual_solver(self) -> DualSolver:
        return as_solver(self.solver).with_limits(
            tol=self.tol,
            max_iter=self.max_iter,
            time_limit=self.time_limit,
            cache_size=self.cache_size,
            shrinking=self.shrinking,
            n_threads=effective_threads(self.n_jobs),
            trace=self.trace,
        )

    # -- data ----------------------------------------------------------------------------------------

    def _for_training(self, kernel: Kernel, points: Any) -> tuple[Kernel, Any]:
        """What the solver sees: the kernel itself or, where values are dear and fit, their whole matrix.

        Solver, check of precision, certificate and all binary machines then share one computation.
        """
        n = len(points)
        if not kernel.whole or 8 * n * n > cache_bytes(self.cache_size):
            return kernel, points
        K = kernel.gram(points.astype(np.float64), n_threads=effective_threads(self.n_jobs))
        return Tabulated(kernel), IndexedPoints(K, np.arange(n))

    def _store_expansion(
        self, kernel: Kernel, points: Any, X: Any, support: IntArray, coefficients: FloatArray
    ) -> None:
        """Keep what prediction needs: the support vectors and their coefficients."""
        self.kernel_ = kernel
        self.support_ = support.astype(np.int32)
        self.dual_coef_ = coefficients
        self.shape_fit_ = (
            (len(points), self.n_features_in_) if hasattr(self, "n_features_in_") else (len(points),)
        )
        self.support_points_ = points.take(support)
        self.support_vectors_ = rows_of(X, support, precomputed=self.kernel == "precomputed")

    def _per_row(self, values: FloatArray, machine: Machine) -> FloatArray:
        """Values of the rows of a machine spread over all training rows, 0 for the others."""
        full = np.zeros(self.shape_fit_[0])
        full[machine.rows] = values
        return full

    @property
    def coef_(self) -> AnyArray:
        """Weights of the columns, for the linear kernel, of shape (n_machines, n_features)."""
        check_is_fitted(self)
        if not (isinstance(self.kernel_, Linear) and self.kernel_.features is None):
            raise AttributeError("coef_ exists for the linear kernel on all columns only.")
        coefficients: AnyArray = self._linear_coefficients()
        return coefficients

    def _linear_coefficients(self) -> AnyArray:
        return columns_of(self.dual_coef_ @ self.support_points_.X)

    # -- prediction ----------------------------------------------------------------------------------

    def points_of(self, X: Any) -> Any:
        """New rows as Points like the training rows."""
        check_is_fitted(self)
        return self.points_like(X, self.support_points_)

    def _sums(self, points: Any, support: slice, weights: FloatArray) -> FloatArray:
        return kernel_times(
            self.kernel_,
            points,
            self.support_points_.take(support),
            weights,
            n_threads=effective_threads(self.n_jobs),
        )

    def _store_traces(self, machines: list[Machine]) -> None:
        """``trace_`` where one was asked for: the steps of all machines, with their training rows."""
        if self.trace:
            self.trace_ = pd.concat(
                [machine.trace(k) for k, machine in enumerate(machines)], ignore_index=True
            )

    def _problems(self, X: Any, y: Any, sample_weight: Any) -> list[BoxQP]:
        raise NotImplementedError  # every machine says how its problems are built again

    def _certificates(self, X: Any, y: Any, sample_weight: Any) -> Certificate:
        pairs = zip(self._problems(X, y, sample_weight), self.machines_, strict=True)
        return worst(
            [certify_fully(problem, machine.solution, self.dual_solver()) for problem, machine in pairs]
        )


def not_the_training_rows(given: int, fitted: int) -> str:
    """Why a problem cannot be built again from these rows."""
    return (
        f"these are not the rows that the model was fitted on ({fitted} of positive weight, here {given}): "
        "pass the X, y and sample_weight of fit."
    )


def columns_of(product: Any) -> AnyArray:
    """A product with dense or sparse rows as an array."""
    return np.asarray(product.todense() if sp.issparse(product) else product)


def rows_of(X: Any, rows: IntArray, *, precomputed: bool) -> Any:
    """Rows of what the user gave: numbers as an array or sparse matrix, other tables as they are."""
    if precomputed:
        return np.empty((0, 0))
    if sp.issparse(X):
        return sp.csr_array(X)[rows]
    if hasattr(X, "columns"):
        chosen = _safe_indexing(X, rows)
        array = np.asarray(chosen)
        return array if array.dtype.kind in "fiub" else chosen
    if isinstance(X, (list, tuple)) and len(X) and isinstance(X[0], str):
        return [X[i] for i in rows]
    return np.asarray(X)[rows]
