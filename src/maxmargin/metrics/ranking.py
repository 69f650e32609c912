"""How well a score ranks the positive class: ROC, Gini, Kolmogorov-Smirnov, gains, lift, calibration."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats
from sklearn.metrics import roc_curve

from maxmargin.base.parameters import as_number, check_count
from maxmargin.base.shown import ShownTable, short_repr
from maxmargin.base.typing import FloatArray, IntArray, LabelLike, TargetLike, WeightLike
from maxmargin.metrics.confusion import wilson_interval
from maxmargin.metrics.labels import BinaryTarget, Measure, scored_target

# if the larger class has more rows, scipy's exact p value is slow and the asymptotic one is as good
_EXACT_ROWS = 1000
_SHARE_SLACK = 1e-9  # equal shares must compare equal even if weights are not whole numbers


@dataclass(frozen=True, kw_only=True)
class RocCurve:
    """Every distinct threshold of a score with its two rates.

    Attributes
    ----------
    fpr, tpr : rates of shape (n_thresholds,) of the rows with ``score >= threshold``; from 0 to 1.
    thresholds : of shape (n_thresholds,), falling; the first is infinity (no row is called positive).
    auc : area under the curve by trapezoids, which is the probability that a positive row scores above a
        negative one, ties counting one half.
    positive, negative : names of the classes.

    >>> import maxmargin as mm
    >>> curve = mm.metrics.roc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> curve.tpr.tolist()
    [0.0, 0.5, 0.5, 1.0, 1.0]
    """

    fpr: FloatArray
    tpr: FloatArray
    thresholds: FloatArray
    auc: float
    positive: str
    negative: str

    __repr__ = short_repr

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
    y: TargetLike,
    score: npt.ArrayLike,
    *,
    positive: LabelLike | None = None,
    names: Sequence[str] | None = None,
    sample_weight: WeightLike | None = None,
) -> RocCurve:
    """Rates of true and false positives at every distinct score.

    Parameters
    ----------
    y : labels of shape (n_samples,).
    score : of shape (n_samples,); higher scores mean the positive class.
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
    return roc_of(*scored_target(y, score, positive=positive, names=names, sample_weight=sample_weight))


