"""Base classes of the support vector machines: parameters, training data, the expansion, prediction."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.interruption import of_one_fit
from maxmargin.base.memory import cache_bytes
from maxmargin.base.parameters import (
    check_choice,
    check_flags,
    check_max_iter,
    check_positive,
    check_time_limit,
)
from maxmargin.base.progress import Callback
from maxmargin.base.tables import row_weights
from maxmargin.base.threads import effective_threads
from maxmargin.base.typing import AnyArray, FloatArray, IntArray, TableLike, TargetLike, WeightLike
from maxmargin.kernels import Kernel, Linear
from maxmargin.kernels.kernel_products import kernel_times
from maxmargin.kernels.points import IndexedPoints
from maxmargin.kernels.precomputed import Tabulated
from maxmargin.kernels.vectors import about_their_mean, lost_by_shift
from maxmargin.machines.kernel_estimator import TakesKernel, parameters_of, take_rows
from maxmargin.machines.svm.fitted_problem import (
    FittedProblem,
    fit_problem,
    progress_lines,
    warn_if_loose,
)
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.certificate import Certificate, worst
from maxmargin.problems.formulations import Formulation
from maxmargin.solvers.by_name import as_solver
from maxmargin.solvers.certified import certify_fully
from maxmargin.solvers.settings import DualSolver


@dataclass(eq=False, repr=False, kw_only=True)
class KernelMachine(TakesKernel):
    """Base class of the support vector machines; `SVC` documents the parameters."""

    tol: float = 1e-3
    certify: Literal["auto", "full"] = "auto"
    max_iter: int = -1
    time_limit: float | None = None
    solver: Any = "working_set"
    cache_size: float | None = None
    shrinking: bool = True
    verbose: int = 0
    trace: bool = False

    # -- parameters ----------------------------------------------------------------------------------

    def formulation(self) -> Formulation:
        """The dual problem that this estimator solves."""
        raise NotImplementedError

    def check_parameters(self) -> None:
        check_positive("tol", self.tol)
        check_choice("certify", self.certify, ("auto", "full"))
        check_flags(self, "shrinking", "trace")
        check_max_iter(self.max_iter)
        check_time_limit(self.time_limit)

    def set_params(self, **params: Any) -> Self:
        """Set parameters; options of a solver that is an object as ``solver__selection``."""
        inner = parameters_of("solver", params)
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

    shifts_rows = True  # True if shifting all rows by the same vector does not change the model

    def prepare_rows(self, X: TableLike) -> tuple[Kernel, Any]:
        kernel, points = super().prepare_rows(X)
        return kernel, self._shifted(kernel, points)

    def _shifted(self, kernel: Kernel, points: Any) -> Any:
        """The points that the problem uses, perhaps shifted; a trace shows the original rows."""
        return about_their_mean(kernel, points) if self.shifts_rows and not self.trace else points

    def _for_training(self, kernel: Kernel, points: Any) -> tuple[Kernel, Any]:
        """The kernel or, if its values are expensive and the matrix fits in memory, a table of its values.

        Solver, certificate and all binary problems then share one computation.
        """
        n = len(points)
        if not kernel.whole or 8 * n * n > cache_bytes(self.cache_size):
            return kernel, points
        K = kernel.gram(points.astype(np.float64), n_threads=effective_threads(self.n_jobs))
        return Tabulated(kernel), IndexedPoints(K, np.arange(n))

    def _store_expansion(
        self, kernel: Kernel, points: Any, X: Any, support: IntArray, coefficients: FloatArray
    ) -> None:
        """Store the support vectors and their coefficients for prediction."""
        self.kernel_ = kernel
        self.support_ = support.astype(np.int32)
        self.__dict__["dual_coef_"] = coefficients
        self.shape_fit_ = (
            (len(points), self.n_features_in_) if hasattr(self, "n_features_in_") else (len(points),)
        )
        self.support_points_ = points.take(support)
        self.support_vectors_ = np.empty((0, 0)) if self.kernel == "precomputed" else _as_given(X, support)

    def _store_problems(self, problems: list[FittedProblem]) -> None:
        """Keep the fitted problems and, with ``trace=True``, one table of the steps of all solvers."""
        solver = self.dual_solver()
        is_linear = isinstance(self.kernel, Linear) or self.kernel == "linear"
        for problem in problems:
            warn_if_loose(problem, solver, is_linear=is_linear)
        self.machines_ = problems
        self.intercept_ = np.array([problem.intercept for problem in problems])
        self.certificate_ = worst([problem.certificate for problem in problems])
        if self.trace:
            steps = [problem.trace(k) for k, problem in enumerate(problems)]
            self.trace_ = pd.concat(steps, ignore_index=True)

    def _per_row(self, values: FloatArray, problem: FittedProblem) -> FloatArray:
        """Values at the rows of a problem, spread over all training rows with 0 elsewhere."""
        full = np.zeros(self.shape_fit_[0])
        full[problem.rows] = values
        return full

    @property
    def dense_dual_coef(self) -> FloatArray:
        """`dual_coef_` as an array, whatever the rows were."""
        check_is_fitted(self)
        return self.__dict__["dual_coef_"]

    @property
    def dual_coef_(self) -> Any:
        """Coefficients of the support vectors; sparse if the rows were, as in scikit-learn."""
        return (
            sp.csr_array(self.dense_dual_coef) if sp.issparse(self.support_vectors_) else self.dense_dual_coef
        )

    @property
    def fit_status_(self) -> int:
        """0 if every problem reached its tolerance, else 1 (the fit warned)."""
        check_is_fitted(self)
        return int(not self.dual_solver().accepts(self.certificate_))

    @property
    def coef_(self) -> Any:
        """Weights of the columns, for the linear kernel, of shape (n_problems, n_features); read only.

        Sparse if the training rows were.
        """
        check_is_fitted(self)
        if not (isinstance(self.kernel_, Linear) and self.kernel_.features is None):
            raise AttributeError("coef_ only exists for the linear kernel on all columns.")
        weights = self._coefficients() @ self.support_points_.X
        if sp.issparse(self.support_vectors_):
            weights = sp.csr_array(weights)
        (weights.data if sp.issparse(weights) else weights).flags.writeable = False
        return weights

    def _coefficients(self) -> FloatArray:
        """Coefficients of the support vectors, of shape (n_problems, n_SV)."""
        return self.dense_dual_coef

    # -- prediction ----------------------------------------------------------------------------------

    def points_of(self, X: TableLike) -> Any:
        """New rows as Points like the training rows."""
        check_is_fitted(self)
        return self.points_like(X, self.support_points_)

    def _sums(self, points: Any, support: slice, weights: FloatArray) -> FloatArray:
        mine = self.support_points_.take(support)
        sums = kernel_times(self.kernel_, points, mine, weights, n_threads=effective_threads(self.n_jobs))
        return sums + lost_by_shift(self.kernel_, mine) @ weights

    def to_sklearn(self) -> Any:
        """The fitted model as scikit-learn's own object (`maxmargin.to_sklearn`)."""
        return import_module("maxmargin.io").to_sklearn(self)  # by name, because `io` imports the estimators

    # -- the problems again --------------------------------------------------------------------------

    def rebuilt_problems(
        self, X: TableLike, y: TargetLike | None = None, sample_weight: WeightLike | None = None
    ) -> list[BoxQP]:
        """The dual problems of the fit, built again from the training data."""
        raise NotImplementedError

    def full_certificate(
        self, X: TableLike, y: TargetLike | None = None, sample_weight: WeightLike | None = None
    ) -> Certificate:
        """The certificate of the worst problem, over all rows of the training data."""
        problems = self.rebuilt_problems(X, y, sample_weight)
        solver = self.dual_solver()
        return worst(
            [
                certify_fully(problem, fitted.solution, solver)
                for problem, fitted in zip(problems, self.machines_, strict=True)
            ]
        )


