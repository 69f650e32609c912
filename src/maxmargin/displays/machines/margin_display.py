"""Regions, boundary, margins, support vectors and slacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_outlier_detector, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import column_or_1d

from maxmargin.base.typing import AnyArray, FloatArray, TableLike, TargetLike
from maxmargin.displays.drawing.margin_drawing import draw_line, draw_plane, draw_surface, draw_tube
from maxmargin.displays.drawing.style import Display
from maxmargin.displays.drawing.view import Features, View, view_of
from maxmargin.displays.machines.support_display import Kinds, kinds_of, slack_segments
from maxmargin.machines.linear import LinearSVC
from maxmargin.machines.online import PassiveAggressive, Pegasos

_CELLS = 2_000_000  # values of the rows that are predicted together
Task = Literal["two classes", "classes", "regression", "outliers"]


@dataclass(repr=False)
class MarginDisplay(Display):
    """Regions, boundary f = 0, margins f = -1 and +1, support vectors by kind, and slacks as segments.

    One variable is drawn as a line, two as a plane. With more variables the plot shows a chosen pair with the
    others at their median, or the plane of the first two principal components; the title tells which.
    Regression shows the tube, outlier detection the contour f = 0.

    Attributes
    ----------
    task : "two classes", "classes", "regression" or "outliers".
    names : names of the axes. positions : rows of shape (n_samples, n_axes).
    target : codes of the classes, or the values of a regression, of shape (n_samples,); None for outliers.
    classes : names of the classes; target_name : of the regression's target.
    lattice : values along each axis; surface : f (or the code of the class) on the grid.
    kinds : "outside", "free", "inside" or "misclassified" for each row, None if not known.
    slacks : segments from a row to its margin, of shape (n_segments, 2, n_axes).
    margins : True when f = -1 and +1 are the margins of the model. epsilon : half width of the tube.
    note : how variables that are not shown are treated.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> two = y > 0
    >>> X, y = X.loc[two, ["petal length (cm)", "petal width (cm)"]], y[two]
    >>> display = mm.displays.MarginDisplay.from_estimator(mm.SVC(kernel="linear").fit(X, y), X, y)
    >>> display.task, display.names
    ('two classes', ('petal length (cm)', 'petal width (cm)'))
    """

    task: Task
    names: tuple[str, ...]
    positions: FloatArray
    target: AnyArray | None
    classes: tuple[str, ...]
    target_name: str
    lattice: list[FloatArray]
    surface: FloatArray
    kinds: AnyArray | None
    slacks: FloatArray
    margins: bool
    epsilon: float | None
    note: str

    @classmethod
    def from_estimator(
        cls,
        model: BaseEstimator,
        X: TableLike,
        y: TargetLike | None = None,
        *,
        features: Features = None,
        names: Any = None,
        resolution: int = 200,
    ) -> Self:
        """From a fitted model and the rows to be shown.

        Parameters
        ----------
        model : fitted classifier, regressor or outlier detector, alone or at the end of a Pipeline.
        X, y : rows and targets; if they are the training rows, support vectors are marked.
        features : one or two variables (names or numbers), "pca", or None: all variables if there are one
            or two, else "pca".
        names : names of the classes, in the order of ``model.classes_``.
        resolution : points along each axis at which the model is evaluated.
        """
        task = _task(model)
        view = view_of(model, X, features)
        lattice = view.lattice(resolution if len(view.names) == 2 else 8 * resolution)
        function = drawn_function(view.model, task)
        target, classes = _target(model, y, task, names)
        kinds = kinds_of(model, X, target, task)
        margins = task == "two classes" and _has_margins(model)
        surface = surface_over(view, lattice, function)
        return cls(
            task=task,
            names=view.names,
            positions=view.positions,
            target=target,
            classes=classes,
            target_name=str(getattr(y, "name", None) or "target"),
            lattice=lattice,
            surface=surface,
            kinds=kinds.of_rows,
            slacks=_slacks(view, function, lattice, surface, target, kinds, margins),
            margins=margins,
            epsilon=kinds.epsilon,
            note=view.note,
        )

    def _draw(self, ax: Any) -> None:
        if self.task == "regression":
            (draw_tube if len(self.names) == 1 else draw_surface)(ax, self)
        else:
            (draw_line if len(self.names) == 1 else draw_plane)(ax, self)
        if self.note:
            ax.set_title(self.note, fontsize="small")


def _task(model: Any) -> Task:
    if is_classifier(model):
        return "two classes" if len(model.classes_) == 2 else "classes"
    if is_regressor(model):
        return "regression"
    if is_outlier_detector(model):
        return "outliers"
    raise TypeError(f"{type(model).__name__} is not a classifier, a regressor or an outlier detector.")


def _has_margins(model: Any) -> bool:
    """True if f = -1 and +1 are margins of the model."""
    last = model[-1] if isinstance(model, Pipeline) else model
    hinge = isinstance(last, (LinearSVC, Pegasos, PassiveAggressive))
    return hasattr(last, "support_vectors_") or hinge


def drawn_function(model: Any, task: Task) -> Any:
    """The function that is drawn: f, the number of the predicted class, or the prediction."""
    if task == "regression":
        return lambda rows: np.asarray(model.predict(rows), dtype=np.float64)
    if task == "classes":
        return lambda rows: np.searchsorted(model.classes_, model.predict(rows)).astype(np.float64)
    if hasattr(model, "decision_function"):
        return lambda rows: np.asarray(model.decision_function(rows), dtype=np.float64)
    return lambda rows: np.asarray(model.predict_proba(rows))[:, 1] - 0.5


def _target(model: Any, y: Any, task: Task, names: Any) -> tuple[AnyArray | None, tuple[str, ...]]:
    if task == "outliers":
        return None, ()
    if y is None:
        raise ValueError(f"y is None: the plot of {type(model).__name__} shows the targets of the rows.")
    values = column_or_1d(y)
    if task == "regression":
        return values.astype(np.float64), ()
    strangers = np.setdiff1d(values, model.classes_)
    if len(strangers):
        raise ValueError(f"y holds {strangers.tolist()}, which are not classes of the model.")
    shown = [str(label) for label in (model.classes_ if names is None else names)]
    if len(shown) != len(model.classes_):
        raise ValueError(f"names has {len(shown)} entries for {len(model.classes_)} classes.")
    return np.searchsorted(model.classes_, values), tuple(shown)


def surface_over(view: View, lattice: list[FloatArray], function: Any) -> FloatArray:
    """Values of the function at the crossings of the lattice, in pieces: rows can have many columns."""
    crossings = np.stack(np.meshgrid(*lattice, indexing="xy"), axis=-1)
    points = crossings.reshape(-1, len(lattice))
    size = max(100, _CELLS // view.template.shape[1])
    pieces = [function(view.rows(points[k : k + size])) for k in range(0, len(points), size)]
    return np.concatenate(pieces).reshape(crossings.shape[:-1])


def _slacks(
    view: View,
    function: Any,
    lattice: list[FloatArray],
    surface: FloatArray,
    target: AnyArray | None,
    kinds: Kinds,
    margins: bool,
) -> FloatArray:
    """Segments to the margin from each row on its wrong side, if all variables are shown."""
    if view.exact and target is not None and kinds.residuals is not None and len(view.names) == 1:
        return _tube_slacks(view, target, kinds.epsilon or 0.0, kinds.residuals)
    if not (view.exact and margins and target is not None):
        return np.empty((0, 2, len(view.names)))
    signs = 2.0 * target - 1.0
    # after a scaler distances are in standard deviations, else in units of the columns
    scaled = isinstance(view.model, Pipeline)
    scale = view.positions.std(axis=0) + 1e-300 if scaled else np.ones(len(view.names))
    f = function(view.rows(view.positions))
    return slack_segments(lattice, surface, view.positions, signs * f, signs, scale)


def _tube_slacks(view: View, target: AnyArray, epsilon: float, residuals: FloatArray) -> FloatArray:
    """Vertical segments (x, y) from the tube to the rows outside it."""
    out = np.flatnonzero(np.abs(residuals) > epsilon)
    x, y = view.positions[out, 0], target[out]
    edge = y - residuals[out] + epsilon * np.sign(residuals[out])
    return np.stack([np.column_stack([x, y]), np.column_stack([x, edge])], axis=1)
