"""The receiver operating characteristic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_curve

from maxmargin.base.typing import FloatArray
from maxmargin.metrics.labels import Measure, scored_target, target_weights


@dataclass(frozen=True, kw_only=True)
class RocCurve:
    """Every distinct threshold of a score with its two rates.

    Attributes
    ----------
    fpr, tpr : rates of shape (n_thresholds,) of the rows with ``score >= threshold``; from 0 to 1.
    thresholds : of shape (n_thresholds,), falling; the first is infinity (nothing is called positive).
    auc : area under the curve by trapezoids, which is the probability that a positive row scores above a
        negative one, ties counting one half.
    positive, negative : names of the classes.
    """

    fpr: FloatArray
    tpr: FloatArray
    thresholds: FloatArray
    auc: float
    positive: str
    negative: str

    @property
    def gini(self) -> Measure:
        """2 AUC - 1, also called the accuracy ratio or Somers' D."""
        return Measure(2.0 * self.auc - 1.0, positive=self.positive, negative=self.negative)

    def at(self, threshold: float) -> tuple[float, float]:
        """(fpr, tpr) of the rule "positive when score >= threshold"."""
        k = int(np.searchsorted(-self.thresholds, -threshold, side="right")) - 1
        return float(self.fpr[max(k, 0)]), float(self.tpr[max(k, 0)])

    def frame(self) -> pd.DataFrame:
        return pd.DataFrame({"threshold": self.thresholds, "fpr": self.fpr, "tpr": self.tpr})


def roc(
    y: Any,
    score: Any,
    *,
    positive: Any = None,
    names: Sequence[str] | None = None,
    sample_weight: Any = None,
) -> RocCurve:
    """Rates of true and false positives at every distinct score.

    Parameters
    ----------
    y : labels of shape (n_samples,).
    score : of shape (n_samples,); a higher score speaks for the positive class.
    positive : label of the positive class; the last of two sorted labels by default. With more than two
        classes it must be named, and the others are taken together.
    names : what to call the classes, in sorted order of their labels.
    sample_weight : of shape (n_samples,), optional.

    Cost: one sort, O(n log n). The curve itself is scikit-learn's.

    Examples
    --------
    >>> from maxmargin.metrics import roc
    >>> curve = roc(["bad", "good", "bad", "good"], [0.9, 0.2, 0.4, 0.6], positive="bad")
    >>> curve.auc, curve.gini
    (0.75, 0.5)
    """
    target, values = scored_target(y, score, positive=positive, names=names)
    fpr, tpr, thresholds = roc_curve(
        target.is_positive,
        values,
        sample_weight=target_weights(sample_weight, target),
        drop_intermediate=False,
    )
    return RocCurve(
        fpr=fpr,
        tpr=tpr,
        thresholds=thresholds,
        auc=float(np.trapezoid(tpr, fpr)),
        positive=target.positive,
        negative=target.negative,
    )


def gini(
    y: Any,
    score: Any,
    *,
    positive: Any = None,
    names: Sequence[str] | None = None,
    sample_weight: Any = None,
) -> Measure:
    """Gini coefficient 2 AUC - 1 of a score (see `roc` for the parameters), a number that names its classes.

    >>> from maxmargin.metrics import gini
    >>> value = gini([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], names=["paid", "lost"])
    >>> value, value.positive
    (0.5, 'lost')
    >>> print(value)
    0.5000 (lost against paid)
    """
    return roc(y, score, positive=positive, names=names, sample_weight=sample_weight).gini
