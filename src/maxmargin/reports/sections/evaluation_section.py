"""How good the model is on the evaluated rows, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.base.typing import FloatArray
from maxmargin.displays.evaluation.prediction_displays import ConfusionDisplay, PredictionDisplay
from maxmargin.displays.evaluation.score_displays import CalibrationDisplay, KsDisplay, RocDisplay
from maxmargin.reports.blocks import Bars, Grid, Heading, Matrix, Section, Text
from maxmargin.reports.pictures import picture
from maxmargin.reports.study import Study

_CONFUSION_CLASSES = 6
_RESAMPLES = 1000
_MOST_CELLS = 5_000_000
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
    name, largest = study.baseline
    blocks: list[Any] = [
        Text(say("evaluation.baseline", name=name, share=study.words.percent(largest))),
        Grid(
            columns=[say("evaluation.measure"), say("evaluation.value"), say("evaluation.interval")],
            rows=[_measure(study, str(name), *table.loc[name].tolist()) for name in table.index],
            numbers=(1, 2),
            caption=say(
                "evaluation.caption",
                level=round(100 * found.confidence),
                more=say("evaluation.delong") if "AUC" in table.index else "",
            ),
        ),
        *_confusion(study),
    ]
    return blocks + _ranking(study)


def _measure(study: Study, name: str, value: float, low: float, high: float) -> list[str]:
    words = study.words
    write = words.percent if name in _SHARES or " of " in name else words.number
    interval = "" if np.isnan(low) else study.say("evaluation.from_to", low=write(low), high=write(high))
    return [words.measure(name), write(value), interval]


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
            counts=[[study.words.number(count) for count in row] for row in table.counts.tolist()],
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
    positive, negative = ranking.target.positive, ranking.target.negative
    figures = {"auc": ranking.auc.value, "ks": ranking.ks.value, "threshold": ranking.ks.threshold}
    shown = {name: study.words.number(value, 3) for name, value in figures.items()}
    blocks = [
        Heading(say("evaluation.ranking", positive=positive)),
        Text(say("evaluation.ranking_text", positive=positive, negative=negative, **shown)),
        picture(RocDisplay.from_result(ranking), say("evaluation.roc_alt"), study.words, size=(4.8, 4.8)),
        picture(KsDisplay.from_result(ranking), say("evaluation.ks_alt"), study.words, size=(5.6, 3.8)),
    ]
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
    ]


def regression_measures(
    truth: FloatArray, predicted: FloatArray, *, seed: int
) -> dict[str, tuple[float, float, float]]:
    """R2, root mean square error and mean absolute error, each with its bootstrap percentile interval.

    Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 13: rows are drawn with
    replacement, the model is kept.
    """
    n = len(truth)
    n_resamples = max(100, min(_RESAMPLES, _MOST_CELLS // n))
    chosen = np.random.default_rng(seed).integers(0, n, size=(n_resamples, n))
    values = {name: of(truth, predicted) for name, of in _MEASURES.items()}
    found = {name: np.empty(n_resamples) for name in _MEASURES}
    for k, rows in enumerate(chosen):
        for name, of in _MEASURES.items():
            found[name][k] = of(truth[rows], predicted[rows])
    ends = [2.5, 97.5]
    return {name: (values[name], *np.nanpercentile(found[name], ends).tolist()) for name in _MEASURES}


def _r2(truth: FloatArray, predicted: FloatArray) -> float:
    spread = float(((truth - truth.mean()) ** 2).sum())
    return 1.0 - float(((truth - predicted) ** 2).sum()) / spread if spread > 0 else float("nan")


_MEASURES = {
    "R2": _r2,
    "root mean square error": lambda truth, predicted: float(np.sqrt(np.mean((truth - predicted) ** 2))),
    "mean absolute error": lambda truth, predicted: float(np.mean(np.abs(truth - predicted))),
}


# -- outliers ------------------------------------------------------------------------------------


def _outlying(study: Study) -> list[Any]:
    """The share predicted as outliers, and its agreement with the labels where there are any."""
    say, percent = study.say, study.words.percent
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
