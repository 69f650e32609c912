"""The picture of the margin, and the support vectors with the largest weights."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from maxmargin.displays.machines.margin_display import MarginDisplay
from maxmargin.displays.machines.support_display import fitted_on
from maxmargin.reports.blocks import Grid, Heading, Section, Text
from maxmargin.reports.pictures import picture
from maxmargin.reports.study import Study, StudyRows

_MOST_ROWS = 20_000
_LISTED = 10
_VALUES = 3  # variables whose values are listed beside a support vector


def margin(study: Study) -> Section | None:
    """Regions, boundary and margins; then the rows that determine the model."""
    rows = study.training
    if rows is None or rows.frame is None or study.subject.task == "selection" or study.takes_kernel_values:
        return None
    if hasattr(study.subject.final, "points_"):
        return None  # the points of a scorecard say more than a cut through two variables
    blocks = [*_pictures(study, rows), *_support_vectors(study, rows)]
    return Section("margin", _say(study, "title"), blocks) if blocks else None


def _say(study: Study, key: str, **values: str) -> str:
    """A sentence of this section; without words of classes where there are none."""
    task, other = study.subject.task, f"margin.{key}_regression"
    plain = task == "regression" or (task == "outliers" and key not in ("title", "alt"))
    return study.say(other if plain and other in study.words.sentences else f"margin.{key}", **values)


def _pictures(study: Study, rows: StudyRows) -> list[Any]:
    """All variables where there are one or two, else the PCA plane; where that is not possible, a pair."""
    for features in (None, _best_numbers(study, rows)):
        if features == []:
            continue
        with suppress(ValueError):  # columns that are not numbers, or have missing values
            return [_picture(study, rows, features)]
    return [Text(study.say("margin.impossible"))]


def _picture(study: Study, rows: StudyRows, features: Any) -> Any:
    shown = rows.sample(_MOST_ROWS, study.seed)
    display = MarginDisplay.from_estimator(
        study.subject.model, shown.X, shown.y, features=features, names=study.class_names
    )
    if study.target:
        display.target_name = study.target
    key = "all" if not display.note else "pca" if features is None else "pair"
    names = [str(name) for name in features or []]
    caption = _say(study, f"caption_{key}", names=" / ".join(names))
    return picture(display, _say(study, "alt"), study.words, caption=caption, size=(5.6, 5.4))


def _best(study: Study, n: int) -> list[str]:
    """The variables that matter most, as far as they are known to."""
    if study.importance is None:
        return []
    return [str(name) for name in study.importance["variable"].head(n)]


def _best_numbers(study: Study, rows: StudyRows) -> list[str]:
    """The two numbers that matter most, without missing values; none where there are not two."""
    assert rows.frame is not None  # the caller checked
    fit = [
        name
        for name in _best(study, len(study.variables))
        if rows.frame[name].dtype.kind in "iuf" and rows.frame[name].notna().all()
    ]
    return fit[:2] if len(fit) >= 2 else []


def _support_vectors(study: Study, rows: StudyRows) -> list[Any]:
    final, say = study.subject.final, study.say
    if not hasattr(final, "support_vectors_") or not fitted_on(final, study.subject.transformed(rows.X)):
        return []
    columns = _listed_columns(study, rows)
    heads = [say("margin.row"), *(say(f"margin.{head}") for head in columns), *_best(study, _VALUES)]
    return [
        Heading(say("margin.support_title")),
        Text(_say(study, "support_text")),
        Grid(
            columns=heads,
            rows=[_listed(study, rows, columns, k) for k in _order(final)],
            cards=True,
            numbers=tuple(range(1, len(heads))),
        ),
    ]


def _listed_columns(study: Study, rows: StudyRows) -> list[str]:
    final = study.subject.final
    columns = [] if rows.y is None else ["class" if study.subject.task == "classification" else "target"]
    columns += ["kind"] if hasattr(final, "point_kinds_") else []
    columns.append("weight")
    return columns + (["slack"] if hasattr(final, "slack_") else [])


def _order(final: Any) -> list[int]:
    """Places of the support vectors with the largest weight; equal weights by slack."""
    weights = _weights(final)
    slack = final.slack_[final.support_] if hasattr(final, "slack_") else np.zeros(len(weights))
    ties = np.round(weights / max(float(weights.max(initial=0.0)), 1e-300), 9)
    return np.lexsort((-slack, -ties))[:_LISTED].tolist()


def _weights(final: Any) -> Any:
    return np.asarray(abs(final.dual_coef_).sum(axis=0)).ravel()


def _listed(study: Study, rows: StudyRows, columns: list[str], k: int) -> list[str]:
    final, number = study.subject.final, study.words.number
    row = int(final.support_[k])
    cells = {
        "class": lambda: study.shown_classes[int(np.searchsorted(study.classes, rows.y[row]))],  # type: ignore[index]  # only listed where y is known
        "target": lambda: number(rows.y[row]),  # type: ignore[index]  # as above
        "kind": lambda: study.say(f"margin.{final.point_kinds_[row]}"),
        "weight": lambda: number(_weights(final)[k], 3),
        "slack": lambda: number(final.slack_[row], 3),
    }
    assert rows.frame is not None  # the caller checked
    values = [study.words.value(rows.frame[name].iloc[row], 30) for name in _best(study, _VALUES)]
    return [rows.labels[row], *(cells[column]() for column in columns), *values]
