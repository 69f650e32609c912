"""What every linear estimator shares: validation, weights, one-versus-one and one-versus-rest, decisions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from maxmargin.multiclass import check_strategy, predict_codes
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.loss_penalty import solved
from maxmargin.typing import AnyArray, FloatArray, IntArray


def worst_gap(certificates: list[Certificate]) -> Certificate:
    """The certificate of the machine furthest from its optimum."""
    return max(certificates, key=lambda c: c.relative_gap if c.convex else c.kkt)


def warn_unsolved(certificate: Certificate, tol: float, what: str, remedy: str) -> None:
    """A ConvergenceWarning that says what was reached, when an answer is not good to ``tol``."""
    if solved(certificate, tol):
        return
    reached = (
        f"a relative duality gap of {certificate.relative_gap:.3g}"
        if certificate.convex
        else f"a stationarity of {certificate.kkt:.3g}"
    )
    warnings.warn(f"{what} reached {reached}, not tol={tol:g}: {remedy}.", ConvergenceWarning, stacklevel=3)


def row_weights(estimator: Any, X: Any, sample_weight: Any) -> FloatArray:
    """Validated weights in float64 of shape (n_samples,)."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    weights: FloatArray = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise ValueError("sample_weight is zero for every row: at least one row must count.")
    return weights


def _already_valid(estimator: Any, X: Any, y: Any) -> bool:
    """Whether `validate_data` would return X and y as they are; saves its long way with plain arrays."""
    if not (type(X) is type(y) is np.ndarray and X.ndim == 2 and y.ndim == 1 and 0 < len(X) == len(y)):
        return False
    if X.dtype not in (np.float64, np.float32) or not X.flags.c_contiguous or y.dtype.kind not in "biuf":
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        total = X.sum()  # not a product by BLAS, whose threads would go on waiting beside ours
    if not (X.size and np.isfinite(total) and np.isfinite(y).all()):
        return False
    validate_data(estimator, X, skip_check_array=True)
    return True


def _label_codes(y: AnyArray) -> tuple[IntArray, AnyArray]:
    """The rows' codes 0 ... n_classes - 1, and the classes in order."""
    if y.dtype.kind in "biuf":
        low, high = y.min(), y.max()
        upper = y == high
        if low < high and (upper | (y == low)).all():  # two classes need no table of what was seen
            return upper.astype(np.int64), np.array([low, high])
    codes, classes = pd.factorize(y, sort=True)
    return codes, classes


def _check_classes(classes: AnyArray, y: AnyArray) -> None:
    """scikit-learn's check of labels, where its answer is not plain: it takes as long as a small fit."""
    if len(classes) > 20:  # judged beside the number of rows
        check_classification_targets(y)
    elif classes.dtype.kind not in "biuf" or (classes != np.floor(classes)).any():
        check_classification_targets(classes)  # these tell as much as all labels


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
        return validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False, order="C"
        )

    def _scores(self, X: Any) -> FloatArray:
        scores = safe_sparse_dot(self._table(X), self.coef_.T, dense_output=True) + self.intercept_
        return np.asarray(scores)


class LinearClassifier(LinearDecision, ClassifierMixin, SparseInput, BaseEstimator):
    """Base of the linear classifiers: labels in, one or more hyperplanes out."""

    multiclass: Any
    class_weight: Any
    classes_: AnyArray

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, IntArray, FloatArray]:
        if not _already_valid(self, X, y):
            X, y = validate_data(
                self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", y_numeric=False
            )
        weights = row_weights(self, X, sample_weight)
        codes, self.classes_ = _label_codes(y)
        _check_classes(self.classes_, y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs two classes or more; y holds one class, {self.classes_[0]!r}."
            )
        check_strategy(self._strategy())
        if not isinstance(X, np.ndarray) and not X.has_canonical_format:
            X = X.copy()  # the caller's matrix stays as it is
            X.sum_duplicates()
        return X, codes, weights * self._class_weights(codes)[codes]

    def _class_weights(self, codes: IntArray) -> FloatArray:
        if self.class_weight is None:
            return np.ones(len(self.classes_))
        by_class = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_[codes])
        return np.asarray(by_class, dtype=np.float64)

    def _strategy(self) -> Any:
        return self.multiclass

    def decision_function(self, X: Any) -> FloatArray:
        """Signed scores: of shape (n_samples,) for two classes, else (n_samples, n_machines)."""
        scores = self._scores(X)
        return scores.ravel() if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> AnyArray:
        """Class labels of shape (n_samples,)."""
        scores = self.decision_function(X)
        labels: AnyArray = self.classes_[predict_codes(scores, len(self.classes_), self._strategy())]
        return labels


class LinearRegressor(LinearDecision, RegressorMixin, SparseInput, BaseEstimator):
    """Base of the linear regressors."""

    intercept_: Any

    def predict(self, X: Any) -> FloatArray:
        """Predicted values of shape (n_samples,)."""
        return self._scores(X)
