"""The two distributions of a score, and the distance between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from maxmargin.base.typing import FloatArray
from maxmargin.displays.drawing.roles import NEGATIVE, POSITIVE
from maxmargin.displays.drawing.scored import ScoredDisplay
from maxmargin.displays.drawing.style import axes
from maxmargin.metrics import KsResult
from maxmargin.metrics.labels import BinaryTarget
from maxmargin.metrics.ranking import ks_of


@dataclass
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
        order = np.argsort(score, kind="stable")
        inside = target.is_positive[order]
        positives, negatives = order[inside], order[~inside]
        weight = target.weight
        return cls(
            positive_scores=score[positives],
            negative_scores=score[negatives],
            ks=ks_of(target, score),
            what=what,
            positive_weights=None if weight is None else weight[positives],
            negative_weights=None if weight is None else weight[negatives],
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure; the Axes are then in ``ax_``."""
        ax = axes(ax)
        ax.ecdf(self.negative_scores, self.negative_weights, color=NEGATIVE, label=self.ks.negative)
        ax.ecdf(
            self.positive_scores,
            self.positive_weights,
            color=POSITIVE,
            linestyle="-.",
            label=self.ks.positive,
        )
        at = self.ks.threshold
        if np.isfinite(at):
            ends = [1 - self.ks.tpr, 1 - self.ks.fpr]
            ax.plot(
                [at, at],
                ends,
                color="black",
                linestyle="--",
                marker="o",
                markersize=4,
                label=f"KS {self.ks.value:.3f}",
            )
        ax.set_xlabel(self.what)
        ax.set_ylabel("share of the class below")
        ax.legend(loc="best")
        self.ax_, self.figure_ = ax, ax.figure
        return self
