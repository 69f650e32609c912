"""Display of a parameter search: a heat map over two parameters, or a curve over one."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from maxmargin.base.typing import FloatArray
from maxmargin.displays.drawing.style import OKABE_ITO, Display
from maxmargin.tuning import TuneResult
from maxmargin.tuning.grid import is_logarithmic

_SHOWN_VALUES = 80  # cells up to which the errors are written into them


@dataclass(repr=False)
class TuneDisplay(Display):
    """Errors of a grid over one or two parameters, with the best cell and the one-standard-error cell marked.

    Other parameters of the grid take their best value in each cell. If the best cell lies on the edge of the
    grid, a warning says so.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from sklearn.datasets import load_iris
    >>> result = mm.tune(mm.SVC(), *load_iris(return_X_y=True), {"C": [1, 10], "gamma": [0.01, 0.1]}, cv=5)
    >>> mm.displays.TuneDisplay.from_result(result).errors.shape
    (2, 2)
    """

    x: str
    y: str | None
    x_values: list[Any]
    y_values: list[Any]
    errors: FloatArray
    spread: FloatArray
    best: tuple[int, int]
    one_standard_error: tuple[int, int]
    measure: str
    edges: list[str] = field(default_factory=list)

    @classmethod
    def from_result(cls, result: TuneResult, x: str | None = None, y: str | None = None) -> Self:
        """From the result of ``mm.tune``; ``x`` and ``y`` name the parameters on the axes."""
        names = [name for name in result.params[0] if len(_values(result, name)) > 1] or list(
            result.params[0]
        )
        x = x or next((n for n in names if n.rpartition("__")[2] == "C"), names[0])
        y = y or next((n for n in names if n != x), None)
        x_values = _values(result, x)
        y_values = _values(result, y) if y is not None else [None]
        errors = np.full((len(y_values), len(x_values)), np.nan)
        spread = np.zeros_like(errors)
        place = [_place(cell, x, y, x_values, y_values) for cell in result.params]
        for k, (i, j) in enumerate(place):
            error = float(result.table["error"].iloc[k])
            if np.isnan(errors[i, j]) or error < errors[i, j]:
                errors[i, j] = error
                spread[i, j] = float(result.table["dispersion"].iloc[k])
        edges = result.edges()
        if edges:
            warnings.warn(
                f"the best cell lies on the edge of the grid in {', '.join(edges)}: extend the grid there.",
                stacklevel=3,
            )
        return cls(
            x=x,
            y=y,
            x_values=x_values,
            y_values=y_values,
            errors=errors,
            spread=spread,
            best=place[result.best_index],
            one_standard_error=place[result.one_standard_error_index],
            measure=result.measure,
            edges=edges,
        )

    def _draw(self, ax: Any) -> None:
        if self.y is None:
            self._curve()
        else:
            self._map()
        ax.set_title(f"best {self.measure} {self.errors[self.best]:.4g}")

    def _curve(self) -> None:
        numeric = _numeric(self.x_values) and np.isfinite(np.asarray(self.x_values, dtype=float)).all()
        where = self.x_values if numeric else list(range(len(self.x_values)))
        self.ax_.errorbar(
            where, self.errors[0], yerr=self.spread[0], color=OKABE_ITO[0], marker="o", capsize=3
        )
        for (_, j), colour, label in self._marks():
            self.ax_.plot(
                [where[j]], [self.errors[0, j]], "o", ms=13, mfc="none", mec=colour, mew=2.5, label=label
            )
        if numeric and is_logarithmic(self.x_values):
            self.ax_.set_xscale("log")
        if not numeric:
            self.ax_.set_xticks(where, [_tick(value) for value in self.x_values])
        self.ax_.set(xlabel=self.x.rpartition("__")[2], ylabel=self.measure)
        self.ax_.legend(loc="best")

    def _map(self) -> None:
        image = self.ax_.imshow(self.errors, origin="lower", aspect="auto", cmap="cividis")
        self.figure_.colorbar(image, ax=self.ax_, label=self.measure)
        self.ax_.set_xticks(
            range(len(self.x_values)), [_tick(v) for v in self.x_values], rotation=45, ha="right"
        )
        self.ax_.set_yticks(range(len(self.y_values)), [_tick(v) for v in self.y_values])
        self.ax_.set_xlabel(self._axis_name(self.x, self.x_values))
        self.ax_.set_ylabel(self._axis_name(str(self.y), self.y_values))
        if self.errors.size <= _SHOWN_VALUES:
            self._write_values(image)
        for (i, j), colour, label in self._marks():
            self.ax_.plot([j], [i], "s", ms=24, mfc="none", mec=colour, mew=2.5, label=label)
        self.figure_.legend(
            *self.ax_.get_legend_handles_labels(), loc="outside lower center", ncols=2, markerscale=0.5
        )

    def _write_values(self, image: Any) -> None:
        for (i, j), value in np.ndenumerate(self.errors):
            if not np.isnan(value):
                dark = image.norm(value) < 0.5
                self.ax_.text(
                    j, i, f"{value:.3g}", ha="center", va="center", fontsize=7, color="w" if dark else "k"
                )

    def _marks(self) -> list[tuple[tuple[int, int], str, str]]:
        return [
            (self.one_standard_error, OKABE_ITO[4], "simplest within one standard error"),
            (self.best, OKABE_ITO[5], "best"),
        ]

    @staticmethod
    def _axis_name(name: str, values: list[Any]) -> str:
        name = name.rpartition("__")[2]  # without the step of a pipeline
        return f"{name} (logarithmic)" if is_logarithmic(values) else name


def _values(result: TuneResult, name: str) -> list[Any]:
    """Values of a parameter: numbers sorted, others in the order of the grid."""
    found = list(dict.fromkeys(_key(cell.get(name)) for cell in result.params))
    return sorted(found) if _numeric(found) else found


def _key(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


def _numeric(values: list[Any]) -> bool:
    return all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in values)


def _place(
    cell: dict[str, Any], x: str, y: str | None, x_values: list[Any], y_values: list[Any]
) -> tuple[int, int]:
    row = 0 if y is None else y_values.index(_key(cell.get(y)))
    return row, x_values.index(_key(cell.get(x)))


def _tick(value: Any) -> str:
    if not isinstance(value, (int, float, np.number)):
        return str(value)
    given = float(value)
    whole = given.is_integer() and abs(given) < 1e5
    return f"{given:.0f}" if whole else f"{given:.3g}"
