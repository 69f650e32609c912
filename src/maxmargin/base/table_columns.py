"""Read a table column by column: numbers, booleans and categories under their names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from maxmargin.base.tables import dates_refused, fitted_table, known_columns
from maxmargin.base.typing import AnyArray, BoolArray, FloatArray, TableLike

Categorical = str | Sequence[int] | Sequence[str] | Sequence[bool] | None

_NUMBERS = {"integer", "floating", "mixed-integer-float", "boolean", "decimal", "empty"}
_DATES = {"datetime", "datetime64", "date", "time", "timedelta", "timedelta64", "period"}


@dataclass(frozen=True)
class Column:
    """One variable: float64 values with NaN for missing, or objects (missing where pandas says so).

    Booleans are numbers 0 and 1 with ``is_boolean`` set, so they can also be read as categories.
    """

    name: str
    values: AnyArray
    is_number: bool
    is_boolean: bool = False

    def take(self, rows: BoolArray | None) -> Column:
        """The column restricted to some rows; None keeps all."""
        if rows is None:
            return self
        return Column(self.name, self.values[rows], self.is_number, self.is_boolean)


@dataclass(frozen=True)
class CodedTable:
    """Numbers of shape (n_samples, n_features); a category is the number of its label.

    ``categorical`` marks the columns of categories, of shape (n_features,).
    """

    values: FloatArray
    categorical: BoolArray

    @property
    def shape(self) -> tuple[int, int]:
        n_samples, n_features = self.values.shape
        return n_samples, n_features


def feature_names(estimator: BaseEstimator) -> list[str]:
    """Names of the columns an estimator was fitted on; x0, x1, ... where the table had none."""
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{j}" for j in range(estimator.n_features_in_)] if names is None else [str(n) for n in names]


def position(name: object, names: Sequence[str]) -> int:
    """Position of a column given by name or number."""
    if name in names:
        return names.index(name)
    if isinstance(name, (int, np.integer)) and -len(names) <= name < len(names):
        return int(name) % len(names)
    raise ValueError(f"the table does not have a column {name!r}: its columns are {', '.join(names)}.")


def column_mask(wanted: Collection[Any], names: Sequence[str]) -> BoolArray:
    """Mask of the columns given by name, by position, or as a mask of one entry per column."""
    given = list(wanted)
    if given and all(isinstance(value, (bool, np.bool_)) for value in given):
        if len(given) != len(names):
            raise ValueError(f"the mask of columns has {len(given)} entries for {len(names)} columns.")
        return np.array(given)
    mask = np.zeros(len(names), dtype=bool)
    mask[[position(name, names) for name in given]] = True
    return mask


def read_columns(
    estimator: object, X: TableLike, *, reset: bool = True, categorical: Collection[Any] = ()
) -> list[Column]:
    """Columns of a dataframe (pandas, polars) or array; the estimator learns or checks their names.

    ``categorical`` holds names or positions of the columns whose numbers are codes of categories.
    """
    if hasattr(X, "columns") and hasattr(X, "shape"):
        known_columns(estimator, X, reset=reset)
        if X.shape[0] == 0:
            raise ValueError(
                f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required."
            )
    else:
        if isinstance(X, (list, tuple)):  # NumPy would turn numbers next to text into text
            X = np.asarray(X, dtype=object)
        X = validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=False)
    return columns_of(X, feature_names(estimator), categorical)


def columns_of(X: TableLike, names: Sequence[str], categorical: Collection[Any] = ()) -> list[Column]:
    """The columns of a validated dataframe or array, under the given names."""
    if len(set(names)) < len(names):
        raise ValueError(f"Column names must differ from each other, got {', '.join(names)}.")
    if isinstance(categorical, str):
        raise ValueError(f"the columns of categories are {categorical!r}: give a list of columns.")
    mask = column_mask(categorical, names)
    return [as_column(name, *_values(X, j, bool(mask[j]))) for j, name in enumerate(names)]


def _values(X: Any, j: int, is_category: bool) -> tuple[AnyArray, bool]:
    """Column j as an array, and whether its type makes it a category."""
    if not isinstance(X, pd.DataFrame):
        return np.asarray(X[X.columns[j]].to_numpy()) if hasattr(X, "columns") else X[:, j], is_category
    series = X.iloc[:, j]
    if isinstance(series.dtype, pd.CategoricalDtype):
        return series.astype(object).to_numpy(), True
    if pd.api.types.is_bool_dtype(series.dtype) or not pd.api.types.is_numeric_dtype(series.dtype):
        plain = isinstance(series.dtype, np.dtype) and series.dtype.kind != "O"
        return series.to_numpy() if plain else series.astype(object).to_numpy(), is_category
    if series.dtype.kind == "c":
        return series.to_numpy(), is_category
    return series.to_numpy(dtype=np.float64, na_value=np.nan), is_category


def as_column(name: str, values: AnyArray, is_category: bool = False) -> Column:
    """An array as a column: numbers as float64, anything else as objects; dates are refused."""
    kind = values.dtype.kind
    if kind == "c":
        raise ValueError(f"Complex data not supported: column {name!r}. Give real and imaginary parts.")
    if kind in "mM":
        raise dates_refused(f" in column {name!r}")
    if is_category:
        return Column(name, values.astype(object), False)
    if kind in "biuf":
        return Column(name, np.ascontiguousarray(values, dtype=np.float64), True, kind == "b")
    objects = values.astype(object)
    found = pd.api.types.infer_dtype(objects, skipna=True)
    if found in _DATES:
        raise dates_refused(f" in column {name!r}")
    if found in _NUMBERS:
        numbers = np.array([np.nan if pd.isna(value) else float(value) for value in objects])
        return Column(name, numbers, True, found == "boolean")
    bad = next((value for value in objects if isinstance(value, (dict, list, set, np.ndarray))), None)
    if bad is not None:
        raise TypeError(f"Column {name!r}: argument must be a string or a number, got {type(bad).__name__}.")
    return Column(name, objects, False)


def coded_table(
    estimator: object, X: TableLike, categorical: Categorical = "auto", *, missing: bool = False
) -> CodedTable:
    """Validate ``X`` for ``estimator`` (which learns its column names) and code the categories.

    ``categorical="auto"`` takes the columns of a dataframe that hold text, categories or booleans; a list of
    names or positions, or a mask, says which ones; None says that there are none. ``missing`` allows missing
    values, which become NaN.
    """
    auto = isinstance(categorical, str)
    if auto and categorical != "auto":
        raise ValueError(f"categorical={categorical!r} is unknown: use 'auto', None, or a list of columns.")
    if (auto or categorical is None) and _holds_only_numbers(X):
        finite = "allow-nan" if missing else True
        values = fitted_table(estimator, X, dtype=np.float64, ensure_all_finite=finite)
        return CodedTable(values, np.zeros(values.shape[1], dtype=bool))
    columns = read_columns(estimator, X, categorical=() if auto or categorical is None else categorical)
    names = [column.name for column in columns]
    mask = np.array([not column.is_number or column.is_boolean for column in columns])
    if not auto:
        mask = column_mask(() if categorical is None else categorical, names)
    coded = [_coded(column, is_cat, missing) for column, is_cat in zip(columns, mask, strict=True)]
    return CodedTable(np.column_stack(coded), mask)


def _holds_only_numbers(X: Any) -> bool:
    """True if X is an array, or a pandas table with numeric columns only."""
    if not isinstance(X, pd.DataFrame):
        return not hasattr(X, "columns")
    return all(isinstance(dtype, np.dtype) and dtype.kind in "iuf" for dtype in X.dtypes)


def _coded(column: Column, is_category: bool, missing: bool) -> FloatArray:
    """Finite numbers, or the numbers of the categories in order of appearance; NaN where allowed."""
    values = column.values
    if is_category:
        codes, _ = pd.factorize(values)
        values = np.where(codes < 0, np.nan, codes.astype(np.float64))
    elif not column.is_number:
        example = next((value for value in values if isinstance(value, str)), values[0])
        raise ValueError(
            f"column {column.name!r} holds values that are not numbers, such as {example!r}: encode them, or "
            "name the column in `categorical` where the method has this option."
        )
    n_missing = int((np.isinf(values) if missing else ~np.isfinite(values)).sum())
    if n_missing:
        raise ValueError(
            f"column {column.name!r} holds {n_missing} missing or infinite (NaN or inf) values: drop these "
            "rows, impute them (sklearn.impute), or give missing categories a label of their own."
        )
    return values
