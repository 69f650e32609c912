"""The optimality conditions of every training row, as a table."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.shown import ShownTable
from maxmargin.base.typing import AnyArray, FloatArray, IntArray
from maxmargin.explanation.steps import Step
from maxmargin.machines.svm.base import KernelMachine
from maxmargin.machines.svm.fitted_problem import FittedProblem


def kkt_table(model: BaseEstimator, step: Step | None = None) -> pd.DataFrame:
    """The Karush-Kuhn-Tucker conditions of every training row of a fitted machine.

    For a classifier, with mu_i = C_i - alpha_i the multiplier of xi_i >= 0 (Valera, chapter 3):

        alpha_i = 0          then  y_i f(x_i) >= 1   (outside the band, xi_i = 0)
        0 < alpha_i < C_i    then  y_i f(x_i)  = 1   (on the margin, xi_i = 0)
        alpha_i = C_i        then  y_i f(x_i) <= 1   (inside the band or beyond the boundary, mu_i = 0)

    Without a bound on alpha (squared loss, hard margin) mu is NaN; the squared hinge has alpha_i = 2 C_i xi_i
    in place of the last two lines.

    Parameters
    ----------
    model : fitted SVC, NuSVC, HardMarginSVC, SVR, NuSVR, OneClassSVM, SVDD, or a Pipeline that ends in one.
    step : a state of this model from `maxmargin.steps`; the table then describes the unfinished machine.

    Returns
    -------
    DataFrame with a line for every row of every machine: machine, row, label (or target), alpha, mu (in
    regression one of each for both sides of the tube), y_f (f for detectors, residual in regression), slack,
    condition (which must hold) and violation (by how much it is violated). Decision values are those of the
    solver; `maxmargin.certify` recomputes them in float64.

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
    if not isinstance(machine, KernelMachine):
        raise TypeError(
            "kkt_table supports SVC, NuSVC, HardMarginSVC, SVR, NuSVR, OneClassSVM and SVDD, not "
            f"{type(machine).__name__}."
        )
    check_is_fitted(machine)
    if step is None:
        tables = [_table(machine, one, k) for k, one in enumerate(machine.machines_)]
        return tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)
    if step.machine is None or step.owner.model is not machine:
        raise ValueError("step must be a state of this model: take it from mm.steps(model, X, y).")
    return _table(machine, step.machine, step.owner.number)


class Conditions(NamedTuple):
    """The condition of each multiplier, as a number into a short list of texts."""

    texts: tuple[str, ...]
    codes: IntArray

    def written(self) -> AnyArray:
        return np.array(self.texts, dtype=object)[self.codes]


def _table(model: Any, machine: FittedProblem, number: int) -> pd.DataFrame:
    columns = conditions_of(model, machine)
    return ShownTable(
        {"machine": number}
        | {name: c.written() if isinstance(c, Conditions) else c for name, c in columns.items()}
    )


def conditions_of(model: Any, machine: FittedProblem) -> dict[str, Any]:
    """The columns of `kkt_table` for one machine: arrays, and `Conditions` for the texts."""
    if is_regressor(model):
        return _of_regressor(model, machine)
    return _of_classifier(model, machine) if is_classifier(model) else _of_detector(model, machine)


def _of_classifier(model: Any, machine: FittedProblem) -> dict[str, Any]:
    y_f = machine.signs * machine.decisions
    squared = getattr(model, "loss", "hinge") == "squared_hinge"
    return {
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


def _of_detector(model: Any, machine: FittedProblem) -> dict[str, Any]:
    f = machine.decisions
    return {
        "row": machine.rows,
        "alpha": machine.alpha,
        "mu": _mu(machine),
        "f": f,
        "slack": np.maximum(0.0, -f),
        "condition": _conditions(machine, "f", "0"),
        "violation": machine.violations,
    }


def _of_regressor(model: Any, machine: FittedProblem) -> dict[str, Any]:
    n = len(machine.rows)
    mu, residual = _mu(machine), machine.signs - machine.decisions
    squared = getattr(model, "loss", "") == "squared_epsilon_insensitive"
    above = _conditions(machine, "y - f", "epsilon", rising=True, squared=squared)
    below = _conditions(machine, "f - y", "epsilon", rising=True, squared=squared)
    return {
        "row": machine.rows,
        "target": machine.signs,
        "alpha_up": machine.alpha[:n],
        "alpha_down": machine.alpha[n:],
        "mu_up": mu[:n],
        "mu_down": mu[n:],
        "residual": residual,
        "slack": np.maximum(0.0, np.abs(residual) - model.epsilon_),
        "condition_up": Conditions(above.texts, above.codes[:n]),
        "condition_down": Conditions(below.texts, below.codes[n:]),
        "violation": np.maximum(machine.violations[:n], machine.violations[n:]),
    }


def _mu(machine: FittedProblem) -> FloatArray:
    """The multipliers of xi >= 0: C - alpha; NaN where there is no bound."""
    return np.where(np.isfinite(machine.upper), machine.upper - machine.alpha, np.nan)


def _conditions(
    machine: FittedProblem, what: str, edge: str, *, rising: bool = False, squared: bool = False
) -> Conditions:
    """The condition of each multiplier by its place in [0, C]; ``rising`` if f grows towards the outside."""
    inside, outside = ("<=", ">=") if rising else (">=", "<=")
    free = "alpha = 2 C slack" if squared else f"0 < alpha < C: {what} = {edge}"
    at_zero, at_bound = f"alpha = 0: {what} {inside} {edge}", f"alpha = C: {what} {outside} {edge}"
    codes = np.where(machine.alpha > 0, np.where(machine.bounded, 2, 1), 0)
    return Conditions((at_zero, free, at_bound), codes)
