"""From a model to nodes and arrays.

A node is ``[kind, ...]``. Plain values (None, True, numbers, text) are written in it; everything else is a
reference ``[k]`` to node k, which comes earlier in the list. So a part is stored once, however often it is
used, and no node can contain itself.
"""

from __future__ import annotations

import math
from collections import UserList
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from maxmargin.base.typing import AnyArray
from maxmargin.io.container import DTYPES, LONGEST_NUMBER, MOST_DIMENSIONS, NotStorableError
from maxmargin.io.schema import entry_name, entry_of, hidden

COLUMN_DTYPES = frozenset(
    ["bool", "boolean", "str", "string", "object", "category"]
    + [f"{kind}{bits}" for kind in ("int", "uint", "Int", "UInt") for bits in (8, 16, 32, 64)]
    + [f"{kind}{bits}" for kind in ("float", "Float") for bits in (32, 64)]
    + [f"datetime64[{unit}]" for unit in ("s", "ms", "us", "ns")]
)
SEQUENCES: dict[str, type] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
TYPES: dict[str, type] = {
    **{kind.__name__: kind for kind in (bool, int, float, str, object)},
    **{f"numpy.{kind.__name__}": kind for kind in (np.bool_, np.str_, np.object_, np.float32, np.float64)},
    **{f"numpy.{kind.__name__}": kind for kind in (np.number, np.integer, np.floating)},
    **{
        f"numpy.{kind}{bits}": np.dtype(f"{kind}{bits}").type
        for kind in ("int", "uint")
        for bits in (8, 16, 32, 64)
    },
}


