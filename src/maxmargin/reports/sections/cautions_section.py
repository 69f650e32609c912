"""What the reader must know before believing the figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.displays.machines.support_display import fitted_on
from maxmargin.reports.blocks import Cautions, Section, Text
from maxmargin.reports.data_checks import leaks, repeated_rows, scales
from maxmargin.reports.numbers import number, percent
from maxmargin.reports.sections.machine_section import certified
from maxmargin.reports.study import Study

_RARE = 0.1
_FEW_ROWS = 50
_NEARLY_ALL = 0.9
_UNEQUAL = 30.0

Caution = tuple[str, str, str]  # how serious, the point, the remedy


def cautions(study: Study) -> Section:
    """All warnings, the serious ones first."""
    found = [caution for make in _MAKERS for caution in make(study)]
    found.sort(key=lambda caution: caution[0] != "high")
    title = study.say("cautions.title")
    if not found:
        return Section("cautions", title, [Text(study.say("cautions.none"))])
    return Section("cautions", title, [Cautions(found)])


def _one(study: Study, serious: str, key: str, **values: Any) -> list[Caution]:
    return [(serious, study.say(f"{key}.what", **values), study.say(f"{key}.remedy", **values))]


def _listed(names: list[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f", … ({len(names)})" if len(names) > most else "")


def _same_rows(study: Study) -> list[Caution]:
    if study.held_out or study.subject.task == "selection":
        return []
    return _one(study, "high", "caution.same_rows")


def _repeated(study: Study) -> list[Caution]:
    n = repeated_rows(study) if study.held_out else 0
    return _one(study, "high", "caution.repeated", n=n, all=len(study.evaluated)) if n else []


def _mismatch(study: Study) -> list[Caution]:
    final, rows = study.subject.final, study.training
    if (
        rows is None
        or rows.frame is None
        or study.takes_kernel_values
        or not hasattr(final, "support_vectors_")
    ):
        return []
    if fitted_on(final, study.subject.transformed(rows.X)):
        return []
    return _one(study, "high", "caution.mismatch")


def _leaks(study: Study) -> list[Caution]:
    found = leaks(study)
    return _one(study, "high", "caution.leak", names=_listed(found)) if found else []


def _loose(study: Study) -> list[Caution]:
    return _one(study, "high", "caution.loose") if certified(study) is False else []


def _no_better(study: Study) -> list[Caution]:
    """Is the accuracy within reach of always saying the most frequent class?"""
    if study.subject.task != "classification":
        return []
    confusion = study.evaluation.confusion
    largest = float(confusion.counts.sum(axis=0).max() / confusion.total)
    low = float(confusion.measures(study.evaluation.confidence)["low"].loc["accuracy"])
    if low > largest:
        return []
    return _one(
        study, "high", "caution.no_better", share=percent(largest), accuracy=percent(confusion.accuracy)
    )


def _imbalance(study: Study) -> list[Caution]:
    y = study.known.y
    if study.subject.task != "classification" or y is None:
        return []
    labels, counts = np.unique(y, return_counts=True)
    share = float(counts.min() / counts.sum())
    if share >= min(_RARE, 0.5 / len(labels)):
        return []
    rare = study.shown_classes[int(np.flatnonzero(study.classes == labels[counts.argmin()])[0])]
    weighted = getattr(study.subject.final, "class_weight", None) is not None
    key = "caution.rare_weighted" if weighted else "caution.rare"
    return _one(study, "medium", key, name=rare, share=percent(share), n=int(counts.min()))


def _edge(study: Study) -> list[Caution]:
    edges = [] if study.subject.tuning is None else study.subject.tuning.edges()
    return _one(study, "medium", "caution.edge", names=", ".join(edges)) if edges else []


def _interrupted(study: Study) -> list[Caution]:
    tuning = study.subject.tuning
    return _one(study, "medium", "caution.interrupted") if tuning is not None and tuning.interrupted else []


def _unscaled(study: Study) -> list[Caution]:
    found = scales(study)
    if found is None or found.ratio < _UNEQUAL:
        return []
    return _one(
        study, "medium", "caution.unscaled",
        large=found.largest, small=found.smallest, ratio=number(found.ratio, 2),
    )  # fmt: skip


def _few_rows(study: Study) -> list[Caution]:
    n = len(study.evaluated)
    if n >= _FEW_ROWS or study.subject.task == "selection":
        return []
    return _one(study, "medium", "caution.few_rows", n=n)


def _nearly_all(study: Study) -> list[Caution]:
    final = study.subject.final
    if study.subject.task == "outliers" or not hasattr(final, "support_vectors_"):
        return []
    share = len(final.support_) / final.shape_fit_[0]
    return _one(study, "medium", "caution.nearly_all", share=percent(share)) if share > _NEARLY_ALL else []


def _constant(study: Study) -> list[Caution]:
    frame = study.known.frame
    if frame is None or study.takes_kernel_values:
        return []
    names = [str(name) for j, name in enumerate(frame.columns) if frame.iloc[:, j].astype(str).nunique() < 2]
    return _one(study, "medium", "caution.constant", names=_listed(names)) if names else []


def _wide(study: Study) -> list[Caution]:
    n, p = len(study.known), len(study.variables)
    if study.takes_kernel_values or p <= n:
        return []
    return _one(study, "medium", "caution.wide", n=n, p=p)


_MAKERS = (
    _same_rows,
    _repeated,
    _mismatch,
    _leaks,
    _loose,
    _no_better,
    _imbalance,
    _edge,
    _interrupted,
    _unscaled,
    _few_rows,
    _nearly_all,
    _constant,
    _wide,
)
