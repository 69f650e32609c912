"""Plots of a score: ROC, the two distributions, the histogram, calibration, and all on one figure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from maxmargin.base.typing import FloatArray, LabelLike, TableLike, TargetLike
from maxmargin.displays.drawing.style import NEGATIVE, NEUTRAL, POSITIVE, Display, pyplot
from maxmargin.metrics import AucResult, Evaluation, KsResult, RankingEvaluation, RocCurve, evaluate
from maxmargin.metrics.delong import auc_of
from maxmargin.metrics.labels import BinaryTarget, scored_target
from maxmargin.metrics.ranking import calibration_of, ks_of, roc_of


def ranking_of(result: Evaluation | RankingEvaluation) -> RankingEvaluation:
    """The ranking of an evaluation, or an error that tells why there is none."""
    ranking = result.ranking if isinstance(result, Evaluation) else result
    if ranking is None:
        raise ValueError(
            "this evaluation has no ranking to draw: name a positive class (evaluate(..., positive=...)) "
            "and use a model with predict_proba or decision_function."
        )
    return ranking


class EvaluatedDisplay(ABC):
    """Base class of displays of an evaluation."""

    @classmethod
    @abstractmethod
    def from_result(cls, result: Evaluation) -> Self:
        """From the result of ``mm.evaluate``."""

    @classmethod
    def from_estimator(
        cls,
        model: BaseEstimator,
        X: TableLike,
        y: TargetLike,
        *,
        positive: LabelLike | None = None,
        names: Sequence[str] | None = None,
    ) -> Self:
        """From a fitted classifier and rows with known classes."""
        return cls.from_result(evaluate(model, X, y, positive=positive, names=names))


class ScoredDisplay(EvaluatedDisplay, Display):
    """Base class of displays of scores of rows with known classes."""

    @classmethod
    @abstractmethod
    def _of(cls, target: BinaryTarget, score: FloatArray, what: str) -> Self:
        """The arrays of the display; ``what`` is the name of the score."""

    @classmethod
    def from_result(cls, result: Evaluation | RankingEvaluation) -> Self:
        """From the result of ``mm.evaluate``."""
        ranking = ranking_of(result)
        return cls._of(ranking.target, ranking.score, _score_name(ranking))

    @classmethod
    def from_scores(
        cls,
        y: TargetLike,
        score: TargetLike,
        *,
        positive: LabelLike | None = None,
        names: Sequence[str] | None = None,
        what: str = "score",
    ) -> Self:
        """From labels and scores; ``what`` is the name of the score on the axis."""
        target, values = scored_target(y, score, positive=positive, names=names)
        return cls._of(target, values, what)


def _score_name(ranking: RankingEvaluation) -> str:
    if ranking.response == "predict_proba":
        return f"predicted probability of {ranking.target.positive}"
    return "decision value"


def _by_class(target: BinaryTarget, score: FloatArray) -> dict[str, Any]:
    """The scores and the weights of each class."""
    inside, weight = target.is_positive, target.weight
    return {
        "positive_scores": score[inside],
        "negative_scores": score[~inside],
        "positive_weights": None if weight is None else weight[inside],
        "negative_weights": None if weight is None else weight[~inside],
    }


def _draw_gap(ax: Any, at: float, ends: list[float], label: str) -> None:
    ax.plot([at, at], ends, color="black", linestyle="--", marker="o", markersize=4, label=label)


@dataclass(repr=False)
class RocDisplay(ScoredDisplay):
    """ROC curve, its area with the DeLong interval, and the widest gap to the diagonal.

    Examples
    --------
    >>> from maxmargin.displays import RocDisplay
    >>> display = RocDisplay.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], names=["good", "bad"])
    >>> display.curve.auc
    0.75
    """

    curve: RocCurve
    auc: AucResult
    ks: KsResult

    @classmethod
    def _of(cls, target: BinaryTarget, score: FloatArray, what: str) -> Self:
        return cls(curve=roc_of(target, score), auc=auc_of(target, score), ks=ks_of(target, score))

    def _draw(self, ax: Any) -> None:
        low, high = self.auc.interval
        span = f" ({low:.3f} to {high:.3f})" if low <= high else ""  # weighted rows have no interval
        text = f"AUC {self.auc.value:.3f}{span}"
        ax.plot(self.curve.fpr, self.curve.tpr, color=POSITIVE, label=text)
        ax.plot([0, 1], [0, 1], color=NEUTRAL, linestyle=":", linewidth=1)
        at = self.ks.fpr
        _draw_gap(ax, at, [at, self.ks.tpr], f"KS {self.ks.value:.3f} at {self.ks.threshold:.3g}")
        called = f"share of {self.curve.negative} called {self.curve.positive}"
        ax.set(xlabel=called, ylabel=f"share of {self.curve.positive} found", aspect="equal")
        ax.legend(loc="lower right")


@dataclass(repr=False)
class KsDisplay(ScoredDisplay):
    """Share of each class with a score below each threshold; the widest gap is the KS statistic.

    Examples
    --------
    >>> from maxmargin.displays import KsDisplay
    >>> KsDisplay.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).ks.value
    0.5
    """

    positive_scores: FloatArray
    negative_scores: FloatArray
    ks: KsResult
    what: str
    positive_weights: FloatArray | None = None
    negative_weights: FloatArray | None = None

    @classmethod
    def _of(cls, target: BinaryTarget, score: FloatArray, what: str) -> Self:
        return cls(ks=ks_of(target, score), what=what, **_by_class(target, score))

    def _draw(self, ax: Any) -> None:
        ax.ecdf(self.negative_scores, self.negative_weights, color=NEGATIVE, label=self.ks.negative)
        upper = {"color": POSITIVE, "linestyle": "-.", "label": self.ks.positive}
        ax.ecdf(self.positive_scores, self.positive_weights, **upper)
        at = self.ks.threshold
        if np.isfinite(at):
            _draw_gap(ax, at, [1 - self.ks.tpr, 1 - self.ks.fpr], f"KS {self.ks.value:.3f}")
        ax.set(xlabel=self.what, ylabel="share of the class below")
        ax.legend(loc="best")


@dataclass(repr=False)
class ScoreDisplay(ScoredDisplay):
    """Histogram of a score by class, each class with area one.

    Examples
    --------
    >>> from maxmargin.displays import ScoreDisplay
    >>> display = ScoreDisplay.from_scores([0, 0, 1, 1], [480, 520, 600, 640], what="points")
    >>> display.positive_scores.tolist()
    [600.0, 640.0]
    """

    positive_scores: FloatArray
    negative_scores: FloatArray
    positive: str
    negative: str
    what: str
    positive_weights: FloatArray | None = None
    negative_weights: FloatArray | None = None

    @classmethod
    def _of(cls, target: BinaryTarget, score: FloatArray, what: str) -> Self:
        classes = _by_class(target, score)
        return cls(positive=target.positive, negative=target.negative, what=what, **classes)

    def _draw(self, ax: Any) -> None:
        every = np.concatenate([self.positive_scores, self.negative_scores])
        edges = np.histogram_bin_edges(every[np.isfinite(every)], bins="auto")
        if len(edges) > 60:
            edges = np.linspace(edges[0], edges[-1], 61)
        common = {"bins": edges, "density": True}
        lower = {"weights": self.negative_weights, "color": NEGATIVE, "alpha": 0.5, "label": self.negative}
        upper = {"weights": self.positive_weights, "color": POSITIVE, "histtype": "step", "linewidth": 2}
        ax.hist(self.negative_scores, **lower, **common)
        ax.hist(self.positive_scores, label=self.positive, **upper, **common)
        ax.set(xlabel=self.what, ylabel="density")
        ax.legend(loc="best")


@dataclass(repr=False)
class CalibrationDisplay(ScoredDisplay):
    """Observed share of the positive class by group of predicted probability, with Wilson intervals.

    Examples
    --------
    >>> from maxmargin.displays import CalibrationDisplay
    >>> CalibrationDisplay.from_scores([0, 1, 0, 1], [0.2, 0.2, 0.7, 0.7]).table["observed"].tolist()
    [0.5, 0.5]
    """

    table: pd.DataFrame
    positive: str

    @classmethod
    def _of(cls, target: BinaryTarget, score: FloatArray, what: str) -> Self:
        return cls(table=calibration_of(target, score), positive=target.positive)

    def _draw(self, ax: Any) -> None:
        table = self.table
        below, above = table["observed"] - table["low"], table["high"] - table["observed"]
        # rounding may put an observed 0 or 1 outside the interval
        reach = [below.clip(lower=0), above.clip(lower=0)]
        ax.plot([0, 1], [0, 1], color=NEUTRAL, linestyle=":", linewidth=1)
        ax.errorbar(table["predicted"], table["observed"], yerr=reach, color=POSITIVE, marker="o", capsize=2)
        predicted = f"predicted probability of {self.positive}"
        ax.set(xlabel=predicted, ylabel=f"observed share of {self.positive}")
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")


@dataclass(repr=False)
class EvaluationDisplay(EvaluatedDisplay):
    """ROC with KS, distributions, histogram, and calibration if the model gives probabilities.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from maxmargin.displays import EvaluationDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> display = EvaluationDisplay.from_estimator(GaussianNB().fit(X, y), X, y)
    >>> [type(panel).__name__ for panel in display.panels]
    ['RocDisplay', 'KsDisplay', 'ScoreDisplay', 'CalibrationDisplay']
    """

    title: str
    panels: list[Any]

    @classmethod
    def from_result(cls, result: Evaluation) -> Self:
        """From the result of ``mm.evaluate``."""
        ranking = ranking_of(result)
        panels: list[Any] = [RocDisplay.from_result(result), KsDisplay.from_result(result)]
        panels.append(ScoreDisplay.from_result(result))
        if ranking.calibration is not None:
            panels.append(CalibrationDisplay.from_result(result))
        return cls(title=f"{result.model}, {result.n_samples} rows", panels=panels)

    def plot(self, figure: Any = None) -> Self:
        """Draw the panels on ``figure``, or on a new one (in ``figure_``; the Axes in ``axes_``)."""
        if figure is None:
            figure = pyplot().figure(figsize=(10, 9), layout="constrained")
        grid = figure.subplots(2, 2).ravel()
        for panel, ax in zip(self.panels, grid, strict=False):
            panel.plot(ax)
        for ax in grid[len(self.panels) :]:
            ax.remove()
        figure.suptitle(self.title)
        self.figure_, self.axes_ = figure, grid[: len(self.panels)]
        return self
