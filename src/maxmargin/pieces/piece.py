"""One piece of a table, and what the sums over pieces are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array

from maxmargin.base.typing import AnyArray, FloatArray


@dataclass(frozen=True)
class Piece:
    """Some rows: a table X, with its targets and weights where they are known.

    Attributes
    ----------
    X : array, CSR matrix or dataframe of shape (n_rows, n_features).
    y : targets of shape (n_rows,), or None.
    weight : weights of shape (n_rows,), or None where every row counts once.
    index : the number of the piece in its collection.
    """

    X: Any
    y: Any = None
    weight: Any = None
    index: int = 0

    def __post_init__(self) -> None:
        for name in ("y", "weight"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self):
                raise ValueError(
                    f"piece {self.index} has {len(self)} rows of X and {len(values)} of {name}: "
                    "cut all of them at the same rows."
                )

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def table(self) -> Any:
        """X as numbers: a C-contiguous float array or a CSR matrix, float32 kept."""
        return check_array(
            self.X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite=False,
            ensure_min_samples=0,
        )

    def labels(self) -> AnyArray:
        """The targets as an array; an error where there are none."""
        if self.y is None:
            raise ValueError(
                "the pieces hold no target: give y, or name its column with target=... where they are made."
            )
        return np.asarray(self.y).ravel()

    def weights(self) -> FloatArray:
        """Weights in float64, ones where none were given."""
        if self.weight is None:
            return np.ones(len(self))
        return np.asarray(self.weight, dtype=np.float64).ravel()


def add(left: Any, right: Any) -> Any:
    """left + right, entry by entry for tuples."""
    if isinstance(left, tuple):
        return tuple(add(a, b) for a, b in zip(left, right, strict=True))
    return left + right


def tree_sum(results: Iterable[Any], combine: Any) -> Any:
    """Combine results pairwise, as a balanced tree, while they arrive; at most log2(n) are kept.

    The tree depends on the order of the results only, so that the rounding of a sum does not depend on how
    many threads computed its parts.

    >>> tree_sum(iter(["a", "b", "c", "d", "e"]), lambda left, right: f"({left}{right})")
    '(((ab)(cd))e)'
    """
    stack: list[tuple[int, Any]] = []
    for result in results:
        level, value = 0, result
        while stack and stack[-1][0] == level:
            value = combine(stack.pop()[1], value)
            level += 1
        stack.append((level, value))
    if not stack:
        raise ValueError("there are no pieces: the source holds no rows.")
    total = stack.pop()[1]
    while stack:
        total = combine(stack.pop()[1], total)
    return total
