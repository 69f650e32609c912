"""The empirical risk: mean loss of scores."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from maxmargin.base.parameters import check_choice
from maxmargin.base.typing import LabelLike, TargetLike, WeightLike
from maxmargin.metrics.labels import Measure, scored_target
from maxmargin.problems.losses import by_name, zero_one

MarginLoss = Literal["zero_one", "hinge", "squared_hinge", "logistic", "perceptron"]
_LOSSES = ("zero_one", "hinge", "squared_hinge", "logistic", "perceptron")


def empirical_risk(
    y: TargetLike,
    score: npt.ArrayLike,
    *,
    loss: MarginLoss = "zero_one",
    positive: LabelLike | None = None,
    sample_weight: WeightLike | None = None,
) -> Measure:
    """Mean loss of the scores f(x) on rows with labels ``y``.

    R = (1/n) sum_i L(y_i f(x_i)) with y_i = +1 for the positive class and -1 for the others. The 0-1 risk
    (f = 0 counts as -1, as ``predict`` does) is never above the hinge risk (Valera, chapter 3).

    Parameters
    ----------
    y : labels of shape (n_samples,). score : f(x), as ``decision_function`` gives it, of the same shape.
    loss : "zero_one", "hinge", "squared_hinge", "logistic" or "perceptron".
    positive : the class of positive scores; by default the last one in order.
    sample_weight : weights of the rows.

    Examples
    --------
    >>> from maxmargin.metrics import empirical_risk
    >>> f = [2.0, 0.5, -0.5, -3.0]
    >>> print(empirical_risk([1, 1, 1, 0], f), empirical_risk([1, 1, 1, 0], f, loss="hinge"))
    0.2500 (1 against 0) 0.5000 (1 against 0)
    """
    check_choice("loss", loss, _LOSSES)
    target, f = scored_target(y, score, positive=positive, sample_weight=sample_weight)
    sign = np.where(target.is_positive, 1.0, -1.0)
    by_row = zero_one(f, sign) if loss == "zero_one" else by_name(loss, _LOSSES).value(f, sign)
    risk = float(np.average(by_row, weights=target.weights))
    return Measure(risk, positive=target.positive, negative=target.negative)
