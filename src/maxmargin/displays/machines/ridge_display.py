"""The errors along a path of ridge penalties."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d

from maxmargin.base.tables import row_weights
from maxmargin.base.typing import FloatArray, TableLike, TargetLike, WeightLike
from maxmargin.displays.drawing.style import OKABE_ITO, Display, legend_below
from maxmargin.displays.drawing.view import final_step


@dataclass(repr=False)
class RidgeDisplay(Display):
    """Errors of the training rows and of rows left out, against the penalty.

    The error of the training rows never falls as the penalty grows; that of rows left out often falls first.

    Attributes
    ----------
    alphas : penalties in increasing order.
    training, left_out : root mean squared errors, of shape (n_alphas,); NaN where leave-one-out is not known.
    chosen : the penalty that the model uses.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X = np.random.default_rng(0).normal(size=(20, 8))
    >>> y = X[:, 0] + np.random.default_rng(1).normal(size=20)
    >>> model = mm.Ridge(alphas=[0.1, 1.0, 10.0, 100.0]).fit(X, y)
    >>> display = mm.displays.RidgeDisplay.from_estimator(model, X, y)
    >>> bool((np.diff(display.training) > 0).all()), display.chosen
    (True, 1.0)
    """

    alphas: FloatArray
    training: FloatArray
    left_out: FloatArray
    chosen: float

    @classmethod
    def from_estimator(
        cls, model: BaseEstimator, X: TableLike, y: TargetLike, *, sample_weight: WeightLike | None = None
    ) -> Self:
        """From a `Ridge` or `KernelRidge` with ``alphas``, or a pipeline that ends in one.

        X, y and ``sample_weight`` are those of the fit.
        """
        last, rows = final_step(model, X)
        path = getattr(last, "path_", None)
        if path is None or len(path.alphas) < 2:
            raise ValueError(
                f"{type(last).__name__} has no path of penalties: fit Ridge(alphas=[...]) or "
                "KernelRidge(alphas=[...]) to one target."
            )
        truth = column_or_1d(y).astype(np.float64)
        if len(path.loo_residuals) not in (0, len(truth)):
            raise ValueError(
                f"y has {len(truth)} rows, but the model was fitted to {len(path.loo_residuals)}: give the "
                "rows of the fit."
            )
        order = np.argsort(path.alphas)
        squares = (truth[:, None] - _predictions(last, rows)) ** 2
        means = np.average(squares, axis=0, weights=row_weights(sample_weight, len(truth)))
        return cls(
            alphas=path.alphas[order],
            training=np.sqrt(means)[order],
            left_out=np.sqrt(path.loo_mse)[order],
            chosen=float(last.alpha_),
        )

    def _draw(self, ax: Any) -> None:
        ax.semilogx(self.alphas, self.training, color=OKABE_ITO[0], label="training rows")
        ax.semilogx(self.alphas, self.left_out, color=OKABE_ITO[5], linestyle="--", label="rows left out")
        ax.axvline(
            self.chosen, color="black", linestyle=":", linewidth=0.8, label=f"alpha = {self.chosen:.3g}"
        )
        ax.set(xlabel="alpha", ylabel="root mean squared error")
        legend_below(ax, ncols=3)


def _predictions(model: Any, X: TableLike) -> FloatArray:
    """Of shape (n_samples, n_alphas): a copy of the model that takes every penalty as one target."""
    every, path = copy(model), model.path_
    if hasattr(model, "dual_coef_"):
        every.dual_coef_ = path.coef.T
    else:
        every.coef_, every.intercept_ = path.coef, path.intercept
    return np.asarray(every.predict(X), dtype=np.float64)
