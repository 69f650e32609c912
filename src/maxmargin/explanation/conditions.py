"""The optimality conditions of every training row, as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.typing import AnyArray, FloatArray
from maxmargin.machines.svm import SVDD
from maxmargin.machines.svm.base import KernelMachine
from maxmargin.machines.svm.fitted_problem import FittedProblem


def kkt_table(model: Any) -> pd.DataFrame:
    """The Karush-Kuhn-Tucker conditions of every training row of a fitted machine.

    For a classifier, with mu_i = C_i - alpha_i the multiplier of xi_i >= 0 (Valera, chapter 3):

        alpha_i = 0          then  y_i f(x_i) >= 1   (outside the band, xi_i = 0)
        0 < alpha_i < C_i    then  y_i f(x_i)  = 1   (on the margin, xi_i = 0)
        alpha_i = C_i        then  y_i f(x_i) <= 1   (inside the band or beyond the boundary, mu_i = 0)

    Without a bound on alpha (squared loss, hard margin) mu is NaN; the squared hinge has alpha_i = 2 C_i xi_i
    in place of the last two lines.

    Parameters
    ----------
    model : fitted SVC, NuSVC, HardMarginSVC, SVR, NuSVR, OneClassSVM, or a Pipeline that ends in one.

    Returns
    -------
    DataFrame with a line for every row of every machine: machine, row, label (or target), alpha, mu (in
    regression one of each for both sides of the tube), y_f (f for detectors, residual in regression), slack,
    condition (the one that must hold) and violation (by how much it does not). Decisions are those that the
    solver left; `maxmargin.certify` computes them again in float64.

    Examples
    --------
    >>> import maxmargin as mm
    >>> model = mm.SVC(kernel="linear").fit([[0.0], [1.0], [2.0], [9.0]], [0, 0, 1, 1])
    >>> mm.kkt_table(model)[["row", "alpha", "mu", "slack", "condition"]].round(3)
       row  alpha   mu  slack            condition
    0    0    0.0  1.0    0.0  alpha = 0: y f >= 1
    1    1    1.0  0.0    0.5  alpha = C: y f <= 1
    2    2    1.0  0.0    0.5  alpha = C: y f <= 1
    3    3    0.0  1.0    0.0  alpha = 0: y f >= 1
    """
    machine = model[-1] if isinstance(model, Pipeline) else model
    if not isinstance(machine, KernelMachine) or isinstance(machine, SVDD):
        raise TypeError(
            "kkt_table knows SVC, NuSVC, HardMarginSVC, SVR, NuSVR and OneClassSVM, not "
            f"{type(machine).__name__}."
        )
    check_is_fitted(machine)
    if is_regressor(machine):
        make = _of_regressor
    else:
        make = _of_classifier if is_classifier(machine) else _of_detector
    tables = [make(machine, one) for one in machine.machines_]
    for k, table in enumerate(tables):
        table.insert(0, "machine", k)
    return pd.concat(tables, ignore_index=True)


def _of_classifier(model: Any, machine: FittedProblem) -> pd.DataFrame:
    y_f = machine.signs * machine.decisions
    squared = getattr(model, "loss", "hinge") == "squared_hinge"
    return pd.DataFrame(
        {
            "row": machine.rows,
            "label": model.classes_[model.class_codes_[machine.rows]],
            "y": machine.signs.astype(np.int64),
            "alpha": machine.alpha,
            "mu": _mu(machine),
            "y_f": y_f,
            "slack": np.maximum(0.0, 1.0 - y_f),
            "condition": _conditions(machine, "y f", "1", squared=squared),
            "violation": machine.violations,
        }
    )


def _of_detector(model: Any, machine: FittedProblem) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "row": machine.rows,
            "alpha": machine.alpha,
            "mu": _mu(machine),
            "f": machine.decisions,
            "slack": np.maximum(0.0, -machine.decisions),
            "condition": _conditions(machine, "f", "0"),
            "violation": machine.violations,
        }
    )


def _of_regressor(model: Any, machine: FittedProblem) -> pd.DataFrame:
    n = len(machine.rows)
    mu, residual = _mu(machine), machine.signs - machine.decisions
    squared = getattr(model, "loss", "") == "squared_epsilon_insensitive"
    above = _conditions(machine, "y - f", "epsilon", rising=True, squared=squared)[:n]
    below = _conditions(machine, "f - y", "epsilon", rising=True, squared=squared)[n:]
    return pd.DataFrame(
        {
            "row": machine.rows,
            "target": machine.signs,
            "alpha_up": machine.alpha[:n],
            "alpha_down": machine.alpha[n:],
            "mu_up": mu[:n],
            "mu_down": mu[n:],
            "residual": residual,
            "slack": np.maximum(0.0, np.abs(residual) - model.epsilon_),
            "condition_up": above,
            "condition_down": below,
            "violation": np.maximum(machine.violations[:n], machine.violations[n:]),
        }
    )


def _mu(machine: FittedProblem) -> FloatArray:
    """The multipliers of xi >= 0: C - alpha; NaN where there is no bound."""
    return np.where(np.isfinite(machine.upper), machine.upper - machine.alpha, np.nan)


def _conditions(
    machine: FittedProblem, what: str, edge: str, *, rising: bool = False, squared: bool = False
) -> AnyArray:
    """The condition of each multiplier, by where it stands in [0, C]; ``rising``: outside is above."""
    inside, outside = ("<=", ">=") if rising else (">=", "<=")
    free = "alpha = 2 C slack" if squared else f"0 < alpha < C: {what} = {edge}"
    at_zero, at_bound = f"alpha = 0: {what} {inside} {edge}", f"alpha = C: {what} {outside} {edge}"
    texts = np.where(machine.alpha > 0, np.where(machine.bounded, at_bound, free), at_zero)
    return texts.astype(object)
