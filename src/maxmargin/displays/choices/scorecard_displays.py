"""Plots of scorecards: the bins of a variable, and variables by information value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from maxmargin.base.parameters import check_choice
from maxmargin.displays.drawing.style import GREY, NEUTRAL, OKABE_ITO, POSITIVE, Display, axes, shortened
from maxmargin.scorecards import iv_table
from maxmargin.scorecards.binning import binning_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_LINES = {"event_rate": "event rate", "woe": "weight of evidence"}
_READING = {
    "useless": GREY,
    "weak": OKABE_ITO[4],
    "medium": OKABE_ITO[0],
    "strong": OKABE_ITO[2],
    "suspicious": OKABE_ITO[5],
}


@dataclass(repr=False)
class BinDisplay(Display):
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
    def from_estimator(cls, model: BaseEstimator, variable: str | int, *, line: str = "event_rate") -> Self:
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

    def _draw(self, ax: Any) -> None:
        places = np.arange(len(self.table))
        ax.bar(places, self.table["share"], color=NEUTRAL, alpha=0.6)
        ax.set_xticks(places, [shortened(label, 28) for label in self.table["bin"]], rotation=30, ha="right")
        ax.set_ylabel("share of rows")
        iv = self.table["iv"].sum()
        ax.set_title(f"{self.variable} (information value {iv:.3f})")
        self.line_ax_ = twin = ax.twinx()
        values, k = self.table[self.line], self.n_regular
        twin.plot(places[:k], values[:k], color=POSITIVE, marker="o")
        # special and missing bins have no order, so no line joins them
        twin.plot(places[k:], values[k:], color=POSITIVE, marker="D", linestyle="none")
        named = f" (event: {self.event})" if self.line == "event_rate" else ""
        twin.set_ylabel(_LINES[self.line] + named, color=POSITIVE)


@dataclass(repr=False)
class IVDisplay:
    """Bars for the information value of the variables, coloured by its interpretation.

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
    def from_estimator(cls, model: BaseEstimator) -> Self:
        """From a fitted `Binning` or a model that holds one (WOEEncoder, IVSelector, Scorecard)."""
        return cls(table=iv_table(binning_of(model)))

    def plot(self, ax: Axes | None = None, *, max_variables: int = 30) -> Self:
        """Draw the best ``max_variables`` on ``ax``, or on a new figure; the Axes are then in ``ax_``."""
        ax = axes(ax)
        shown = self.table.head(max_variables).iloc[::-1]
        places = np.arange(len(shown))
        bars = ax.barh(places, shown["iv"], color=[_READING[word] for word in shown["reading"]])
        ax.bar_label(bars, labels=shown["reading"], padding=3, fontsize="small")
        ax.set_yticks(places, [shortened(name) for name in shown["variable"]])
        ax.margins(x=0.15)
        ax.set_xlabel("information value")
        hidden = len(self.table) - len(shown)
        if hidden:
            ax.set_title(f"{hidden} further variables are not shown", fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self
