"""How the scores of the two classes are spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from maxmargin.base.typing import FloatArray
from maxmargin.displays.drawing.roles import NEGATIVE, POSITIVE
from maxmargin.displays.drawing.scored import ScoredDisplay
from maxmargin.displays.drawing.style import axes
from maxmargin.metrics.labels import BinaryTarget


@dataclass
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
        inside, weight = target.is_positive, target.weight
        return cls(
            positive_scores=score[inside],
            negative_scores=score[~inside],
            positive=target.positive,
            negative=target.negative,
            what=what,
            positive_weights=None if weight is None else weight[inside],
            negative_weights=None if weight is None else weight[~inside],
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure; the Axes are then in ``ax_``."""
        ax = axes(ax)
        every = np.concatenate([self.positive_scores, self.negative_scores])
        edges = np.histogram_bin_edges(every[np.isfinite(every)], bins="auto")
        if len(edges) > 60:
            edges = np.linspace(edges[0], edges[-1], 61)
        common = {"bins": edges, "density": True}
        lower = {"weights": self.negative_weights, "color": NEGATIVE, "alpha": 0.5, "label": self.negative}
        upper = {"weights": self.positive_weights, "color": POSITIVE, "histtype": "step", "linewidth": 2}
        ax.hist(self.negative_scores, **lower, **common)
        ax.hist(self.positive_scores, label=self.positive, **upper, **common)
        ax.set_xlabel(self.what)
        ax.set_ylabel("density")
        ax.legend(loc="best")
        self.ax_, self.figure_ = ax, ax.figure
        return self
