"""Kernel ridge regression with a path of penalties and exact leave-one-out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import RegressorMixin

from maxmargin.base.interruption import all_or_nothing, of_one_fit
from maxmargin.base.parameters import check_positive, check_positives
from maxmargin.base.tables import checked_numbers, row_weights
from maxmargin.base.threads import blas_threads_for, effective_threads
from maxmargin.base.typing import FloatArray
from maxmargin.machines.kernel_estimator import KernelExpansion
from maxmargin.solvers.least_squares.ridge_path import RidgePath, kernel_path, kernel_ridge


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
    alpha : the penalty; not used where ``alphas`` is given.
    alphas : penalties to try; the one with the smallest leave-one-out error is kept as ``alpha_``.
    kernel, gamma, coef0, degree : as in `SVC`.
    n_jobs : number of threads.

    Attributes
    ----------
    dual_coef_ : of shape (n_samples,).
    alpha_ : the penalty in use.
    path_ : `RidgePath` with the dual weights and leave-one-out residuals for every alpha.
    kernel_ : the kernel with its numbers.

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
        self.path_ = self._solve(K, y, weights, alphas, threads)
        best = self.path_.best if len(alphas) > 1 else 0
        self.alpha_ = float(alphas[best])
        self.dual_coef_ = self.path_.coef[best]
        return self

    def check_parameters(self) -> FloatArray:
        """The penalties to try, of shape (n_alphas,)."""
        if self.alphas is not None:
            return check_positives("alphas", self.alphas)
        check_positive("alpha", self.alpha)
        return np.array([self.alpha], dtype=np.float64)

    def _solve(
        self, K: FloatArray, y: FloatArray, weights: FloatArray, alphas: FloatArray, n_threads: int
    ) -> RidgePath:
        if len(alphas) == 1 and np.all(weights > 0):
            try:
                with blas_threads_for(len(y)):
                    return kernel_ridge(K, y, weights, alphas)
            except linalg.LinAlgError:  # K is not positive semidefinite: the eigenvalues below zero are cut
                pass
        return kernel_path(K, y, weights, alphas, overwrite=True, n_threads=n_threads)

    @of_one_fit
    def predict(self, X: Any) -> FloatArray:
        """Predicted values of shape (n_samples,)."""
        return self._sums(X, getattr(self, "dual_coef_", np.empty(0)))
