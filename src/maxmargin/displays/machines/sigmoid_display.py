"""The probability of a class along one variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import column_or_1d

from maxmargin.base.typing import AnyArray, FloatArray, TableLike, TargetLike
from maxmargin.displays.drawing.style import OKABE_ITO, Display, legend_below, scatter_classes
from maxmargin.displays.drawing.view import view_of
from maxmargin.displays.machines.support_display import crossings


@dataclass(repr=False)
class SigmoidDisplay(Display):
    """p(x) of a model on one variable, with the rows at 0 and 1 and the point where p = 1/2.

    Attributes
    ----------
    name : of the variable. at : its values; probability : of the second class there, of the same shape.
    positions, codes : the rows and their classes; classes : names. half : where p crosses 1/2.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 1, 0, 1]
    >>> display = mm.displays.SigmoidDisplay.from_estimator(mm.LogisticRegression().fit(x, y), x, y)
    >>> display.half.round(2).tolist()
    [1.5]
    """

    name: str
    at: FloatArray
    probability: FloatArray
    positions: FloatArray
    codes: AnyArray
    classes: tuple[str, ...]
    half: FloatArray

    @classmethod
    def from_estimator(cls, model: Any, X: TableLike, y: TargetLike) -> Self:
        """From a fitted classifier with ``predict_proba``, one variable and two classes."""
        if not hasattr(model, "predict_proba"):
            raise TypeError(f"{type(model).__name__} has no predict_proba.")
        if np.shape(X)[1:] != (1,) or len(model.classes_) != 2:
            raise ValueError(
                f"the curve needs one variable and two classes: X has shape {np.shape(X)}, the model "
                f"{len(model.classes_)} classes."
            )
        view = view_of(model, X)
        at = view.lattice(800)[0]
        probability = np.asarray(model.predict_proba(view.rows(at[:, None])), dtype=np.float64)[:, 1]
        return cls(
            name=view.names[0],
            at=at,
            probability=probability,
            positions=view.positions[:, 0],
            codes=np.searchsorted(model.classes_, column_or_1d(y)),
            classes=tuple(str(label) for label in model.classes_),
            half=crossings([at], probability - 0.5)[:, 0],
        )

    def _draw(self, ax: Any) -> None:
        ax.plot(self.at, self.probability, color=OKABE_ITO[7], label=f"p({self.classes[1]})")
        rows = np.column_stack([self.positions, self.codes])
        scatter_classes(ax, rows, self.codes, self.classes, zorder=3)
        for x in self.half:
            ax.plot([x, x, self.at[0]], [0.0, 0.5, 0.5], color="black", linewidth=0.8, linestyle=":")
        ax.set(xlabel=self.name, ylabel=f"probability of {self.classes[1]}", xlim=self.at[[0, -1]])
        legend_below(ax, ncols=3)
