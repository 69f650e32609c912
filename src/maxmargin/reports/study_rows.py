"""The rows of a study as a table with names, whatever they came as."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.utils import _safe_indexing, column_or_1d

from maxmargin.base.typing import AnyArray


@dataclass(frozen=True)
class Rows:
    """Rows ``X`` and what is known about them, ``y`` (None for outlier detection without labels)."""

    X: Any
    y: AnyArray | None
    target: str | None

    @classmethod
    def of(cls, X: Any, y: Any, target: str | None = None) -> Rows:
        """Check that the lengths agree, and keep the name of the target."""
        values = None if y is None else column_or_1d(y)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if values is not None and len(values) != n:
            raise ValueError(f"X has {n} rows and y has {len(values)}: they must belong together.")
        if n == 0:
            raise ValueError("X has no rows: a report needs at least one.")
        name = getattr(y, "name", None)
        return cls(X=X, y=values, target=target or (None if name is None else str(name)))

    def __len__(self) -> int:
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)

    @cached_property
    def frame(self) -> pd.DataFrame | None:
        """The table; None for sparse matrices and for rows of text."""
        X = self.X
        if isinstance(X, pd.DataFrame):
            return X
        if sp.issparse(X):
            return None
        if hasattr(X, "to_pandas"):
            table: pd.DataFrame = X.to_pandas()
            return table
        values = np.asarray(X)
        if values.ndim != 2:
            return None
        return pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])])

    @property
    def labels(self) -> list[str]:
        """What each row is called: its index in a pandas table, else its number from 0."""
        index = self.X.index if isinstance(self.X, pd.DataFrame) else range(len(self))
        return [str(label) for label in index]

    def sample(self, n: int, seed: int) -> Rows:
        """At most ``n`` rows, drawn without replacement."""
        if len(self) <= n:
            return self
        chosen = np.sort(np.random.default_rng(seed).permutation(len(self))[:n])
        return Rows(
            X=_safe_indexing(self.X, chosen),
            y=None if self.y is None else self.y[chosen],
            target=self.target,
        )