class Encoder:
    """Collects the nodes and arrays of one model."""

    def __init__(self) -> None:
        self.nodes: list[list[Any]] = []
        self.arrays: list[AnyArray] = []
        self._numbers: dict[int, list[int]] = {}
        self._alive: list[Any] = []  # an id is unique only while its object lives

    def encode(self, value: Any, place: str) -> Any:
        """A plain value itself, or a reference to the node of anything else."""
        if type(value) is int and value.bit_length() > 3 * LONGEST_NUMBER:
            raise NotStorableError(f"{place} is a number with too many digits for a model file.")
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float and math.isfinite(value):
            return value
        if id(value) not in self._numbers:
            node = self._node(value, place)
            self._numbers[id(value)] = [len(self.nodes)]
            self._alive.append(value)
            self.nodes.append(node)
        return self._numbers[id(value)]

    def _node(self, value: Any, place: str) -> list[Any]:
        if isinstance(value, Enum):
            return ["enum", _known(value, place), value.name]
        if type(value) is float:
            return ["float", repr(value)]
        if isinstance(value, np.generic):
            return ["scalar", self._array(np.asarray(value), place)]
        if isinstance(value, type):
            name = next((name for name, kind in TYPES.items() if kind is value), None)
            if name is None:
                raise NotStorableError(f"{place} is the class {value.__name__}: save a fitted model.")
            return ["type", name]
        if isinstance(value, np.dtype):
            return ["dtype", value.str]
        if isinstance(value, slice):
            return ["slice", value.start, value.stop, value.step]
        if isinstance(value, np.random.RandomState):
            return self._random(value, place)
        data = (np.ndarray, pd.DataFrame, pd.Series, pd.Index, pd.Categorical)
        if isinstance(value, data) or sp.issparse(value):
            return self._data(value, place)
        if type(value).__module__.split(".")[0] == "polars":
            return self._table(pd.DataFrame({name: value[name].to_list() for name in value.columns}), place)
        return self._container(value, place)

    def _container(self, value: Any, place: str) -> list[Any]:
        if isinstance(value, UserList):
            value = list(value)
        if type(value) in SEQUENCES.values():
            items = [self.encode(item, f"{place}[{k}]") for k, item in enumerate(value)]
            return [type(value).__name__, *items]
        if isinstance(value, Mapping):
            parts = [(part, key) for key, item in value.items() for part in (key, item)]
            return ["dict", *(self.encode(part, f"{place}[{key!r}]") for part, key in parts)]
        if callable(value) and entry_name(type(value)) is None:
            function = getattr(value, "func", value)
            raise NotStorableError(
                f"{place} is a Python function ({getattr(function, '__qualname__', repr(function))}), and a "
                "model file never holds code: use a named kernel, scorer or transformer instead, or keep the "
                "program that makes the model."
            )
        node: list[Any] = ["object", _known(value, place)]
        for field, item in entry_of(node[1]).state(value).items():
            node += [field, self.encode(item, f"{place}.{hidden(field)}")]
        return node

    # -- numbers and tables ----------------------------------------------------------------------------

    def _array(self, array: AnyArray, place: str) -> int:
        if not DTYPES.fullmatch(array.dtype.newbyteorder("<").str) or array.ndim > MOST_DIMENSIONS:
            raise NotStorableError(f"{place} is an array of {array.dtype}, which a model file cannot hold.")
        self.arrays.append(array)
        return len(self.arrays) - 1

    def _data(self, value: Any, place: str) -> list[Any]:
        if isinstance(value, np.ma.MaskedArray):
            return ["masked", self.encode(value.data, place), self.encode(np.ma.getmaskarray(value), place)]
        if isinstance(value, np.ndarray) and value.dtype == object:
            items = [self.encode(item, f"{place}[{k}]") for k, item in enumerate(value.ravel().tolist())]
            return ["objects", list(value.shape), *items]
        if isinstance(value, np.ndarray):
            return ["array", self._array(value, place)]
        if isinstance(value, pd.Index):
            kind = "multiindex" if isinstance(value, pd.MultiIndex) else "index"
            return [kind, *(self.encode(part, place) for part in (value.to_numpy(), *value.names))]
        if isinstance(value, pd.Categorical):
            parts = (np.asarray(value.codes), value.categories, bool(value.ordered))
            return ["categorical", *(self.encode(part, place) for part in parts)]
        if isinstance(value, (pd.DataFrame, pd.Series)):
            return self._table(value, place)
        return self._sparse(value, place)

    def _sparse(self, matrix: Any, place: str) -> list[Any]:
        kind = "matrix" if isinstance(matrix, sp.spmatrix) else "array"
        matrix = matrix.asformat(matrix.format if matrix.format in ("csr", "csc") else "csr")
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        parts = [self._array(part, place) for part in (matrix.data, matrix.indices, matrix.indptr)]
        return [f"{matrix.format}_{kind}", *parts, *(int(side) for side in matrix.shape)]

    def _table(self, table: Any, place: str) -> list[Any]:
        series = isinstance(table, pd.Series)
        columns = [table] if series else [table.iloc[:, j] for j in range(table.shape[1])]
        node: list[Any] = ["series" if series else "frame", self.encode(table.index, f"{place}.index")]
        node.append(self.encode(table.name if series else table.columns, f"{place}.columns"))
        for column in columns:
            where, dtype = f"{place}[{column.name!r}]", str(column.dtype)
            if dtype not in COLUMN_DTYPES:
                raise NotStorableError(f"{where} is a column of {dtype}, which a model file cannot hold.")
            node += [dtype, self.encode(_values(column), where)]
        return node

    def _random(self, value: np.random.RandomState, place: str) -> list[Any]:
        state: Any = value.get_state(legacy=False)
        if state["bit_generator"] != "MT19937":
            raise NotStorableError(f"{place} is a random generator of another kind: give a seed instead.")
        keys = self._array(state["state"]["key"], place)
        rest = int(state["state"]["pos"]), int(state["has_gauss"]), float(state["gauss"])
        return ["random_state", keys, *rest]


def _values(column: Any) -> Any:
    """The values of a column as an array of numbers, a categorical, or an array of objects."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.array
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiub":
        return column.to_numpy()
    if isinstance(column.dtype, np.dtype) and column.dtype.kind == "M":
        return column.to_numpy().astype(np.int64)
    items = [None if pd.api.types.is_scalar(v) and pd.isna(v) else v for v in column.tolist()]
    return np.array([*items, None], dtype=object)[:-1]


def _known(value: Any, place: str) -> str:
    """The name of an object's class in model files."""
    name, kind = entry_name(type(value)), type(value)
    if name is None:
        raise NotStorableError(
            f"the model holds {place}, a {kind.__module__}.{kind.__qualname__}: a model file only holds "
            "classes of maxmargin and the usual steps of scikit-learn. Apply it to the table before instead."
        )
    return name
