"""Validation of tables, targets and weights; every error names the place and the remedy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import check_array, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, validate_data

from maxmargin.base.parameters import check_not_negative
from maxmargin.base.typing import (
    AnyArray,
    ClassWeightLike,
    FloatArray,
    IntArray,
    LabelLike,
    TableLike,
    TargetLike,
    WeightLike,
)

_FEW_CLASSES = 20
SQUARES_TOO_LARGE = "the squares of X are too large for floating-point numbers: scale its columns."


def checked_table(X: TableLike, **options: Any) -> Any:
    """scikit-learn's check_array, with errors that also name the column and the remedy."""
    _check_is_table(X)
    if isinstance(X, (np.ndarray, pd.DataFrame)) and (
        dates := _dates(X)
    ):  # scikit-learn would count nanoseconds
        raise dates_refused(_column(X, dates[0]))
    if sp.issparse(X) and not entries_inside(X):
        raise ValueError(
            "X is a sparse matrix with entries outside its rows or columns, which cannot be read safely: "
            "make it again from rows, columns and values."
        )
    try:
        with np.errstate(invalid="ignore"):  # it adds all values up; where that overflows it looks at each
            return check_array(X, input_name="X", **options)
    except (TypeError, ValueError) as refused:
        advice = _advice(str(refused).splitlines()[0].rstrip("."), X)
        if advice is None:
            raise
        raise (TypeError if isinstance(refused, TypeError) else ValueError)(advice) from None


def _advice(reason: str, X: Any) -> str | None:
    """A remedy for an error of scikit-learn; None if its own message has one."""
    if "contains NaN" in reason or "contains infinity" in reason:
        return (
            f"{reason}{_where(X)}: drop such rows or fill them first, for example with "
            "sklearn.impute.SimpleImputer."
        )
    if "could not convert string" in reason or "arrays of bytes/strings" in reason:
        return (
            f"X holds text ({reason}): encode it as numbers, for example with OneHotEncoder, or use a "
            "string kernel such as mm.kernels.Subsequence."
        )
    if "could not be promoted" in reason:
        return str(dates_refused(_column(X, _dates(X)[0])))
    if "must be a string or a real number" in reason:
        return f"X holds values that are not numbers ({reason}): give a table of numbers."
    if "Complex data not supported" in reason:
        return f"{reason}: X holds complex numbers. Give their real and imaginary parts as columns."
    return None


def known_columns(estimator: object, X: TableLike, *, reset: bool = True) -> None:
    """The estimator learns the number and names of the columns or, without reset, checks them."""
    _check_is_table(X)
    nameless = isinstance(X, sp.spmatrix | sp.sparray) or type(X) is np.ndarray
    shape: tuple[int, ...] = getattr(X, "shape", ()) if nameless else ()
    if len(shape) == 2 and not hasattr(estimator, "feature_names_in_"):  # scikit-learn lists all packages
        if reset:
            estimator.n_features_in_ = shape[1]  # type: ignore[attr-defined]  # as scikit-learn does
        if getattr(estimator, "n_features_in_", shape[1]) == shape[1]:
            return
    validate_data(estimator, X, reset=reset, skip_check_array=True)


def _check_is_table(X: Any) -> None:
    if X is None:
        raise ValueError("X is None: give a table of rows and columns.")
    names = list(getattr(X, "columns", ()))
    twice = {repr(name) for name in names if names.count(name) > 1} if len(set(names)) < len(names) else ()
    if twice:
        raise ValueError(f"X has several columns with the name {', '.join(sorted(twice))}: rename them.")
    if hasattr(X, "columns") and X.shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")


def fitted_table(estimator: object, X: TableLike, *, reset: bool = True, **options: Any) -> Any:
    """`checked_table` together with `known_columns`."""
    values = checked_table(X, estimator=estimator, **options)
    known_columns(estimator, X, reset=reset)
    return values


def numbers_or_csr(estimator: object, X: TableLike, *, reset: bool = True, learns: bool | None = None) -> Any:
    """`fitted_table` of float64 or float32, row-major or CSR.

    Overflow of squares is checked if the estimator ``learns`` from X; by default if ``reset`` is True.
    """
    if is_plain(X):
        known_columns(estimator, X, reset=reset)
        return X
    table = fitted_table(
        estimator, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], order="C"
    )
    if reset if learns is None else learns:
        check_squares(table)
    return table


def is_plain(X: Any) -> bool:
    """True if the full check, which takes as long as a small fit, would return X unchanged."""
    if type(X) is not np.ndarray or X.ndim != 2 or not X.size or not X.flags.c_contiguous:
        return False
    if X.dtype not in (np.float64, np.float32):
        return False
    return _squares_are_finite(X)  # otherwise the full check decides


