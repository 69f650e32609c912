"""Losses as functions of the margin or of the residual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from maxmargin.base.typing import FloatArray
from maxmargin.displays.drawing.style import OKABE_ITO, Display, legend_below
from maxmargin.problems.losses import by_name, squared_less_epsilon, zero_one

MARGIN_LOSSES = ("zero_one", "hinge", "squared_hinge", "logistic", "squared", "perceptron")
RESIDUAL_LOSSES = ("squared", "epsilon_insensitive", "squared_epsilon_insensitive")
_STYLES = ["-", "-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1))]
_COLOURS = [OKABE_ITO[k] for k in (7, 0, 4, 2, 3, 5)]
_HEIGHT = 4.0


@dataclass(repr=False)
class LossDisplay(Display):
    """L as a function of the margin y f, or of the residual f - y for regression.

    Attributes
    ----------
    at : margins or residuals of shape (n_points,). values : by name of the loss, of the same shape.
    axis : label of ``at``. chosen : the loss drawn with a thick line, or None.

    Examples
    --------
    >>> import maxmargin as mm
    >>> display = mm.displays.LossDisplay.from_names(["hinge", "zero_one"])
    >>> float(display.values["hinge"][display.at == 0.0][0])
    1.0
    """

    at: FloatArray
    values: dict[str, FloatArray]
    axis: str
    chosen: str | None = None

    @classmethod
    def from_names(
        cls,
        names: Sequence[str] = MARGIN_LOSSES,
        *,
        regression: bool = False,
        epsilon: float = 0.5,
        span: tuple[float, float] = (-2.5, 2.5),
        chosen: str | None = None,
    ) -> Self:
        """From names of losses; ``regression`` takes f - y, ``epsilon`` is the half width of the tube.

        "squared_less_epsilon" is max(0, r^2 - epsilon), the loss of Valera (7.5); no estimator minimises it.
        """
        at = np.linspace(*span, 1001)
        known = RESIDUAL_LOSSES if regression else MARGIN_LOSSES
        values = {name: _values(name, at, known, epsilon, regression) for name in names}
        axis = "residual f(x) - y" if regression else "margin y f(x)"
        return cls(at=at, values=values, axis=axis, chosen=chosen)

    @classmethod
    def from_estimator(cls, model: BaseEstimator) -> Self:
        """From a model with a ``loss``, drawn with a thick line among similar losses."""
        last = model[-1] if isinstance(model, Pipeline) else model
        loss = getattr(last, "loss", None) or _IMPLIED.get(type(last).__name__)
        if loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
            epsilon = float(last.epsilon)
            reach = max(2.5, 5 * epsilon)
            return cls.from_names(
                RESIDUAL_LOSSES, regression=True, epsilon=epsilon, span=(-reach, reach), chosen=loss
            )
        if loss not in MARGIN_LOSSES:
            raise TypeError(f"{type(last).__name__} has no loss that is a function of the margin.")
        return cls.from_names(chosen=loss)

    def _draw(self, ax: Any) -> None:
        for k, (name, values) in enumerate(self.values.items()):
            width = 3.2 if name == self.chosen else 1.6
            style, colour = _STYLES[k % len(_STYLES)], _COLOURS[k % len(_COLOURS)]
            ax.plot(
                self.at, values, color=colour, linestyle=style, linewidth=width, label=name.replace("_", " ")
            )
        ax.axvline(0.0, color="black", linewidth=0.6)
        ax.set(xlabel=self.axis, ylabel="loss", xlim=self.at[[0, -1]], ylim=(-0.05, _HEIGHT))
        legend_below(ax, ncols=3)


_IMPLIED = {
    "LogisticRegression": "logistic",
    "Perceptron": "perceptron",
    "KernelPerceptron": "perceptron",
    "Pegasos": "hinge",
    "PassiveAggressive": "hinge",
    "HardMarginSVC": "hinge",
    "NuSVC": "hinge",
}


def _values(
    name: str, at: FloatArray, known: tuple[str, ...], epsilon: float, regression: bool
) -> FloatArray:
    """L(1, at): for y = 1 the score is the margin; for y = 0 it is the residual."""
    target = np.zeros_like(at) if regression else np.ones_like(at)
    if name == "zero_one" and not regression:
        return zero_one(at, target)
    if name == "squared_less_epsilon" and regression:
        return squared_less_epsilon(at, target, epsilon)
    width = epsilon if "epsilon" in name else None
    return by_name(name, tuple(k for k in known if k != "zero_one"), epsilon=width).value(at, target)
