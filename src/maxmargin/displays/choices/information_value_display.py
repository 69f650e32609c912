"""Variables by information value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from maxmargin.displays.drawing.roles import READING
from maxmargin.displays.drawing.style import axes, shortened
from maxmargin.scorecards import iv_table
from maxmargin.scorecards.binning import binning_of


@dataclass
class IVDisplay:
    """A bar for the information value of each variable, coloured by its reading.

    Examples
    --------
    >>> import pandas as pd
    >>> from maxmargin.displays import IVDisplay
    >>> from maxmargin.scorecards import information_value
    >>> X = pd.DataFrame({"home": ["r", "r", "r", "o", "o", "o"]})
    >>> IVDisplay.from_result(information_value(X, [1, 1, 0, 1, 0, 0])).table["reading"].tolist()
    ['strong']
    """

    table: pd.DataFrame

    @classmethod
    def from_result(cls, table: pd.DataFrame) -> Self:
        """From the table of ``information_value``."""
        return cls(table=table)

    @classmethod
    def from_estimator(cls, model: Any) -> Self:
        """From a fitted `Binning` or a model that holds one (WOEEncoder, IVSelector, Scorecard)."""
        return cls(table=iv_table(binning_of(model)))

    def plot(self, ax: Any = None, *, max_variables: int = 30) -> Self:
        """Draw the best ``max_variables`` on ``ax``, or on a new figure; the Axes are then in ``ax_``."""
        ax = axes(ax)
        shown = self.table.head(max_variables).iloc[::-1]
        places = np.arange(len(shown))
        bars = ax.barh(places, shown["iv"], color=[READING[word] for word in shown["reading"]])
        ax.bar_label(bars, labels=shown["reading"], padding=3, fontsize="small")
        ax.set_yticks(places, [shortened(name) for name in shown["variable"]])
        ax.margins(x=0.15)
        ax.set_xlabel("information value")
        left = len(self.table) - len(shown)
        if left:
            ax.set_title(f"{left} further variables are not shown", fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self
