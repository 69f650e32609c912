"""What tuning minimises, weights for rare classes, and the threshold of a decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from maxmargin.base.typing import AnyArray, FloatArray, LabelLike, TableLike
from maxmargin.tables.columns import Prepared
from maxmargin.tables.models import Family
from maxmargin.tables.refusals import UsageRefusal
from maxmargin.tables.table_settings import ClassWeight, Note, Scoring

_OF_CLASSES = (Scoring.ERROR, Scoring.BALANCED_ERROR, Scoring.AUC, Scoring.F1, Scoring.LOG_LOSS)
NEEDS_PROBABILITIES = ("neg_log_loss", "roc_auc_ovr")  # scorers
_OF_QUANTITIES = (Scoring.MSE, Scoring.MAE, Scoring.R2)


@dataclass(frozen=True)
class TuningMeasure:
    """The error to minimise: the name that is printed, and the argument ``scoring`` of `mm.tune`."""

    name: str
    scoring: Any = None


def tuning_measure(
    data: Prepared, scoring: Scoring, positive: LabelLike | None, note: Note, *, own_threshold: bool = False
) -> TuningMeasure:
    """The measure that the user chose, or one that suits the target; a note names an unusual one.

    ``own_threshold``: rows are predicted by another threshold than the model's own.
    """
    allowed = _OF_CLASSES if data.classifies else _OF_QUANTITIES
    if scoring is Scoring.AUTO:
        scoring = allowed[0]
        rare = data.rare_class
        if own_threshold:
            scoring = Scoring.AUC
            note("parameters are chosen by the AUC, which depends on no threshold (--scoring names another).")
        elif rare is not None:
            scoring = Scoring.BALANCED_ERROR
            note(
                f"class {rare} is rare ({int((data.y == rare).sum())} of {len(data.y)} rows): parameters "
                "are chosen by the balanced error, the mean of the error rates of the classes (--scoring "
                "error for the plain error)."
            )
    if scoring not in allowed:
        raise UsageRefusal(
            f"--scoring {scoring} does not fit {data.schema.task}: choose one of {', '.join(allowed)}."
        )
    two = len(data.classes) == 2
    if scoring is Scoring.F1 and two:
        label = data.classes[1] if positive is None else positive
        scorer = make_scorer(f1_score, pos_label=label, zero_division=0.0)
        return TuningMeasure("1 - F1", scorer)
    return {
        Scoring.ERROR: TuningMeasure("error"),
        Scoring.MSE: TuningMeasure("mean squared error"),
        Scoring.BALANCED_ERROR: TuningMeasure("balanced error", "balanced_accuracy"),
        Scoring.AUC: TuningMeasure("1 - AUC", "roc_auc" if two else "roc_auc_ovr"),
        Scoring.F1: TuningMeasure("1 - F1", "f1_macro"),
        Scoring.LOG_LOSS: TuningMeasure("log loss", "neg_log_loss"),
        Scoring.MAE: TuningMeasure("mean absolute error", "neg_mean_absolute_error"),
        Scoring.R2: TuningMeasure("1 - R2", "r2"),
    }[scoring]


def check_scores(family: Family, measure: TuningMeasure) -> None:
    """Refuse a measure of probabilities for a model that has none."""
    if measure.scoring in NEEDS_PROBABILITIES and not hasattr(family.make(), "predict_proba"):
        raise UsageRefusal(
            f"{family.name} gives no probabilities, which {measure.name} needs here: use --model logistic, "
            "or another --scoring."
        )


def weighted(family: Family, data: Prepared, asked: ClassWeight, note: Note) -> Any:
    """The model, with balanced class weights if the user or very unequal classes require them."""
    if asked is ClassWeight.NONE or not data.classifies:
        if asked is ClassWeight.BALANCED:
            raise UsageRefusal("--class-weight is for classes, and the target is a quantity: leave it out.")
        return family.make()
    able = "class_weight" in family.parameters
    if asked is ClassWeight.BALANCED and not able:
        raise UsageRefusal(f"{family.name} takes no class weights: use another --model.")
    if not able or (asked is ClassWeight.AUTO and data.rare_class is None):
        return family.make()
    machine = family.make(class_weight="balanced")
    if asked is ClassWeight.AUTO and hasattr(machine, "predict_proba"):
        note(
            "every class gets the same total weight, so that probabilities are those of equally frequent "
            "classes (--class-weight none switches this off)."
        )
    elif asked is ClassWeight.AUTO:
        note("every class gets the same total weight (--class-weight none switches this off).")
    return machine


# -- thresholds ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DecisionRule:
    """A row is predicted as ``positive`` where its score is at least ``threshold``.

    ``costs`` of a false positive and a false negative, where they chose the threshold.
    """

    positive: Any
    threshold: float
    costs: tuple[float, float] | None = None

    def predict(self, model: BaseEstimator, X: TableLike) -> AnyArray:
        classes = np.asarray(model.classes_)
        k = int(np.flatnonzero(classes == self.positive)[0])
        return classes[np.where(scores(model, X, k) >= self.threshold, k, 1 - k)]

    @classmethod
    def of(cls, given: dict[str, Any], classes: Sequence[Any]) -> DecisionRule:
        """From the fields of a rule in a model file with these classes."""
        positive = next(label for label in classes if str(label) == str(given["positive"]))
        costs = given.get("costs")
        return cls(
            positive, float(given["threshold"]), None if costs is None else (float(costs[0]), float(costs[1]))
        )


def cheapest_constant(y: pd.Series, rule: DecisionRule, weights: AnyArray | None = None) -> tuple[str, float]:
    """The class that is cheaper to predict always, and the cost per row of doing so."""
    assert rule.costs is not None
    share = float(np.average(y == rule.positive, weights=weights))
    other = next((label for label in y.unique() if label != rule.positive), rule.positive)
    always, never = rule.costs[0] * (1.0 - share), rule.costs[1] * share
    return (str(rule.positive), always) if always < never else (str(other), never)


def scores(model: BaseEstimator, X: TableLike, k: int) -> FloatArray:
    """Score of class ``k`` of two: a probability where the model has one, else a decision value."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), dtype=np.float64)[:, k]
    values = np.asarray(model.decision_function(X), dtype=np.float64)
    return values if k == 1 else -values


