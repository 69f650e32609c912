"""How good the model is on the evaluated rows, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.displays.evaluation.calibration_display import CalibrationDisplay
from maxmargin.displays.evaluation.confusion_display import ConfusionDisplay
from maxmargin.displays.evaluation.ks_display import KsDisplay
from maxmargin.displays.evaluation.prediction_display import PredictionDisplay
from maxmargin.displays.evaluation.roc_display import RocDisplay
from maxmargin.reports.blocks import Bars, Grid, Heading, Matrix, Section, Text
from maxmargin.reports.numbers import number, percent
from maxmargin.reports.pictures import picture
from maxmargin.reports.regression_measures import regression_measures
from maxmargin.reports.study import Study

_CONFUSION_CLASSES = 6
_SHARES = ("accuracy", "error", "balanced accuracy", "sensitivity", "specificity", "precision")


def evaluation(study: Study) -> Section | None:
    """Measures with intervals, and the pictures that belong to the task."""
    task, say = study.subject.task, study.say
    if task == "selection" or (study.evaluated.y is None and task != "outliers"):
        return None
    made_on = say("evaluation.held_out" if study.held_out else "evaluation.same_rows", n=len(study.evaluated))
    parts = {"classification": _classified, "regression": _regressed, "outliers": _outlying}
    return Section("evaluation", say("evaluation.title"), [Text(made_on), *parts[task](study)])


# -- classification ------------------------------------------------------------------------------


def _classified(study: Study) -> list[Any]:
    say, found = study.say, study.evaluation
    table = found.table()
    blocks: list[Any] = [
        Grid(
            columns=[say("evaluation.measure"), say("evaluation.value"), say("evaluation.interval")],
            rows=[_measure(study, str(name), *table.loc[name].tolist()) for name in table.index],
            numbers=(1, 2),
            caption=say("evaluation.caption", level=round(100 * found.confidence)),
        ),
        *_confusion(study),
    ]
    return blocks + _ranking(study)


def _measure(study: Study, name: str, value: float, low: float, high: float) -> list[str]:
    write = percent if name in _SHARES or " of " in name else number
    interval = "" if np.isnan(low) else study.say("evaluation.from_to", low=write(low), high=write(high))
    return [study.words.measure(name), write(value), interval]


def _confusion(study: Study) -> list[Any]:
    say, table = study.say, study.evaluation.confusion
    heading = Heading(say("evaluation.confusion"))
    display = ConfusionDisplay.from_result(study.evaluation)
    if len(table.names) > _CONFUSION_CLASSES:
        return [heading, picture(display, say("evaluation.confusion_alt"), study.words, size=(5.6, 5.0))]
    return [
        heading,
        Matrix(
            names=table.names,
            counts=[[number(count) for count in row] for row in table.counts.tolist()],
            shares=display.shares.tolist(),
            rows_are=say("evaluation.predicted"),
            columns_are=say("evaluation.truth"),
            caption=say("evaluation.confusion_caption"),
        ),
    ]


def _ranking(study: Study) -> list[Any]:
    """ROC with KS, the two distributions, calibration."""
    say, ranking = study.say, study.evaluation.ranking
    if ranking is None or not 0 < ranking.target.is_positive.sum() < len(ranking.score):
        return []
    positive = ranking.target.positive
    blocks = [
        Heading(say("evaluation.ranking", positive=positive)),
        Text(say("evaluation.ranking_text", positive=positive, ks=number(ranking.ks.value, 3),
                 auc=number(ranking.auc.value, 3), threshold=number(ranking.ks.threshold, 3))),
        picture(RocDisplay.from_result(ranking), say("evaluation.roc_alt"), study.words, size=(4.8, 4.8)),
        picture(KsDisplay.from_result(ranking), say("evaluation.ks_alt"), study.words, size=(5.6, 3.8)),
    ]  # fmt: skip
    if ranking.calibration is not None:
        display = CalibrationDisplay.from_result(ranking)
        caption = say("evaluation.calibration_caption")
        alt = say("evaluation.calibration_alt")
        blocks.append(picture(display, alt, study.words, size=(4.8, 4.8), caption=caption))
    return blocks


# -- regression ----------------------------------------------------------------------------------


def _regressed(study: Study) -> list[Any]:
    say, rows = study.say, study.evaluated
    predicted = np.asarray(study.subject.model.predict(rows.X), dtype=np.float64)
    truth = np.asarray(rows.y, dtype=np.float64)
    measures = regression_measures(truth, predicted, seed=study.seed)
    target = study.target or say("asked.the_target")
    display = PredictionDisplay(truth=truth, predicted=predicted, target=target)
    return [
        Grid(
            columns=[say("evaluation.measure"), say("evaluation.value"), say("evaluation.interval")],
            rows=[_measure(study, name, *values) for name, values in measures.items()],
            numbers=(1, 2),
            caption=say("evaluation.bootstrap"),
        ),
        picture(display, say("evaluation.prediction_alt"), study.words, size=(4.8, 4.8)),
    ]  # fmt: skip


# -- outliers ------------------------------------------------------------------------------------


def _outlying(study: Study) -> list[Any]:
    """The share called outliers, and how it fits the labels where there are some."""
    say = study.say
    calls = np.asarray(study.subject.model.predict(study.evaluated.X))
    n_out, n = int((calls == -1).sum()), len(calls)
    items = [
        (say("evaluation.ordinary"), f"{n - n_out} ({percent(1 - n_out / n)})", 1 - n_out / n),
        (say("evaluation.outlier"), f"{n_out} ({percent(n_out / n)})", n_out / n),
    ]
    blocks: list[Any] = [Bars(items)]
    y = study.evaluated.y
    if y is not None and set(np.unique(y).tolist()) <= {-1, 1}:
        right = float((calls == y).mean())
        blocks.append(Text(say("evaluation.outlier_labels", share=percent(right))))
    return blocks
