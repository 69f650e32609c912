"""Rows on the axes of Fisher's discriminant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import column_or_1d

from maxmargin.base.typing import AnyArray, FloatArray, TableLike, TargetLike
from maxmargin.displays.drawing.style import Display, legend_below, scatter_classes
from maxmargin.displays.drawing.view import final_step
from maxmargin.machines.linear.fisher import FisherDiscriminant


@dataclass(repr=False)
class DiscriminantDisplay(Display):
    """Scores of the rows on the first two axes, with the centroids; on one axis with the cut point.

    Attributes
    ----------
    scores : of shape (n_samples, n_axes), one axis or two.
    codes, classes : numbers of the classes of the rows, and their names.
    centroids : mean scores of the classes, of shape (n_classes, n_axes).
    shares : of the axes in the sum of all eigenvalues.
    cut_points : along a single axis, else empty.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mm.FisherDiscriminant().fit(X, y)
    >>> display = mm.displays.DiscriminantDisplay.from_estimator(model, X, y)
    >>> display.scores.shape, display.shares.round(3).tolist()
    ((150, 2), [0.991, 0.009])
    """

    scores: FloatArray
    codes: AnyArray
    classes: tuple[str, ...]
    centroids: FloatArray
    shares: FloatArray
    cut_points: FloatArray

    @classmethod
    def from_estimator(cls, model: Any, X: TableLike, y: TargetLike) -> Self:
        """From a fitted `FisherDiscriminant`, or a pipeline that ends in one."""
        last, rows = final_step(model, X)
        if not isinstance(last, FisherDiscriminant):
            raise TypeError(f"{type(last).__name__} has no discriminant axes: fit a FisherDiscriminant.")
        labels = column_or_1d(y)
        other = np.setdiff1d(labels, last.classes_)
        if len(other):
            known = ", ".join(map(str, last.classes_))
            raise ValueError(f"y has the class {other[0]}, but the model knows only {known}: drop its rows.")
        axes = last.transform(rows)[:, :2]
        return cls(
            scores=axes,
            codes=np.searchsorted(last.classes_, labels),
            classes=tuple(str(label) for label in last.classes_),
            centroids=last.centroids_[:, :2],
            shares=last.explained_ratio_[:2],
            cut_points=last.cut_points_ if axes.shape[1] == 1 else np.empty(0),
        )

    def _draw(self, ax: Any) -> None:
        points, centres = self.scores, self.centroids
        if points.shape[1] == 1:  # every class at its own height
            points = np.column_stack([points, self.codes])
            centres = np.column_stack([centres, np.arange(len(centres))])
            ax.set_yticks(range(len(centres)), self.classes)
            ax.set_ylim(-0.5, len(centres) - 0.5)
        else:
            ax.set_ylabel(f"axis 2 ({self.shares[1]:.0%})")
        scatter_classes(ax, points, self.codes, self.classes, s=18, alpha=0.8)
        ax.scatter(*centres.T, marker="x", color="black", s=80, label="centroids", zorder=3)
        for cut in self.cut_points:
            ax.axvline(cut, color="black", linestyle=":", linewidth=0.8)
        ax.set_xlabel(f"axis 1 ({self.shares[0]:.0%})")
        legend_below(ax, ncols=4)
