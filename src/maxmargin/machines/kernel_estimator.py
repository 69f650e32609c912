"""What every estimator with a kernel does in the same way: parameters, rows in, tags."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.tables import known_columns
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.names import as_kernel


class TakesKernel(BaseEstimator):
    """An estimator with the parameters kernel, gamma, coef0 and degree, and ``kernel_`` once fitted."""

    kernel: Any
    gamma: Any
    coef0: float
    degree: int
    n_jobs: int | None

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of the kernel as ``kernel__gamma``. Kernels are replaced, never changed."""
        inner = {
            name.removeprefix("kernel__"): params.pop(name)
            for name in list(params)
            if name.startswith("kernel__")
        }
        super().set_params(**params)
        if inner:
            if not isinstance(self.kernel, Kernel):
                raise ValueError(
                    f"kernel={self.kernel!r} is given by name and has no parameter {next(iter(inner))!r}: "
                    "set gamma, coef0 or degree of the machine, or pass a Kernel."
                )
            self.kernel = self.kernel.with_params(**inner)
        return self

    def make_kernel(self) -> Kernel:
        return as_kernel(self.kernel, gamma=self.gamma, coef0=self.coef0, degree=self.degree)

    def prepare_rows(self, X: Any) -> tuple[Kernel, Any]:
        """The kernel with its numbers and the training rows as Points."""
        kernel = self.make_kernel()
        _check_two_dimensional(X)
        known_columns(self, X)
        with np.errstate(over="ignore", invalid="ignore"):  # squares that overflow are refused in words
            bound = kernel.bind(X)
            points = bound.prepare(X)
        if len(points) < 1:
            raise ValueError("X has no rows.")
        bound.check_values(points)
        return bound, points

    def points_like(self, X: Any, like: Any) -> Any:
        """New rows as Points like those of the fit."""
        check_is_fitted(self)
        _check_two_dimensional(X)
        known_columns(self, X, reset=False)
        if self.kernel == "precomputed" and np.ndim(X) == 2 and np.shape(X)[1] != self.n_features_in_:
            raise ValueError(
                f"X has {np.shape(X)[1]} columns, but the kernel values against all {self.n_features_in_} "
                "training rows are needed."
            )
        return self.kernel_.prepare(X, like=like)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags


def _check_two_dimensional(X: Any) -> None:
    """Refuse a single row of numbers with scikit-learn's own advice to reshape it."""
    if isinstance(X, np.ndarray) and X.ndim != 2 and X.dtype.kind in "fiub":
        check_array(X)
