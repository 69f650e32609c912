"""Tables and targets as machines need them, and what to do about those that are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y

from maxmargin.typing import AnyArray, FloatArray, IntArray


def checked_table(X: Any, **options: Any) -> Any:
    """scikit-learn's check_array; refusals of NaN, infinity and text also say where and what to do."""
    try:
        return check_array(X, input_name="X", **options)
    except ValueError as refused:
        reason = str(refused).splitlines()[0].rstrip(".")
        if "contains NaN" in reason or "contains infinity" in reason:
            raise ValueError(
                f"{reason}{_where(X)}: drop such rows or fill them first, for example with "
                "sklearn.impute.SimpleImputer."
            ) from None
        if "could not convert string" in reason or "arrays of bytes/strings" in reason:
            raise ValueError(
                f"X holds text ({reason}): encode it as numbers, for example with OneHotEncoder, or use a "
                "string kernel such as mm.kernels.Subsequence."
            ) from None
        raise


def _where(X: Any) -> str:
    """The first column that holds NaN or infinity, in words."""
    if sp.issparse(X):
        return ""
    finite = np.isfinite(np.asarray(X, dtype=np.float64)).all(axis=0)
    column = int(np.argmin(finite))
    return f" in column {X.columns[column]!r}" if hasattr(X, "columns") else f" in column {column}"


def checked_labels(y: Any, n_rows: int, estimator: Any) -> AnyArray:
    """Class labels of shape (n_rows,), none of them missing."""
    labels: AnyArray = _checked(y, n_rows, estimator, numeric=False)
    missing = int(pd.isna(labels).sum()) if labels.dtype == object else 0  # NaN was refused already
    if missing:
        raise ValueError(
            f"y has {missing} missing labels: drop these rows, or give them a label of their own."
        )
    check_classification_targets(labels)
    return labels


def class_codes(y: Any, n_rows: int, estimator: Any) -> tuple[AnyArray, IntArray]:
    """The classes, two or more in order, and the rows' codes 0 ... n_classes - 1 of shape (n_rows,)."""
    labels = checked_labels(y, n_rows, estimator)
    if labels.dtype.kind in "biuf":
        classes, codes = np.unique(labels, return_inverse=True)
    else:  # hashing texts is much quicker than sorting them
        codes, uniques = pd.factorize(labels, sort=True)
        classes = np.asarray(uniques, dtype=labels.dtype)
    if len(classes) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs two classes or more, and y holds one class only, "
            f"{classes.tolist()[0]!r}: bring rows of another class."
        )
    return classes, codes


def checked_numbers(y: Any, n_rows: int, estimator: Any) -> FloatArray:
    """Finite targets of shape (n_rows,) in float64."""
    try:
        numbers = np.asarray(_checked(y, n_rows, estimator, numeric=True), dtype=np.float64)
    except ValueError as refused:
        if "could not convert string" not in str(refused):
            raise
        raise ValueError(
            f"y holds text ({refused}), and {type(estimator).__name__} predicts numbers: use a classifier, "
            "or turn y into numbers."
        ) from None
    if not np.isfinite(numbers).all():  # None among objects becomes NaN after scikit-learn has looked
        raise ValueError("Input y contains NaN: drop the rows without a target.")
    return numbers


def _checked(y: Any, n_rows: int, estimator: Any, *, numeric: bool) -> AnyArray:
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None: call fit(X, y)."
        )
    try:
        values: AnyArray = _check_y(y, y_numeric=numeric, estimator=estimator)
    except ValueError as refused:
        if "contains NaN" not in str(refused) and "contains infinity" not in str(refused):
            raise
        raise ValueError(
            f"{str(refused).splitlines()[0].rstrip('.')}: drop the rows without a target."
        ) from None
    if len(values) != n_rows:
        raise ValueError(
            f"X has {n_rows} rows and y has {len(values)}, which are inconsistent numbers of samples: "
            "give one target for each row."
        )
    return values
