"""The confusion table, prediction by truth, and the rates read from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan, sqrt

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.metrics import confusion_matrix
from sklearn.utils import check_consistent_length

from maxmargin.base.parameters import as_number, check_count
from maxmargin.base.shown import short_repr, shown
from maxmargin.base.tables import positive_index, row_weights
from maxmargin.base.typing import FloatArray, LabelLike, TargetLike, WeightLike
from maxmargin.metrics.labels import class_names, known_labels, sorted_classes


@dataclass(frozen=True, kw_only=True)
class ConfusionTable:
    """Counts with a row per predicted class and a column per true class.

    Attributes
    ----------
    counts : of shape (n_classes, n_classes); ``counts[i, j]`` rows of class j were predicted as class i.
    names : of the classes, in the order of rows and columns.
    positive : name of the positive class; None with more than two classes unless one was named.
    weighted : True when rows carried weights; no interval is given then.

    >>> import maxmargin as mm
    >>> table = mm.metrics.confusion_table([0, 0, 1, 1], [0, 1, 1, 1])
    >>> table.counts.tolist()
    [[1.0, 0.0], [1.0, 2.0]]
    """

    counts: FloatArray
    names: tuple[str, ...]
    positive: str | None
    weighted: bool = False

    __repr__ = short_repr

    @property
    def total(self) -> float:
        return float(self.counts.sum())

    @property
    def accuracy(self) -> float:
        return _ratio(float(np.trace(self.counts)), self.total)

    @property
    def error(self) -> float:
        return 1.0 - self.accuracy

    @property
    def recalls(self) -> FloatArray:
        """Share of the rows of each class predicted correctly, of shape (n_classes,); NaN without rows."""
        return _ratios(np.diag(self.counts), self.counts.sum(axis=0))

    @property
    def precisions(self) -> FloatArray:
        """Share of correct predictions of each class, of shape (n_classes,); NaN if never predicted."""
        return _ratios(np.diag(self.counts), self.counts.sum(axis=1))

    @property
    def balanced_accuracy(self) -> float:
        """Mean of the recalls of the classes that have rows."""
        return float(np.nanmean(self.recalls))

    @property
    def mcc(self) -> float:
        """Matthews' correlation coefficient, for any number of classes (Gorodkin 2004), or NaN."""
        said, truth, total = self.counts.sum(axis=1), self.counts.sum(axis=0), self.total
        covariance = float(np.trace(self.counts)) * total - float(said @ truth)
        spread = (total**2 - float(said @ said)) * (total**2 - float(truth @ truth))
        return covariance / sqrt(spread) if spread > 0 else nan

    @property
    def sensitivity(self) -> float:
        """True positives over positives, also called recall."""
        tp, fn, _, _ = self.cells
        return _ratio(tp, tp + fn)

    @property
    def specificity(self) -> float:
        _, _, fp, tn = self.cells
        return _ratio(tn, tn + fp)

    @property
    def precision(self) -> float:
        tp, _, fp, _ = self.cells
        return _ratio(tp, tp + fp)

    @property
    def f1(self) -> float:
        tp, fn, fp, _ = self.cells
        return _ratio(2 * tp, 2 * tp + fp + fn)

    @property
    def cells(self) -> tuple[float, float, float, float]:
        """(true positive, false negative, false positive, true negative), positive against the rest."""
        if self.positive is None:
            raise ValueError(
                f"No positive class is named among {list(self.names)}: pass positive=... to confusion_table."
            )
        k = self.names.index(self.positive)
        tp = float(self.counts[k, k])
        fn = float(self.counts[:, k].sum()) - tp
        fp = float(self.counts[k].sum()) - tp
        return tp, fn, fp, self.total - tp - fn - fp

    def frame(self) -> pd.DataFrame:
        """The counts with names: rows are predictions, columns the truth."""
        counts = self.counts if self.weighted else self.counts.astype(np.int64)
        rows = pd.Index(self.names, name="predicted")
        return pd.DataFrame(counts, index=rows, columns=pd.Index(self.names, name="truth"))

    def measures(self, confidence: float = 0.95) -> pd.DataFrame:
        """Measures (rows) with value, low and high: Wilson's interval if the measure is a proportion."""
        check_confidence(confidence)
        rows = {name: (value, *self._wilson(parts, confidence)) for name, value, parts in self._listed()}
        return pd.DataFrame.from_dict(rows, orient="index", columns=["value", "low", "high"])

    def _listed(self) -> list[tuple[str, float, tuple[float, float] | None]]:
        """Name, value, and (successes, trials) if the measure is a proportion."""
        right = float(np.trace(self.counts))
        overall: list[tuple[str, float, tuple[float, float] | None]] = [
            ("accuracy", self.accuracy, (right, self.total)),
            ("error", self.error, (self.total - right, self.total)),
            ("balanced accuracy", self.balanced_accuracy, None),
            ("MCC", self.mcc, None),
        ]
        if self.positive is None:
            return overall + self._by_class()
        tp, fn, fp, tn = self.cells
        return [
            ("sensitivity", self.sensitivity, (tp, tp + fn)),
            ("specificity", self.specificity, (tn, tn + fp)),
            ("precision", self.precision, (tp, tp + fp)),
            *overall[:3],
            ("F1", self.f1, None),
            overall[3],
        ]

    def _by_class(self) -> list[tuple[str, float, tuple[float, float] | None]]:
        hits, said, truth = np.diag(self.counts), self.counts.sum(axis=1), self.counts.sum(axis=0)
        rows: list[tuple[str, float, tuple[float, float] | None]] = []
        for k, name in enumerate(self.names):
            rows.append((f"recall of {name}", float(self.recalls[k]), (float(hits[k]), float(truth[k]))))
            rows.append((f"precision of {name}", float(self.precisions[k]), (float(hits[k]), float(said[k]))))
        return rows

    def _wilson(self, parts: tuple[float, float] | None, confidence: float) -> tuple[float, float]:
        if parts is None or self.weighted or parts[1] == 0:
            return nan, nan
        return wilson_interval(round(parts[0]), round(parts[1]), confidence)

    def __str__(self) -> str:
        positive = "" if self.positive is None else f" (positive: {self.positive})"
        return f"Prediction by truth{positive}\n{shown(self.frame())}"


