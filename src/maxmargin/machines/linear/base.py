"""Base classes of the linear estimators: validation, weights, multiclass strategies, decisions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.tables import (
    checked_numbers,
    class_codes,
    example_weights,
    numbers_or_csr,
    row_weights,
)
from maxmargin.base.typing import AnyArray, FloatArray, IntArray, TableLike
from maxmargin.problems.multiclass import check_strategy, predict_codes


@contextmanager
def finite_or_refused(model: Any) -> Iterator[None]:
    """Let a fit overflow without NumPy's warnings, and refuse a result that is not finite."""
    with np.errstate(all="ignore"):
        yield
    if not (np.isfinite(model.coef_).all() and np.isfinite(model.intercept_).all()):
        raise ValueError(
            f"the coefficients of {type(model).__name__} are too large for floating-point numbers: scale the "
            "columns of X, y and sample_weight to ordinary sizes."
        )


def check_weight_sizes(weights: FloatArray) -> None:
    """Refuse weights whose products with rows or steps could overflow."""
    if not weights.max() <= 1e100:
        raise ValueError(
            f"sample_weight and class_weight give a row the weight {weights.max():g}: divide all weights by "
            "a number, so that the largest is at most 1e100."
        )


class SparseInput:
    """Tags of an estimator that takes CSR input."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # a mixin: the next class has it
        tags.input_tags.sparse = True
        return tags


class LinearDecision:
    """f(x) = <w, x> + b from ``coef_`` and ``intercept_``."""

    coef_: FloatArray
    intercept_: FloatArray

    def _table(self, X: Any) -> Any:
        check_is_fitted(self)
        return numbers_or_csr(self, X, reset=False)

    def _scores(self, X: Any) -> FloatArray:
        scores = safe_sparse_dot(self._table(X), self.coef_.T, dense_output=True) + self.intercept_
        return np.asarray(scores)


class LinearClassifier(LinearDecision, ClassifierMixin, SparseInput, BaseEstimator):
    """Base class of the linear classifiers, with one or more hyperplanes."""

    multiclass: Any
    class_weight: Any
    classes_: AnyArray

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, IntArray, FloatArray]:
        X = numbers_or_csr(self, X)
        self.classes_, codes = class_codes(y, X.shape[0], self)
        weights = example_weights(sample_weight, self.class_weight, self.classes_, codes, balance_sums=True)
        check_weight_sizes(weights)
        check_strategy(self._strategy())
        if not isinstance(X, np.ndarray) and not X.has_canonical_format:
            X = X.copy()  # the caller's matrix stays as it is
            X.sum_duplicates()
        return X, codes, weights

    def _strategy(self) -> Any:
        return self.multiclass

    def decision_function(self, X: TableLike) -> FloatArray:
        """Signed scores: of shape (n_samples,) for two classes, else (n_samples, n_machines)."""
        scores = self._scores(X)
        return scores.ravel() if len(self.classes_) == 2 else scores

    def predict(self, X: TableLike) -> AnyArray:
        """Class labels of shape (n_samples,)."""
        scores = self.decision_function(X)
        labels: AnyArray = self.classes_[predict_codes(scores, len(self.classes_), self._strategy())]
        return labels


class LinearRegressor(LinearDecision, RegressorMixin, SparseInput, BaseEstimator):
    """Base class of the linear regressors."""

    intercept_: Any

    def validated(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, FloatArray, FloatArray]:
        """The table, targets whose squares are finite, and weights."""
        X = numbers_or_csr(self, X)
        y = checked_numbers(y, X.shape[0], self)
        with np.errstate(over="ignore"):
            if not np.isfinite(np.square(y).sum()):
                raise ValueError("the squares of y are too large for floating-point numbers: scale y.")
        weights = row_weights(sample_weight, X.shape[0])
        check_weight_sizes(weights)
        return X, y, weights

    def predict(self, X: TableLike) -> FloatArray:
        """Predicted values of shape (n_samples,)."""
        return self._scores(X)
