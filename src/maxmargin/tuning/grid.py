"""Grids of parameters: expansion, and the default grids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from maxmargin.kernels import RBF
from maxmargin.machines.svm import SVC, SVR, HardMarginSVC

Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]

C_VALUES = tuple(2.0**k for k in range(-5, 16, 2))
GAMMA_VALUES = tuple(2.0**k for k in range(-15, 4, 2))
EPSILON_VALUES = tuple(2.0**k for k in range(-8, 0))


def cells_of(grid: Grid) -> list[dict[str, Any]]:
    """All cells of a grid, in scikit-learn's order."""
    cells = list(ParameterGrid(grid))
    if not cells or not any(cells):
        raise ValueError("the grid is empty: give at least one parameter with one value.")
    return cells


def default_grid(estimator: BaseEstimator) -> dict[str, Sequence[float]]:
    """C = 2^-5 ... 2^15, gamma = 2^-15 ... 2^3 and, for SVR, epsilon = 2^-8 ... 2^-1.

    Defined for SVC and SVR with an RBF or linear kernel, also at the end of a Pipeline.
    """
    prefix = ""
    machine = estimator
    if isinstance(estimator, Pipeline):
        name, machine = estimator.steps[-1]
        prefix = f"{name}__"
    kernel = getattr(machine, "kernel", None)
    known = isinstance(machine, (SVC, SVR)) and not isinstance(machine, HardMarginSVC)
    if not known or not (kernel in ("rbf", "linear") or isinstance(kernel, RBF)):
        names = ", ".join(prefix + name for name in machine.get_params())
        raise ValueError(
            f"there is no default grid for {machine!r}: give grid={{name: [values]}} over some of {names}."
        )
    grid: dict[str, Sequence[float]] = {f"{prefix}C": C_VALUES}
    if kernel != "linear":
        grid[f"{prefix}kernel__gamma" if isinstance(kernel, RBF) else f"{prefix}gamma"] = GAMMA_VALUES
    if isinstance(machine, SVR):
        grid[f"{prefix}epsilon"] = EPSILON_VALUES
    return grid


def is_logarithmic(values: Sequence[Any]) -> bool:
    """True for positive numbers over more than a factor of ten: they belong on a logarithmic axis."""
    numbers = [v for v in values if isinstance(v, (int, float, np.number)) and not isinstance(v, bool)]
    if len(numbers) < len(values) or len(values) < 2:
        return False
    return bool(min(numbers) > 0 and max(numbers) / min(numbers) > 10)
