"""Support vectors as images, for rows of pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isqrt
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d

from maxmargin.base.typing import FloatArray, TableLike, TargetLike
from maxmargin.displays.drawing.style import GREY, OKABE_ITO, Display
from maxmargin.displays.drawing.view import final_step
from maxmargin.displays.machines.support_display import fitted_on


@dataclass(repr=False)
class DigitsDisplay(Display):
    """Rows of pixels drawn as images with their class: any rows, or the most important support vectors.

    Attributes
    ----------
    images : of shape (n_images, height, width). labels : the class of each. rows : their row numbers.
    weights : sum of |coefficient| over the binary problems; None for `from_rows`.
    total : number of support vectors, or of rows.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> model = mm.SVC(gamma=0.001).fit(X, y)
    >>> mm.displays.DigitsDisplay.from_estimator(model, X, y, most=10).images.shape
    (10, 8, 8)
    """

    images: FloatArray
    labels: list[str]
    rows: list[int]
    weights: FloatArray | None
    total: int

    @classmethod
    def from_rows(
        cls,
        X: TableLike,
        y: TargetLike,
        rows: Sequence[int] | None = None,
        *,
        shape: tuple[int, int] | None = None,
        most: int = 24,
    ) -> Self:
        """From a table of pixels and its labels; ``rows`` are row numbers, by default the first ``most``."""
        values, labels = np.asarray(X, dtype=np.float64), column_or_1d(y)
        height, width = _shape(values.shape[1], shape)
        chosen = np.arange(len(values))[:most] if rows is None else np.arange(len(values))[np.asarray(rows)]
        return cls(
            images=values[chosen].reshape(-1, height, width),
            labels=[str(label) for label in labels[chosen]],
            rows=chosen.tolist(),
            weights=None,
            total=len(values),
        )

    @classmethod
    def from_estimator(
        cls,
        model: BaseEstimator,
        X: TableLike,
        y: TargetLike,
        *,
        shape: tuple[int, int] | None = None,
        most: int = 24,
    ) -> Self:
        """From a fitted kernel machine and its training rows.

        ``shape`` is (height, width), a square by default; ``most`` images are drawn, the largest weights
        first.
        """
        values = np.asarray(X, dtype=np.float64)
        last, seen = final_step(model, X)
        if not hasattr(last, "support_vectors_"):
            raise TypeError(f"{type(last).__name__} has no support vectors.")
        if not fitted_on(last, seen):
            raise ValueError("DigitsDisplay needs the rows that the model was fitted on: X does not match.")
        height, width = _shape(values.shape[1], shape)
        weights = np.asarray(abs(last.dual_coef_).sum(axis=0)).ravel()
        order = np.argsort(-weights, kind="stable")[:most]
        rows = np.asarray(last.support_)[order]
        labels = column_or_1d(y)[rows]
        return cls(
            images=values[rows].reshape(-1, height, width),
            labels=[str(label) for label in labels],
            rows=rows.tolist(),
            weights=weights[order],
            total=len(weights),
        )

    def _draw(self, ax: Any) -> None:
        n, height, width = self.images.shape
        n_lines = ceil(n / min(n, max(1, ceil((1.5 * n * height / width) ** 0.5))))
        n_columns = ceil(n / n_lines)
        caption = 0.34 * height
        low, high = float(self.images.min()), float(self.images.max())
        for k, image in enumerate(self.images):
            left, top = (k % n_columns) * 1.15 * width, (k // n_columns) * (height + caption) * 1.05
            extent = (left, left + width, top + caption + height, top + caption)
            ax.imshow(image, cmap="gray_r", vmin=low, vmax=high, extent=extent, interpolation="nearest")
            ax.text(left, top + 0.85 * caption, self.labels[k], fontsize=8, color=OKABE_ITO[0], weight="bold")
            if self.weights is not None:
                weight = f"{self.weights[k]:.2g}"
                ax.text(left + width, top + 0.85 * caption, weight, fontsize=7, color=GREY, ha="right")
        ax.set(xlim=(-0.1 * width, n_columns * 1.15 * width), ylim=(n_lines * (height + caption) * 1.05, 0))
        ax.set_axis_off()
        kind = (
            "rows: class (blue)" if self.weights is None else "support vectors: class (blue), weight (grey)"
        )
        ax.set_title(f"{n} of {self.total} {kind}", fontsize="small")


def _shape(n_pixels: int, shape: tuple[int, int] | None) -> tuple[int, int]:
    if shape is None:
        side = isqrt(n_pixels)
        shape = (side, side)
    if shape[0] * shape[1] != n_pixels:
        raise ValueError(
            f"the rows have {n_pixels} values, which do not fill an image of {shape[0]} x {shape[1]}: "
            "pass shape=(height, width)."
        )
    return shape