def roc_of(target: BinaryTarget, score: FloatArray) -> RocCurve:
    """`roc` of a validated target."""
    fpr, tpr, thresholds = roc_curve(
        target.is_positive, score, sample_weight=target.weight, drop_intermediate=False
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
    y: TargetLike,
    score: npt.ArrayLike,
    *,
    positive: LabelLike | None = None,
    names: Sequence[str] | None = None,
    sample_weight: WeightLike | None = None,
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


# -- Kolmogorov-Smirnov --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class KsResult:
    """The largest distance between two score distributions, and where it is.

    ``threshold`` is the score at which the rule "positive when score >= threshold" has the rates ``tpr`` and
    ``fpr`` whose distance is ``value``. ``p_value`` is NaN for weighted rows, whose distribution is not
    known.

    >>> import maxmargin as mm
    >>> found = mm.metrics.ks_statistic([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> found.value, found.threshold
    (0.5, 0.8)
    """

    value: float
    threshold: float
    tpr: float
    fpr: float
    p_value: float
    positive: str
    negative: str

    __repr__ = short_repr

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        law = "" if np.isnan(self.p_value) else f", p = {self.p_value:.3g}"
        classes = f"({self.positive} against {self.negative})"
        return f"KS {self.value:.4f} at score {self.threshold:.6g}{law} {classes}"


def ks_statistic(
    y: TargetLike,
    score: npt.ArrayLike,
    *,
    positive: LabelLike | None = None,
    names: Sequence[str] | None = None,
    sample_weight: WeightLike | None = None,
) -> KsResult:
    """Two-sample Kolmogorov-Smirnov statistic max abs(F_P - F_N) = max abs(TPR - FPR) of a score.

    Parameters are those of `roc`. The p value is that of the two-sided test that both classes have the same
    distribution of scores: exact up to 1 000 rows per class, asymptotic above (scipy's ks_2samp).
    Among equal distances the highest threshold is reported.

    Examples
    --------
    >>> from maxmargin.metrics import ks_statistic
    >>> print(ks_statistic(["good", "good", "bad", "bad"], [0.1, 0.4, 0.35, 0.8], positive="bad"))
    KS 0.5000 at score 0.8, p = 1 (bad against good)
    """
    return ks_of(*scored_target(y, score, positive=positive, names=names, sample_weight=sample_weight))


def ks_of(target: BinaryTarget, score: FloatArray) -> KsResult:
    """`ks_statistic` of a validated target."""
    curve = roc_of(target, score)
    k = int(np.argmax(np.abs(curve.tpr - curve.fpr)))
    return KsResult(
        value=float(abs(curve.tpr[k] - curve.fpr[k])),
        threshold=float(curve.thresholds[k]),
        tpr=float(curve.tpr[k]),
        fpr=float(curve.fpr[k]),
        p_value=nan if target.weight is not None else _p_value(target, score),
        positive=curve.positive,
        negative=curve.negative,
    )


def _p_value(target: BinaryTarget, score: FloatArray) -> float:
    method: Literal["exact", "asymp"] = (
        "exact" if max(target.n_positive, target.n_negative) <= _EXACT_ROWS else "asymp"
    )
    with warnings.catch_warnings():
        # scipy warns if rounding puts an exact p value above 1, and returns the asymptotic one, which is 1
        warnings.filterwarnings("ignore", "ks_2samp: Exact calculation unsuccessful", RuntimeWarning)
        outcome = stats.ks_2samp(score[target.is_positive], score[~target.is_positive], method=method)
    return float(outcome.pvalue)


# -- gains and lift ------------------------------------------------------------------------------------------


def gains(
    y: TargetLike,
    score: npt.ArrayLike,
    *,
    n_groups: int = 10,
    positive: LabelLike | None = None,
    names: Sequence[str] | None = None,
    sample_weight: WeightLike | None = None,
) -> pd.DataFrame:
    """Rows sorted from the highest score down and cut into ``n_groups`` equal parts.

    Columns: group (1 holds the highest scores), share of rows up to and including this group, rows, events
    (positive rows), nonevents, event_rate, lift (event_rate over that of all rows); then, up to and including
    this group: cumulative_events, cumulative_nonevents, captured (share of all events), ks (captured minus
    the share of all non-events; the Kolmogorov-Smirnov distance at this cut) and cumulative_lift. Tied scores
    are divided evenly between groups, so the table does not depend on the order of rows, and counts need not
    be whole numbers. ``attrs`` of the table name the positive and the negative class.

    Examples
    --------
    >>> from maxmargin.metrics import gains
    >>> table = gains([1, 1, 0, 1, 0, 0, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1], n_groups=4)
    >>> table[["events", "cumulative_nonevents", "captured", "ks"]].round(3).to_numpy().tolist()
    [[2.0, 0.0, 0.667, 0.667], [1.0, 1.0, 1.0, 0.8], [0.0, 3.0, 1.0, 0.4], [0.0, 5.0, 1.0, 0.0]]
    """
    target, values = scored_target(y, score, positive=positive, names=names, sample_weight=sample_weight)
    return gains_of(target, values, n_groups)


def gains_of(target: BinaryTarget, score: FloatArray, n_groups: int = 10) -> pd.DataFrame:
    """`gains` of a validated target."""
    check_count("n_groups", n_groups)
    shares = np.arange(1, n_groups + 1) / n_groups
    captured, spent = _reached(target, score, shares)
    events, nonevents = target.total_positive * captured, target.total_negative * spent
    rate = np.diff(events, prepend=0.0) * n_groups / target.total
    table = ShownTable(
        {
            "group": np.arange(1, n_groups + 1),
            "share": shares,
            "rows": target.total / n_groups,
            "events": np.diff(events, prepend=0.0),
            "nonevents": np.diff(nonevents, prepend=0.0),
            "event_rate": rate,
            "lift": rate * target.total / target.total_positive,
            "cumulative_events": events,
            "cumulative_nonevents": nonevents,
            "captured": captured,
            "ks": captured - spent,
            "cumulative_lift": captured / shares,
        }
    )
    table.attrs.update(positive=target.positive, negative=target.negative)
    return table


def _reached(target: BinaryTarget, score: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shares of all events and of all non-events among the top ``shares`` of all rows.

    Between two distinct scores the curve is straight: the average over all orders of tied rows.
    """
    curve = roc_of(target, score)
    base_rate = target.total_positive / target.total
    taken = base_rate * curve.tpr + (1 - base_rate) * curve.fpr
    return np.interp(shares, taken, curve.tpr), np.interp(shares, taken, curve.fpr)


def lift(
    y: TargetLike,
    score: npt.ArrayLike,
    *,
    share: float = 0.1,
    positive: LabelLike | None = None,
    names: Sequence[str] | None = None,
    sample_weight: WeightLike | None = None,
) -> Measure:
    """Event rate among the top ``share`` of rows by score, over the event rate of all rows.

    >>> from maxmargin.metrics import lift
    >>> print(lift([1, 1, 0, 1, 0, 0, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1], share=0.25, names=["no", "yes"]))
    2.6667 (yes against no)
    """
    if not 0.0 < as_number(share) <= 1.0:
        raise ValueError(f"share={share!r} must lie in (0, 1], for example 0.1 for the top tenth.")
    target, values = scored_target(y, score, positive=positive, names=names, sample_weight=sample_weight)
    captured, _ = _reached(target, values, np.array([share]))
    return Measure(float(captured[0]) / share, positive=target.positive, negative=target.negative)


# -- calibration ---------------------------------------------------------------------------------------------


def calibration_table(
    y: TargetLike,
    probability: npt.ArrayLike,
    *,
    n_groups: int = 10,
    positive: LabelLike | None = None,
    names: Sequence[str] | None = None,
    confidence: float = 0.95,
    sample_weight: WeightLike | None = None,
) -> pd.DataFrame:
    """Rows in groups of about equal size by predicted probability: predicted against observed.

    Columns: rows, events, predicted (mean probability of the group), observed (share of positive rows) and
    its Wilson interval low, high. Rows with the same probability are never separated, so there may be fewer
    groups. With weights all columns are weighted, and there is no interval. ``attrs`` of the table name the
    positive and the negative class.

    Parameters
    ----------
    y, positive, names, sample_weight : as in `roc`.
    probability : of the positive class, of shape (n_samples,), in [0, 1].

    Examples
    --------
    >>> from maxmargin.metrics import calibration_table
    >>> table = calibration_table([0, 0, 1, 0, 1, 1], [0.1, 0.1, 0.2, 0.6, 0.8, 0.9], n_groups=2)
    >>> table[["rows", "events", "predicted", "observed"]].round(3).to_numpy().tolist()
    [[3.0, 1.0, 0.133, 0.333], [3.0, 2.0, 0.767, 0.667]]
    """
    target, p = scored_target(y, probability, positive=positive, names=names, sample_weight=sample_weight)
    return calibration_of(target, p, confidence, n_groups)


def calibration_of(
    target: BinaryTarget, p: FloatArray, confidence: float = 0.95, n_groups: int = 10
) -> pd.DataFrame:
    """`calibration_table` of a validated target."""
    check_count("n_groups", n_groups)
    if p.min() < 0 or p.max() > 1:
        raise ValueError(
            f"Probabilities must lie in [0, 1], got {p.min():.6g} to {p.max():.6g}: "
            "a decision value needs calibration first (sklearn's CalibratedClassifierCV)."
        )
    w = target.weights
    group = _equal_groups(p, w, n_groups)
    rows, events = np.bincount(group, weights=w), np.bincount(group, weights=w * target.is_positive)
    low, high = np.full((2, len(rows)), nan)
    if target.weight is None:
        rows, events = rows.astype(np.int64), events.astype(np.int64)
        intervals = [wilson_interval(int(k), int(n), confidence) for k, n in zip(events, rows, strict=True)]
        low, high = np.array(intervals).T
    predicted = np.bincount(group, weights=w * p) / rows
    columns = {"rows": rows, "events": events, "predicted": predicted, "observed": events / rows}
    table = ShownTable({**columns, "low": low, "high": high})
    table.attrs.update(positive=target.positive, negative=target.negative)
    return table


def _equal_groups(p: FloatArray, weight: FloatArray, n_groups: int) -> IntArray:
    """Group number of every row: cut at quantiles, equal values in one group, no empty groups."""
    _, codes = np.unique(p, return_inverse=True)
    mass = np.bincount(codes, weights=weight)
    below = (np.cumsum(mass) - mass) / mass.sum()  # share of the rows strictly below each value
    return np.unique(np.floor(below * n_groups + _SHARE_SLACK), return_inverse=True)[1][codes]
