"""What the kernel machines outside the dual engine share: kernel, Points, expansions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from maxmargin._compute.threads import effective_threads
from maxmargin.kernels import Kernel, as_kernel
from maxmargin.kernels.products import kernel_times
from maxmargin.typing import FloatArray


class KernelExpansion(BaseEstimator):
    """f(x) = sum_i a_i K(x_i, x) over stored training points."""

    kernel: Any
    gamma: Any
    coef0: float
    degree: int
    n_jobs: int | None

    def _kernel(self) -> Kernel:
        return as_kernel(self.kernel, gamma=self.gamma, coef0=self.coef0, degree=self.degree)

    def _prepare(self, X: Any) -> tuple[Kernel, Any]:
        """The kernel with its numbers, and the training rows as Points."""
        kernel = self._kernel()
        _check_table(X)
        validate_data(self, X, skip_check_array=True)
        bound = kernel.bind(X)
        return bound, bound.prepare(X)

    def _sums(self, X: Any, coefficients: FloatArray) -> FloatArray:
        """The expansion at new rows, of shape (n_samples,) or (n_samples, n_machines)."""
        check_is_fitted(self)
        _check_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        if self.kernel == "precomputed" and np.shape(X)[1] != self.n_features_in_:
            raise ValueError(
                f"X has {np.shape(X)[1]} columns, but the kernel values against all {self.n_features_in_} "
                "training rows are needed."
            )
        points = self.kernel_.prepare(X, like=self._points)
        return kernel_times(
            self.kernel_, points, self._points, coefficients, n_threads=effective_threads(self.n_jobs)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags


def _check_table(X: Any) -> None:
    if isinstance(X, np.ndarray) and X.ndim != 2 and X.dtype.kind in "fiub":
        check_array(X)  # scikit-learn's own advice to reshape
