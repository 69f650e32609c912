"""Everything about one classifier on one set of rows, in one object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from math import isnan
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.metrics import brier_score_loss, log_loss

from maxmargin.base.parameters import as_number
from maxmargin.base.shown import filled, short_repr
from maxmargin.base.tables import positive_index
from maxmargin.base.typing import AnyArray, FloatArray, LabelLike, TableLike, TargetLike, WeightLike
from maxmargin.metrics.confusion import ConfusionTable, confusion_table
from maxmargin.metrics.delong import AucResult, auc_of
from maxmargin.metrics.labels import BinaryTarget, class_names, known_labels, scored_target
from maxmargin.metrics.ranking import KsResult, RocCurve, calibration_of, gains_of, ks_of, roc_of


@dataclass(frozen=True, kw_only=True)
class RankingEvaluation:
    """How well a score separates the positive class, whatever the threshold.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = [[0.0], [1.0], [2.0], [1.5], [3.0], [4.0]], [0, 0, 0, 1, 1, 1]
    >>> ranking = mm.evaluate(mm.SVC(kernel="linear").fit(X, y), X, y).ranking
    >>> round(ranking.auc.value, 4), round(ranking.gini, 4)  # Gini = 2 AUC - 1
    (0.8889, 0.7778)
    """

    target: BinaryTarget
    score: FloatArray
    response: str
    roc: RocCurve
    auc: AucResult
    ks: KsResult
    gains: pd.DataFrame
    calibration: pd.DataFrame | None
    brier: float | None
    log_loss: float | None

    __repr__ = short_repr

    @property
    def gini(self) -> float:
        return self.roc.gini


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Result of `evaluate`: the confusion table, and the ranking if there is a positive class.

    Attributes
    ----------
    model : name of the class of the evaluated model.
    n_samples : number of rows.
    confusion : prediction by truth.
    ranking : ROC, AUC, KS, gains and calibration; None with more than two classes when no positive class is
        named, or when the model gives no score.
    threshold : the score from which rows were called positive; None when the model's own ``predict`` decided.
    confidence : level of all intervals.

    Pictures: ``evaluation.display()``, or one panel at a time with RocDisplay, KsDisplay, CalibrationDisplay
    and ScoreDisplay.

    >>> import maxmargin as mm
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> found = mm.evaluate(mm.SVC(kernel="linear").fit(X, y), X, y)
    >>> found.confusion.counts.tolist(), found.ranking.auc.value
    ([[2.0, 0.0], [0.0, 2.0]], 1.0)
    """

    model: str
    n_samples: int
    confusion: ConfusionTable
    ranking: RankingEvaluation | None
    threshold: float | None
    confidence: float

    __repr__ = short_repr

    def display(self) -> Any:
        """Draw ROC with KS, distributions, scores and calibration on one figure; needs matplotlib."""
        # imported by name, because this package must not depend on displays
        return import_module("maxmargin.displays").EvaluationDisplay.from_result(self).plot()

    def table(self) -> pd.DataFrame:
        """All measures with value and interval (low, high); NaN if there is no interval."""
        measures = self.confusion.measures(self.confidence)
        if self.ranking is None:
            return measures
        found = self.ranking
        low, high = found.auc.interval
        rows = {
            "AUC": (found.auc.value, low, high),
            "Gini": (found.gini, 2 * low - 1, 2 * high - 1),
            "KS": (found.ks.value, np.nan, np.nan),
        }
        if found.brier is not None and found.log_loss is not None:
            rows["Brier score"] = (found.brier, np.nan, np.nan)
            rows["log loss"] = (found.log_loss, np.nan, np.nan)
        extra = pd.DataFrame.from_dict(rows, orient="index", columns=["value", "low", "high"])
        return pd.concat([measures, extra])

    def __str__(self) -> str:
        rule = "predict" if self.threshold is None else f"score >= {self.threshold:g}"
        lines = [f"{self.model} on {self.n_samples} rows, decided by {rule}", str(self.confusion)]
        lines.append(self.table().to_string(float_format="%.4f", na_rep=""))
        if self.ranking is not None:
            lines.append(filled(f"{self.ranking.ks} ({self.ranking.response})"))
        return "\n".join(lines)


_RESPONSES = ("auto", "predict_proba", "decision_function")


