"""Kernel ridge regression with a path of penalties and exact leave-one-out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import partial
from math import nan
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from maxmargin.base.interruption import all_or_nothing, of_one_fit
from maxmargin.base.tables import checked_targets, row_weights
from maxmargin.base.threads import blas_threads_for, effective_threads, single_threaded_blas
from maxmargin.base.typing import FloatArray, TableLike, TargetLike, WeightLike
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.parsing import as_kernel
from maxmargin.machines.kernel_estimator import KernelExpansion
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.kernel_system import KernelRidgeProblem
from maxmargin.solvers.least_squares.ridge_path import (
    RidgePath,
    chosen_penalties,
    kernel_paths,
    kernel_ridge,
    penalties_to_try,
)

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
    alpha : regularisation parameter >= 0, or one per target; not used if ``alphas`` is given.
    alphas : values of alpha to try; the one with the smallest leave-one-out error is kept as ``alpha_``.
    kernel, gamma, coef0, degree : as in `SVC`.
    kernel_params : dict of further arguments if ``kernel`` is a function.
    n_jobs : number of threads.

    Attributes
    ----------
    dual_coef_ : of shape (n_samples,), or (n_samples, n_targets) where y has columns.
    alpha_ : the value of alpha in use, or one for every target.
    path_ : `RidgePath` with the dual weights and leave-one-out residuals for every alpha; where y has columns
        ``paths_`` has one for each, from the same factorisation.
    certificate_ : residual and backward error of the linear system, and the duality gap (of the worst
        target).
    certificates_ : the same for every alpha, or where y has columns for every target.
    kernel_ : the kernel with its parameters as numbers.

    Examples
    --------
    >>> import numpy as np, maxmargin as mm
    >>> x = np.linspace(0, 6, 30)[:, None]
    >>> model = mm.KernelRidge(alphas=[1e-3, 1e-1, 10.0], gamma=0.5).fit(x, np.sin(x).ravel())
    >>> model.alpha_, bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 1e-3)
    (0.001, True)
    """

    alpha: Any = 1.0
    alphas: Any = field(default=None, kw_only=True)
    kernel_params: dict[str, Any] | None = field(default=None, kw_only=True)

    @all_or_nothing
    def fit(self, X: TableLike, y: TargetLike, sample_weight: WeightLike | None = None) -> KernelRidge:
        """Fit to rows X and targets y of shape (n_samples,) or (n_samples, n_targets)."""
        alphas = self.check_parameters()
        self.kernel_, points = self.prepare_rows(X)
        self._points = points.take(np.arange(len(points)))  # a copy: X may change after the fit
        y = checked_targets(y, len(self._points), self)
        weights = row_weights(sample_weight, len(y))
        threads = effective_threads(self.n_jobs)
        K = np.asarray(self.kernel_.gram(self._points, n_threads=threads), dtype=np.float64)
        Y = y.reshape(len(y), -1)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused or in the certificate
            paths = _solve(K, Y, weights, alphas, threads)
        best = chosen_penalties(paths, self.alpha, self.alphas)
        _check_finite(K, paths)
        # NumPy products, whose threads would compete with SciPy's
        with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
            certificates = [
                KernelRidgeProblem(
                    kernel=self.kernel_, points=self._points, y=target, weights=weights, alpha=nan, matrix=K
                ).certify_path(alphas, path.coef, tight=True)
                for path, target in zip(paths, Y.T, strict=True)
            ]
        chosen = [found[k] for found, k in zip(certificates, best, strict=True)]
        coefs = np.array([path.coef[k] for path, k in zip(paths, best, strict=True)])
        for name in ("path_", "paths_"):
            self.__dict__.pop(name, None)
        if y.ndim == 1:
            self.path_, self.dual_coef_ = paths[0], coefs[0]
            self.alpha_: Any = float(alphas[best[0]])
            self.certificates_ = certificates[0]
        else:
            self.paths_, self.alpha_, self.dual_coef_ = paths, alphas[best], np.ascontiguousarray(coefs.T)
            self.certificates_ = chosen
        self.certificate_ = max(chosen, key=lambda c: c.backward_error or 0.0)
        _warn_if_loose(self.certificate_)
        return self

    def make_kernel(self) -> Kernel:
        if not self.kernel_params:
            return super().make_kernel()
        if not callable(self.kernel) or isinstance(self.kernel, Kernel):
            raise ValueError(
                f"kernel_params={self.kernel_params!r} are arguments of a kernel function, but "
                f"kernel is {self.kernel!r}: set gamma, coef0 or degree instead."
            )
        return as_kernel(partial(self.kernel, **self.kernel_params))

    def check_parameters(self) -> FloatArray:
        """The penalties to try, of shape (n_alphas,)."""
        return penalties_to_try(self.alpha, self.alphas)

    @of_one_fit
    def predict(self, X: TableLike) -> FloatArray:
        """Predicted values of shape (n_samples,), or (n_samples, n_targets)."""
        return self._sums(X, getattr(self, "dual_coef_", np.empty(0)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _solve(
    K: FloatArray, Y: FloatArray, weights: FloatArray, alphas: FloatArray, n_threads: int
) -> list[RidgePath]:
    """The paths, computed on a copy of K."""
    if len(alphas) == 1 and np.all(weights > 0):
        try:
            with blas_threads_for(len(Y)):
                return kernel_ridge(K, Y, weights, alphas)
        except linalg.LinAlgError:  # the path sets the eigenvalues below zero to 0
            pass
    return kernel_paths(K, Y, weights, alphas, n_threads=n_threads)


def _check_finite(K: FloatArray, paths: list[RidgePath]) -> None:
    """Refuse coefficients with which predictions would overflow."""
    largest = float(np.abs(np.diag(K)).max(initial=0.0))
    with np.errstate(over="ignore", invalid="ignore"):
        reach = max(float(np.abs(path.coef).sum(axis=1).max()) for path in paths) * max(largest, 1.0)
    if not np.isfinite(4.0 * reach):
        raise ValueError(
            f"predictions are too large for floating-point numbers: kernel values up to {largest:.2g}. Scale "
            "the columns of X and y, or raise alpha."
        )


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
