"""Which variables matter: permutation importance, and the order in which elimination drops them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.utils import _safe_indexing

from maxmargin.base.typing import AnyArray
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
_CELLS, _FEWEST_SHUFFLED = 300_000, 50  # columns shuffled times columns predicted, and columns at least
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
        few = len(table) < len(study.variables)
        which = say(f"variables.{'some' if few else 'each'}", m=len(table), p=len(study.variables))
        n = table.attrs["n_rows"]
        blocks.append(Text(say("variables.text", which=which, of=of, n=n, k=study.n_repeats)))
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
    options: dict[str, Any] = {"n_repeats": study.n_repeats, "random_state": study.seed, "scoring": scoring}
    shuffled, names = sample.X, study.variables
    most = max(_FEWEST_SHUFFLED, _CELLS // frame.shape[1])
    if most < frame.shape[1]:
        assert sample.frame is not None  # as of the rows that it is drawn from
        chosen = most_related(sample.frame, _outputs(model, sample.X))[:most]
        names, X = [names[j] for j in chosen], sample.X
        if all(type(step) in SCALERS for _, step in study.subject.steps):  # scaled once for all
            model, X = study.subject.final, study.subject.transformed(X)
        shuffled = _safe_indexing(X, chosen, axis=1)
        options["scoring"] = _OnAllColumns(check_scoring(model, scoring), X, chosen)
    table = importance_table(model, shuffled, sample.y, names, **options)
    table.attrs |= {"n_rows": len(sample), "measure": measure}
    return table


@dataclass(frozen=True)
class _OnAllColumns:
    """The score of a model that takes all columns of ``X``, of which some are given anew."""

    score: Any
    X: Any
    chosen: list[int]

    def __call__(self, model: Any, columns: Any, y: Any) -> float:
        table = self.X.copy()
        if isinstance(table, pd.DataFrame):
            table.isetitem(self.chosen, columns)
        else:
            table[:, self.chosen] = columns
        return float(self.score(model, table, y))


def _outputs(model: Any, X: Any) -> AnyArray:
    """The outputs of the model for each row: decision values, or else its predictions as numbers."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X)).reshape(len(X), -1)
    found = np.asarray(model.predict(X))
    return (found if found.dtype.kind == "f" else np.unique(found, return_inverse=True)[1]).reshape(-1, 1)


def most_related(frame: pd.DataFrame, outputs: AnyArray) -> list[int]:
    """All columns by their largest correlation with an output; columns that are not numeric come first."""
    scores = np.full(frame.shape[1], np.inf)
    numeric = [j for j, kind in enumerate(frame.dtypes) if kind.kind in "iuf"]
    values = frame.iloc[:, numeric].to_numpy(dtype=np.float64)
    scaled = [
        (v - np.nanmean(v, axis=0)) / np.maximum(np.nanstd(v, axis=0), 1e-300) for v in (values, outputs)
    ]
    scores[numeric] = np.abs(np.nan_to_num(scaled[0]).T @ np.nan_to_num(scaled[1])).max(axis=1)
    return [int(j) for j in np.argsort(-scores, kind="stable")]


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
        # they would be about models with few columns, such as a perceptron that does not converge there
        warnings.simplefilter("ignore", UserWarning)
        elimination = RFE(clone(subject.model), n_features_to_select=1).fit(sample.X, sample.y)
    return dict(zip(study.variables, elimination.ranking_.tolist(), strict=True))


def _eliminable(study: Study, X: Any) -> bool:
    """True for SVC (its rounds share their work) and linear models behind scalers, on few numeric columns."""
    values = numbers_of(X)
    if values is None:
        return False
    if ColumnSVC.of(study.subject.model) is not None:
        return values.shape[1] <= _SHARED_COLUMNS
    scaled = all(type(step) in SCALERS for _, step in study.subject.steps)
    linear = not hasattr(study.subject.final, "dual_coef_") and hasattr(study.subject.final, "coef_")
    width = getattr(study.subject.final, "coef_", np.empty((0, 0))).shape[-1] if linear else -1
    return scaled and width == values.shape[1] <= _REFITTED_COLUMNS
