"""The trace of a fit, step by step, in two dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from maxmargin.base.typing import AnyArray, FloatArray, IntArray, TableLike, TargetLike, WeightLike
from maxmargin.base.whole_files import whole_file
from maxmargin.displays.drawing.style import NEGATIVE, OKABE_ITO, POSITIVE, axes, pyplot
from maxmargin.displays.drawing.view import range_around
from maxmargin.explanation.steps import Step, sides, signs_of, steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_CHOSEN = OKABE_ITO[1]


@dataclass(repr=False)
class StepDisplay:
    """The steps of a solver or an online learner: chosen rows, multipliers, and the boundary.

    Attributes
    ----------
    X : array of shape (n_samples, 2); labels : of shape (n_samples,); signs : +1, -1, or 0 for rows that
        this binary problem leaves out.
    columns, classes : names; the class of f > 0 comes second.
    grid : the two coordinates, each of shape (size,).
    steps : numbers of the steps that have a frame, of shape (n_frames,).
    weights : |multiplier| of the rows after each of them, of shape (n_frames, n_samples).
    chosen : the rows of each of them; captions : the title of each frame.
    decisions : f on the grid, of shape (n_frames, size, size).

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 2.0]], [0, 0, 1, 1]
    >>> model = mm.SVC(kernel="linear", solver="smo", trace=True).fit(X, y)
    >>> display = mm.displays.StepDisplay.from_estimator(model, X, y)
    >>> display.steps.tolist() == model.trace_["step"].tolist()
    True
    """

    X: FloatArray
    labels: AnyArray
    signs: FloatArray
    columns: list[str]
    classes: list[str]
    grid: tuple[FloatArray, FloatArray]
    steps: IntArray
    weights: FloatArray
    chosen: list[IntArray]
    captions: list[str]
    decisions: FloatArray
    margins: bool = True

    @classmethod
    def from_estimator(
        cls,
        model: BaseEstimator,
        X: TableLike,
        y: TargetLike | None = None,
        sample_weight: WeightLike | None = None,
        *,
        machine: int = 0,
        max_frames: int = 60,
        size: int = 80,
    ) -> Self:
        """The frames of a fitted classifier or detector with a ``trace_``.

        Parameters
        ----------
        model : fitted with ``trace=True``, alone or at the end of a Pipeline.
        X, y, sample_weight : what it was fitted on; X has two columns.
        machine : number of the binary problem, if there are several classes.
        max_frames : steps that get a frame, evenly spread; the first and the last always do.
        size : points of the grid in each direction.
        """
        front, last = (model[:-1], model[-1]) if isinstance(model, Pipeline) else (None, model)
        rows, columns = _table(X)
        if is_regressor(last):
            raise TypeError("StepDisplay draws classifiers and outlier detectors, not regressors.")
        if max_frames < 1:
            raise ValueError(f"max_frames={max_frames} must be at least 1.")
        grid = tuple(np.linspace(*range_around(rows[:, j], 0.1), size) for j in range(2))
        corners = np.column_stack([axis.ravel() for axis in np.meshgrid(*grid)])
        labels = np.full(len(rows), "") if y is None else np.asarray(y)
        seen, on_grid = (_through(front, table, X) for table in (rows, corners))
        states = steps(last, seen, y, sample_weight, machine=machine)
        found = [states[int(k)] for k in states.spread(max_frames)]
        classes = _classes_of(last, machine)
        return cls(
            X=rows,
            labels=labels,
            signs=signs_of(last, machine, labels) if is_classifier(last) else np.ones(len(rows)),
            columns=columns,
            classes=[str(name) for name in classes],
            grid=grid,  # type: ignore[arg-type]  # two axes
            steps=np.array([one.number for one in found]),
            weights=np.array([_spread(one, len(rows)) for one in found]),
            chosen=[one.chosen for one in found],
            captions=[_caption(one) for one in found],
            decisions=np.array([one.decisions(on_grid).reshape(size, size) for one in found]),
            margins=is_classifier(last),
        )

    def plot(self, step: int | None = None, ax: Axes | None = None) -> Self:
        """Draw the state after ``step`` (the last frame at or before it; by default the last of all)."""
        ax = axes(ax)
        k = len(self.steps) - 1
        if step is not None:
            k = int(np.searchsorted(self.steps, step, side="right")) - 1
            if k < 0:
                raise ValueError(f"step={step} comes before the first one, {self.steps[0]}.")
        self._draw(ax, k)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def animate(self, interval: int = 400, ax: Any = None) -> Any:
        """A matplotlib animation of all frames, ``interval`` milliseconds each."""
        from matplotlib.animation import FuncAnimation

        ax = axes(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return FuncAnimation(
            ax.figure, lambda k: self._draw(ax, k), frames=len(self.steps), interval=interval, repeat=False
        )

    def to_jshtml(self, interval: int = 400) -> str:
        """The animation as HTML with buttons, for notebooks and pages."""
        plt = pyplot()
        animation = self.animate(interval)
        html: str = animation.to_jshtml()
        plt.close(self.figure_)
        return html

    def save(self, path: str | Path, interval: int = 400) -> Path:
        """The animation as a GIF (needs pillow) at ``path``."""
        plt = pyplot()
        from matplotlib.animation import PillowWriter

        path = Path(path)
        if path.suffix.lower() != ".gif":
            raise ValueError(f"path={str(path)!r} must end in .gif; use to_jshtml() for a page.")
        with TemporaryDirectory() as folder, whole_file(path, "wb") as file:
            drawn = Path(folder) / "steps.gif"
            self.animate(interval).save(drawn, writer=PillowWriter(fps=max(1, round(1000 / interval))))
            file.write(drawn.read_bytes())
        plt.close(self.figure_)
        return path

    # -- drawing -------------------------------------------------------------------------------------------

    def _draw(self, ax: Any, k: int) -> None:
        ax.clear()
        f = self.decisions[k]
        for level, style in ((0.0, "solid"), (-1.0, "dashed"), (1.0, "dashed")):
            inside = np.isfinite(f).all() and f.min() < level < f.max()
            if inside and (level == 0.0 or self.margins):
                ax.contour(*self.grid, f, levels=[level], colors="black", linestyles=style, linewidths=1)
        for sign, colour, marker in ((-1.0, NEGATIVE, "o"), (1.0, POSITIVE, "s"), (0.0, "lightgrey", "x")):
            mine = self.signs == sign
            if mine.any():
                name = {-1.0: self.classes[0], 1.0: self.classes[-1], 0.0: "other classes"}[sign]
                ax.scatter(*self.X[mine].T, s=22, c=colour, marker=marker, label=name)
        self._rings(ax, k)
        ax.set(xlabel=self.columns[0], ylabel=self.columns[1])
        ax.set_title(self.captions[k], fontsize="small")
        ax.legend(loc="best", fontsize="small")

    def _rings(self, ax: Any, k: int) -> None:
        """Rings around support vectors, sized by multiplier, and around the rows of this step."""
        weights, chosen = self.weights[k], self.chosen[k]
        used = weights > 0
        if used.any():
            area = 40 + 120 * weights[used] / weights.max()
            ax.scatter(*self.X[used].T, s=area, facecolors="none", edgecolors="black", label="support vector")
        if 0 < len(chosen) < len(self.X):
            ax.scatter(
                *self.X[chosen].T, s=220, facecolors="none", edgecolors=_CHOSEN, linewidths=2, label="chosen"
            )


def _table(X: Any) -> tuple[FloatArray, list[str]]:
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else ["x0", "x1"]
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(f"StepDisplay draws two columns, X has shape {rows.shape}.")
    return rows, names


def _through(front: Any, rows: FloatArray, X: Any) -> Any:
    """Rows as the last step sees them."""
    table: Any = pd.DataFrame(rows, columns=X.columns) if hasattr(X, "columns") else rows
    return table if front is None or not front.steps else front.transform(table)


def _spread(step: Step, n: int) -> FloatArray:
    """The weights of all rows, 0 for those that this binary problem leaves out."""
    weights = np.zeros(n)
    weights[step.rows] = step.weights
    return weights


def _classes_of(model: Any, machine: int) -> list[Any]:
    """The class of f < 0 and the class of f > 0."""
    if not is_classifier(model):
        return ["row"]
    negative, positive = sides(model, machine)
    return ["the rest" if negative is None else negative, positive]


def _caption(step: Step) -> str:
    values = {name: getattr(step, name) for name in ("primal", "dual", "gap", "violation", "loss")}
    parts = [f"{name} {value:.3g}" for name, value in values.items() if np.isfinite(value)]
    return f"step {step.number}\n" + ", ".join(parts)
