"""Rows with their nearest hit and nearest miss, as Relief finds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import column_or_1d

from maxmargin.base.typing import AnyArray, FloatArray, TableLike, TargetLike
from maxmargin.displays.drawing.style import Display, legend_below, scatter_classes
from maxmargin.displays.drawing.view import Features, view_of
from maxmargin.feature_selection.relief import Relief

_STYLES = {"hit": "-", "miss": "--"}


@dataclass(repr=False)
class NeighbourDisplay(Display):
    """Two variables, and a line from each chosen row to its nearest hit (solid) and nearest miss (dashed).

    Attributes
    ----------
    names : names of the axes. positions : rows of shape (n_samples, 2). codes, classes : their classes.
    neighbours : for each chosen row the rows that are its "hit" and its "miss".

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.feature_selection import Relief
    >>> X = [[170, 85], [147, 75], [150, 77], [154, 81], [175, 79], [152, 80], [173, 82], [177, 84]]
    >>> y = [1, 0, 0, 0, 1, 0, 1, 1]
    >>> mm.displays.NeighbourDisplay.from_estimator(Relief(distance="raw"), X, y, [0, 5]).neighbours
    {0: {'hit': 6, 'miss': 3}, 5: {'hit': 3, 'miss': 0}}
    """

    names: tuple[str, ...]
    positions: FloatArray
    codes: AnyArray
    classes: tuple[str, ...]
    neighbours: dict[int, dict[str, int]]

    @classmethod
    def from_estimator(
        cls, relief: Relief, X: TableLike, y: TargetLike, rows: Sequence[int], *, features: Features = None
    ) -> Self:
        """From a `Relief`, fitted or not; ``features`` names the two variables to show if there are more."""
        view = view_of(relief, X, features)
        if len(view.names) != 2:
            raise ValueError("the plot shows two variables: name them with features=(...).")
        found = {}
        for row in rows:
            roles = relief.neighbour_table(X, y, row)["role"]
            found[int(row)] = {role: int(roles.index[roles == role][0]) for role in _STYLES}
        classes, codes = np.unique(column_or_1d(y), return_inverse=True)
        return cls(
            names=view.names,
            positions=view.positions,
            codes=codes,
            classes=tuple(str(label) for label in classes),
            neighbours=found,
        )

    def _draw(self, ax: Any) -> None:
        scatter_classes(ax, self.positions, self.codes, self.classes, zorder=3)
        drawn = set()
        for row, ends in self.neighbours.items():
            for role, other in ends.items():
                text = None if role in drawn else f"nearest {role}"
                pair = self.positions[[row, other]].T
                ax.plot(*pair, color="black", linestyle=_STYLES[role], linewidth=1.0, label=text)
                drawn.add(role)
            self._name(ax, row, list(ends.values()))
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        legend_below(ax)

    def _name(self, ax: Any, row: int, others: list[int]) -> None:
        """Write the name of a row on the side away from its neighbours."""
        right, above = self.positions[others].mean(axis=0) > self.positions[row]
        ax.annotate(
            f"row {row}",
            self.positions[row],
            (-5 if right else 5, -5 if above else 5),
            textcoords="offset points",
            fontsize=8,
            ha="right" if right else "left",
            va="top" if above else "bottom",
        )
