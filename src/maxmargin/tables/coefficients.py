"""Coefficients of linear models in the units of the table, with their uncertainty."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd

from maxmargin.base.typing import LabelLike, TargetLike
from maxmargin.machines.linear import LeastSquares, LogisticRegression
from maxmargin.machines.linear.logistic_summary import LogisticSummary
from maxmargin.machines.linear.squares_summary import SquaresSummary

CoefficientSummary = LogisticSummary | SquaresSummary
_MOST_COLUMNS = 200
_MOST_LEVELS = 50


def original_columns(X: pd.DataFrame) -> pd.DataFrame | None:
    """The table as numbers in its own units; None where it holds text or too many columns.

    Missing numbers become the median; a category becomes a column for each value but the most frequent one.
    """
    parts: list[pd.DataFrame] = []
    for name in X:
        column = X[name]
        if pd.api.types.is_numeric_dtype(column):
            values = column.astype(float)
            parts.append(values.fillna(values.median()).to_frame(str(name)))
            continue
        texts = column.astype(object).where(column.notna(), "(missing)").astype(str)
        if texts.nunique() > _MOST_LEVELS:
            return None
        dummies = pd.get_dummies(texts, prefix=str(name), prefix_sep="=", dtype=float)
        parts.append(dummies.drop(columns=f"{name}={texts.mode().iloc[0]}"))
    table = pd.concat(parts, axis=1)
    return table if 0 < table.shape[1] <= _MOST_COLUMNS else None


def coefficient_summary(
    model: object, X: pd.DataFrame, y: TargetLike, positive: LabelLike | None = None
) -> CoefficientSummary | None:
    """The fit without a penalty to these rows, in the units of the table; None for other models and tables.

    ``model`` is a logistic regression or least squares, which may have been fitted to scaled columns or with
    a penalty: standard errors exist for the unpenalised fit only. The log odds are those of ``positive``.
    """
    if not isinstance(model, (LogisticRegression, LeastSquares)):
        return None
    table = original_columns(X)
    if table is None:
        return None
    target = np.asarray(y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a reader must know is in the notes of the summary
        if isinstance(model, LeastSquares):
            return LeastSquares().fit(table, target).summary()
        plain, classes = LogisticRegression(C=np.inf), np.unique(target).tolist()
        if len(classes) > 2 or positive != classes[0]:
            return plain.fit(table, target).summary()
        summary = plain.fit(table, target == positive).summary()
        return replace(summary, odds=f"{classes[0]!r} against {classes[1]!r}")


def estimate_names(found: CoefficientSummary) -> list[str]:
    """The rows of a summary by name; with several classes the class comes first."""
    return [name if isinstance(name, str) else ": ".join(map(str, name)) for name in found.table.index]
