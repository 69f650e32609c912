"""Predicted against true values of a regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import column_or_1d

from maxmargin.base.typing import FloatArray
from maxmargin.displays.drawing.style import GREY, OKABE_ITO, axes


@dataclass
class PredictionDisplay:
    """Predicted values against true ones, with the line where both are equal.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X = np.linspace(0, 1, 20).reshape(-1, 1)
    >>> model = mm.SVR(kernel="linear", C=10).fit(X, 2 * X[:, 0])
    >>> mm.displays.PredictionDisplay.from_estimator(model, X, 2 * X[:, 0]).predicted.shape
    (20,)
    """

    truth: FloatArray
    predicted: FloatArray
    target: str

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, target: str | None = None) -> Self:
        """From a fitted regressor and rows with known values; ``target`` is the name on the axes."""
        predicted = np.asarray(model.predict(X), dtype=np.float64)
        truth = column_or_1d(y).astype(np.float64)
        return cls(truth=truth, predicted=predicted, target=target or str(getattr(y, "name", None) or "y"))

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure; the Axes are then in ``ax_``."""
        ax = axes(ax)
        ends = [min(self.truth.min(), self.predicted.min()), max(self.truth.max(), self.predicted.max())]
        ax.plot(ends, ends, color=GREY, linestyle=":", linewidth=1)
        ax.scatter(self.truth, self.predicted, s=14, color=OKABE_ITO[0], alpha=0.6, linewidths=0)
        ax.set_xlabel(f"{self.target}: truth")
        ax.set_ylabel(f"{self.target}: predicted")
        ax.set_aspect("equal", adjustable="datalim")
        self.ax_, self.figure_ = ax, ax.figure
        return self
