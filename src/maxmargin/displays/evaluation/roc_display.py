"""The ROC curve with the Kolmogorov-Smirnov distance marked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from maxmargin.base.typing import FloatArray
from maxmargin.displays.drawing.roles import NEUTRAL, POSITIVE
from maxmargin.displays.drawing.scored import ScoredDisplay
from maxmargin.displays.drawing.style import axes
from maxmargin.metrics import AucResult, KsResult, RocCurve
from maxmargin.metrics.delong import auc_of
from maxmargin.metrics.labels import BinaryTarget
from maxmargin.metrics.ranking import ks_of, roc_of


@dataclass
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

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure; the Axes are then in ``ax_``."""
        ax = axes(ax)
        low, high = self.auc.interval
        span = f" ({low:.3f} to {high:.3f})" if low <= high else ""  # weighted rows have no interval
        text = f"AUC {self.auc.value:.3f}{span}"
        ax.plot(self.curve.fpr, self.curve.tpr, color=POSITIVE, label=text)
        ax.plot([0, 1], [0, 1], color=NEUTRAL, linestyle=":", linewidth=1)
        at = self.ks.fpr
        gap = f"KS {self.ks.value:.3f} at {self.ks.threshold:.3g}"
        ax.plot(
            [at, at], [at, self.ks.tpr], color="black", linestyle="--", marker="o", markersize=4, label=gap
        )
        ax.set_xlabel(f"share of {self.curve.negative} called {self.curve.positive}")
        ax.set_ylabel(f"share of {self.curve.positive} found")
        ax.set_aspect("equal")
        ax.legend(loc="lower right")
        self.ax_, self.figure_ = ax, ax.figure
        return self