def indices_inside(values: AnyArray, stop: int) -> bool:
    """True if an array holds whole numbers from 0 to stop - 1."""
    whole = isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iu"
    return bool(whole and values.min(initial=0) >= 0 and values.max(initial=-1) < stop)


def entries_inside(X: Any) -> bool:
    """True if every index of a CSR or CSC matrix is in range; SciPy and compiled code do not check."""
    if X.format not in ("csr", "csc"):
        return True  # SciPy checks the other formats itself
    (outer, inner), ends = X.shape if X.format == "csr" else X.shape[::-1], X.indptr
    covered = len(ends) == outer + 1 and indices_inside(ends, min(len(X.indices), len(X.data)) + 1)
    return covered and bool((ends[1:] >= ends[:-1]).all()) and indices_inside(X.indices, inner)


def check_squares(X: AnyArray | sp.csr_array) -> None:
    """Refuse finite rows, dense or sparse, whose squares overflow, because every model sums squares."""
    if not _squares_are_finite(np.asarray(X.data) if sp.issparse(X) else X):
        raise ValueError(SQUARES_TOO_LARGE)


def _squares_are_finite(values: AnyArray) -> bool:
    """True if all values and the sum of their squares in float64 are finite.

    BLAS is avoided: its threads would keep spinning. Squares of float32 values do not overflow in float64.
    """
    flat = values.ravel(order="K")
    with np.errstate(all="ignore"):
        if flat.dtype != np.float32:
            return bool(np.isfinite(np.einsum("i,i->", flat, flat, dtype=np.float64)))
        return bool(np.isfinite(flat.sum()) or np.isfinite(flat.sum(dtype=np.float64)))


def _where(X: Any) -> str:
    """The first column that holds NaN or infinity, in words."""
    if sp.issparse(X):
        return ""
    values = pd.DataFrame(X).to_numpy(dtype=np.float64, na_value=np.nan)
    return _column(X, int(np.argmin(np.isfinite(values).all(axis=0))))


def dates_refused(place: str) -> TypeError:
    """The error for a column of dates; ``place`` names it."""
    return TypeError(
        f"X holds dates or times{place}: turn them into numbers, such as days since the first one."
    )


def _dates(X: Any) -> list[int]:
    """The columns of dates."""
    if isinstance(X, np.ndarray) and X.dtype.kind != "O":  # of one kind: a frame would take longer than a fit
        return [0] if X.dtype.kind in "mM" else []
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X)
    kinds = [dtype.kind for dtype in frame.dtypes]
    return [j for j, kind in enumerate(kinds) if kind in "mM"]


def _column(X: Any, j: int) -> str:
    return f" in column {X.columns[j]!r}" if hasattr(X, "columns") else f" in column {j}"


def checked_labels(y: TargetLike | None, n_rows: int, estimator: object) -> AnyArray:
    """Class labels of shape (n_rows,), none of them missing."""
    labels = _present_labels(y, n_rows, estimator)
    check_classification_targets(labels)
    return labels


def _present_labels(y: TargetLike | None, n_rows: int, estimator: object) -> AnyArray:
    labels: AnyArray = checked_target(y, n_rows, estimator)
    missing = int(pd.isna(labels).sum()) if labels.dtype == object else 0  # NaN was refused already
    if missing:
        raise ValueError(
            f"y has {missing} missing labels: drop these rows, or give them a label of their own."
        )
    return labels


def class_codes(y: TargetLike | None, n_rows: int, estimator: object) -> tuple[AnyArray, IntArray]:
    """The classes, two or more in order, and the rows' codes 0 ... n_classes - 1 of shape (n_rows,)."""
    labels = _present_labels(y, n_rows, estimator)
    classes, codes = _coded(labels)
    if len(classes) > _FEW_CLASSES:  # compared with the number of rows
        check_classification_targets(labels)
    elif classes.dtype.kind not in "biuf" or (classes != np.floor(classes)).any():
        check_classification_targets(classes)  # a few labels are enough
    check_two_classes(classes, estimator)
    return classes, codes


def _coded(labels: AnyArray) -> tuple[AnyArray, IntArray]:
    """The classes in order, and the code of every row."""
    if labels.dtype.kind in "biuf":
        low, high = labels.min(), labels.max()
        upper = labels == high
        if low < high and (upper | (labels == low)).all():  # two classes need no hash table
            return np.array([low, high]), upper.astype(np.int64)
    codes, uniques = pd.factorize(labels, sort=True)  # hashing is much faster than sorting all rows
    return np.asarray(uniques, dtype=labels.dtype), codes


