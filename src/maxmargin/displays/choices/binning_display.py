"""The bins of a variable: how many rows, and how many events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from maxmargin.base.parameters import check_choice
from maxmargin.displays.drawing.roles import NEUTRAL, POSITIVE
from maxmargin.displays.drawing.style import axes, shortened
from maxmargin.scorecards.binning import binning_of

_LINES = {"event_rate": "event rate", "woe": "weight of evidence"}


@dataclass
class BinDisplay:
    """Bars for the share of rows in each bin, a line for the event rate or the weight of evidence.

    Examples
    --------
    >>> import pandas as pd
    >>> from maxmargin.displays import BinDisplay
    >>> from maxmargin.scorecards import Binning
    >>> X, y = pd.DataFrame({"age": [20, 30, 40, 50]}), [1, 1, 0, 0]
    >>> BinDisplay.from_estimator(Binning().fit(X, y), "age").table["bin"].tolist()
    ['(-inf, 35]', '(35, inf)']
    """

    table: pd.DataFrame
    variable: str
    n_regular: int
    line: str
    event: str

    @classmethod
    def from_estimator(cls, model: Any, variable: str | int, *, line: str = "event_rate") -> Self:
        """From a fitted `Binning` or a model with one (WOEEncoder, Scorecard); empty bins are left out."""
        check_choice("line", line, tuple(_LINES))
        binning = binning_of(model)
        table = binning.table(variable)
        name = str(table["variable"][0])
        filled = table["count"] > 0
        regular = next(bins for bins in binning.bins_ if bins.name == name).n_regular
        return cls(
            table=table[filled].reset_index(drop=True),
            variable=name,
            n_regular=int(filled[:regular].sum()),
            line=line,
            event=str(binning.event_),
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure; the Axes are in ``ax_``, those of the line in ``line_ax_``."""
        ax = axes(ax)
        places = np.arange(len(self.table))
        ax.bar(places, self.table["share"], color=NEUTRAL, alpha=0.6)
        ax.set_xticks(places, [shortened(label, 28) for label in self.table["bin"]], rotation=30, ha="right")
        ax.set_ylabel("share of rows")
        iv = self.table["iv"].sum()
        ax.set_title(f"{self.variable} (information value {iv:.3f})")
        twin = ax.twinx()
        values, k = self.table[self.line], self.n_regular
        twin.plot(places[:k], values[:k], color=POSITIVE, marker="o")
        # special and missing bins have no place in the order, so no line leads to them
        twin.plot(places[k:], values[k:], color=POSITIVE, marker="D", linestyle="none")
        named = f" (event: {self.event})" if self.line == "event_rate" else ""
        twin.set_ylabel(_LINES[self.line] + named, color=POSITIVE)
        self.ax_, self.line_ax_, self.figure_ = ax, twin, ax.figure
        return self
