"""Which variables matter: what shuffling one of them costs, and the order in which elimination drops them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from maxmargin.displays.evaluation.prediction_displays import ImportanceDisplay, importance_table
from maxmargin.feature_selection.column_svc import ColumnSVC, numbers_of
from maxmargin.feature_selection.rfe import RFE
from maxmargin.reports.blocks import Grid, Heading, Section, Text
from maxmargin.reports.pictures import picture
from maxmargin.reports.study import Study
from maxmargin.tuning.sharing import SCALERS

_SHOWN = 15
_PREDICTIONS = 400_000  # rows predicted in all, at most about
_KERNEL_VALUES = 500_000_000  # likewise, where each row is compared with all support vectors
_FEWEST_ROWS = 100
_ELIMINATED = 30_000_000  # rows squared times columns, at most about: every column costs a round
_SHARED_COLUMNS = 80
_REFITTED_COLUMNS = 40  # every round needs a fit


def variables(study: Study) -> Section | None:
    """Permutation importance with its picture, and the rank by recursive elimination."""
    if study.subject.task == "selection":
        return None
    table, ranks, say = study.importance, study.elimination, study.say
    if table is None and ranks is None:
        key = "variables.no_target" if study.subject.task == "outliers" else "variables.none"
        return Section("variables", say("variables.title"), [Text(say(key))])
    blocks: list[Any] = []
    if table is not None:
        of = say(f"variables.{table.attrs['measure']}")
        blocks.append(Text(say("variables.text", of=of, n=table.attrs["n_rows"], k=study.n_repeats)))
        display = ImportanceDisplay.from_result(table, measure=of, most=_SHOWN)
        height = 1.2 + 0.3 * min(_SHOWN, len(table))
        blocks.append(picture(display, say("variables.alt"), study.words, size=(5.6, height)))
    if ranks is not None:
        blocks += [Heading(say("variables.elimination")), Text(say("variables.elimination_text"))]
    return Section("variables", say("variables.title"), [*blocks, _grid(study)])


def _grid(study: Study) -> Grid:
    table, ranks, say, number = study.importance, study.elimination, study.say, study.words.number
    heads, columns = [say("data.variable")], []
    if table is not None:
        heads.append(say("variables.importance"))
        found = zip(table["variable"], table["importance"], table["deviation"], strict=True)
        columns.append(
            {name: f"{number(round(mean, 12), 3)} ± {number(spread, 2)}" for name, mean, spread in found}
        )
    if ranks is not None:
        heads.append(say("variables.rank"))
        columns.append({name: str(rank) for name, rank in sorted(ranks.items(), key=lambda item: item[1])})
    rows = [[name, *(column[name] for column in columns)] for name in columns[0]]
    return Grid(
        columns=heads,
        rows=rows[:_SHOWN],
        numbers=tuple(range(1, len(heads))),
        more=rows[_SHOWN:],
        more_label=say("data.more", n=len(rows) - _SHOWN),
    )


def permutation_table(study: Study) -> pd.DataFrame | None:
    """`importance_table` of the evaluated rows; large tables are sampled.

    The loss is measured in AUC for two classes, in accuracy for more, and in R2 for quantities.
    """
    rows, model = study.evaluated, study.subject.model
    frame = rows.frame
    predicts = study.subject.task in ("classification", "regression")
    if not predicts or frame is None or rows.y is None or study.takes_kernel_values:
        return None
    coefficients = getattr(study.subject.final, "dual_coef_", None)
    n_support = 1 if coefficients is None else np.shape(coefficients)[-1]
    affordable = min(_PREDICTIONS, _KERNEL_VALUES // max(1, n_support))
    n = max(_FEWEST_ROWS, affordable // (study.n_repeats * frame.shape[1]))
    sample = rows.sample(n, study.seed)
    measure, scoring = "r2", None
    if study.subject.task == "classification":
        scored = hasattr(model, "decision_function") or hasattr(model, "predict_proba")
        two = len(study.classes) == 2 and scored and len(np.unique(np.asarray(sample.y))) == 2
        measure, scoring = ("auc", "roc_auc") if two else ("accuracy", None)
    table = importance_table(
        model,
        sample.X,
        sample.y,
        study.variables,
        n_repeats=study.n_repeats,
        random_state=study.seed,
        scoring=scoring,
    )
    table.attrs |= {"n_rows": len(sample), "measure": measure}
    return table


def elimination_ranks(study: Study) -> dict[str, int] | None:
    """Rank by RFE (1: removed last) on the training rows, where the model gives weights to columns."""
    rows, subject = study.training, study.subject
    if isinstance(subject.selector, RFE):
        return dict(zip(study.variables, subject.selector.ranking_.tolist(), strict=True))
    if rows is None or subject.task != "classification" or study.takes_kernel_values:
        return None
    n_rows = max(_FEWEST_ROWS, int(np.sqrt(_ELIMINATED / max(1, len(study.variables)))))
    sample = rows.sample(n_rows, study.seed)
    if not _eliminable(study, sample.X):
        return None
    with warnings.catch_warnings():
        # with few columns left a perceptron need not converge; its weights rank the columns all the same
        warnings.simplefilter("ignore", ConvergenceWarning)
        elimination = RFE(clone(subject.model), n_features_to_select=1).fit(sample.X, sample.y)
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