def check_two_classes(classes: list[Any], option: str) -> None:
    """Refuse a threshold where there are not two classes."""
    if len(classes) != 2:
        raise UsageRefusal(f"{option} needs a target with two classes: leave it out.")


def parse_costs(text: str) -> tuple[float, float]:
    """Costs of a false positive and a false negative, from text such as "fp=1,fn=5"."""
    given = dict(part.partition("=")[::2] for part in text.replace(" ", "").split(","))
    try:
        fp, fn = float(given.pop("fp")), float(given.pop("fn"))
    except (KeyError, ValueError):
        fp = fn = -1.0
    if given or min(fp, fn) < 0 or fp + fn == 0 or not np.isfinite(fp + fn):
        raise UsageRefusal(f"--cost {text!r}: write fp=NUMBER,fn=NUMBER, such as fp=1,fn=5.")
    return fp, fn


def cheapest_rule(
    model: BaseEstimator,
    X: TableLike,
    y: pd.Series,
    positive: LabelLike | None,
    costs: tuple[float, float],
    *,
    folds: int,
    seed: int,
) -> tuple[DecisionRule, float]:
    """The threshold with the lowest cost per row on scores of held-out folds, and that cost.

    ``model`` is fitted again on every fold. Between two neighbouring scores the threshold is their middle.
    """
    classes = sorted(y.unique().tolist())
    k = classes.index(positive)
    cv = StratifiedKFold(folds, shuffle=True, random_state=seed)
    method = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    found = np.asarray(cross_val_predict(model, X, y, cv=cv, method=method), dtype=np.float64)
    score = found[:, k] if found.ndim == 2 else found if k == 1 else -found
    is_positive = (y == positive).to_numpy()
    order = np.argsort(-score, kind="stable")
    values, hits = score[order], is_positive[order]
    # the cost of predicting the first j rows of this order as positive, for j = 0 ... n
    cost = costs[0] * np.r_[0, np.cumsum(~hits)] + costs[1] * np.r_[hits.sum(), hits.sum() - np.cumsum(hits)]
    possible = np.r_[True, values[1:] < values[:-1], True]
    j = int(np.where(possible, cost, np.inf).argmin())
    step = 1.0 + abs(float(values[0])) + abs(float(values[-1]))
    ends = np.r_[values[0] + step, values, values[-1] - step]
    return DecisionRule(positive, float((ends[j] + ends[j + 1]) / 2), costs), float(cost[j] / len(y))
