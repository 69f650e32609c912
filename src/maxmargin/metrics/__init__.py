"""Measures of a classifier: confusion table, ROC, AUC, KS, Gini, gains, calibration.

Every function takes ``positive`` (which label counts as positive) and ``names`` (what to call the classes),
and its result says which is positive.
"""

from maxmargin.metrics.calibration import calibration_table
from maxmargin.metrics.confusion import ConfusionTable, confusion_table, wilson_interval
from maxmargin.metrics.curves import RocCurve, gini, roc
from maxmargin.metrics.delong import AucComparison, AucResult, auc, compare_auc
from maxmargin.metrics.evaluation import Evaluation, RankingEvaluation, evaluate
from maxmargin.metrics.kolmogorov import KsResult, ks_statistic
from maxmargin.metrics.labels import Measure
from maxmargin.metrics.lifts import gains, lift

__all__ = [
    "confusion_table",
    "ConfusionTable",
    "wilson_interval",
    "roc",
    "RocCurve",
    "gini",
    "Measure",
    "auc",
    "AucResult",
    "compare_auc",
    "AucComparison",
    "ks_statistic",
    "KsResult",
    "gains",
    "lift",
    "calibration_table",
    "evaluate",
    "Evaluation",
    "RankingEvaluation",
]
