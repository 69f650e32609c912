"""The Kolmogorov-Smirnov distance between the scores of two classes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Any, Literal

import numpy as np
from scipy import stats

from maxmargin.metrics.curves import RocCurve, roc
from maxmargin.metrics.labels import scored_target

# above this size of the larger class scipy's exact p value gets slow and the limit law is as good
_EXACT_ROWS = 1000


@dataclass(frozen=True, kw_only=True)
class KsResult:
    """The largest distance between two score distributions, and where it is.

    ``threshold`` is the score at which the rule "positive when score >= threshold" has the rates ``tpr`` and
    ``fpr`` whose distance is ``value``. ``p_value`` is NaN for weighted rows: no law is known for them.
    """

    value: float
    threshold: float
    tpr: float
    fpr: float
    p_value: float
    positive: str
    negative: str

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return (
            f"KS {self.value:.4f} at score {self.threshold:.6g}, p = {self.p_value:.3g} "
            f"({self.positive} against {self.negative})"
        )


def widest_gap(curve: RocCurve) -> int:
    """Index of the threshold with the largest abs(TPR - FPR); the highest threshold among equals."""
    return int(np.argmax(np.abs(curve.tpr - curve.fpr)))


def ks_statistic(
    y: Any,
    score: Any,
    *,
    positive: Any = None,
    names: Sequence[str] | None = None,
    sample_weight: Any = None,
) -> KsResult:
    """Two-sample Kolmogorov-Smirnov statistic max abs(F_P - F_N) = max abs(TPR - FPR) of a score.

    Parameters are those of `roc`. The p value is that of the two-sided test that both classes have the same
    distribution of scores: exact up to 1 000 rows per class, by the limit law above (scipy's ks_2samp).

    Examples
    --------
    >>> from maxmargin.metrics import ks_statistic
    >>> print(ks_statistic(["good", "good", "bad", "bad"], [0.1, 0.4, 0.35, 0.8], positive="bad"))
    KS 0.5000 at score 0.8, p = 1 (bad against good)
    """
    curve = roc(y, score, positive=positive, names=names, sample_weight=sample_weight)
    k = widest_gap(curve)
    return KsResult(
        value=float(abs(curve.tpr[k] - curve.fpr[k])),
        threshold=float(curve.thresholds[k]),
        tpr=float(curve.tpr[k]),
        fpr=float(curve.fpr[k]),
        p_value=nan if sample_weight is not None else _p_value(y, score, positive),
        positive=curve.positive,
        negative=curve.negative,
    )


def _p_value(y: Any, score: Any, positive: Any) -> float:
    target, values = scored_target(y, score, positive=positive)
    method: Literal["exact", "asymp"] = (
        "exact" if max(target.n_positive, target.n_negative) <= _EXACT_ROWS else "asymp"
    )
    with warnings.catch_warnings():
        # scipy warns when rounding lifts an exact p value above 1, and then gives the limit law's, which is 1
        warnings.filterwarnings("ignore", "ks_2samp: Exact calculation unsuccessful", RuntimeWarning)
        outcome = stats.ks_2samp(values[target.is_positive], values[~target.is_positive], method=method)
    return float(outcome.pvalue)
