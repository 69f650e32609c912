"""The error that tuning minimises, and how a scorer evaluates stored decisions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_outlier_detector, is_regressor
from sklearn.metrics import get_scorer

from maxmargin.base.typing import AnyArray, FloatArray, IntArray, Matrix, TableLike, TargetLike


class ErrorMeasure:
    """The error of a cell on a fold.

    Without ``scoring``: the share of wrong classes, or the mean squared error. With it: the negated score
    for scorers that already negate an error ("neg_..."), 1 - score for all others.
    """

    def __init__(self, estimator: BaseEstimator, scoring: Any) -> None:
        if scoring is None and is_outlier_detector(estimator):
            raise ValueError(
                f"{type(estimator).__name__} has no default error: give scoring=, a function of "
                "(estimator, X, y) or a name, and labels y of +1 and -1 where it needs them."
            )
        if scoring is None and not (is_classifier(estimator) or is_regressor(estimator)):
            raise ValueError(f"{type(estimator).__name__} neither classifies nor regresses: give scoring=.")
        self.scoring = scoring
        self.scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
        self.classifies = is_classifier(estimator)

    @property
    def name(self) -> str:
        if self.scoring is None:
            return "error" if self.classifies else "mean squared error"
        if isinstance(self.scoring, str):
            return self.scoring.removeprefix("neg_") if self.negated else f"1 - {self.scoring}"
        return "1 - score"

    @property
    def negated(self) -> bool:
        return isinstance(self.scoring, str) and self.scoring.startswith("neg_")

    def needs_probabilities(self) -> bool:
        return needs_probabilities(self.scorer)

    def to_error(self, score: float) -> float:
        return -score if self.negated else 1.0 - score

    def of_predictions(self, true: AnyArray, predicted: AnyArray) -> float:
        if self.classifies:
            return float(np.mean(predicted != true))
        return float(np.mean((predicted - true) ** 2))

    def of_model(self, model: BaseEstimator, X: TableLike, y: TargetLike) -> float:
        """The error of a fitted model on rows."""
        if self.scorer is None:
            return self.of_predictions(np.asarray(y), model.predict(X))
        return self.to_error(float(self.scorer(model, X, y)))

    def of_stored(
        self, model: Any, X: Matrix, y: AnyArray, predicted: AnyArray, decisions: FloatArray, rows: IntArray
    ) -> Any:
        """The error of known predictions for these rows; of ``model`` only the type is used."""
        return self.to_error(float(self.scorer(stand_in(model, predicted, decisions), X, y)))

    def leading_error(self, found: Any) -> float:
        """The first error of a result of `of_stored`, the one that decides."""
        return float(found)


def needs_probabilities(scorer: Any) -> bool:
    method = getattr(scorer, "_response_method", "predict")
    methods = (method,) if isinstance(method, str) else tuple(method)
    return not set(methods) & {"predict", "decision_function", "default"}


def stand_in(model: Any, predicted: AnyArray, decisions: FloatArray) -> Any:
    """A model of the same type that returns given predictions."""

    class Stored(type(model)):  # type: ignore[misc]  # the base class is only known at run time
        def predict(self, X: Any) -> AnyArray:
            return predicted

        def decision_function(self, X: Any) -> FloatArray:
            return decisions

        def score_samples(self, X: Any) -> FloatArray:
            return decisions

    stored = Stored(**model.get_params(deep=False))
    if is_classifier(model):
        stored.classes_ = model.classes_
    return stored
