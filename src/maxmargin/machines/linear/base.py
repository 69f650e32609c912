"""Base classes of the linear estimators: validation, weights, multiclass strategies, decisions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model._base import SparseCoefMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.interruption import of_one_fit
from maxmargin.base.parameters import check_count, check_flags, check_positive
from maxmargin.base.plain_state import PlainState
from maxmargin.base.tables import checked_targets, class_codes, example_weights, numbers_or_csr, row_weights
from maxmargin.base.typing import AnyArray, FloatArray, IntArray, Matrix, TableLike, TargetLike, WeightLike
from maxmargin.compute.tables.design import Design
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.loss_penalty import LossPenalty, warn_unsolved, worst_gap
from maxmargin.problems.multiclass import BinaryTask, check_strategy, predict_codes
from maxmargin.problems.solution import Solution
from maxmargin.solvers.primal.primal_choice import solve_primal
from maxmargin.solvers.primal.warm_newton import ROWS_PER_COLUMN
from maxmargin.solvers.stopping import tell_iteration


@contextmanager
def finite_or_refused(model: BaseEstimator) -> Iterator[None]:
    """Silence NumPy's overflow warnings during a fit, and refuse a result that is not finite."""
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


def check_weighted_squares(weights: FloatArray, y: FloatArray) -> None:
    """Refuse weights as `check_weight_sizes`, and targets whose weighted squares overflow."""
    check_weight_sizes(weights)
    with np.errstate(over="ignore"):
        total = np.sum(weights @ np.square(y))
    if not total <= 1e300:  # room for residuals larger than y
        raise ValueError(
            "the weighted squares of y are too large for floating-point numbers: scale y, or divide all "
            "weights by a number."
        )


def check_linear_svm(model: Any) -> None:
    """Check the parameters of `LinearSVC` and `LinearSVR`."""
    check_positive("C", model.C)
    check_flags(model, "fit_intercept")
    check_positive("tol", model.tol)
    check_count("max_iter", model.max_iter)
    if not (isinstance(model.dual, bool) or model.dual == "auto"):
        raise ValueError(f"dual={model.dual!r} is unknown: use 'auto', True or False.")
    if model.intercept_scaling is not None:
        check_positive("intercept_scaling", model.intercept_scaling)


def with_constant(X: Matrix, model: Any) -> Matrix:
    """The table, with a column of ``intercept_scaling`` if the intercept is penalised like the weights."""
    scale = model.intercept_scaling
    if scale is None or not model.fit_intercept:
        return X
    ones = np.full((X.shape[0], 1), scale, dtype=X.dtype)
    return np.hstack([X, ones]) if isinstance(X, np.ndarray) else sp.hstack([X, ones], format="csr")


def without_constant(thetas: list[FloatArray], model: Any) -> FloatArray:
    """Rows (w, b) from solutions for the table `with_constant`."""
    found = np.array(thetas)
    scale = model.intercept_scaling
    if scale is None or not model.fit_intercept:
        return found
    return np.column_stack([found[:, :-2], scale * found[:, -2]])


def design_of_task(table: Design, task: BinaryTask) -> Design:
    """The rows of one binary problem, without a copy when they are all rows."""
    return table if len(task.rows) == table.shape[0] else table.take(task.rows)


def solve_as_asked(
    model: Any, problem: LossPenalty, start: FloatArray | None = None, rows_per_column: int = ROWS_PER_COLUMN
) -> tuple[Solution, Certificate]:
    """Solve and certify a problem with the solver, tolerance, limit and seed of an estimator."""
    return solve_primal(
        problem,
        model.solver,
        tol=model.tol,
        max_iter=model.max_iter,
        random_state=model.random_state,
        callback=partial(tell_iteration, model),
        start=start,
        rows_per_column=rows_per_column,
    )


def keep_solutions(model: Any, fits: list[tuple[Solution, Certificate]]) -> None:
    """Store solutions and certificates; warn if the worst one misses ``tol``."""
    model.solutions_ = [solution for solution, _ in fits]
    model.solution_ = model.solutions_[0]
    model.certificates_ = [certificate for _, certificate in fits]
    model.certificate_ = worst_gap(model.certificates_, model.tol)
    remedy = f"raise max_iter={model.max_iter} or scale X"
    warn_unsolved(model.certificate_, model.tol, type(model).__name__, remedy)


class SparseInput:
    """Tags of an estimator that takes CSR input."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # a mixin: the next class has it
        tags.input_tags.sparse = True
        return tags


class LinearDecision(PlainState):
    """f(x) = <w, x> + b from ``coef_`` and ``intercept_``."""

    coef_: FloatArray
    intercept_: FloatArray

    def to_sklearn(self) -> Any:
        """The fitted model as scikit-learn's own object (`maxmargin.to_sklearn`)."""
        return import_module("maxmargin.io").to_sklearn(self)  # by name, because `io` imports the estimators

    def _table(self, X: Any) -> Any:
        check_is_fitted(self)
        return numbers_or_csr(self, X, reset=False)

    def _scores(self, X: Any) -> FloatArray:
        scores = safe_sparse_dot(self._table(X), self.coef_.T, dense_output=True) + self.intercept_
        return np.asarray(scores)


class LinearClassifier(LinearDecision, SparseCoefMixin, ClassifierMixin, SparseInput, BaseEstimator):
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
            X = X.copy()  # do not change the caller's matrix
            X.sum_duplicates()
        return X, codes, weights

    def _strategy(self) -> Any:
        return self.multiclass

    @of_one_fit
    def decision_function(self, X: TableLike) -> FloatArray:
        """Signed scores: of shape (n_samples,) for two classes, else (n_samples, n_machines)."""
        scores = self._scores(X)
        return scores.ravel() if len(self.classes_) == 2 else scores

    @of_one_fit
    def predict(self, X: TableLike) -> AnyArray:
        """Class labels of shape (n_samples,)."""
        scores = self.decision_function(X)
        return self.classes_[predict_codes(scores, len(self.classes_), self._strategy())]


class LinearRegressor(LinearDecision, RegressorMixin, SparseInput, BaseEstimator):
    """Base class of the linear regressors."""

    intercept_: Any
    _keeps_one_column = False  # coef_ of shape (1, n_features) for targets of shape (n_samples, 1)
    _lists_intercepts = False  # intercept_ of shape (1,) for targets of shape (n_samples,)

    def validated(
        self, X: TableLike, y: TargetLike | None, sample_weight: WeightLike | None
    ) -> tuple[Any, FloatArray, FloatArray]:
        """The table, targets of shape (n,) or (n, n_targets) whose squares are finite, and weights."""
        X = numbers_or_csr(self, X)
        y = checked_targets(y, X.shape[0], self)
        weights = row_weights(sample_weight, X.shape[0])
        check_weighted_squares(weights, y)
        return X, y, weights

    def _store_planes(self, thetas: FloatArray, y: FloatArray, dtype: Any = np.float64) -> None:
        """Set coef_ and intercept_ from rows (w, b), in the shapes of scikit-learn for this shape of y."""
        thetas = np.asarray(thetas, dtype=dtype)
        column_stays = self._keeps_one_column and y.ndim == 2
        self.coef_ = thetas[:, :-1] if len(thetas) > 1 or column_stays else thetas[0, :-1]
        self.intercept_ = thetas[:, -1] if self._lists_intercepts or y.ndim == 2 else thetas[0, -1]

    @of_one_fit
    def predict(self, X: TableLike) -> FloatArray:
        """Predicted values of shape (n_samples,), or (n_samples, n_targets)."""
        return self._scores(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
