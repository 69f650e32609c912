"""Predictions by truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from maxmargin.base.typing import FloatArray
from maxmargin.displays.drawing.style import axes, shortened
from maxmargin.metrics import ConfusionTable, Evaluation, evaluate

_WRITTEN = 15  # classes up to which the counts are written into the cells


@dataclass
class ConfusionDisplay:
    """Counts of predictions (rows) by truth (columns); the shade is the share of the true class.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> mm.displays.ConfusionDisplay.from_estimator(mm.SVC().fit(X, y), X, y).counts.shape
    (3, 3)
    """

    counts: FloatArray
    names: tuple[str, ...]

    @classmethod
    def from_result(cls, result: Evaluation | ConfusionTable) -> Self:
        """From what ``mm.evaluate`` or ``confusion_table`` returned."""
        table = result.confusion if isinstance(result, Evaluation) else result
        return cls(counts=table.counts, names=table.names)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, names: Sequence[str] | None = None) -> Self:
        """From a fitted classifier and rows with known classes."""
        return cls.from_result(evaluate(model, X, y, names=names))

    @property
    def shares(self) -> FloatArray:
        """Each cell as a share of its column; 0 where a class has no row."""
        totals = self.counts.sum(axis=0)
        return np.divide(self.counts, totals, out=np.zeros_like(self.counts), where=totals > 0)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure; the Axes are then in ``ax_``."""
        ax = axes(ax)
        shares = self.shares
        image = ax.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
        ax.figure.colorbar(image, ax=ax, label="share of the true class")
        places = np.arange(len(self.names))
        slanted = {"rotation": 45, "ha": "right"} if max(map(len, self.names)) * len(self.names) > 30 else {}
        shown = [shortened(name, 24) for name in self.names]
        ax.set_xticks(places, shown, **slanted)
        ax.set_yticks(places, shown)
        ax.set_xlabel("truth")
        ax.set_ylabel("predicted")
        ax.spines[:].set_visible(False)
        if len(self.names) <= _WRITTEN:
            for (i, j), count in np.ndenumerate(self.counts):
                colour = "white" if shares[i, j] > 0.5 else "black"
                ax.text(j, i, f"{count:g}", ha="center", va="center", color=colour)
        self.ax_, self.figure_ = ax, ax.figure
        return self
