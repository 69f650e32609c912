"""The decision for one row as a sum over support vectors."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.shown import ShownTable, short_repr, shown
from maxmargin.base.tables import as_dense
from maxmargin.base.typing import FloatArray, TargetLike
from maxmargin.explanation.steps import sides
from maxmargin.kernels import Linear
from maxmargin.kernels.kernel_products import kernel_times
from maxmargin.kernels.vectors import lost_by_shift
from maxmargin.machines.svm import SVDD
from maxmargin.machines.svm.base import KernelMachine

_SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)  # act on single columns, invertible


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """One decision, f(x) = sum of terms + intercept.

    Attributes
    ----------
    prediction : class, value, or +1/-1 of a detector. against : the other class of this machine.
    decision : f(x) of this machine. intercept : its constant part (b; for SVDD b - K(x, x)).
    terms : table of all support vectors, the largest terms first: row (of the training table), label or
        target, coefficient, kernel (K with this row), term (their product).
    slack : of this row if ``y`` is given, else of a row of the predicted class; 0 on the right side.
    to_boundary : distance in feature space to f = 0, nan in regression.
    to_margin : distance to the margin on its side, negative inside the margin; nan except for classifiers.
    decisions : f(x) of all machines, by name.
    changes : for linear kernels: the value and weight of every column, the value that alone would move the
        row to the boundary, and the value at the nearest point of the boundary.

    >>> import maxmargin as mm
    >>> model = mm.SVC(kernel="linear", C=10.0).fit([[0.0], [2.0]], ["left", "right"])
    >>> said = mm.explain(model, [2.0])
    >>> str(said.prediction), round(float(said.decision), 6)
    ('right', 1.0)
    """

    prediction: Any
    against: Any
    decision: float
    intercept: float
    terms: pd.DataFrame
    slack: float
    to_boundary: float
    to_margin: float
    decisions: pd.Series[float]
    changes: pd.DataFrame | None = None

    __repr__ = short_repr

    def __str__(self) -> str:
        versus = "" if self.against is None else f" (against {self.against})"
        lines = [f"prediction {self.prediction}{versus}: f(x) = {self.decision:.4g}"]
        if not np.isnan(self.to_boundary):
            lines.append(f"distance to the boundary {self.to_boundary:.4g}")
        if not np.isnan(self.to_margin):
            where = "beyond" if self.to_margin >= 0 else "inside"
            lines[-1] += f", {where} the margin by {abs(self.to_margin):.4g}"
        if not np.isnan(self.slack):
            lines.append(f"slack {self.slack:.4g}")
        largest = self.terms.head(5)
        lines.append(f"{len(self.terms)} support vectors, the largest terms:")
        lines.append(shown(largest, index=False))
        rest = float(self.terms["term"].iloc[len(largest) :].sum())
        lines.append(f"the others add {rest:.4g}, the intercept {self.intercept:.4g}")
        if self.changes is not None:
            lines.append("what would put it on the boundary:")
            lines.append(shown(self.changes.head(5), index=False))
        return "\n".join(lines)


def explain(
    model: BaseEstimator, row: Any, *, y: TargetLike | None = None, machine: int | None = None
) -> Explanation:
    """The decision of one row as a sum over support vectors.

    Parameters
    ----------
    model : fitted SVC, NuSVC, HardMarginSVC, SVR, NuSVR, OneClassSVM or SVDD, or a Pipeline that ends in one.
    row : one row: an array or list of numbers, a pandas Series, a table with one row, or a string.
    y : its true label or target, for its slack.
    machine : with several classes, the number of the binary machine to explain. By default the decisive one:
        that of the predicted class ("ovr"), or the closest contest that the predicted class won ("ovo").

    Examples
    --------
    >>> import maxmargin as mm
    >>> model = mm.SVC(kernel="linear").fit([[0.0], [1.0], [2.0], [9.0]], ["a", "a", "b", "b"])
    >>> print(mm.explain(model, [1.8]))
    prediction b (against a): f(x) = 0.3
    distance to the boundary 0.3, inside the margin by 0.7
    slack 0.7
    2 support vectors, the largest terms:
     row label  coefficient  kernel  term
       2     b            1     3.6   3.6
       1     a           -1     1.8  -1.8
    the others add 0, the intercept -1.5
    what would put it on the boundary:
    column  value  weight  alone  nearest
        x0    1.8       1    1.5      1.5
    """
    front, last = (model[:-1], model[-1]) if isinstance(model, Pipeline) else (None, model)
    if not isinstance(last, KernelMachine):
        raise TypeError(f"explain supports the support vector machines, not {type(last).__name__}.")
    check_is_fitted(last)
    given = _one_row(row)
    seen = given if front is None or not front.steps else front.transform(given)
    decisions = _all_decisions(last, seen)
    k = _machine_number(last, seen, decisions) if machine is None else machine
    if not 0 <= k < len(last.machines_):
        raise ValueError(f"machine={k} does not exist: the model has {len(last.machines_)} machines.")
    terms = _terms(last, seen, k)
    constant = float(last.intercept_[k])
    if isinstance(last, SVDD):
        constant -= float(last.kernel_.diagonal(last.points_of(seen))[0])
    f = float(terms["term"].sum()) + constant
    prediction, against, side = _sides(last, seen, k, f)
    return Explanation(
        prediction=prediction,
        against=against,
        decision=f,
        intercept=constant,
        terms=terms,
        slack=_slack(last, f, side, y, k),
        to_boundary=_distance(last, k, f),
        to_margin=(side * f - 1.0) / _norm(last, k) if is_classifier(last) else nan,
        decisions=decisions,
        changes=_changes(last, front, seen, k, f),
    )


def _one_row(row: Any) -> Any:
    """A table with one row."""
    if isinstance(row, pd.Series):
        return row.to_frame().T.infer_objects()
    if isinstance(row, str):
        return [row]
    if hasattr(row, "columns") or sp.issparse(row):
        table = row
    else:
        table = np.asarray(row)
        table = table.reshape(1, -1) if table.ndim == 1 else table
    if table.ndim != 2 or table.shape[0] != 1:
        got = f"{row!r}" if table.ndim == 0 else f"an array of shape {table.shape}"
        raise ValueError(f"explain takes one row, got {got}: give X[i:i + 1] or X.iloc[i].")
    return table


# -- which machine, which side -----------------------------------------------------------------------------


def _all_decisions(model: Any, seen: Any) -> pd.Series[float]:
    if not is_classifier(model):
        return pd.Series({"f": float(model.single_decision(seen)[0])})
    names = [f"{a} or {b}" for a, b in _contests(model)]
    return pd.Series(model.binary_decisions(seen)[0], index=names)


def _contests(model: Any) -> list[tuple[Any, Any]]:
    """The classes of every machine: the one for f > 0, and the other (or "the rest")."""
    found = [sides(model, k) for k in range(len(model.machines_))]
    return [(positive, "the rest" if negative is None else negative) for negative, positive in found]


def _machine_number(model: Any, seen: Any, decisions: pd.Series[float]) -> int:
    if len(model.machines_) == 1:
        return 0
    winner = int(np.flatnonzero(model.classes_ == model.predict(seen)[0])[0])
    if model.multiclass == "ovr":
        return winner
    mine = [
        (float(decisions.iloc[k]) * (1 if task.positive == winner else -1), k)
        for k, task in enumerate(model.binary_tasks_)
        if winner in (task.positive, task.negative)
    ]
    return min(mine)[1]  # the contest that the winner won by the smallest margin


def _sides(model: Any, seen: Any, k: int, f: float) -> tuple[Any, Any, float]:
    """The prediction, the other class of machine k, and the sign of f on the prediction's side."""
    prediction = model.predict(seen)[0]
    if not is_classifier(model):
        return prediction, None, 1.0 if f >= 0 else -1.0
    positive, negative = _contests(model)[k]
    side = 1.0 if f > 0 else -1.0
    if prediction in (positive, negative):
        side = 1.0 if prediction == positive else -1.0
    return prediction, negative if side > 0 else positive, side


