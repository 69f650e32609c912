"""Area under the ROC curve with its standard error, and the comparison of two areas.

DeLong, DeLong & Clarke-Pearson (1988), with the midranks of Sun & Xu (2014, algorithm 2): O(n log n).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan, sqrt

import numpy as np
import numpy.typing as npt
from scipy import stats

from maxmargin.base.shown import short_repr
from maxmargin.base.typing import FloatArray, LabelLike, TargetLike, WeightLike
from maxmargin.metrics.confusion import check_confidence
from maxmargin.metrics.labels import BinaryTarget, scored_target
from maxmargin.metrics.ranking import roc_of


@dataclass(frozen=True, kw_only=True)
class AucResult:
    """An area under the ROC curve with its DeLong standard error and interval; both NaN for weighted rows.

    >>> import maxmargin as mm
    >>> mm.metrics.auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).value
    0.75
    """

    value: float
    standard_error: float
    interval: tuple[float, float]
    confidence: float
    positive: str
    negative: str

    __repr__ = short_repr

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        low, high = self.interval
        known = f", {100 * self.confidence:g} % interval {low:.4f} to {high:.4f}" if low <= high else ""
        return f"AUC {self.value:.4f}{known} ({self.positive} against {self.negative})"


@dataclass(frozen=True, kw_only=True)
class AucComparison:
    """Two areas on the same rows: difference, its standard error, z and the two-sided p value.

    Examples
    --------
    >>> from maxmargin.metrics import compare_auc
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> print(compare_auc(y, [1, 2, 3, 5, 4, 6, 7, 8], [2, 1, 6, 3, 5, 4, 8, 7]))
    AUC 0.9375 and 0.8750: difference +0.0625 (-0.2692 to +0.3942)
      z = 0.369, p = 0.712
    """

    first: AucResult
    second: AucResult
    difference: float
    standard_error: float
    interval: tuple[float, float]
    z: float
    p_value: float

    __repr__ = short_repr

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"AUC {self.first.value:.4f} and {self.second.value:.4f}: difference {self.difference:+.4f} "
            f"({low:+.4f} to {high:+.4f})\n  z = {self.z:.3f}, p = {self.p_value:.3g}"
        )


def _placements(target: BinaryTarget, score: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Share of negatives below each positive row, share of positives above each negative row."""
    positives, negatives = score[target.is_positive], score[~target.is_positive]
    together = stats.rankdata(np.concatenate([positives, negatives]))
    m, n = len(positives), len(negatives)
    below = (together[:m] - stats.rankdata(positives)) / n
    above = 1.0 - (together[m:] - stats.rankdata(negatives)) / m
    return below, above


def _spread(values: FloatArray) -> float:
    """Variance of a mean; infinite for a single row."""
    return float(np.var(values, ddof=1)) / len(values) if len(values) > 1 else inf


def _summarise(target: BinaryTarget, parts: tuple[FloatArray, FloatArray], confidence: float) -> AucResult:
    value = float(parts[0].mean())
    error = sqrt(_spread(parts[0]) + _spread(parts[1]))
    reach = float(stats.norm.ppf(0.5 + confidence / 2)) * error
    return AucResult(
        value=value,
        standard_error=error,
        interval=(max(0.0, value - reach), min(1.0, value + reach)),
        confidence=confidence,
        positive=target.positive,
        negative=target.negative,
    )


def auc(
    y: TargetLike,
    score: npt.ArrayLike,
    *,
    positive: LabelLike | None = None,
    names: Sequence[str] | None = None,
    confidence: float = 0.95,
    sample_weight: WeightLike | None = None,
) -> AucResult:
    """Area under the ROC curve with DeLong's standard error and interval.

    The interval is value -+ z standard errors, cut to [0, 1]. Its width is zero if the score separates the
    classes (the estimated variance is then zero), and it is [0, 1] if a class has one row. DeLong's variance
    counts rows, so weighted rows have no standard error and no interval (NaN).

    Parameters
    ----------
    y, score, positive, names, sample_weight : as in `roc`.
    confidence : level of the interval.

    Examples
    --------
    >>> from maxmargin.metrics import auc
    >>> print(auc([0, 0, 1, 1, 1], [0.1, 0.4, 0.35, 0.8, 0.9]))
    AUC 0.8333, 95 % interval 0.3714 to 1.0000 (1 against 0)
    """
    target, values = scored_target(y, score, positive=positive, names=names, sample_weight=sample_weight)
    return auc_of(target, values, confidence)


def auc_of(target: BinaryTarget, score: FloatArray, confidence: float = 0.95) -> AucResult:
    """`auc` of a validated target."""
    check_confidence(confidence)
    if target.weight is None:
        return _summarise(target, _placements(target, score), confidence)
    return AucResult(
        value=roc_of(target, score).auc,
        standard_error=nan,
        interval=(nan, nan),
        confidence=confidence,
        positive=target.positive,
        negative=target.negative,
    )


def compare_auc(
    y: TargetLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    positive: LabelLike | None = None,
    names: Sequence[str] | None = None,
    confidence: float = 0.95,
) -> AucComparison:
    """DeLong's test of two scores of the same rows (paired: it uses their covariance).

    If the estimated variance of the difference is zero (for example two scores with the same ranking), p is 1
    if the areas are equal and 0 if they are not.

    Examples
    --------
    >>> from maxmargin.metrics import compare_auc
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> result = compare_auc(y, [1, 2, 3, 5, 4, 6, 7, 8], [2, 1, 6, 3, 5, 4, 8, 7])
    >>> round(result.difference, 4), round(result.p_value, 3)
    (0.0625, 0.712)
    """
    check_confidence(confidence)
    target, a = scored_target(y, first, positive=positive, names=names)
    _, b = scored_target(y, second, positive=positive, names=names)
    parts_a, parts_b = _placements(target, a), _placements(target, b)
    result_a, result_b = _summarise(target, parts_a, confidence), _summarise(target, parts_b, confidence)
    difference = result_a.value - result_b.value
    error = sqrt(sum(_spread(u - v) for u, v in zip(parts_a, parts_b, strict=True)))
    z = _ratio(difference, error)
    reach = float(stats.norm.ppf(0.5 + confidence / 2)) * error
    return AucComparison(
        first=result_a,
        second=result_b,
        difference=difference,
        standard_error=error,
        interval=(max(-1.0, difference - reach), min(1.0, difference + reach)),
        z=z,
        p_value=float(2 * stats.norm.sf(abs(z))),
    )


def _ratio(difference: float, error: float) -> float:
    if error > 0:
        return difference / error
    return 0.0 if difference == 0 else float(np.copysign(inf, difference))
