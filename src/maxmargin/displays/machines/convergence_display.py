"""How a fit converged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from maxmargin.base.typing import FloatArray, TableLike, TargetLike, WeightLike
from maxmargin.displays.drawing.style import GREY, OKABE_ITO, Display, legend_below
from maxmargin.displays.drawing.view import final_step
from maxmargin.machines.svm.certify import solve_in_stages

_FLOOR = 1e-16


@dataclass(repr=False)
class ConvergenceDisplay(Display):
    """Duality gap, KKT violation and active rows by the number of steps.

    Attributes
    ----------
    steps : of shape (n_points,). kkt : largest violation of the optimality conditions.
    gap : relative duality gap, None where it was not recorded.
    n_active : rows that were not shrunk; n_support : rows with a positive multiplier, None if not recorded.
    tol : the required tolerance, None if unknown.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = mm.SVC().fit(X, y)
    >>> display = mm.displays.ConvergenceDisplay.from_estimator(model, X, y)
    >>> bool(display.kkt[-1] <= model.tol)
    True
    """

    steps: FloatArray
    kkt: FloatArray
    gap: FloatArray | None
    n_active: FloatArray
    n_support: FloatArray | None
    tol: float | None

    @classmethod
    def from_result(cls, trace: pd.DataFrame, *, machine: int = 0, tol: float | None = None) -> Self:
        """From the ``trace_`` of a model that was fitted with ``trace=True``: every step.

        The gap is drawn where the solver computed it (not with shrinking).
        """
        mine = trace[trace["machine"] == machine] if "machine" in trace else trace
        mine = mine[mine["violation"].notna()]
        if not len(mine):
            raise ValueError(f"the trace has no steps of machine {machine}.")
        gap = (mine["gap"] / mine["objective"].abs()).to_numpy()  # infinite while the objective is 0
        return cls(
            steps=mine["step"].to_numpy(dtype=np.float64),
            kkt=mine["violation"].to_numpy(dtype=np.float64),
            gap=None if np.isnan(gap).all() else gap,
            n_active=mine["n_active"].to_numpy(dtype=np.float64),
            n_support=None,
            tol=tol,
        )

    @classmethod
    def from_estimator(
        cls,
        model: BaseEstimator,
        X: TableLike,
        y: TargetLike | None = None,
        sample_weight: WeightLike | None = None,
        *,
        machine: int = 0,
    ) -> Self:
        """From a fitted SVM and its training rows; solves again in stages, with a certificate after each.

        ``machine`` is the number of the binary problem if there are several classes.
        """
        last, seen = final_step(model, X)
        found = solve_in_stages(last, seen, y, sample_weight, machine=machine)
        gap = None if np.isnan(found.gap).all() else found.gap
        return cls(
            steps=found.steps,
            kkt=found.kkt,
            gap=gap,
            n_active=found.n_active,
            n_support=found.n_support,
            tol=float(last.tol),
        )

    def _draw(self, ax: Any) -> None:
        self.rows_ax_ = rows = ax.twinx()
        rows.spines["top"].set_visible(False)
        rows.fill_between(self.steps, self.n_active, color=GREY, alpha=0.18, linewidth=0, label="active rows")
        if self.n_support is not None:
            rows.plot(self.steps, self.n_support, color=GREY, linewidth=1.2, label="support vectors")
        rows.set_ylabel("rows", color="#666666")
        rows.set_ylim(0, None)
        ax.plot(
            self.steps, np.maximum(self.kkt, _FLOOR), "-o", ms=3, color=OKABE_ITO[0], label="KKT violation"
        )
        if self.gap is not None:
            drawn = np.where(np.isfinite(self.gap), np.maximum(self.gap, _FLOOR), np.nan)
            ax.plot(self.steps, drawn, "--s", ms=3, color=OKABE_ITO[5], label="relative duality gap")
        if self.tol is not None:
            ax.axhline(self.tol, color="black", linestyle=":", linewidth=1, label="tol")
        ax.set_yscale("log")
        if self.steps[0] > 0 and self.steps[-1] > 50 * self.steps[0]:
            ax.set_xscale("log")
        ax.set(xlabel="steps", ylabel="violation, gap")
        ax.set_zorder(rows.get_zorder() + 1)  # the curves before the area of the rows
        ax.patch.set_visible(False)
        handles = [*ax.get_legend_handles_labels()[0], *rows.get_legend_handles_labels()[0]]
        legend_below(ax, ncols=3, handles=handles)
