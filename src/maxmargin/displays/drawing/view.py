"""A line or a plane through a table of many variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from maxmargin.base.typing import FloatArray, IntArray, TableLike

Features = Sequence[str | int] | str | int | None
PCA = "pca"
_BORDER = 0.08  # of the range of the rows, around them


@dataclass(frozen=True)
class View:
    """A line or a plane through the space of the variables.

    Attributes
    ----------
    model : predicts the rows of this view (a pipeline, or its last step for a PCA plane).
    names : names of the axes, one or two.
    positions : the rows in the view, of shape (n_samples, n_axes).
    note : how the view treats the other variables; empty if there are none.
    template : one row of the table, or the centre of the plane; chosen : columns that the axes replace;
    directions : of shape (2, n_columns) for a PCA plane.
    """

    model: Any
    names: tuple[str, ...]
    positions: FloatArray
    note: str
    template: pd.DataFrame
    chosen: IntArray
    directions: FloatArray | None
    as_frame: bool

    @property
    def exact(self) -> bool:
        """True if all variables are shown, so that distances in the plot are true."""
        return not self.note

    def rows(self, points: FloatArray) -> Any:
        """Rows for the model, of points of shape (n_points, n_axes)."""
        if self.directions is not None:
            values = self.template.to_numpy() + points @ self.directions
            return pd.DataFrame(values, columns=self.template.columns) if self.as_frame else values
        if not self.as_frame:
            values = np.repeat(self.template.to_numpy(dtype=np.float64), len(points), axis=0)
            values[:, self.chosen] = points
            return values
        table = self.template.iloc[np.zeros(len(points), dtype=np.int64)].reset_index(drop=True)
        for axis, column in enumerate(self.chosen):
            table.isetitem(int(column), points[:, axis])
        return table

    def lattice(self, resolution: int) -> list[FloatArray]:
        """Values along each axis, a little beyond the rows."""
        return [np.linspace(*range_around(axis, _BORDER), resolution) for axis in self.positions.T]


def range_around(values: FloatArray, share: float) -> tuple[float, float]:
    """From the smallest to the largest value, extended by a share of the range on both sides."""
    low, high = float(values.min()), float(values.max())
    border = share * (high - low) or 1.0
    return low - border, high + border


def final_step(model: BaseEstimator, X: TableLike) -> tuple[Any, Any]:
    """The last step of a pipeline and the rows as it sees them; else the model itself and X."""
    return (model[-1], model[:-1].transform(X)) if isinstance(model, Pipeline) else (model, X)


def view_of(model: BaseEstimator, X: TableLike, features: Features = None) -> View:
    """The view of ``X`` through the variables ``features`` (one or two), or through a PCA plane.

    None means all variables if there are one or two, else the PCA plane of the rows that the last step of the
    model sees. Other variables are set to their median, categories to their most frequent value.
    """
    table, as_frame = _table(X)
    if features is None:
        features = PCA if table.shape[1] > 2 else list(range(table.shape[1]))
    if features == PCA and PCA not in table.columns:
        return _pca_view(model, X)
    chosen = _columns(table, features)
    positions = np.column_stack([_numbers(table, j) for j in chosen])
    others = [j for j in range(table.shape[1]) if j not in chosen]
    return View(
        model=model,
        names=tuple(str(table.columns[j]) for j in chosen),
        positions=positions,
        note="other variables at their median" if others else "",
        template=_middle(table),
        chosen=np.array(chosen),
        directions=None,
        as_frame=as_frame,
    )


def _pca_view(model: Any, X: Any) -> View:
    last, seen = final_step(model, X)
    table, as_frame = _table(seen)
    if table.shape[1] < 2:
        raise ValueError("features='pca' needs two columns or more, but the model has one: name that one.")
    values = np.column_stack([_numbers(table, j) for j in range(table.shape[1])])
    centre = values.mean(axis=0)
    _, sizes, directions = np.linalg.svd(values - centre, full_matrices=False)
    shares = sizes**2 / max(float((sizes**2).sum()), 1e-300)
    directions = directions[:2] * np.sign(directions[:2].sum(axis=1, keepdims=True) + 1e-300)
    return View(
        model=last,
        names=tuple(f"component {k + 1} ({100 * shares[k]:.0f} %)" for k in range(2)),
        positions=(values - centre) @ directions.T,
        note="plane of the first two principal components",
        template=pd.DataFrame(centre[None], columns=table.columns),
        chosen=np.empty(0, dtype=np.int64),
        directions=directions,
        as_frame=as_frame,
    )


def _table(X: Any) -> tuple[pd.DataFrame, bool]:
    if isinstance(X, pd.DataFrame):
        return X, True
    if hasattr(X, "to_pandas"):
        return X.to_pandas(), True
    values = X.toarray() if sp.issparse(X) else np.asarray(X)
    if values.ndim != 2:
        raise ValueError(f"the plot needs a table of rows and columns, got an array of shape {values.shape}.")
    return pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])]), False


def _columns(table: pd.DataFrame, features: Features) -> list[int]:
    listed = [features] if isinstance(features, (str, int)) else list(features or [])
    names = list(table.columns)
    found = []
    for feature in listed:
        if feature in names:
            found.append(names.index(feature))
        elif isinstance(feature, (int, np.integer)) and 0 <= feature < len(names):
            found.append(int(feature))
        else:
            raise ValueError(f"features: {feature!r} is not a column of the table; it has {names}.")
    if not 1 <= len(found) <= 2 or len(set(found)) < len(found):
        raise ValueError(f"features={features!r}: name one or two different variables, or 'pca'.")
    return found


def _numbers(table: pd.DataFrame, j: int) -> FloatArray:
    try:
        values = table.iloc[:, j].to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"the variable {table.columns[j]!r} is not a number, so it cannot be an axis: "
            "choose others with features=(...)."
        ) from None
    if not np.isfinite(values).all():
        raise ValueError(
            f"the variable {table.columns[j]!r} has missing values: drop or fill those rows first."
        )
    return values


def _middle(table: pd.DataFrame) -> pd.DataFrame:
    """One row: medians of numbers, the most frequent value of other columns."""
    row = {}
    for j, name in enumerate(table.columns):
        column = table.iloc[:, j]
        numeric = column.dtype.kind in "iuf" and not isinstance(column.dtype, pd.CategoricalDtype)
        row[name] = float(column.median()) if numeric else column.mode().iloc[0]
    return pd.DataFrame([row], columns=table.columns)
