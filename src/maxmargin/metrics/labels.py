"""Which class is positive, and what the classes are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import check_consistent_length, column_or_1d

from maxmargin.base.shown import short_repr
from maxmargin.base.tables import example_weights, positive_index
from maxmargin.base.typing import AnyArray, BoolArray, FloatArray, LabelLike, TargetLike, WeightLike

REST = "rest"


@dataclass(frozen=True, kw_only=True)
class BinaryTarget:
    """A target read as "positive or not", with the names that tables and pictures show.

    ``weight`` holds the weights of the rows, of shape (n_samples,); None if every row counts once.
    """

    is_positive: BoolArray
    positive: str
    negative: str
    weight: FloatArray | None = None

    __repr__ = short_repr

    @property
    def n_positive(self) -> int:
        return int(np.count_nonzero(self.is_positive))

    @property
    def n_negative(self) -> int:
        return len(self.is_positive) - self.n_positive

    @property
    def weights(self) -> FloatArray:
        """``weight``, or ones."""
        return np.ones(len(self.is_positive)) if self.weight is None else self.weight

    @property
    def total(self) -> float:
        """Number of rows, or the sum of their weights."""
        return float(self.weights.sum())

    @property
    def total_positive(self) -> float:
        return float(self.weights[self.is_positive].sum())

    @property
    def total_negative(self) -> float:
        return self.total - self.total_positive

    def require_both(self) -> None:
        """Raise an error if one of the two classes has no rows, because its rates are undefined."""
        if not (self.n_positive and self.n_negative):
            raise ValueError(
                f"Both classes are needed: got {self.n_positive} rows of {self.positive!r} (positive) "
                f"and {self.n_negative} of {self.negative!r}. Evaluate on rows of both classes."
            )


class Measure(float):
    """A number that knows its positive class: ``.positive``, ``.negative``, and in its text.

    Examples
    --------
    >>> from maxmargin.metrics import gini
    >>> value = gini(["ham", "spam", "ham", "spam"], [0.1, 0.4, 0.5, 0.9], positive="spam")
    >>> print(value)
    0.5000 (spam against ham)
    >>> value + 1, value.positive
    (1.5, 'spam')
    """

    positive: str
    negative: str

    def __new__(cls, value: float, *, positive: str, negative: str) -> Measure:
        measure = super().__new__(cls, value)
        measure.positive, measure.negative = positive, negative
        return measure

    def __getnewargs_ex__(self) -> tuple[tuple[float], dict[str, str]]:
        return (float(self),), {"positive": self.positive, "negative": self.negative}

    def __str__(self) -> str:
        return f"{float(self):.4f} ({self.positive} against {self.negative})"


def known_labels(y: TargetLike, name: str = "y") -> AnyArray:
    """Labels of shape (n_samples,), not empty and none missing."""
    labels: AnyArray = column_or_1d(y)
    if not len(labels):
        raise ValueError(f"{name} is empty: give at least one row.")
    missing = int(pd.isna(labels).sum())
    if missing:
        raise ValueError(f"{name} has {missing} missing labels: leave these rows out.")
    return labels


def sorted_classes(labels: AnyArray) -> AnyArray:
    try:
        return np.unique(labels)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels.tolist()})
        raise ValueError(
            f"the labels are of several types ({', '.join(kinds)}) and have no order: use one type."
        ) from None


def class_names(classes: AnyArray, names: Sequence[str] | None) -> list[str]:
    """Names to show for the sorted ``classes``: the labels themselves, or ``names`` in the same order."""
    if names is None:
        return [str(label) for label in classes]
    if isinstance(names, str) or not hasattr(names, "__len__"):
        raise ValueError(
            f"names={names!r} must be a list of one name per class, in sorted order of the labels."
        )
    if len(names) != len(classes):
        raise ValueError(
            f"names has {len(names)} entries for {len(classes)} classes {[str(c) for c in classes]}: "
            "give one name per class, in sorted order of the labels."
        )
    if len(set(names)) < len(names):
        raise ValueError(f"names must differ from each other, got {list(names)}.")
    return [str(name) for name in names]


def scored_target(
    y: TargetLike,
    score: npt.ArrayLike,
    *,
    positive: LabelLike | None = None,
    names: Sequence[str] | None = None,
    sample_weight: WeightLike | None = None,
) -> tuple[BinaryTarget, FloatArray]:
    """The binary target, with both classes present, and the float64 scores of its rows.

    More than two classes become "positive" against the rest.
    """
    labels = known_labels(y)
    classes = sorted_classes(labels)
    shown = class_names(classes, names)
    k = positive_index(classes, positive)
    others = [name for i, name in enumerate(shown) if i != k]
    negative = others[0] if len(others) == 1 else REST
    is_positive = labels == classes[k]
    target = BinaryTarget(is_positive=is_positive, positive=shown[k], negative=negative)
    values = _numbers(score)
    check_consistent_length(is_positive, values)
    if np.isnan(values).any():
        raise ValueError(f"{np.isnan(values).sum()} scores are NaN: every row needs a score.")
    target.require_both()
    if sample_weight is None:
        return target, values
    both = np.array([negative, shown[k]])
    weight = example_weights(sample_weight, None, both, is_positive.astype(np.int64))
    return replace(target, weight=weight), values


def _numbers(score: npt.ArrayLike) -> FloatArray:
    try:
        return np.asarray(column_or_1d(score), dtype=np.float64)
    except (TypeError, ValueError) as refused:
        reason = str(refused).splitlines()[0].rstrip(".")
        raise ValueError(f"the score must be one number for each row: {reason}.") from None
