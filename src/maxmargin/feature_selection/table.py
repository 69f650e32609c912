"""Reading a table whose columns may be numbers or categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import _get_feature_names

from maxmargin.base.tables import check_no_dates, class_codes, fitted_table, known_columns
from maxmargin.base.typing import AnyArray, BoolArray, FloatArray, IntArray

Categorical = str | Sequence[int] | Sequence[str] | Sequence[bool] | None


@dataclass(frozen=True)
class Table:
    """Numbers of shape (n_samples, n_features); a category is the number of its label.

    ``categorical`` marks the columns of categories, of shape (n_features,).
    """

    values: FloatArray
    categorical: BoolArray

    @property
    def shape(self) -> tuple[int, int]:
        n_samples, n_features = self.values.shape
        return n_samples, n_features


@dataclass(frozen=True)
class Classes:
    """Class codes of shape (n_samples,) and the labels behind them."""

    codes: IntArray
    labels: AnyArray

    @property
    def masses(self) -> FloatArray:
        return np.bincount(self.codes, minlength=len(self.labels)).astype(np.float64)


def read_table(estimator: Any, X: Any, categorical: Categorical = "auto") -> Table:
    """Validate ``X`` for ``estimator`` (which learns its column names) and code the categories.

    ``categorical="auto"`` takes the columns of a dataframe that hold text, categories or booleans; a list of
    column names, of positions, or a mask says it outright; None says that there are none.
    """
    if isinstance(categorical, str) and categorical != "auto":
        raise ValueError(f"categorical={categorical!r} is unknown: use 'auto', None, or a list of columns.")
    is_frame = hasattr(X, "columns")
    if not is_frame and (categorical is None or isinstance(categorical, str)):
        values = fitted_table(estimator, X, dtype=np.float64)
        return Table(values, np.zeros(values.shape[1], dtype=bool))
    columns = _columns(X) if is_frame else list(np.asarray(X, dtype=object).T)
    known_columns(estimator, X)
    check_no_dates(X)
    names = _get_feature_names(X) if is_frame else None
    mask = _categorical_mask(columns, categorical, names)
    labels = names if names is not None else [f"x{j}" for j in range(len(columns))]
    coded = [_code(*part) for part in zip(columns, mask, labels, strict=True)]
    if not coded or len(coded[0]) == 0:
        raise ValueError(
            f"Found array with shape {np.shape(X)} while at least one row and column are required."
        )
    return Table(np.column_stack(coded), mask)


def read_classes(y: Any, n_samples: int, selector: Any) -> Classes:
    """Code the classes of ``y``; at least two are required."""
    labels, codes = class_codes(y, n_samples, selector)
    return Classes(codes, labels)


def feature_names(estimator: Any) -> list[str]:
    """Names of the columns an estimator was fitted on, x0, x1, ... where it saw none."""
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{j}" for j in range(estimator.n_features_in_)] if names is None else [str(n) for n in names]


def _columns(X: Any) -> list[Any]:
    if isinstance(X, pd.DataFrame):
        return [X.iloc[:, j] for j in range(X.shape[1])]
    return [X[name] for name in X.columns]


def _categorical_mask(columns: list[Any], categorical: Categorical, names: AnyArray | None) -> BoolArray:
    if categorical is None:
        return np.zeros(len(columns), dtype=bool)
    if isinstance(categorical, str):
        return np.array([_holds_categories(column) for column in columns], dtype=bool)
    given = np.asarray(categorical)
    if given.dtype == bool:
        if len(given) != len(columns):
            raise ValueError(f"categorical has {len(given)} entries for {len(columns)} columns.")
        return given
    if given.dtype.kind in "iu":
        positions = given
        if len(given) and not (-len(columns) <= given.min() and given.max() < len(columns)):
            raise ValueError(
                f"categorical={given.tolist()} names positions beyond the {len(columns)} columns."
            )
    else:
        known = {} if names is None else {name: j for j, name in enumerate(names)}
        unknown = [name for name in given if name not in known]
        if unknown:
            raise ValueError(f"categorical names columns that X does not have: {unknown}.")
        positions = np.array([known[name] for name in given], dtype=int)
    mask = np.zeros(len(columns), dtype=bool)
    mask[positions] = True
    return mask


def _holds_categories(column: Any) -> bool:
    if isinstance(getattr(column, "dtype", None), pd.CategoricalDtype):
        return True
    if isinstance(column, pd.Series):
        return not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype)
    return np.asarray(column).dtype.kind in "OUSb"


def _code(column: Any, is_category: bool, name: str) -> FloatArray:
    if is_category:
        try:
            codes, _ = pd.factorize(np.asarray(column, dtype=object))
        except TypeError as error:
            raise ValueError(
                f"column {name!r} holds values that are no categories ({error}): use text or numbers."
            ) from error
        n_missing = int((codes < 0).sum())
        values: FloatArray = codes.astype(np.float64)
    else:
        try:
            values = np.asarray(column, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"column {name!r} holds values that are not numbers ({error}): name it in `categorical`."
            ) from error
        n_missing = int((~np.isfinite(values)).sum())
    if n_missing:
        raise ValueError(
            f"column {name!r} holds {n_missing} missing or infinite (NaN or inf) values: drop these rows, "
            "impute them (sklearn.impute), or give missing categories a label of their own."
        )
    return values