@dataclass(frozen=True)
class Classes:
    """Class codes of shape (n_samples,) and the labels they stand for."""

    codes: IntArray
    labels: AnyArray

    @property
    def masses(self) -> FloatArray:
        """Rows of each class, of shape (n_classes,)."""
        return np.bincount(self.codes, minlength=len(self.labels)).astype(np.float64)


def read_classes(y: TargetLike | None, n_rows: int, estimator: object) -> Classes:
    """`class_codes` as one object."""
    labels, codes = class_codes(y, n_rows, estimator)
    return Classes(codes, labels)


def positive_index(classes: AnyArray, positive: LabelLike | None) -> int:
    """Position of the positive class in the sorted ``classes``: the last of two, unless it is named."""
    if positive is None:
        if len(classes) > 2:
            raise ValueError(
                f"{len(classes)} classes {[str(c) for c in classes]}: say which is positive "
                "(positive=...); the others are then taken together."
            )
        return len(classes) - 1
    found = np.flatnonzero(classes == positive) if np.ndim(positive) == 0 else np.empty(0, dtype=np.int64)
    if not len(found):
        raise ValueError(f"positive={positive!r} is not one of the classes {classes.tolist()}.")
    return int(found[0])


def as_rows(X: TableLike) -> Any:
    """X in a form that can be indexed by rows: tables and strings unchanged, sparse as CSR, else an array."""
    if X is None or isinstance(X, str):
        raise ValueError(f"X={X!r} is not a table: give rows and columns.")
    if sp.issparse(X):
        return sp.csr_array(X)
    if hasattr(X, "columns") or (isinstance(X, (list, tuple)) and len(X) and isinstance(X[0], str)):
        return X
    rows = np.asarray(X)
    if not rows.ndim:
        raise ValueError(f"X={X!r} is not a table: give rows and columns.")
    return rows


def as_dense(values: Any) -> AnyArray:
    """An array, also from a sparse one."""
    return np.asarray(values.toarray() if sp.issparse(values) else values)


def n_rows(X: TableLike) -> int:
    """Number of rows of whatever `as_rows` returns."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)  # type: ignore[arg-type]  # a sequence


def as_targets(estimator: object, y: TargetLike | None, n_rows: int) -> AnyArray | None:
    """Targets of shape (n_rows,) as the estimator needs them: labels, numbers, anything, or None."""
    if y is None and not get_tags(estimator).target_tags.required:
        return None
    if is_classifier(estimator):
        return checked_labels(y, n_rows, estimator)
    read = checked_numbers if is_regressor(estimator) else checked_target
    return read(y, n_rows, estimator)


def check_two_classes(classes: AnyArray, estimator: object) -> None:
    if len(classes) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs at least two classes, and y holds one class only, "
            f"{classes.tolist()[0]!r}: add rows of another class."
        )


def checked_numbers(y: TargetLike | None, n_rows: int, estimator: object) -> FloatArray:
    """Finite targets of shape (n_rows,) in float64."""
    try:
        numbers = np.asarray(checked_target(y, n_rows, estimator, numeric=True), dtype=np.float64)
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


def checked_targets(y: TargetLike | None, n_rows: int, estimator: object) -> FloatArray:
    """Numbers with finite squares of shape (n_rows,), or (n_rows, n_targets) where y has columns."""
    values = np.asarray(y)
    if values.ndim != 2:
        targets = checked_numbers(y, n_rows, estimator)
    else:
        columns = [checked_numbers(values[:, k], n_rows, estimator) for k in range(values.shape[1])]
        targets = np.column_stack(columns)
    return with_finite_squares(targets)


def with_finite_squares(targets: FloatArray) -> FloatArray:
    """The targets as they are; an error if their squares overflow."""
    if not _squares_are_finite(targets):
        raise ValueError("the squares of y are too large for floating-point numbers: scale y.")
    return targets


def checked_target(
    y: TargetLike | None, n_rows: int, estimator: object, *, numeric: bool = False
) -> AnyArray:
    """A target of shape (n_rows,) without NaN and infinity, of numbers or of anything."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None: call fit(X, y)."
        )
    if type(y) is np.ndarray and y.shape == (n_rows,) and y.dtype.kind in "biuf" and np.isfinite(y).all():
        return y
    try:
        values: AnyArray = _check_y(y, y_numeric=numeric, estimator=estimator)
    except (TypeError, ValueError) as refused:
        reason = str(refused).splitlines()[0].rstrip(".")
        if "value of NA" in reason:
            reason = "Input y contains NA"
        elif "contains NaN" not in reason and "contains infinity" not in reason:
            raise
        raise ValueError(f"{reason}: drop the rows without a target.") from None
    if len(values) != n_rows:
        raise ValueError(
            f"X has {n_rows} rows and y has {len(values)}, which are inconsistent numbers of samples: "
            "give one target for each row."
        )
    return values