def _distance(model: Any, k: int, f: float) -> float:
    """From phi(x) to the surface f = 0: a hyperplane, or a sphere."""
    if is_regressor(model):
        return nan
    if isinstance(model, SVDD):
        return abs(model.radius_ - float(np.sqrt(max(model.radius_**2 - f, 0.0))))
    return abs(f) / _norm(model, k)


def _norm(model: Any, k: int) -> float:
    """||w|| in float64: w'w = sum_ij beta_i beta_j K(x_i, x_j) over the support vectors."""
    points, beta = model.support_points_.astype(np.float64), _coefficients(model, k)
    square = float(beta @ kernel_times(model.kernel_, points, points, beta))
    return max(float(np.sqrt(max(square, 0.0))), 1e-300)


def _coefficients(model: Any, k: int) -> FloatArray:
    """Coefficients of machine k for all support vectors of the model."""
    machine = model.machines_[k]
    full = np.zeros(model.shape_fit_[0])
    full[machine.rows] = machine.beta
    return full[model.support_]


def _slack(model: Any, f: float, side: float, y: Any, k: int) -> float:
    if is_regressor(model):
        return nan if y is None else max(0.0, abs(float(y) - f) - float(model.epsilon_))
    if not is_classifier(model):
        return max(0.0, -f)
    if y is not None:
        positive, negative = _contests(model)[k]
        if y not in (positive, negative) and negative != "the rest":
            raise ValueError(
                f"y={y!r} is not a class of this machine: it decides {positive!r} or {negative!r}."
            )
        side = 1.0 if y == positive else -1.0
    return max(0.0, 1.0 - side * f)


