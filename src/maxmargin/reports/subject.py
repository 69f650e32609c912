"""What was handed over: the model inside searches and pipelines, and its task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from maxmargin.feature_selection.base import Selector
from maxmargin.tuning import TuneResult

Task = Literal["classification", "regression", "outliers", "selection"]


@dataclass(frozen=True)
class Subject:
    """A fitted model, with what is around it.

    Attributes
    ----------
    model : what predicts (or selects), preprocessing included.
    final : the last step; steps : the steps before it.
    tuning : the search that found it, if any; selector : the selector among the steps, if any.
    """

    model: Any
    final: Any
    steps: tuple[tuple[str, Any], ...]
    task: Task
    tuning: TuneResult | None
    selector: Selector | None

    @classmethod
    def of(cls, given: Any) -> Subject:
        """From an estimator, a Pipeline, a TuneResult, a GridSearch or a selector, fitted."""
        tuning = given if isinstance(given, TuneResult) else getattr(given, "result_", None)
        tuning = tuning if isinstance(tuning, TuneResult) else None
        model = given if tuning is None else tuning.best_estimator
        if model is None:
            raise ValueError(
                "this search holds no fitted model (refit=False, or it was interrupted): "
                "run it with refit=True, or pass a model fitted with its best_params."
            )
        if not hasattr(model, "fit"):
            raise TypeError(
                "a report is about a fitted estimator, a TuneResult or a selector, "
                f"not {type(given).__name__}."
            )
        check_is_fitted(model)
        steps = tuple(model.steps) if isinstance(model, Pipeline) else (("model", model),)
        steps = tuple((name, step) for name, step in steps if step is not None and step != "passthrough")
        selector = next((step for _, step in steps if isinstance(step, Selector)), None)
        return cls(
            model=model,
            final=steps[-1][1],
            steps=steps[:-1],
            task=_task(model, steps[-1][1]),
            tuning=tuning,
            selector=selector,
        )

    def transformed(self, X: Any) -> Any:
        """The rows as the last step sees them."""
        for _, step in self.steps:
            X = step.transform(X)
        return X


def _task(model: Any, final: Any) -> Task:
    if is_classifier(model):
        return "classification"
    if is_regressor(model):
        return "regression"
    if is_outlier_detector(model):
        return "outliers"
    if isinstance(final, Selector):
        return "selection"
    raise TypeError(
        f"{type(final).__name__} neither classifies, nor regresses, nor finds outliers, nor selects columns: "
        "there is nothing to report about it."
    )