def check_training_rows(given: IntArray, fitted: IntArray) -> None:
    """Refuse data that differ from those of the fit."""
    if not np.array_equal(given, fitted):
        raise ValueError(
            f"these are not the rows that the model was fitted on ({len(fitted)} of positive weight, here "
            f"{len(given)}): pass the X, y and sample_weight of fit."
        )


def check_warm_start(estimator: BaseEstimator) -> None:
    check_flags(estimator, "warm_start")
    if estimator.warm_start and not as_solver(estimator.solver).warm_starts:
        raise ValueError(f"solver={estimator.solver!r} does not support warm starts: use warm_start=False.")


def scaled_start(alpha: FloatArray, upper: FloatArray) -> FloatArray:
    """Multipliers of an earlier fit, scaled into new bounds."""
    used = alpha > 0
    return alpha * float(np.min(upper[used] / alpha[used], initial=1.0))


def _as_given(X: Any, rows: IntArray) -> Any:
    """Rows of the user's table: numbers as an array or sparse matrix, other tables unchanged."""
    if isinstance(X, (list, tuple)) and not (len(X) and isinstance(X[0], str)):
        X = np.asarray(X)
    chosen = take_rows(X, rows)
    if hasattr(X, "columns"):
        array = np.asarray(chosen)
        return array if array.dtype.kind in "fiub" else chosen
    return chosen