# -- the sum -----------------------------------------------------------------------------------------------


def _terms(model: Any, seen: Any, k: int) -> pd.DataFrame:
    machine, coefficients = model.machines_[k], _coefficients(model, k)
    K = np.asarray(model.kernel_.gram(model.points_of(seen), model.support_points_), dtype=np.float64)[0]
    if not isinstance(model, SVDD):
        K = K + lost_by_shift(model.kernel_, model.support_points_)
    table = ShownTable({"row": model.support_, "coefficient": coefficients, "kernel": K})
    if is_classifier(model):
        table.insert(1, "label", model.classes_[model.class_codes_[model.support_]])
    elif is_regressor(model):
        target = np.zeros(model.shape_fit_[0])
        target[machine.rows] = machine.signs
        table.insert(1, "target", target[model.support_])
    table["term"] = table["coefficient"] * table["kernel"]
    table = table[table["coefficient"] != 0]
    order = np.argsort(-np.abs(table["term"].to_numpy()), kind="stable")
    return table.iloc[order].reset_index(drop=True)


def _changes(model: Any, front: Any, seen: Any, k: int, f: float) -> pd.DataFrame | None:
    """The change of each column that reaches the boundary, for linear kernels, in units before scaling."""
    if is_regressor(model) or isinstance(model, SVDD):
        return None
    if not isinstance(model.kernel_, Linear) or model.kernel_.features is not None:
        return None
    w = as_dense(model.coef_)[k].astype(np.float64)
    x = np.asarray(seen.todense() if sp.issparse(seen) else seen, dtype=np.float64).ravel()
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = np.where(w != 0, x - f / w, np.nan)
    nearest = x - f * w / max(float(w @ w), 1e-300)
    names = _column_names(model, front, len(w))
    if front is not None and front.steps and all(isinstance(step, _SCALERS) for _, step in front.steps):
        x, nearest, alone = (front.inverse_transform(row[None])[0] for row in (x, nearest, alone))
        names = list(getattr(front, "feature_names_in_", names))
    table = ShownTable({"column": names, "value": x, "weight": w, "alone": alone, "nearest": nearest})
    return table.iloc[np.argsort(-np.abs(w), kind="stable")].reset_index(drop=True)


def _column_names(model: Any, front: Any, n: int) -> list[Any]:
    if front is not None and front.steps and hasattr(front, "get_feature_names_out"):
        try:
            return list(front.get_feature_names_out())
        except (AttributeError, ValueError):
            pass  # a step without feature names: use numbers
    return list(getattr(model, "feature_names_in_", [f"x{j}" for j in range(n)]))