def evaluate(
    model: BaseEstimator,
    X: TableLike,
    y: TargetLike,
    *,
    positive: LabelLike | None = None,
    names: Sequence[str] | None = None,
    threshold: float | None = None,
    response_method: str = "auto",
    confidence: float = 0.95,
    sample_weight: WeightLike | None = None,
) -> Evaluation:
    """Evaluate a fitted classifier on rows with known classes.

    Parameters
    ----------
    model : fitted classifier with ``classes_``, ``predict`` and, for the ranking, ``predict_proba`` or
        ``decision_function``.
    X, y : rows and their labels.
    positive : label of the positive class; ``classes_[1]`` of two by default. Named among more than two
        classes, the ranking is that class against the rest.
    names : what to call the classes, in the order of ``model.classes_``.
    threshold : call a row positive when its score is at least this (two classes only); the model's
        ``predict`` by default.
    response_method : "predict_proba", "decision_function", or "auto" for the first that the model has.
    confidence : level of the intervals.
    sample_weight : of shape (n_samples,), optional. All counts become sums of weights, and there are no
        intervals or p values, since both count rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from maxmargin.metrics import evaluate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression(max_iter=5000).fit(X[:, :3], y)
    >>> result = evaluate(model, X[:, :3], y, positive=0, names=["malignant", "benign"])
    >>> result.confusion.positive, round(result.ranking.auc.value, 2)
    ('malignant', 0.97)
    """
    truth, classes = known_labels(y), _classes(model)
    shown = _shown(classes, truth, names)
    k = None if positive is None and len(classes) > 2 else positive_index(classes, positive)
    score, response = _score(model, X, k, response_method)
    predicted = model.predict(X) if threshold is None else _cut(classes, k, score, threshold)
    label = None if k is None else classes[k]
    counted: dict[str, Any] = {"positive": label, "sample_weight": sample_weight}
    ranking = None
    if label is not None and score is not None:
        read = scored_target(truth, score, names=[shown[name] for name in np.unique(truth)], **counted)
        ranking = _rank(*read, response, confidence)
    named = [shown[name] for name in np.unique([*truth, *predicted])]
    return Evaluation(
        model=type(model).__name__,
        n_samples=len(truth),
        confusion=confusion_table(truth, predicted, names=named, **counted),
        ranking=ranking,
        threshold=threshold,
        confidence=confidence,
    )


def _classes(model: BaseEstimator) -> AnyArray:
    """The classes of a fitted classifier; anything else is refused."""
    for needed in ("classes_", "predict"):
        if not hasattr(model, needed):
            raise TypeError(
                f"evaluate takes a fitted classifier, and {type(model).__name__} has no {needed}: fit it "
                "first, or use model.score for a regression."
            )
    return np.asarray(model.classes_)


def _shown(classes: AnyArray, truth: AnyArray, names: Sequence[str] | None) -> dict[Any, str]:
    strangers = set(truth.tolist()) - set(classes.tolist())
    if strangers:
        raise ValueError(
            f"y holds {sorted(strangers, key=str)}, which the model does not know: "
            f"its classes are {classes.tolist()}."
        )
    return dict(zip(classes.tolist(), class_names(classes, names), strict=True))


def _score(model: Any, X: Any, k: int | None, response_method: str) -> tuple[FloatArray | None, str]:
    """Score of class ``k`` and the name of the method that gave it."""
    if response_method not in _RESPONSES:
        raise ValueError(f"response_method={response_method!r} must be one of {', '.join(_RESPONSES)}.")
    wanted = _RESPONSES[1:] if response_method == "auto" else (response_method,)
    method = next((name for name in wanted if hasattr(model, name)), None)
    if method is None and response_method != "auto":
        raise ValueError(f"{type(model).__name__} has no {response_method}.")
    if method is None or k is None:
        return None, "none"
    values = np.asarray(getattr(model, method)(X), dtype=np.float64)
    if values.ndim == 2:
        return _column(values, k, len(model.classes_), method), method
    return (values if k == 1 else -values), method


def _column(values: FloatArray, k: int, n_classes: int, method: str) -> FloatArray:
    if values.shape[1] != n_classes:
        raise ValueError(
            f"{method} gives {values.shape[1]} columns for {n_classes} classes, so no column is the score of "
            "one class: ask the model for one column per class (decision_function_shape='ovr')."
        )
    return values[:, k]


def _cut(classes: AnyArray, k: int | None, score: FloatArray | None, threshold: float) -> AnyArray:
    if len(classes) != 2 or k is None or score is None:
        raise ValueError(
            f"threshold={threshold!r} needs two classes and a score; "
            f"the model has {len(classes)} classes. Leave threshold=None to use predict."
        )
    if isnan(as_number(threshold)):
        raise ValueError(f"threshold={threshold!r} must be a number, or None to use predict.")
    return classes[np.where(score >= threshold, k, 1 - k)]


def _rank(target: BinaryTarget, score: FloatArray, response: str, confidence: float) -> RankingEvaluation:
    losses: dict[str, Any] = {"calibration": None, "brier": None, "log_loss": None}
    if response == "predict_proba":
        losses["calibration"] = calibration_of(target, score, confidence)
        losses["brier"] = float(brier_score_loss(target.is_positive, score, sample_weight=target.weight))
        losses["log_loss"] = float(log_loss(target.is_positive, score, sample_weight=target.weight))
    return RankingEvaluation(
        target=target,
        score=score,
        response=response,
        roc=roc_of(target, score),
        auc=auc_of(target, score, confidence),
        ks=ks_of(target, score),
        gains=gains_of(target, score),
        **losses,
    )
