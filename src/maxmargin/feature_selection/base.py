"""Base class of all selectors: the scikit-learn transformer, the history, the picture."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.parameters import count_or_share
from maxmargin.base.plain_state import PlainState
from maxmargin.base.table_columns import feature_names
from maxmargin.base.typing import BoolArray, FloatArray, IntArray, TableLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Selector(PlainState, SelectorMixin, BaseEstimator):
    """A transformer that keeps some of the columns.

    A subclass sets ``support_`` (mask of shape (n_features_in_,)) and ``history_`` (a DataFrame) in fit.
    """

    support_: BoolArray
    history_: pd.DataFrame

    def transform(self, X: TableLike) -> Any:
        """The chosen columns of X."""
        with np.errstate(invalid="ignore"):  # scikit-learn adds all values up; float32 sums may overflow
            return super().transform(X)

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        return self.support_

    @property
    def selected_(self) -> list[str]:
        """Names of the chosen columns, in the order of the table."""
        check_is_fitted(self)
        return [name for name, kept in zip(feature_names(self), self.support_, strict=True) if kept]

    def display(self, *, ax: Axes | None = None) -> Any:
        """Draw what the selection found; returns the SelectionDisplay (its arrays and its axes)."""
        # looked up by name: displays import selectors, so selectors cannot import displays
        displays: Any = import_module("maxmargin.displays.choices.selection_display")
        return displays.SelectionDisplay.from_estimator(self).plot(ax=ax)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def takes_missing(estimator: Any) -> bool:
    """Whether an estimator takes missing values; a pipeline does where its first step does."""
    while getattr(estimator, "steps", None):
        estimator = estimator.steps[0][1]
    return not hasattr(estimator, "fit") or bool(get_tags(estimator).input_tags.allow_nan)


def told_by(selector: Any, estimator: Any) -> int:
    """``verbose`` of a selector, or of the machine that it fits if that is larger; -1 means silence."""
    machine = estimator.steps[-1][1] if getattr(estimator, "steps", None) else estimator
    inner = int(getattr(machine, "verbose", 0) or 0)
    return int(selector.verbose if selector.verbose < 0 else max(selector.verbose, inner))


def rank(scores: FloatArray) -> IntArray:
    """Ranks 1 (largest score) ... n; equal scores rank by the lowest column."""
    ranking = np.empty(len(scores), dtype=np.int64)
    ranking[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranking


def how_many(n_total: int, n_features: int | float | None) -> int:
    """A number of columns from a number, a share in (0, 1), or None (half of them, at least one)."""
    if n_features is None:
        return max(1, n_total // 2)
    number = count_or_share(n_features, n_total)
    if number is None or number > n_total:
        raise ValueError(
            f"n_features={n_features!r} cannot be chosen from {n_total} columns: "
            f"use 1 ... {n_total}, or a share between 0 and 1."
        )
    return number
