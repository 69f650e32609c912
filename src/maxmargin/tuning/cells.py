"""Cells of a grid, what they answer, and the order in which they are solved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from maxmargin.base.typing import AnyArray, FloatArray, IntArray

_ORDERED = ("C", "nu", "alpha", "epsilon")  # parameters along which one answer starts the next


@dataclass(frozen=True)
class FastCell:
    """One cell of the grid: its place in the table and the machine with its parameters."""

    index: int
    machine: Any


@dataclass(frozen=True)
class Answer:
    """What a cell says about the test rows of a fold; ``failure`` is the reason where it has no answer."""

    index: int
    predicted: AnyArray | None
    decisions: FloatArray | None
    seconds: float
    failure: str = ""


@dataclass(frozen=True)
class Targets:
    """Targets of all rows: classes and codes for classifiers, numbers for the rest.

    ``scores`` says whether somebody will look at decisions, or at predictions only.
    """

    classes: AnyArray | None
    codes: IntArray
    values: FloatArray
    weight: FloatArray
    scores: bool = True


def chains_of(cells: list[FastCell]) -> list[list[FastCell]]:
    """Cells that differ in epsilon, C or nu only, in the order in which they are solved."""
    chains: dict[str, list[FastCell]] = {}
    for cell in cells:
        params = cell.machine.get_params(deep=False)
        rest = {k: v for k, v in params.items() if k not in (*_ORDERED, "kernel", "gamma", "coef0", "degree")}
        chains.setdefault(repr(sorted(rest.items())), []).append(cell)
    for chain in chains.values():
        chain.sort(key=lambda cell: [getattr(cell.machine, name, 0.0) for name in _ORDERED])
    return list(chains.values())
