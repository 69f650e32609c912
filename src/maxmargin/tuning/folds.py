"""Which rows train and which rows test."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold, check_cv
from sklearn.utils import assert_all_finite, column_or_1d, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y

from maxmargin.typing import AnyArray, FloatArray, IntArray

Fold = tuple[IntArray, IntArray]


def make_folds(cv: Any, estimator: Any, X: Any, y: Any, random_state: Any, groups: Any = None) -> list[Fold]:
    """Training and test rows of every fold.

    A number makes that many folds, stratified for classifiers, shuffled when ``random_state`` is given;
    "loo" leaves one row out; a scikit-learn splitter or an iterable of pairs is taken as it is.
    """
    if isinstance(cv, str):
        if cv != "loo":
            raise ValueError(
                f"cv={cv!r} is unknown: use a number of folds, 'loo', a splitter or pairs of rows."
            )
        splitter: Any = LeaveOneOut()
    elif isinstance(cv, int) and random_state is not None:
        kind = StratifiedKFold if is_classifier(estimator) else KFold
        splitter = kind(cv, shuffle=True, random_state=random_state)
    else:
        splitter = check_cv(cv, y, classifier=is_classifier(estimator))
    rows = np.zeros((len(y) if y is not None else n_rows(X), 1))
    return [(np.asarray(train), np.asarray(test)) for train, test in splitter.split(rows, y, groups)]


def as_rows(X: Any) -> Any:
    """Something that can be cut by rows: tables and strings as they are, sparse as CSR, else an array."""
    if sp.issparse(X):
        return sp.csr_array(X)
    if hasattr(X, "columns") or (isinstance(X, (list, tuple)) and len(X) and isinstance(X[0], str)):
        return X
    return np.asarray(X)


def as_targets(estimator: Any, y: Any) -> Any:
    """Targets as one column, required where the estimator learns from them."""
    if y is None:
        if get_tags(estimator).target_tags.required:
            raise ValueError("requires y to be passed, but the target y is None.")
        return None
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    return y


def as_numbers(y: Any, n: int) -> FloatArray:
    """Targets of a regression, of shape (n,)."""
    values: FloatArray = _check_y(y, y_numeric=True).astype(np.float64)
    _check_length(values, n)
    return values


def encode_classes(y: Any, n: int) -> tuple[AnyArray, IntArray]:
    """Classes in order and the code of every row."""
    check_classification_targets(y)
    _check_length(y, n)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y has one class only ({classes[0]!r}): tuning a classifier needs two or more.")
    return classes, codes


def _check_length(y: Any, n: int) -> None:
    if len(y) != n:
        raise ValueError(f"X has {n} rows, but y has {len(y)}: found inconsistent numbers of samples.")


def n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def is_leave_one_out(folds: list[Fold]) -> bool:
    """True when every row is left out once, alone."""
    tests = [test for _, test in folds]
    n = len(tests)
    return all(len(test) == 1 for test in tests) and all(len(train) == n - 1 for train, _ in folds)
