"""Which variables matter: what shuffling one of them costs, and in which order elimination drops them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from maxmargin.displays.evaluation.importance_display import importance_table
from maxmargin.feature_selection.column_svc import ColumnSVC, numbers_of
from maxmargin.feature_selection.rfe import RFE
from maxmargin.reports.study import Study
from maxmargin.tuning.sharing import SCALERS

_PREDICTIONS = 400_000  # rows predicted in all, at most about
_KERNEL_VALUES = 500_000_000  # likewise, where each row is compared with all support vectors
_FEWEST_ROWS = 100
_ELIMINATED_ROWS = 3000
_SHARED_COLUMNS = 80
_REFITTED_COLUMNS = 40  # a fit of its own for every round


def permutation_table(study: Study) -> pd.DataFrame | None:
    """`importance_table` of the evaluated rows; large tables are sampled."""
    rows = study.evaluated
    frame = rows.frame
    predicts = study.subject.task in ("classification", "regression")
    if not predicts or frame is None or rows.y is None or study.takes_kernel_values:
        return None
    n_support = np.shape(getattr(study.subject.final, "dual_coef_", [0.0]))[-1]
    affordable = min(_PREDICTIONS, _KERNEL_VALUES // max(1, n_support))
    n = max(_FEWEST_ROWS, affordable // (study.n_repeats * frame.shape[1]))
    sample = rows.sample(n, study.seed)
    table = importance_table(
        study.subject.model,
        sample.X,
        sample.y,
        study.variables,
        n_repeats=study.n_repeats,
        random_state=study.seed,
    )
    table.attrs["n_rows"] = len(sample)
    return table


def elimination_ranks(study: Study) -> dict[str, int] | None:
    """Rank by RFE (1: removed last) on the rows learned from, where the model says what a column is worth."""
    rows, subject = study.training, study.subject
    if isinstance(subject.selector, RFE):
        return dict(zip(study.variables, subject.selector.ranking_.tolist(), strict=True))
    if rows is None or subject.task != "classification" or study.takes_kernel_values:
        return None
    sample = rows.sample(_ELIMINATED_ROWS, study.seed)
    if not _eliminable(study, sample.X):
        return None
    with warnings.catch_warnings():
        # with few columns left a perceptron need not come to rest; its weights rank the columns all the same
        warnings.simplefilter("ignore", ConvergenceWarning)
        elimination = RFE(clone(subject.model), n_features=1).fit(sample.X, sample.y)
    return dict(zip(study.variables, elimination.ranking_.tolist(), strict=True))


def _eliminable(study: Study, X: Any) -> bool:
    """SVC (its rounds share their work) and linear models behind scalers, on numbers, not too wide."""
    values = numbers_of(X)
    if values is None:
        return False
    if ColumnSVC.of(study.subject.model) is not None:
        return values.shape[1] <= _SHARED_COLUMNS
    scaled = all(type(step) in SCALERS for _, step in study.subject.steps)
    linear = not hasattr(study.subject.final, "dual_coef_") and hasattr(study.subject.final, "coef_")
    width = getattr(study.subject.final, "coef_", np.empty((0, 0))).shape[-1] if linear else -1
    return scaled and width == values.shape[1] <= _REFITTED_COLUMNS
