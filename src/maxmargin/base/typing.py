"""Types of arrays inside the library, and of what users may give to it.

Our own arrays are ``FloatArray`` and so on; input from users has a name that ends in ``Like``. No type
includes None: a signature that accepts None says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
"""Real numbers; float32 or float64 is decided at run time."""

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
"""Whole numbers: rows, columns, codes of classes, counts."""

BoolArray: TypeAlias = npt.NDArray[np.bool_]
"""A mask."""

AnyArray: TypeAlias = npt.NDArray[Any]
"""An array of any type, such as class labels."""

Matrix: TypeAlias = FloatArray | sp.csr_matrix | sp.csr_array
"""Rows that were checked: an array, or a sparse matrix in CSR form."""

TableLike: TypeAlias = npt.ArrayLike | pd.DataFrame | sp.spmatrix | sp.sparray
"""X: rows and columns as an array, a list of rows, a data frame (pandas, Polars) or a sparse matrix.

For string kernels: a sequence of strings or of sequences of symbols.
"""

TargetLike: TypeAlias = npt.ArrayLike | pd.Series
"""y: one label or number per row."""

WeightLike: TypeAlias = npt.ArrayLike | pd.Series
"""sample_weight: one number >= 0 per row."""

LabelLike: TypeAlias = str | float | bool | np.generic
"""A class label, such as ``positive``."""

ClassWeightLike: TypeAlias = Mapping[Any, float] | Literal["balanced"]
"""class_weight: a factor per class label, or "balanced" for weights that give every class the same sum."""

GammaLike: TypeAlias = float | Literal["scale", "auto"]
"""gamma: a number > 0, "scale" for 1 / (n_features * X.var()), or "auto" for 1 / n_features."""

RandomStateLike: TypeAlias = int | np.random.RandomState
"""random_state: a seed, or a generator that NumPy calls RandomState; as in scikit-learn."""

ColumnsLike: TypeAlias = Iterable[int] | Iterable[str] | npt.ArrayLike
"""Columns of a table by position, by name, or as a mask."""


class Splitter(Protocol):
    """A scikit-learn cross-validation object."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterable[tuple[IntArray, IntArray]]:
        """The training rows and test rows of every fold."""


FoldsLike: TypeAlias = int | Literal["loo"] | Splitter | Iterable[tuple[IntArray, IntArray]]
"""cv: a number of folds, "loo", a cross-validation object, or pairs of training rows and test rows."""

__all__ = [
    "AnyArray",
    "BoolArray",
    "ClassWeightLike",
    "ColumnsLike",
    "FloatArray",
    "FoldsLike",
    "GammaLike",
    "IntArray",
    "LabelLike",
    "Matrix",
    "RandomStateLike",
    "Splitter",
    "TableLike",
    "TargetLike",
    "WeightLike",
]
