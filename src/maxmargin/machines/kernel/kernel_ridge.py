"""Kernel ridge regression with a path of penalties and exact leave-one-out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from math import nan
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from maxmargin.base.interruption import all_or_nothing, of_one_fit
from maxmargin.base.parameters import check_positive, check_positives
from maxmargin.base.tables import checked_numbers, row_weights
from maxmargin.base.threads import blas_threads_for, effective_threads, single_threaded_blas
from maxmargin.base.typing import FloatArray
from maxmargin.machines.kernel_estimator import KernelExpansion
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.kernel_system import KernelRidgeProblem
from maxmargin.solvers.least_squares.ridge_path import RidgePath, kernel_path, kernel_ridge

_LOOSE = 1e-6  # relative gap and backward error above which a fit warns


@dataclass(eq=False, repr=False)
class KernelRidge(RegressorMixin, KernelExpansion):
    """Kernel ridge regression: a = (K + alpha I)^-1 y and f(x) = sum_i a_i K(x_i, x).

        min over f   sum_i s_i (y_i - f(x_i))^2 + alpha ||f||^2                         (Fuentes, section 5.2)

    alpha is n lambda in Fuentes' notation, rho in Tobar's (2023), and scikit-learn's alpha. There is no
    intercept; add a constant kernel for one. One alpha costs a Cholesky factorisation and, for the exact
    leave-one-out residuals, its inverse (n^3 together); a path costs one tridiagonal reduction
    (8/3 n^3) and then n^2 for each alpha.

    Parameters
    ----------
    alpha : regularisation parameter; not used where ``alphas`` is given.
    alphas : values of alpha to try; the one with the smallest leave-one-out error is kept as ``alpha_``.
    kernel, gamma, coef0, degree : as in `SVC`.
    n_jobs : number of threads.

    Attributes
    ----------
    dual_coef_ : of shape (n_samples,).
    alpha_ : the value of alpha in use.
    path_ : `RidgePath` with the dual weights and leave-one-out residuals for every alpha.
    certificate_ : residual and backward error of the linear system, and the duality gap.
    certificates_ : the same for every alpha.
    kernel_ : the kernel with its parameters as numbers.

    Examples
    --------
    >>> import numpy as np, maxmargin as mm
    >>> x = np.linspace(0, 6, 30)[:, None]
    >>> model = mm.KernelRidge(alphas=[1e-3, 1e-1, 10.0], gamma=0.5).fit(x, np.sin(x).ravel())
    >>> model.alpha_, bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 1e-3)
    (0.001, True)
    """

    alpha: float = 1.0
    alphas: Any = field(default=None, kw_only=True)

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidge:
        """Fit to rows X and targets y of shape (n_samples,)."""
        alphas = self.check_parameters()
        self.kernel_, self._points = self.prepare_rows(X)
        y = checked_numbers(y, len(self._points), self)
        weights = row_weights(sample_weight, len(y))
        threads = effective_threads(self.n_jobs)
        K = np.asarray(self.kernel_.gram(self._points, n_threads=threads), dtype=np.float64)
        self.path_ = _solve(K, y, weights, alphas, threads)
        problem = KernelRidgeProblem(
            kernel=self.kernel_, points=self._points, y=y, weights=weights, alpha=nan, matrix=K
        )
        with single_threaded_blas():  # products of NumPy, whose threads would get in the way of SciPy's
            self.certificates_ = problem.certify_path(alphas, self.path_.coef, tight=True)
        best = self.path_.best if len(alphas) > 1 else 0
        self.alpha_ = float(alphas[best])
        self.dual_coef_ = self.path_.coef[best]
        self.certificate_ = self.certificates_[best]
        _warn_if_loose(self.certificate_)
        return self

    def check_parameters(self) -> FloatArray:
        """The penalties to try, of shape (n_alphas,)."""
        if self.alphas is not None:
            return check_positives("alphas", self.alphas)
        check_positive("alpha", self.alpha)
        return np.array([self.alpha], dtype=np.float64)

    @of_one_fit
    def predict(self, X: Any) -> FloatArray:
        """Predicted values of shape (n_samples,)."""
        return self._sums(X, getattr(self, "dual_coef_", np.empty(0)))


def _solve(
    K: FloatArray, y: FloatArray, weights: FloatArray, alphas: FloatArray, n_threads: int
) -> RidgePath:
    """The path without changing K; beside it one more matrix is in memory."""
    if len(alphas) == 1 and np.all(weights > 0):
        try:
            with blas_threads_for(len(y)):
                return kernel_ridge(K, y, weights, alphas)
        except linalg.LinAlgError:  # the path sets the eigenvalues below zero to 0
            pass
    return kernel_path(K, y, weights, alphas, n_threads=n_threads)


def _warn_if_loose(certificate: Certificate) -> None:
    error = certificate.backward_error
    assert error is not None  # certificates of linear systems have it
    if certificate.relative_gap <= _LOOSE or error <= _LOOSE:
        return
    why = "it is too badly conditioned" if certificate.convex else "the kernel is not positive semidefinite"
    warnings.warn(
        f"the linear system of KernelRidge is solved to a backward error of {error:.2g} only: {why}. Raise "
        "alpha, scale the columns, or choose another kernel.",
        ConvergenceWarning,
        stacklevel=4,
    )
