"""What the kernel machines outside the dual engine share: an expansion over stored Points."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from maxmargin.base.threads import effective_threads
from maxmargin.base.typing import FloatArray
from maxmargin.kernels.kernel_products import kernel_times
from maxmargin.machines.kernel_estimator import TakesKernel


class KernelExpansion(TakesKernel):
    """f(x) = sum_i a_i K(x_i, x) over stored training points."""

    def _sums(self, X: Any, coefficients: FloatArray) -> FloatArray:
        """The expansion at new rows, of shape (n_samples,) or (n_samples, n_machines)."""
        check_is_fitted(self)
        points = self.points_like(X, self._points)
        return kernel_times(
            self.kernel_, points, self._points, coefficients, n_threads=effective_threads(self.n_jobs)
        )
