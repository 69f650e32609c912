"""Measures of a classifier: confusion table, ROC, AUC, KS, Gini, gains, calibration.

Every function takes ``positive`` (which label counts as positive) and ``names`` (what to call the classes),
and its result names the positive class.
"""

from maxmargin.metrics.confusion import ConfusionTable, confusion_table, wilson_interval
from maxmargin.metrics.delong import AucComparison, AucResult, auc, compare_auc
from maxmargin.metrics.evaluation import Evaluation, RankingEvaluation, evaluate
from maxmargin.metrics.labels import Measure
from maxmargin.metrics.ranking import (
    KsResult,
    RocCurve,
    calibration_table,
    gains,
    gini,
    ks_statistic,
    lift,
    roc,
)
from maxmargin.metrics.risk import empirical_risk

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
    "empirical_risk",
    "evaluate",
    "Evaluation",
    "RankingEvaluation",
]