def check_confidence(confidence: float) -> None:
    if not 0.0 < as_number(confidence) < 1.0:
        raise ValueError(f"confidence={confidence!r} must lie between 0 and 1, for example 0.95.")


def wilson_interval(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's (1927) score interval of a proportion.

    >>> from maxmargin.metrics import wilson_interval
    >>> low, high = wilson_interval(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    """
    check_count("trials", trials)
    check_count("successes", successes, least=0, most=trials)
    check_confidence(confidence)
    interval = stats.binomtest(successes, trials).proportion_ci(confidence, method="wilson")
    return float(interval.low), float(interval.high)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else nan


def _ratios(parts: FloatArray, wholes: FloatArray) -> FloatArray:
    return np.array([_ratio(float(part), float(whole)) for part, whole in zip(parts, wholes, strict=True)])


def confusion_table(
    y_true: TargetLike,
    y_pred: TargetLike,
    *,
    positive: LabelLike | None = None,
    names: Sequence[str] | None = None,
    sample_weight: WeightLike | None = None,
) -> ConfusionTable:
    """Count predictions by truth.

    Parameters
    ----------
    y_true, y_pred : labels of shape (n_samples,).
    positive : label of the positive class; the last of two sorted labels by default. With more than two
        classes no class is positive unless one is named here, and then the others count as the rest.
    names : what to call the classes, in sorted order of all labels of ``y_true`` and ``y_pred``.
    sample_weight : of shape (n_samples,), optional; cells are then sums of weights and have no interval.

    A rate with no rows in its denominator is NaN.

    Examples
    --------
    >>> from maxmargin.metrics import confusion_table
    >>> table = confusion_table([1, 1, 0, 0, 0], [1, 0, 0, 0, 1], names=["good", "bad"])
    >>> table.frame().loc["bad", "good"]  # predicted bad, in truth good
    np.int64(1)
    >>> table.sensitivity, table.specificity
    (0.5, 0.6666666666666666)
    """
    truth, predicted = known_labels(y_true, "y_true"), known_labels(y_pred, "y_pred")
    check_consistent_length(truth, predicted)
    if (truth.dtype.kind in "US") != (predicted.dtype.kind in "US"):  # else numbers would become text
        truth, predicted = truth.astype(object), predicted.astype(object)
    classes = sorted_classes(np.concatenate([truth, predicted]))
    shown = class_names(classes, names)
    weights = None if sample_weight is None else row_weights(sample_weight, len(truth))
    counts = confusion_matrix(truth, predicted, labels=classes, sample_weight=weights).T
    chosen = None
    if positive is not None or len(classes) <= 2:
        chosen = shown[positive_index(classes, positive)]
    return ConfusionTable(
        counts=counts.astype(np.float64),
        names=tuple(shown),
        positive=chosen,
        weighted=sample_weight is not None,
    )