class SingleMachine(KernelMachine):
    """Base class of the estimators with one problem over all rows: regression and outlier detection."""

    def _target(self, y: Any, n: int) -> FloatArray:
        """The validated target of n rows."""
        raise NotImplementedError

    def _fit_single(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        coefficients: FloatArray | None = None,
        callback: Callback | None = None,
    ) -> FittedProblem:
        """Validate, solve (from given coefficients of the rows or a warm start), store."""
        self.check_parameters()
        kernel, points = self.prepare_rows(X)
        values = self._target(y, len(points))
        weight = row_weights(sample_weight, len(points))
        rows = np.flatnonzero(weight > 0)
        seen, known = self._for_training(kernel, points)
        problem = fit_problem(
            self.formulation(),
            seen,
            known if len(rows) == len(points) else known.take(rows),
            values[rows],
            weight[rows],
            self.dual_solver(),
            rows=rows,
            full=self.certify == "full",
            start=self._start(rows, weight[rows]) if coefficients is None else two_sided(coefficients[rows]),
            callback=progress_lines(self.verbose, type(self).__name__, callback),
        )
        self._store_problems([problem])
        support = rows[problem.beta != 0]
        self._store_expansion(kernel, points, X, support, problem.beta[problem.beta != 0].reshape(1, -1))
        self.n_support_ = np.array([len(support)], dtype=np.int32)
        self.n_iter_ = problem.solution.n_iter
        self.solution_ = problem.solution
        return problem

    def _start(self, rows: IntArray, weight: FloatArray) -> FloatArray | None:
        return None

    @property
    def _problem(self) -> FittedProblem:
        check_is_fitted(self)
        return self.machines_[0]

    @property
    def alpha_(self) -> FloatArray:
        """Multipliers of the training rows, of shape (n_samples,); in regression up minus down."""
        problem = self._problem
        two_sided = len(problem.alpha) != len(problem.rows)
        return self._per_row(problem.beta if two_sided else problem.alpha, problem)

    def kinds_of(self, problem: FittedProblem) -> AnyArray:
        """The kind of each row: "inactive" (alpha = 0), "free" or "bounded"; the larger alpha counts."""
        n = len(problem.rows)
        alpha, bounded = problem.alpha.reshape(-1, n), problem.bounded.reshape(-1, n)
        support = (alpha > 0).any(axis=0)
        return np.where(bounded.any(axis=0) & support, "bounded", np.where(support, "free", "inactive"))

    @of_one_fit
    def single_decision(self, X: TableLike) -> FloatArray:
        """f(x) of shape (n_samples,)."""
        points = self.points_of(X)
        sums = self._sums(points, slice(0, len(self.support_)), self.dense_dual_coef[0])
        return sums + self.intercept_[0]

    def rebuilt_problems(
        self, X: TableLike, y: TargetLike | None = None, sample_weight: WeightLike | None = None
    ) -> list[BoxQP]:
        points = self._shifted(self.kernel_, self.kernel_.prepare(X))
        weight = row_weights(sample_weight, len(points))
        rows = np.flatnonzero(weight > 0)
        target = self._target(y, len(points))
        check_training_rows(rows, self._problem.rows)
        return [self.formulation().build(self.kernel_, points.take(rows), target[rows], weight[rows])]


def two_sided(beta: FloatArray) -> FloatArray:
    """Multipliers of both sides of the tube from the coefficients of the rows."""
    return np.concatenate([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)])
