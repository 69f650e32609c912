"""Warnings about the data and the model: leaks, repeated rows, rare classes, and so on."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from math import isnan
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.stats import rankdata, spearmanr

from maxmargin.base.typing import AnyArray, FloatArray
from maxmargin.displays.machines.support_display import fitted_on
from maxmargin.metrics import auc
from maxmargin.reports.blocks import Caution, Cautions, Section, Text
from maxmargin.reports.sections.evaluation_section import regression_measures
from maxmargin.reports.sections.machine_section import certified
from maxmargin.reports.study import Study, StudyRows
from maxmargin.tables.column_kinds import DAYS, differ_on_purpose

_RARE = 0.1
_FEW_ROWS = 50
_NEARLY_ALL = 0.9
_UNEQUAL = 30.0
_PERFECT = 0.995  # AUC of one variable alone, or rank correlation with the target
_CODE = re.compile(r"-1|-?9{2,6}|-9")  # numbers that stand for a missing value
_SAMPLE = 5000
_FEWEST = 20  # rows below which one variable separates the classes by chance


def cautions(study: Study) -> Section:
    """All warnings, the serious ones first."""
    found, title = study.cautions, study.say("cautions.title")
    clean = "cautions.none_regression" if study.subject.task == "regression" else "cautions.none"
    block = Cautions(found) if found else Text(study.say(clean))
    return Section("cautions", title, [block])


def found_cautions(study: Study) -> list[Caution]:
    """What the checks found, the serious cautions first."""
    found = [caution for check in _CHECKS if (caution := check(study)) is not None]
    return sorted(found, key=lambda caution: not caution.serious)


def _caution(study: Study, serious: bool, key: str, **values: Any) -> Caution:
    what, remedy = study.say(f"caution.{key}.what", **values), f"caution.{key}.remedy"
    if study.command and f"caution.{key}.command" in study.words.sentences:
        remedy = f"caution.{key}.command"  # the remedy for those who work on the command line
    return Caution(key, serious, what, study.say(remedy, **values))


def _listed(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f", … ({len(names)})" if len(names) > most else "")


# -- rows ----------------------------------------------------------------------------------------------------


def _same_rows(study: Study) -> Caution | None:
    if study.held_out or study.subject.task == "selection":
        return None
    return _caution(study, True, "same_rows")


def _repeated(study: Study) -> Caution | None:
    n = repeated_rows(study) if study.held_out else 0
    return _caution(study, True, "repeated", n=n, all=len(study.evaluated)) if n else None


def repeated_rows(study: Study) -> int:
    """Evaluated rows that the model also learned from, target included."""
    if study.training is None or study.evaluated.frame is None or study.training.frame is None:
        return 0
    seen = set(_keys(study.training))
    return sum(key in seen for key in _keys(study.evaluated))


def _keys(rows: StudyRows) -> list[tuple[Any, ...]]:
    """Rows with their targets: numbers as float64 (0.0 for -0.0), as they may be whole in another table."""
    assert rows.frame is not None  # the caller checked
    _, values, others = _blocks(rows.frame)
    y = np.asarray([]) if rows.y is None else np.asarray(rows.y)
    if y.dtype.kind in "iuf" and len(y):
        values = np.column_stack([values, y.astype(np.float64)])
    elif len(y):
        others = [*others, pd.Series(y.astype(str))]
    values = np.where(np.isnan(values), np.nan, values + 0.0)
    texts = (column.astype(str).tolist() for column in others)
    return list(zip((row.tobytes() for row in values), *texts, strict=True))


def _blocks(frame: pd.DataFrame) -> tuple[list[int], FloatArray, list[pd.Series[Any]]]:
    """The places of the columns of numbers, their values, and the other columns."""
    numeric = [j for j, kind in enumerate(frame.dtypes) if _is_number(kind)]
    values = frame.iloc[:, numeric].to_numpy(dtype=np.float64, na_value=np.nan)
    return numeric, values, [frame.iloc[:, j] for j in range(frame.shape[1]) if j not in set(numeric)]


def _is_number(kind: Any) -> bool:
    return kind.kind in "iuf" and not isinstance(kind, pd.CategoricalDtype)


def _mismatch(study: Study) -> Caution | None:
    final, rows = study.subject.final, study.training
    if rows is None or rows.frame is None or study.takes_kernel_values:
        return None
    if not hasattr(final, "support_vectors_") or fitted_on(final, study.subject.transformed(rows.X)):
        return None
    return _caution(study, True, "mismatch")


def _few_rows(study: Study) -> Caution | None:
    n = len(study.evaluated)
    few = n < _FEW_ROWS and study.subject.task != "selection"
    return _caution(study, False, "few_rows", n=n) if few else None


# -- variables -----------------------------------------------------------------------------------------------


def _leaks(study: Study) -> Caution | None:
    found = leaks(study)
    if not found:
        return None
    caution = _caution(study, True, "leak", names=_listed(found))
    if study.subject.task == "regression":
        return replace(caution, what=study.say("caution.leak.value", names=_listed(found)))
    return caution


def leaks(study: Study) -> list[str]:
    """Variables that alone determine the target: perhaps they were recorded after it was known."""
    rows = study.known.sample(_SAMPLE, study.seed)
    if rows.frame is None or rows.y is None or study.takes_kernel_values or len(rows) < _FEWEST:
        return []
    if study.subject.task == "outliers":
        return []
    frame, y, quantity = rows.frame, rows.y, study.subject.task == "regression"
    tells = _tells_value if quantity else _tells_class
    found = _worth_a_look(frame, y, quantity=quantity)  # the others cannot tell
    return [str(frame.columns[j]) for j in found if tells(frame.iloc[:, j], y)]


def _worth_a_look(frame: pd.DataFrame, y: AnyArray, *, quantity: bool) -> list[int]:
    """The columns to check one by one: all but numeric ones that a joint test shows to be harmless."""
    numeric, values, _ = _blocks(frame)
    ranks = rankdata(values, axis=0)  # all NaN where a value is missing
    far = np.isfinite(ranks).all(axis=0)
    ranks -= (len(y) + 1) / 2
    for label in [None] if quantity else np.unique(y):
        goal = rankdata(y) if quantity else np.asarray(y == label, dtype=np.float64)
        goal = goal - goal.mean()
        # rank correlation with the target, or with a perfect order of the class and the rest
        scale = np.sqrt((ranks**2).sum(axis=0) * (goal @ goal)) if quantity else len(y) * (goal @ goal) / 2
        far &= np.abs(goal @ ranks) < (2 * _PERFECT - 1) * np.maximum(scale, 1e-300)
    return [j for j in range(frame.shape[1]) if j not in {numeric[k] for k in np.flatnonzero(far)}]


def _tells_class(column: pd.Series[Any], y: AnyArray) -> bool:
    """True if the column separates one class from the rest (nearly) without error."""
    numeric = column.dtype.kind in "iufb" and not isinstance(column.dtype, pd.CategoricalDtype)
    separates = _orders if numeric else _is_pure
    return any(separates(column, y == label) for label in np.unique(y))


def _orders(column: pd.Series[Any], positive: AnyArray) -> bool:
    values = column.to_numpy(dtype=np.float64)
    known = np.isfinite(values)
    if min(positive[known].sum(), (~positive[known]).sum()) < 5:
        return False
    area = auc(positive[known], values[known]).value
    return max(area, 1 - area) >= _PERFECT


def _is_pure(column: pd.Series[Any], positive: AnyArray) -> bool:
    """True if every category holds one class only, with enough rows for this to be significant."""
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


def _identifiers(study: Study) -> Caution | None:
    names = [] if study.takes_kernel_values else numeric_columns(study.known, may_number_rows)
    return _caution(study, False, "identifier", names=_listed(names)) if names else None


def _zeros(study: Study) -> Caution | None:
    names = [] if study.takes_kernel_values else numeric_columns(study.known, hides_zeros)
    if not names:
        return None
    return _caution(study, False, "zeros", names=_listed(names), missing=shlex.quote(f"{names[0]}=0"))


def _codes(study: Study) -> Caution | None:
    names = [] if study.takes_kernel_values else numeric_columns(study.known, hidden_code)
    if not names or study.known.frame is None:
        return None
    codes = [f"{name}={hidden_code(study.known.frame[name]):g}" for name in names]
    return _caution(study, False, "codes", names=_listed(codes), missing=shlex.quote(codes[0]))


def numeric_columns(rows: StudyRows, holds: Any) -> list[str]:
    """Names of the columns of numbers for which ``holds(values)`` is true."""
    if rows.frame is None:
        return []
    numeric, values, _ = _blocks(rows.frame)
    odd = ((values % 1 == 0).all(axis=0)) | ((values == 0).sum(axis=0) > 2)  # the others can be neither
    columns = ((str(rows.frame.columns[j]), rows.frame.iloc[:, j]) for j in np.array(numeric, int)[odd])
    return [name for name, column in columns if holds(column)]


def may_number_rows(values: pd.Series[Any]) -> bool:
    """True if whole numbers may identify rows: too dense for chance, or codes of five or more digits."""
    if len(values) < _FEW_ROWS or not values.is_unique or not bool((values % 1 == 0).all()):
        return False
    if str(values.name).endswith(DAYS):  # a row for every day
        return False
    low, high = int(values.min()), int(values.max())
    return differ_on_purpose(values) or (low >= 10_000 and len(str(low)) == len(str(high)))


def hides_zeros(values: pd.Series[Any]) -> bool:
    """True if zero is frequent and far below all other values, as if it stood for a missing value."""
    known = values.dropna()
    others = known[known != 0]
    zeros = len(known) - len(others)
    if zeros < max(3, 0.003 * len(known)) or len(others) < 0.4 * len(known) or others.nunique() < 20:
        return False
    low, middle = float(others.quantile(0.01)), float(others.median())
    return float(others.min()) > 0 and low > 0.1 * middle


def hidden_code(values: pd.Series[Any]) -> float | None:
    """A repeated -1, -9, -99, 999, ... farther from all other values than these are from each other."""
    known = values.dropna()
    for code in (known.min(), known.max()) if len(known) else ():
        others = known[known != code]
        repeated = len(known) - len(others) >= 3 and others.nunique() >= 5
        far = repeated and abs(code - others).min() > others.max() - others.min()
        if far and _CODE.fullmatch(f"{code:g}"):
            return float(code)
    return None


def _constant(study: Study) -> Caution | None:
    frame = study.known.frame
    if frame is None or study.takes_kernel_values:
        return None
    numeric, values, others = _blocks(frame)
    same = ((values == values[:1]) | (np.isnan(values) & np.isnan(values[:1]))).all(axis=0)
    names = [str(frame.columns[j]) for j in np.array(numeric, int)[same]]
    names += [str(column.name) for column in others if column.astype(str).nunique() < 2]
    return _caution(study, False, "constant", names=_listed(names)) if names else None


def _wide(study: Study) -> Caution | None:
    n, p = len(study.known), len(study.variables)
    wide = p > n and not study.takes_kernel_values
    return _caution(study, False, "wide", n=n, p=p) if wide else None


class Scales(NamedTuple):
    """The columns of largest and smallest standard deviation as the model sees them, and their ratio."""

    largest: str
    smallest: str
    ratio: float


def _unscaled(study: Study) -> Caution | None:
    found = scales(study)
    if found is None or found.ratio < _UNEQUAL:
        return None
    ratio = study.words.number(found.ratio, 2)
    return _caution(study, False, "unscaled", large=found.largest, small=found.smallest, ratio=ratio)


def scales(study: Study) -> Scales | None:
    """How unequal the columns are when they reach a model that compares them with each other."""
    final = study.subject.final
    compares = any(hasattr(final, name) for name in ("kernel", "penalty", "alpha"))
    if not compares or study.takes_kernel_values or _counts_words(study):
        return None
    seen = study.subject.transformed(study.known.sample(_SAMPLE, study.seed).X)
    if sp.issparse(seen) or np.ndim(seen) != 2:
        return None
    try:
        values = np.asarray(seen, dtype=np.float64)
    except (TypeError, ValueError):  # columns of text, for a kernel that takes them
        return None
    spread = np.nanstd(values, axis=0)
    flags = ((values == 0) | (values == 1)).all(axis=0)  # encoded categories: a rare one spreads little
    used = np.flatnonzero((spread > 0) & ~flags)
    if len(used) < 2:
        return None
    names = _names(study, seen, values.shape[1])
    large, small = used[spread[used].argmax()], used[spread[used].argmin()]
    return Scales(names[large], names[small], float(spread[large] / spread[small]))


def _counts_words(study: Study) -> bool:
    """True if some columns are weights of words, which are small on purpose."""
    steps = [step for _, step in study.subject.steps]
    steps += [part for step in steps for _, part, _ in getattr(step, "transformers_", [])]
    return any(hasattr(step, "vocabulary_") for step in steps)


def _names(study: Study, seen: Any, n: int) -> list[str]:
    if hasattr(seen, "columns"):
        return [str(name) for name in seen.columns]
    return study.variables if len(study.variables) == n else [f"x{j}" for j in range(n)]


# -- the model -----------------------------------------------------------------------------------------------


def _loose(study: Study) -> Caution | None:
    return _caution(study, True, "loose") if certified(study) is False else None


def _no_better(study: Study) -> Caution | None:
    """True if the accuracy may equal that of always predicting the largest class, or R2 may be 0."""
    if study.subject.task == "regression":
        return _no_better_than_the_mean(study)
    if study.subject.task != "classification":
        return None
    confusion = study.evaluation.confusion
    name, largest = study.baseline
    low = float(confusion.measures(study.evaluation.confidence)["low"].loc["accuracy"])
    if (confusion.accuracy if isnan(low) else low) > largest:  # weighted figures have no intervals
        return None
    percent, key = study.words.percent, "no_better"
    if confusion.accuracy < largest:
        weighted = getattr(study.subject.final, "class_weight", None) is not None
        key = "worse_on_purpose" if weighted or study.threshold is not None else "worse"
    return _caution(study, True, key, name=name, share=percent(largest), accuracy=percent(confusion.accuracy))


def _no_better_than_the_mean(study: Study) -> Caution | None:
    truth = np.asarray(study.evaluated.y, dtype=np.float64)
    if len(truth) < _FEWEST or truth.min() == truth.max():
        return None
    predicted = np.asarray(study.subject.model.predict(study.evaluated.X), dtype=np.float64)
    r2, low, _ = regression_measures(truth, predicted, seed=study.seed)["R2"]
    if low > 0:
        return None
    return _caution(study, True, "no_better_mean", r2=study.words.number(r2, 2))


def _imbalance(study: Study) -> Caution | None:
    y = study.known.y
    if study.subject.task != "classification" or y is None:
        return None
    labels, counts = np.unique(y, return_counts=True)
    share = float(counts.min() / counts.sum())
    if share >= min(_RARE, 0.5 / len(labels)):
        return None
    rare = study.shown_classes[int(np.flatnonzero(study.classes == labels[counts.argmin()])[0])]
    final = study.subject.final
    unable = not hasattr(final, "class_weight")
    key = "rare_unweighted" if unable else "rare" if final.class_weight is None else "rare_weighted"
    return _caution(study, False, key, name=rare, share=study.words.percent(share), n=int(counts.min()))


def _edge(study: Study) -> Caution | None:
    edges = [] if study.subject.tuning is None else study.subject.tuning.edges()
    names = ", ".join(study.words.option(name) for name in edges)
    return _caution(study, False, "edge", names=names) if edges else None


def _interrupted(study: Study) -> Caution | None:
    tuning = study.subject.tuning
    return _caution(study, False, "interrupted") if tuning is not None and tuning.interrupted else None


def _nearly_all(study: Study) -> Caution | None:
    final = study.subject.final
    if study.subject.task == "outliers" or not hasattr(final, "support_vectors_"):
        return None
    share = len(final.support_) / final.shape_fit_[0]
    if share <= _NEARLY_ALL:
        return None
    tuned = study.subject.tuning is not None and len(study.subject.tuning.table) > 1
    key = "nearly_all_tuned" if tuned else "nearly_all"
    return _caution(study, False, key, share=study.words.percent(share))


_CHECKS = (
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
    _identifiers,
    _zeros,
    _codes,
    _constant,
    _wide,
)
