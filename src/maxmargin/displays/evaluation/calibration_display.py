"""Predicted probability against observed share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import pandas as pd

from maxmargin.base.typing import FloatArray
from maxmargin.displays.drawing.roles import NEUTRAL, POSITIVE
from maxmargin.displays.drawing.scored import ScoredDisplay
from maxmargin.displays.drawing.style import axes
from maxmargin.metrics.labels import BinaryTarget
from maxmargin.metrics.ranking import calibration_of


@dataclass
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

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure; the Axes are then in ``ax_``."""
        ax = axes(ax)
        table = self.table
        below, above = table["observed"] - table["low"], table["high"] - table["observed"]
        # rounding may put an end of the interval on the wrong side of an observed 0 or 1
        reach = [below.clip(lower=0), above.clip(lower=0)]
        ax.plot([0, 1], [0, 1], color=NEUTRAL, linestyle=":", linewidth=1)
        ax.errorbar(table["predicted"], table["observed"], yerr=reach, color=POSITIVE, marker="o", capsize=2)
        ax.set_xlabel(f"predicted probability of {self.positive}")
        ax.set_ylabel(f"observed share of {self.positive}")
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.02, 1.02)
        ax.set_aspect("equal")
        self.ax_, self.figure_ = ax, ax.figure
        return self
