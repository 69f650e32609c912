"""The result of a search."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from math import isinf
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from maxmargin.base.plain_state import PlainState
from maxmargin.base.shown import ShownTable, filled, shown
from maxmargin.base.typing import FloatArray
from maxmargin.problems.solution import Ending, Status, worst_ending


@dataclass(frozen=True)
class CellStatus:
    """How the fits of a cell ended: one word, and the largest KKT violation where it is known."""

    name: str = "fitted"
    violation: float = float("nan")

    @property
    def is_fine(self) -> bool:
        return self.name in ("fitted", "converged")

    def worse(self, other: CellStatus) -> CellStatus:
        """The worse of two: one that did not converge, or else the one with the larger violation."""
        if self.is_fine != other.is_fine:
            return other if self.is_fine else self
        return self if self.violation >= other.violation else other

    @classmethod
    def of_model(cls, model: BaseEstimator, *, warned: bool) -> CellStatus:
        """From a fitted model; ``warned`` says that it warned that it has not converged."""
        last = model.steps[-1][1] if hasattr(model, "steps") else model
        fits = getattr(last, "machines_", ())
        if not fits:
            return cls("not converged" if warned else "fitted")
        endings = [Ending(fit.solution.status, fit.solution.n_iter, fit.certificate.kkt) for fit in fits]
        ending = worst_ending(endings)
        loose = warned and ending.status is Status.CONVERGED
        return cls("stalled" if loose else ending.status.short, ending.violation)


FITTED = CellStatus()
_SHOWN = 10  # cells that are printed


@dataclass(frozen=True)
class TuneResult(PlainState):
    """The error of every cell of a grid.

    Attributes
    ----------
    table : DataFrame with a row per cell: its parameters, error (mean over folds), dispersion (standard
        deviation over folds), seconds (fit time, all folds), status ("converged", or why a fit stopped
        early: "max_iter", "time_limit", "stalled", "wide_gap"; "failed"; "fitted" where nothing iterates).
    folds : errors of shape (n_cells, n_folds).
    best_params, best_error, best_index : of the first cell with the smallest error.
    best_estimator : fitted on all rows with the best parameters, None with refit=False.
    measure : what the error is; path : how the cells were computed; seconds : the whole search.
    interrupted : True when Ctrl-C ended the search; the table then holds the finished cells.

    >>> import maxmargin as mm
    >>> X, y = [[0.0], [0.2], [0.4], [2.0], [2.2], [2.4]], [0, 0, 0, 1, 1, 1]
    >>> result = mm.tune(mm.SVC(kernel="linear"), X, y, {"C": [1.0, 10.0]}, cv=3)
    >>> result.best_params, result.best_error
    ({'C': 1.0}, 0.0)
    >>> result.table["status"].tolist()
    ['converged', 'converged']
    """

    table: pd.DataFrame
    folds: FloatArray
    params: list[dict[str, Any]]
    measure: str
    path: str
    seconds: float
    best_estimator: Any = None
    interrupted: bool = False
    notes: tuple[str, ...] = field(default=())

    @property
    def best_index(self) -> int:
        return int(np.nanargmin(self.table["error"].to_numpy()))

    @property
    def best_params(self) -> dict[str, Any]:
        return self.params[self.best_index]

    @property
    def best_error(self) -> float:
        return float(self.table["error"].iloc[self.best_index])

    @property
    def one_standard_error_index(self) -> int:
        """The simplest cell whose error is within one standard error of the best.

        Simplest: the smallest C, then the smallest gamma, then the largest epsilon or nu.
        """
        errors = self.table["error"].to_numpy()
        standard_error = self.table["dispersion"].iloc[self.best_index] / np.sqrt(self.folds.shape[1])
        near = np.flatnonzero(errors <= self.best_error + standard_error)
        return int(min(near, key=lambda k: (_complexity(self.params[k]), errors[k])))

    def edges(self) -> list[str]:
        """Numeric parameters whose best value is the smallest or largest of the grid: look further there."""
        found = []
        for name, best in self.best_params.items():
            values = sorted({p[name] for p in self.params if _is_number(p.get(name))})
            inside = not _is_number(best) or isinf(best)  # nothing lies beyond infinity
            if len(values) > 2 and not inside and best in (values[0], values[-1]):
                found.append(name)
        return found

    def display(self, **options: Any) -> Any:
        """Heat map (or curve) of the errors, drawn; needs matplotlib."""
        # by name, because this package must not depend on displays
        display = import_module("maxmargin.displays").TuneDisplay.from_result(self, **options)
        return display.plot()

    def _best_cells(self) -> list[str]:
        """The ten best cells as lines of at most 80 characters."""
        best = self.table.sort_values("error", kind="stable").head(_SHOWN)
        text = shown(best)
        more = "" if len(best) == len(self.table) else f"best {len(best)} of {len(self.table)} "
        return [f"- {more}cells (all of them in .table):" if more else "- cells:", text]

    def __repr__(self) -> str:
        best = ", ".join(f"{k}={_short(v)}" for k, v in self.best_params.items())
        return filled(f"TuneResult({len(self.table)} cells, {self.measure} {self.best_error:.4g} at {best})")

    def __str__(self) -> str:
        best = ", ".join(f"{k}={_short(v)}" for k, v in self.best_params.items())
        lines = [
            f"Parameter tuning: {self.folds.shape[1]}-fold cross-validation, {len(self.table)} cells "
            f"in {self.seconds:.2f} s ({self.path})",
            f"- best parameters: {best}",
            f"- best performance ({self.measure}): {self.best_error:.6g}",
            *self._best_cells(),
        ]
        if edges := self.edges():
            lines.append(
                f"Note: the best cell lies on the edge of the grid in {', '.join(edges)}: extend it there."
            )
        lines += [f"Note: {note}" for note in self.notes]
        return filled("\n".join(lines))


def _complexity(params: dict[str, Any]) -> tuple[float, ...]:
    """How complex a model the cell allows: C counts first, then gamma, then a smaller epsilon or nu."""

    def value(*names: str) -> float:
        found = [v for k, v in params.items() if k.rpartition("__")[2] in names and _is_number(v)]
        return float(found[0]) if found else 0.0

    return (value("C"), value("gamma", "degree"), -value("epsilon", "nu", "alpha"))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _short(value: Any) -> str:
    return f"{value:.6g}" if _is_number(value) else repr(value)


@dataclass(frozen=True)
class TuneProgress:
    """How far a search is, for the ``callback`` of `tune`.

    Attributes
    ----------
    finished : the cells that were finished since the last call, each a dict with ``params``, ``error`` and
        ``dispersion`` over the folds (NaN for a cell that failed), and its position ``index`` in the grid.
    n_done, n_total : fits (cells times folds) that are done, and all.
    seconds : since the search began.
    """

    finished: tuple[dict[str, Any], ...]
    n_done: int
    n_total: int
    seconds: float


def make_table(
    params: list[dict[str, Any]], folds: FloatArray, seconds: FloatArray, statuses: list[str]
) -> pd.DataFrame:
    """Parameters beside error, dispersion, fit time and status, a row per cell."""
    names = list(dict.fromkeys(name for cell in params for name in cell))
    columns: dict[str, Any] = {name: [cell.get(name) for cell in params] for name in names}
    columns["error"] = folds.mean(axis=1)
    columns["dispersion"] = folds.std(axis=1, ddof=1) if folds.shape[1] > 1 else np.zeros(len(folds))
    columns["seconds"] = seconds
    columns["status"] = statuses
    return ShownTable(columns)