def row_weights(sample_weight: WeightLike | None, n_rows: int) -> FloatArray:
    """Weights of the rows in float64, of shape (n_rows,), >= 0 and not all 0; None gives ones."""
    if sample_weight is None:
        return np.ones(n_rows)
    given = np.full(n_rows, sample_weight) if np.isscalar(sample_weight) else sample_weight
    try:
        weights: FloatArray = check_array(
            given, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
        )
    except (TypeError, ValueError) as refused:
        reason = str(refused).splitlines()[0].rstrip(".")
        raise ValueError(f"{reason}: sample_weight is one finite number >= 0 for each row.") from None
    if weights.shape != (n_rows,):
        kind = "Sample weights must be 1D array or scalar: " if weights.ndim > 1 else ""
        raise ValueError(
            f"{kind}sample_weight has the shape {weights.shape}, and X has {n_rows} rows: give one "
            "weight for each."
        )
    if weights.min() < 0:
        raise ValueError(f"sample_weight holds negative numbers, the least {weights.min():g}: use >= 0.")
    if not weights.any():
        raise ValueError(
            "Invalid input - all samples have zero or negative weights. One sample_weight must be > 0."
        )
    return weights


def example_weights(
    sample_weight: WeightLike | None,
    class_weight: ClassWeightLike | None,
    classes: AnyArray,
    codes: IntArray,
    *,
    balance_sums: bool = False,
) -> FloatArray:
    """`row_weights` times `class_factors`; an error if a class has no row of positive weight.

    "balanced" counts rows, as scikit-learn's SVC does, or with ``balance_sums`` sums their weights, as its
    linear models do.
    """
    weights = row_weights(sample_weight, len(codes))
    weights = weights * class_factors(class_weight, classes, codes, weights if balance_sums else None)
    if weights.min() > 0:
        return weights
    lacking = np.setdiff1d(np.arange(len(classes)), codes[weights > 0])
    if len(lacking):
        raise ValueError(
            f"no row of the class {classes.tolist()[lacking[0]]!r} has a positive weight: every "
            "class needs one. Leave its rows out, or raise sample_weight or class_weight."
        )
    return weights


def class_weights(class_weight: ClassWeightLike | None, classes: AnyArray, counts: AnyArray) -> FloatArray:
    """The factor that ``class_weight`` gives to each class, of shape (n_classes,).

    ``counts`` are rows or sums of weights by class; "balanced" gives 0 to a class without any.
    """
    if isinstance(class_weight, str) and class_weight == "balanced":
        even = np.full(len(classes), counts.sum() / len(classes))
        return np.divide(even, counts, out=np.zeros(len(classes)), where=counts > 0)
    if class_weight is None:
        return np.ones(len(classes))
    if not isinstance(class_weight, dict):
        raise ValueError(f"class_weight={class_weight!r} is unknown: use a dict, 'balanced' or None.")
    for label, weight in class_weight.items():
        check_not_negative(f"class_weight[{label!r}]", weight)
    labels = classes.tolist()
    strange = [label for label in class_weight if label not in labels]
    lacking = [label for label in labels if label not in class_weight]
    if strange and lacking:
        raise ValueError(
            f"The classes {lacking} are not in class_weight, and its {strange} are not classes: name them "
            "as they are in y."
        )
    return np.array([class_weight.get(label, 1.0) for label in labels], dtype=np.float64)


def class_factors(
    class_weight: ClassWeightLike | None,
    classes: AnyArray,
    codes: IntArray,
    weights: FloatArray | None = None,
) -> FloatArray:
    """The factor that ``class_weight`` gives to each row, of shape (n_rows,).

    With ``weights`` of the rows, "balanced" balances their sums: a weight of 2 counts as two rows.
    """
    if class_weight is None:
        return np.ones(len(codes))
    counts = np.bincount(codes, weights=weights, minlength=len(classes))
    return class_weights(class_weight, classes, counts)[codes]


def stream_weights(
    sample_weight: WeightLike | None, class_weight: ClassWeightLike | None, classes: AnyArray, codes: IntArray
) -> FloatArray:
    """`row_weights` times `class_factors` for a chunk of rows, which cannot balance classes."""
    if class_weight == "balanced":
        raise ValueError("class_weight='balanced' needs all rows at once: give a dict to partial_fit.")
    return row_weights(sample_weight, len(codes)) * class_factors(class_weight, classes, codes)
