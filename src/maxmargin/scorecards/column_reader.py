"""Read a table column by column: numbers as float64 with NaN, everything else as objects."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from maxmargin.base.tables import known_columns, row_weights
from maxmargin.base.typing import AnyArray, BoolArray, FloatArray

_NUMBERS = {"integer", "floating", "mixed-integer-float", "boolean", "decimal", "empty"}


@dataclass(frozen=True)
class Column:
    """One variable: float64 values with NaN for missing, or objects (missing where pandas says so)."""

    name: str
    values: AnyArray
    is_number: bool

    def take(self, rows: BoolArray | None) -> Column:
        """The column of some rows, or of all."""
        return self if rows is None else Column(self.name, self.values[rows], self.is_number)


@dataclass(frozen=True)
class Target:
    """Which rows are events, what they weigh, and the class labels (non-event, event)."""

    event: BoolArray
    weight: FloatArray | None
    classes: AnyArray
    event_index: int


def read_table(estimator: Any, X: Any, *, reset: bool, as_category: Collection[Any] = ()) -> list[Column]:
    """Columns of a dataframe (pandas, polars) or array, with scikit-learn's checks of names and numbers.

    ``as_category`` holds names or positions of the columns whose numbers are codes.
    """
    if hasattr(X, "columns") and hasattr(X, "shape"):
        known_columns(estimator, X, reset=reset)
        if X.shape[0] == 0:
            raise ValueError(
                f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required."
            )
    else:
        X = validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=False)
    return to_columns(column_names(estimator), raw_columns(X), X, as_category)


def raw_columns(X: Any) -> list[AnyArray]:
    """The columns of a dataframe or array as arrays."""
    if hasattr(X, "columns"):
        return [_series(X, j) for j in range(X.shape[1])]
    return [X[:, j] for j in range(X.shape[1])]


def to_columns(names: list[str], raw: list[AnyArray], X: Any, as_category: Collection[Any]) -> list[Column]:
    """Numbers and categories with their names; ``X`` is the table that the arrays come from."""
    if len(set(names)) < len(names):
        raise ValueError(f"Column names must differ from each other, got {', '.join(names)}.")
    _known(as_category, names)
    return [
        as_column(name, values, name in as_category or j in as_category or _is_categorical(X, j))
        for j, (name, values) in enumerate(zip(names, raw, strict=True))
    ]


def column_names(estimator: Any) -> list[str]:
    """Names seen in fit, or x0, x1, ... for an array."""
    found = getattr(estimator, "feature_names_in_", None)
    return (
        [str(n) for n in found] if found is not None else [f"x{j}" for j in range(estimator.n_features_in_)]
    )


def position(name: Any, names: list[str]) -> int:
    """Position of a variable given by name or number."""
    if name in names:
        return names.index(name)
    if isinstance(name, (int, np.integer)) and 0 <= name < len(names):
        return int(name)
    raise ValueError(f"No variable {name!r}: the table has {', '.join(names)}.")


def _known(wanted: Collection[Any], names: list[str]) -> None:
    for name in wanted:
        position(name, names)


def _is_categorical(X: Any, j: int) -> bool:
    """Whether a pandas column says itself that its values are categories, be they numbers."""
    return isinstance(X, pd.DataFrame) and isinstance(X.dtypes.iloc[j], pd.CategoricalDtype)


def _series(frame: Any, j: int) -> AnyArray:
    if not isinstance(frame, pd.DataFrame):
        return np.asarray(frame[frame.columns[j]].to_numpy())
    series = frame.iloc[:, j]
    if pd.api.types.is_numeric_dtype(series.dtype) and series.dtype.kind != "c":
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    if series.dtype.kind in "cmM":
        return series.to_numpy()
    return series.astype(object).to_numpy()


def as_column(name: str, values: AnyArray, as_category: bool) -> Column:
    kind = values.dtype.kind
    if kind == "c":
        raise ValueError(f"Complex data not supported: column {name!r}.")
    if kind in "mM":
        raise ValueError(
            f"Column {name!r} holds dates ({values.dtype}): turn it into a number first, for example days "
            "since a fixed day, or months between two dates."
        )
    if as_category:
        return Column(name, values.astype(object), False)
    if kind in "biuf":
        return Column(name, np.ascontiguousarray(values, dtype=np.float64), True)
    objects = values.astype(object)
    if pd.api.types.infer_dtype(objects, skipna=True) in _NUMBERS:
        return Column(name, _to_float(objects), True)
    _refuse_containers(name, objects)
    return Column(name, objects, False)


def _refuse_containers(name: str, objects: AnyArray) -> None:
    bad = next((v for v in objects if isinstance(v, (dict, list, set, np.ndarray))), None)
    if bad is not None:
        raise TypeError(f"Column {name!r}: argument must be a string or a number, got {type(bad).__name__}.")


def _to_float(objects: AnyArray) -> FloatArray:
    return np.array([np.nan if pd.isna(v) else float(v) for v in objects])


def read_target(y: Any, n_rows: int, positive: Any, sample_weight: Any, who: str) -> Target:
    """A target of two classes; ``positive`` is the event, the second of the sorted labels by default."""
    if y is None:
        raise ValueError(f"{who} requires y to be passed, but the target y is None.")
    labels = column_or_1d(y, warn=True)
    if len(labels) != n_rows:
        check_consistent_length(labels, np.empty(n_rows))
    check_classification_targets(labels)
    kind = type_of_target(labels, input_name="y", raise_unknown=True)
    classes = np.unique(labels)
    if kind != "binary":
        raise ValueError(
            "Only binary classification is supported. "
            f"The type of the target is {kind}: {len(classes)} classes."
        )
    if len(classes) < 2:
        raise ValueError(f"Two classes are needed, but y has one class: {classes[0]}.")
    if positive is not None and positive not in classes.tolist():
        raise ValueError(f"positive={positive!r} is not in y, whose classes are {classes.tolist()}.")
    event_index = 1 if positive is None else classes.tolist().index(positive)
    weight = _weights(sample_weight, labels)
    return Target(labels == classes[event_index], weight, classes, event_index)


def _weights(sample_weight: Any, labels: AnyArray) -> FloatArray | None:
    if sample_weight is None:
        return None
    weight = row_weights(sample_weight, len(labels))
    if not len(np.unique(labels[weight > 0])) == 2:
        raise ValueError(
            "Two classes are needed among the rows of positive weight; sample_weight leaves one."
        )
    return weight
