"""Base classes of the estimators with a kernel: parameters, tables to Points, prediction, tags."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.plain_state import PlainState
from maxmargin.base.tables import known_columns
from maxmargin.base.threads import effective_threads
from maxmargin.base.typing import FloatArray, IntArray, TableLike
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.kernel_products import kernel_times
from maxmargin.kernels.parsing import as_kernel
from maxmargin.kernels.points import Points, check_inside


@dataclass(eq=False, repr=False, kw_only=True)
class TakesKernel(PlainState, BaseEstimator):
    """An estimator with a kernel, which is in ``kernel_`` once fitted.

    The parameters of an estimator are the fields of its class and of its base classes.
    """

    kernel: Any = "rbf"
    gamma: Any = "scale"
    coef0: float = 0.0
    degree: int = 3
    n_jobs: int | None = None
    takes_matrix = True  # kernel="precomputed" is possible

    @classmethod
    @cache  # a grid search reads them thousands of times; scikit-learn would inspect the signature each time
    def _get_param_names(cls) -> list[str]:
        return list(super()._get_param_names())

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of a `Kernel` as ``kernel__gamma``, which replaces the kernel by a copy."""
        inner = parameters_of("kernel", params)
        super().set_params(**params)
        if inner:
            if not isinstance(self.kernel, Kernel):
                raise ValueError(
                    f"kernel={self.kernel!r} is given by name and has no parameter {next(iter(inner))!r}: "
                    "set gamma, coef0 or degree of the estimator, or pass a Kernel."
                )
            self.kernel = self.kernel.with_params(**inner)
        return self

    def make_kernel(self) -> Kernel:
        return as_kernel(self.kernel, gamma=self.gamma, coef0=self.coef0, degree=self.degree)

    def prepare_rows(self, X: TableLike) -> tuple[Kernel, Any]:
        """The kernel with its parameters as numbers, and the training rows as Points."""
        kernel = self.make_kernel()
        _check_two_dimensional(X)
        known_columns(self, X)
        with np.errstate(over="ignore", invalid="ignore"):  # squares that overflow get an error of their own
            bound = kernel.bind(X)
            points = bound.prepare(X)
        if len(points) < 1:
            raise ValueError("X has no rows.")
        bound.check_values(points)
        return bound, points

    def points_like(self, X: TableLike, like: Points) -> Any:
        """New rows as Points like those of the fit."""
        check_is_fitted(self)
        _check_two_dimensional(X)
        known_columns(self, X, reset=False)
        if self.kernel == "precomputed" and np.ndim(X) == 2 and np.shape(X)[1] != self.n_features_in_:
            raise ValueError(
                f"X has {np.shape(X)[1]} columns, but the kernel values against all {self.n_features_in_} "
                "training rows are needed."
            )
        check_inside(like)
        return self.kernel_.prepare(X, like=like)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.takes_matrix and self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags


class KernelExpansion(TakesKernel):
    """f(x) = sum_i a_i K(x_i, x) over stored training points."""

    def _sums(self, X: Any, coefficients: FloatArray) -> FloatArray:
        """The expansion at new rows, of shape (n_samples,) or (n_samples, n_outputs)."""
        check_is_fitted(self)
        points = self.points_like(X, self._points)
        return kernel_times(
            self.kernel_, points, self._points, coefficients, n_threads=effective_threads(self.n_jobs)
        )


def parameters_of(owner: str, params: dict[str, Any]) -> dict[str, Any]:
    """Take the parameters named ``owner__name`` out of ``params`` and return them by name."""
    mine = [key for key in params if key.startswith(f"{owner}__")]
    return {key.removeprefix(f"{owner}__"): params.pop(key) for key in mine}


def _check_two_dimensional(X: Any) -> None:
    """Refuse a one-dimensional array of numbers with scikit-learn's own advice to reshape it."""
    if isinstance(X, np.ndarray) and X.ndim != 2 and X.dtype.kind in "fiub":
        check_array(X)


def take_rows(X: TableLike, chosen: IntArray) -> Any:
    """Some rows of a table of any kind."""
    if sp.issparse(X):
        return sp.csr_array(X)[chosen]
    if type(X) is np.ndarray:
        return X[chosen]
    return _safe_indexing(X if hasattr(X, "__getitem__") else np.asarray(X), chosen)


def stack_rows(first: Any, second: Any) -> Any:
    """The rows of both tables: dataframes, sparse or dense arrays, lists (of strings)."""
    if sp.issparse(first) or sp.issparse(second):
        return sp.vstack([sp.csr_array(first), sp.csr_array(second)], format="csr")
    if hasattr(first, "iloc") and hasattr(second, "iloc"):
        return pd.concat([first, second], ignore_index=True)
    if isinstance(first, list) and isinstance(second, list):
        return first + second
    if hasattr(first, "vstack"):  # polars
        return first.vstack(second)
    return np.concatenate([np.asarray(first), np.asarray(second)])
