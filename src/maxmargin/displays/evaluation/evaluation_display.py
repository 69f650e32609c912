"""All pictures of an evaluation on one page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from maxmargin.displays.drawing.scored import ranking_of
from maxmargin.displays.evaluation.calibration_display import CalibrationDisplay
from maxmargin.displays.evaluation.ks_display import KsDisplay
from maxmargin.displays.evaluation.roc_display import RocDisplay
from maxmargin.displays.evaluation.scores_display import ScoreDisplay
from maxmargin.metrics import Evaluation, evaluate


@dataclass
class EvaluationDisplay:
    """ROC with KS, distributions, histogram, and calibration where the model gives probabilities.

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
        """From what ``mm.evaluate`` returned."""
        ranking = ranking_of(result)
        panels: list[Any] = [RocDisplay.from_result(result), KsDisplay.from_result(result)]
        panels.append(ScoreDisplay.from_result(result))
        if ranking.calibration is not None:
            panels.append(CalibrationDisplay.from_result(result))
        return cls(title=f"{result.model}, {result.n_samples} rows", panels=panels)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, positive: Any = None, names: Sequence[str] | None = None
    ) -> Self:
        """From a fitted classifier and rows with known classes."""
        return cls.from_result(evaluate(model, X, y, positive=positive, names=names))

    def plot(self, figure: Any = None) -> Self:
        """Draw the panels on ``figure``, or on a new one (in ``figure_``; the Axes in ``axes_``)."""
        import matplotlib.pyplot as plt

        if figure is None:
            figure = plt.figure(figsize=(10, 9), layout="constrained")
        grid = figure.subplots(2, 2).ravel()
        for panel, ax in zip(self.panels, grid, strict=False):
            panel.plot(ax)
        for ax in grid[len(self.panels) :]:
            ax.remove()
        figure.suptitle(self.title)
        self.figure_, self.axes_ = figure, grid[: len(self.panels)]
        return self
