"""Rows of any kind one below the other: what a stream of chunks needs to keep some of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils import _safe_indexing

from maxmargin.base.typing import IntArray


def take_rows(X: Any, chosen: IntArray) -> Any:
    """Some rows of a table of any kind."""
    if sparse.issparse(X):
        return sparse.csr_array(X)[chosen]
    return _safe_indexing(X if hasattr(X, "__getitem__") else np.asarray(X), chosen)


def stack_rows(first: Any, second: Any) -> Any:
    """Both tables' rows: dataframes, sparse or dense arrays, lists (of strings)."""
    if sparse.issparse(first) or sparse.issparse(second):
        return sparse.vstack([sparse.csr_array(first), sparse.csr_array(second)], format="csr")
    if hasattr(first, "iloc") and hasattr(second, "iloc"):
        return pd.concat([first, second], ignore_index=True)
    if isinstance(first, list) and isinstance(second, list):
        return first + second
    if hasattr(first, "vstack"):  # polars
        return first.vstack(second)
    return np.concatenate([np.asarray(first), np.asarray(second)])
