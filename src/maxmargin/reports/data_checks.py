"""Checks of the data behind the warnings: leaks, scales, rows that appear on both sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.stats import spearmanr

from maxmargin.base.typing import AnyArray
from maxmargin.metrics import auc
from maxmargin.reports.study import Study
from maxmargin.reports.study_rows import Rows

_PERFECT = 0.995  # AUC of one variable alone, or rank correlation with the target
_SAMPLE = 5000
_FEWEST = 20  # rows below which one variable separates the classes by chance


@dataclass(frozen=True)
class Scales:
    """The columns of largest and smallest standard deviation as the model sees them, and their ratio."""

    largest: str
    smallest: str
    ratio: float


def leaks(study: Study) -> list[str]:
    """Variables that alone give the answer away: perhaps they were written down after it was known."""
    rows = study.known.sample(_SAMPLE, study.seed)
    if rows.frame is None or rows.y is None or study.takes_kernel_values or len(rows) < _FEWEST:
        return []
    if study.subject.task not in ("classification", "regression", "selection"):
        return []
    judge = _tells_value if study.subject.task == "regression" else _tells_class
    return [str(name) for j, name in enumerate(rows.frame.columns) if judge(rows.frame.iloc[:, j], rows.y)]


def _tells_class(column: pd.Series[Any], y: AnyArray) -> bool:
    """Does the column separate one class from the rest (nearly) without error?"""
    numeric = column.dtype.kind in "iufb" and not isinstance(column.dtype, pd.CategoricalDtype)
    return any(_separates(column, y == label, numeric) for label in np.unique(y))


def _separates(column: pd.Series[Any], positive: AnyArray, numeric: bool) -> bool:
    if not numeric:
        return _pure(column, positive)
    values = column.to_numpy(dtype=np.float64)
    known = np.isfinite(values)
    if min(positive[known].sum(), (~positive[known]).sum()) < 5:
        return False
    area = auc(positive[known], values[known]).value
    return max(area, 1 - area) >= _PERFECT


def _pure(column: pd.Series[Any], positive: AnyArray) -> bool:
    """Does every category hold one class only, with rows enough in each for this to mean something?"""
    text = column.astype(str)
    if text.nunique() > len(text) / 5:
        return False
    share = pd.Series(positive).groupby(text.to_numpy()).mean()
    return bool(share.isin([0.0, 1.0]).all()) and share.nunique() == 2


def _tells_value(column: pd.Series[Any], y: AnyArray) -> bool:
    if column.dtype.kind not in "iuf" or column.nunique() < 3:
        return False
    known = np.isfinite(column.to_numpy(dtype=np.float64))
    if known.sum() < _FEWEST or len(np.unique(y[known])) < 3:
        return False
    return bool(abs(spearmanr(column[known], y[known]).statistic) >= _PERFECT)


def repeated_rows(study: Study) -> int:
    """Evaluated rows that the model also learned from, target included."""
    if study.training is None or study.evaluated.frame is None or study.training.frame is None:
        return 0
    seen = set(_keys(study.training))
    return sum(key in seen for key in _keys(study.evaluated))


def _keys(rows: Rows) -> list[int]:
    assert rows.frame is not None  # the caller looked
    table = rows.frame.reset_index(drop=True)
    if rows.y is not None:
        table = table.assign(**{"\0target": rows.y})
    keys: list[int] = pd.util.hash_pandas_object(table.astype(str), index=False).tolist()
    return keys


def scales(study: Study) -> Scales | None:
    """How unequal the columns are when they reach a model that compares them with each other."""
    if not _compares_columns(study.subject.final) or study.takes_kernel_values:
        return None
    seen = study.subject.transformed(study.known.sample(_SAMPLE, study.seed).X)
    if sp.issparse(seen) or np.ndim(seen) != 2:
        return None
    try:
        values = np.asarray(seen, dtype=np.float64)
    except (TypeError, ValueError):  # columns of text: the model has its own way with them
        return None
    spread = np.nanstd(values, axis=0)
    used = np.flatnonzero(spread > 0)
    if len(used) < 2:
        return None
    names = _names(study, seen, values.shape[1])
    large, small = used[spread[used].argmax()], used[spread[used].argmin()]
    return Scales(names[large], names[small], float(spread[large] / spread[small]))


def _compares_columns(final: Any) -> bool:
    """Kernel machines and penalised linear models: a column counts by the size of its numbers."""
    return hasattr(final, "kernel") or hasattr(final, "penalty") or hasattr(final, "alpha")


def _names(study: Study, seen: Any, n: int) -> list[str]:
    if hasattr(seen, "columns"):
        return [str(name) for name in seen.columns]
    return study.variables if len(study.variables) == n else [f"x{j}" for j in range(n)]
