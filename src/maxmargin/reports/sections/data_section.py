"""The data: columns, missing values, the target, and how the columns were prepared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from maxmargin.feature_selection.base import Selector
from maxmargin.reports.blocks import Bars, BulletList, Grid, Heading, Section, Sparkline, Text
from maxmargin.reports.study import Study
from maxmargin.reports.words import shortened_words

_SHOWN_COLUMNS, _LISTED_COLUMNS = 12, 300
_FEW = 50  # distinct values of a column of categories


def data(study: Study) -> Section:
    """Size, columns, missing values, class balance, scaling."""
    say = study.say
    blocks: list[Any] = [Text(_size(study))]
    frame = study.known.frame
    if frame is not None and not study.takes_kernel_values:
        blocks += _columns(study, frame)
    blocks += _target(study)
    blocks += [Heading(say("data.prepared")), *_preparation(study)]
    return Section("data", say("data.title"), blocks)


def _size(study: Study) -> str:
    say, rows = study.say, study.known
    if study.takes_kernel_values:
        return say("data.kernel_values", n=len(rows))
    if sp.issparse(rows.X):
        share = rows.X.nnz / max(1, rows.X.shape[0] * rows.X.shape[1])
        return say("data.sparse", n=len(rows), p=rows.X.shape[1], share=study.words.percent(share))
    if rows.frame is None:
        lengths = [len(str(text)) for text in rows.X]
        return say("data.texts", n=len(rows), low=min(lengths), high=max(lengths))
    missing = int(rows.frame.isna().to_numpy().sum())
    duplicated = int(rows.frame.astype(str).duplicated().sum())
    key = "data.size" if study.training is None or not study.held_out else "data.size_learned"
    return " ".join(
        [
            say(key, n=len(rows), p=rows.frame.shape[1], m=len(study.evaluated)),
            say("data.missing", n=missing) if missing else say("data.nothing_missing"),
            say("data.duplicated", n=duplicated) if duplicated else "",
        ]
    ).strip()


def _columns(study: Study, frame: pd.DataFrame) -> list[Any]:
    say = study.say
    names = list(frame.columns)[:_LISTED_COLUMNS]
    listed = [_column(study, str(name), frame.iloc[:, j]) for j, name in enumerate(names)]
    left = frame.shape[1] - len(names)
    rows, more = listed[:_SHOWN_COLUMNS], listed[_SHOWN_COLUMNS:]
    heads = ["variable", "type", "missing_values", "distinct", "values", "histogram"]
    return [
        Heading(say("data.columns")),
        Grid(
            columns=[say(f"data.{head}") for head in heads],
            rows=rows,
            cards=True,
            numbers=(2, 3),
            more=more,
            more_label=say("data.more", n=len(more)),
        ),
        *([Text(say("data.not_listed", n=left))] if left else []),
    ]


def _column(study: Study, name: str, values: pd.Series[Any]) -> list[Any]:
    missing = int(values.isna().sum())
    distinct = int(values.astype(str).nunique()) if values.dtype == object else int(values.nunique())
    shown_missing = f"{missing} ({study.words.percent(missing / len(values))})" if missing else "0"
    kind, text = _described(study, values.dropna())
    return [name, study.say(f"data.{kind}"), shown_missing, str(distinct), text, _histogram(values)]


def _histogram(values: pd.Series[Any]) -> Sparkline | str:
    """Counts in at most 16 intervals of equal width, as shares of the largest."""
    if values.dtype.kind not in "iuf" or isinstance(values.dtype, pd.CategoricalDtype):
        return ""
    known = values.to_numpy(dtype=np.float64)
    known = known[np.isfinite(known)]
    if len(known) < 2 or known.min() == known.max():
        return ""
    counts, _ = np.histogram(known, bins=min(16, len(np.unique(known[:1000]))))
    return Sparkline((counts / counts.max()).tolist())


def _described(study: Study, values: pd.Series[Any]) -> tuple[str, str]:
    """Kind of column, and its range or its most frequent values."""
    number, say = study.words.number, study.say
    if len(values) == 0:
        return "empty", ""
    if values.dtype.kind in "iuf" and not isinstance(values.dtype, pd.CategoricalDtype):
        low, middle, high = values.min(), values.median(), values.max()
        kind = "whole" if values.dtype.kind in "iu" or bool((values % 1 == 0).all()) else "decimal"
        text = say("data.range", low=number(low), middle=number(middle), high=number(high))
        zeros = float((values == 0).mean())
        if zeros > 0 and low >= 0 and high > 1:
            text = f"{text}, {say('data.zeros', share=study.words.percent(zeros))}"
        return kind, text
    if values.dtype.kind == "M":
        return "date", say("data.between", low=str(values.min())[:10], high=str(values.max())[:10])
    counts = values.astype(str).value_counts()
    free = len(counts) > 0.5 * len(values) and len(counts) > _FEW
    kind = "yes_no" if values.dtype.kind == "b" else "text" if free else "category"
    shown = ", ".join(
        f"{shortened_words(str(value), 30)} ({count})" for value, count in counts.head(4).items()
    )
    return kind, shown + (", …" if len(counts) > 4 else "")


def _target(study: Study) -> list[Any]:
    say, y = study.say, study.known.y
    if y is None:
        return []
    if study.subject.task in ("classification", "selection"):
        labels, counts = np.unique(y, return_counts=True)
        names = [_shown(study, label) for label in labels]
        items = [
            (name, f"{count} ({study.words.percent(count / len(y))})", float(count / counts.max()))
            for name, count in zip(names, counts.tolist(), strict=True)
        ]
        return [Heading(say("data.balance")), Bars(items)]
    if study.subject.task == "regression":
        number = study.words.number
        low, middle, high, spread = float(y.min()), float(np.median(y)), float(y.max()), float(np.std(y))
        text = say("data.range", low=number(low), middle=number(middle), high=number(high))
        spread_text = say("data.spread", spread=number(spread))
        return [Heading(say("data.target")), Text(f"{text[:1].upper()}{text[1:]}. {spread_text}")]
    return []


def _shown(study: Study, label: Any) -> str:
    if study.class_names is None or study.subject.task != "classification":
        return str(label)
    return study.class_names[int(np.flatnonzero(study.classes == label)[0])]


def _preparation(study: Study) -> list[Any]:
    """The steps between the table and the model, in words."""
    say, steps = study.say, study.subject.steps
    if not steps:
        kind = type(study.subject.final).__name__
        return [Text(say("data.binned" if kind == "Scorecard" else "data.as_it_is"))]
    return [BulletList([_step(study, step) for _, step in steps])]


def _step(study: Study, step: Any) -> str:
    say, name = study.say, type(step).__name__
    if isinstance(step, Selector):
        return say("data.step_selector", name=name, kept=int(step.support_.sum()), p=len(step.support_))
    if name == "ColumnTransformer":
        parts = [
            f"{_columns_of(columns)}: {_part(study, part)}"
            for _, part, columns in step.transformers_
            if not isinstance(columns, slice) and len(columns)
        ]
        return say("data.step_columns", parts="; ".join(parts))
    return _part(study, step)


def _columns_of(columns: Any) -> str:
    return shortened_words(columns if isinstance(columns, str) else ", ".join(map(str, columns)), 80)


def _part(study: Study, step: Any) -> str:
    if isinstance(step, str):
        return study.say("data.step_drop" if step == "drop" else "data.step_keep")
    if getattr(step, "func", step) is None:  # what "passthrough" becomes in a fit
        return study.say("data.step_keep")
    if hasattr(step, "steps"):
        return ", ".join(_part(study, inner) for _, inner in step.steps)
    name = type(step).__name__
    key = f"data.step_{name}"
    return f"{name}: {study.say(key)}" if key in study.words.sentences else name
