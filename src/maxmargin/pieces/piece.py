"""One piece of a table, and sums over pieces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array

from maxmargin.base.typing import AnyArray, FloatArray
from maxmargin.base.visible_text import visible


@dataclass(frozen=True)
class Piece:
    """Some rows: a table X, with its targets and weights if they are known.

    Attributes
    ----------
    X : array, CSR matrix or dataframe of shape (n_rows, n_features).
    y : targets of shape (n_rows,), or None.
    weight : weights of shape (n_rows,), or None if every row counts once.
    index : the number of the piece in its collection.
    source : the file that it came from, or "X" for an array; "" if unknown.
    start : the number of its first row there. Rows of files count as in a spreadsheet: the header is row 1.

    >>> import numpy as np
    >>> from maxmargin.pieces import from_array
    >>> list(from_array(np.ones((3, 2)), rows=2).map(lambda piece: len(piece.X)))
    [2, 1]
    """

    X: Any
    y: Any = None
    weight: Any = None
    index: int = 0
    source: str = ""
    start: int = 0

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
        try:
            found = check_array(
                self.X,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                order="C",
                ensure_all_finite=False,
                ensure_min_samples=0,
            )
        except (TypeError, ValueError) as refused:
            raise self._not_a_number() or refused from refused
        return _aligned(found)

    def _not_a_number(self) -> ValueError | None:
        """The error about the first cell of a dataframe that is not a number."""
        for j, column in enumerate(getattr(self.X, "columns", ())):
            for i, value in enumerate(self.X.iloc[:, j]):
                try:
                    float(value)
                except (TypeError, ValueError):
                    shown = visible(repr(value))[:60]
                    return ValueError(
                        f"{self.place(i, column)} is {shown}, and X must hold numbers: leave this column "
                        "out (columns=...), or encode it first."
                    )
        return None

    def place(self, row: int, column: Any = None) -> str:
        """The position of a row of this piece, and of a column, in words."""
        where = f"row {self.start + row} of {self.source or f'piece {self.index}'}"
        return where if column is None else f"{where}, column {visible(str(column))!r},"

    def labels(self) -> AnyArray:
        """The targets as an array; an error if there are none."""
        if self.y is None:
            raise ValueError(
                "the pieces hold no target: give y, or name its column with target=... when they are made."
            )
        return _aligned(np.asarray(self.y).ravel())

    def weights(self) -> FloatArray:
        """Weights in float64, ones if none were given."""
        if self.weight is None:
            return np.ones(len(self))
        return _aligned(np.asarray(self.weight, dtype=np.float64).ravel())


def _aligned(values: Any) -> Any:
    """The values at addresses that suit their type; arrays that a cluster has sent can lie anywhere.

    NumPy multiplies matrices at odd addresses in another way, so the last bits would depend on the worker.
    """
    if not issparse(values):
        return np.require(values, requirements="A")
    parts = values.data, values.indices, values.indptr
    if all(part.flags.aligned for part in parts):
        return values
    return type(values)(tuple(map(_aligned, parts)), shape=values.shape)


def add(left: Any, right: Any) -> Any:
    """left + right, entry by entry for tuples."""
    if isinstance(left, tuple):
        return tuple(add(a, b) for a, b in zip(left, right, strict=True))
    return left + right


def tree_sum(results: Iterable[Any], combine: Any) -> Any:
    """Combine results pairwise, as a balanced tree, as they arrive; at most log2(n) are kept.

    The tree only depends on the order of the results, so the number of threads does not change the rounding.

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
