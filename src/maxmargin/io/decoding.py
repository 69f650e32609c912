"""From nodes and arrays to a model: each node is made once, from nodes before it, and checked at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from maxmargin.base.shown import ShownTable
from maxmargin.base.typing import AnyArray
from maxmargin.io.consistency import check_parts
from maxmargin.io.container import DTYPES, is_shape, require
from maxmargin.io.encoding import COLUMN_DTYPES, SEQUENCES, TYPES
from maxmargin.io.schema import entry_of

_DEEPEST = 100  # nodes inside nodes
_MOST_NESTED = 8  # estimators inside estimators: the text of each has that of the next one twice
_UNFOLDED = 10  # parts per node: a part may be used more than once, but within limits
_MOST_TABLES = 200  # tables and pipelines, which take longest to make
_EQUAL_HASHES = 16  # keys of a mapping; more with equal hashes would be slow


class Decoder:
    """Makes the nodes of one file in order."""

    def __init__(self, nodes: list[Any], arrays: list[AnyArray]) -> None:
        self._nodes, self._arrays = nodes, arrays
        self._made: list[Any] = []
        # parts that a node unfolds to, and how deep they are nested: all, and estimators among them
        self._sizes: list[tuple[int, int, int]] = []
        self._used: set[int] = set()
        self._taken: set[int] = set()
        self._inside: list[int] = []  # nodes that the present one refers to

    def model(self) -> Any:
        """The last node, which is the model."""
        require(self._nodes, "it holds no model.")
        tables = 0
        for node in self._nodes:
            known = type(node) is list and node and type(node[0]) is str and node[0] in _MAKERS
            require(known, f"{str(node)[:80]} is not a part of a model.")
            tables += node[0] in _TABLES or node[1:2] == ["sklearn/Pipeline"]
            require(tables <= _MOST_TABLES, f"it has more than {_MOST_TABLES} tables and pipelines.")
            self._inside = []
            made = _MAKERS[node[0]](self, *node[1:])
            sizes = [self._sizes[k] for k in self._inside]
            size = 1 + sum(inside[0] for inside in sizes)
            depth = 1 + max((inside[1] for inside in sizes), default=0)
            nested = isinstance(made, BaseEstimator) + max((inside[2] for inside in sizes), default=0)
            bounded = depth <= _DEEPEST and size <= 1000 + _UNFOLDED * len(self._nodes)
            require(
                bounded and nested <= _MOST_NESTED,
                "its parts are nested too deeply, or contain each other too often.",
            )
            self._sizes.append((size, depth, nested))
            self._made.append(made)
        complete = len(self._used) == len(self._made) - 1 and len(self._taken) == len(self._arrays)
        require(complete, "it holds parts that do not belong to the model.")
        return self._made[-1]

    def value(self, item: Any) -> Any:
        """A plain value, or the node that is referred to."""
        if type(item) is list:
            there = len(item) == 1 and type(item[0]) is int and 0 <= item[0] < len(self._made)
            require(there, "a part refers to one that does not come before it.")
            self._inside.append(item[0])
            self._used.add(item[0])
            return self._made[item[0]]
        plain = (
            item is None or type(item) in (bool, int, str) or (type(item) is float and math.isfinite(item))
        )
        require(plain, f"{str(item)[:80]} is not a value of a model file.")
        return item

    def values(self, items: tuple[Any, ...]) -> list[Any]:
        return [self.value(item) for item in items]

    def array(self, number: Any) -> AnyArray:
        """An array of the file; each belongs to one node."""
        there = type(number) is int and 0 <= number < len(self._arrays) and number not in self._taken
        require(there, "a part names an array that is not there, or that another part has.")
        self._taken.add(number)
        return self._arrays[number]


# -- kinds of node: each function takes the file and what follows the kind -----------------------------------


def _object(file: Decoder, name: Any, *parts: Any) -> Any:
    made = entry_of(name).make(_mapping(file, *parts))
    check_parts(name, made)
    return made


def _member(file: Decoder, name: Any, member: Any) -> Any:
    require(name == "Status", f"it names {str(name)[:80]!r}, which is not an enumeration of models.")
    return entry_of(name).cls[member]


def _sequence(make: type, file: Decoder, *parts: Any) -> Any:
    members = file.values(parts)
    if make in (set, frozenset):
        _check_hashes(members)
    return make(members)


def _mapping(file: Decoder, *parts: Any) -> dict[Any, Any]:
    members = file.values(parts)
    keys, values = members[::2], members[1::2]
    _check_hashes(keys)
    found = dict(zip(keys, values, strict=True))
    require(len(found) == len(keys), "a mapping has a key twice.")
    return found


def _check_hashes(keys: list[Any]) -> None:
    """Refuse keys that were chosen to have equal hashes: a mapping of them would take quadratic time."""
    most = Counter(map(hash, keys)).most_common(1)
    require(not most or most[0][1] <= _EQUAL_HASHES, "a mapping has keys that were chosen to make it slow.")


def _float(file: Decoder, text: Any) -> float:
    return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[text]


def _scalar(file: Decoder, number: Any) -> Any:
    array = file.array(number)
    require(array.ndim == 0, "a number has a shape.")
    return array[()]


def _type(file: Decoder, name: Any) -> type:
    return TYPES[name]


def _dtype(file: Decoder, name: Any) -> np.dtype[Any]:
    require(type(name) is str and (name == "|O" or DTYPES.fullmatch(name)), "a dtype is not known.")
    return np.dtype(name)


def _slice(file: Decoder, *ends: Any) -> slice:
    whole = len(ends) == 3 and all(end is None or type(end) is int for end in ends)
    require(whole, "a slice is not made of three whole numbers.")
    return slice(*ends)


def _objects(file: Decoder, shape: Any, *items: Any) -> AnyArray:
    require(is_shape(shape) and math.prod(shape) == len(items), "an array of objects does not fit its shape.")
    array = np.empty(len(items), dtype=object)
    for k, item in enumerate(items):
        array[k] = file.value(item)
    return array.reshape(shape)


def _masked(file: Decoder, data: Any, mask: Any) -> Any:
    values, hidden = file.value(data), file.value(mask)
    fit = type(values) is type(hidden) is np.ndarray and values.shape == hidden.shape and hidden.dtype == bool
    require(fit, "an array does not fit its mask.")
    return np.ma.MaskedArray(values, mask=hidden)


def _sparse(kind: str, file: Decoder, *parts: Any) -> Any:
    """A matrix in canonical form, because compiled code does not check indices."""
    require(len(parts) == 5, "a sparse matrix does not have its five parts.")
    data, indices, indptr = (file.array(number) for number in parts[:3])
    sides = all(type(side) is int and 0 <= side < 1 << 31 for side in parts[3:])
    flat = data.ndim == indices.ndim == indptr.ndim == 1 and data.dtype.kind in "biuf"
    whole = indices.dtype in (np.int32, np.int64) and indptr.dtype == indices.dtype
    require(sides and flat and whole, "a sparse matrix is not made of rows, columns and numbers.")
    rows, columns = parts[3:] if kind.startswith("csr") else parts[:2:-1]
    covered = len(indptr) == rows + 1 and indptr[0] == 0 and len(data) == len(indices) == indptr[-1]
    require(
        covered and (indptr[1:] >= indptr[:-1]).all(), "the rows of a sparse matrix do not cover its entries."
    )
    inside = indices.min(initial=0) >= 0 and indices.max(initial=-1) < columns
    require(inside, f"a sparse matrix has entries outside its {columns} columns.")
    starts = np.zeros(len(indices) + 1, dtype=bool)
    starts[indptr] = True
    ascending = starts[1:-1] | (indices[1:] > indices[:-1])
    require(ascending.all(), "the entries of a sparse matrix are not in ascending order.")
    matrix = getattr(sp, kind)((data, indices, indptr), shape=parts[3:])
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


def _flat(values: Any) -> AnyArray:
    require(type(values) is np.ndarray and values.ndim == 1, "a column of a table is not one row of values.")
    return values


def _index(file: Decoder, values: Any, name: Any) -> Any:
    return pd.Index(_flat(file.value(values)), name=file.value(name))


def _multiindex(file: Decoder, values: Any, *names: Any) -> Any:
    tuples = list(_flat(file.value(values)))
    fit = all(type(label) is tuple and len(label) == len(names) for label in tuples)
    require(fit, "the labels of a table do not fit their names.")
    return pd.MultiIndex.from_tuples(tuples, names=file.values(names))


def _categorical(file: Decoder, codes: Any, categories: Any, ordered: Any) -> Any:
    numbers, known = _flat(file.value(codes)), file.value(categories)
    right = isinstance(known, pd.Index) and numbers.dtype.kind == "i" and type(ordered) is bool
    require(right, "a column is not made of codes and categories.")
    return pd.Categorical.from_codes(numbers, known, ordered=ordered)


def _series(file: Decoder, index: Any, name: Any, dtype: Any, values: Any) -> Any:
    return _column(file.value(values), dtype, _labels(file, index)).rename(file.value(name))


def _frame(file: Decoder, index: Any, names: Any, *parts: Any) -> Any:
    labels, heads = _labels(file, index), _labels(file, names)
    columns = zip(file.values(parts[1::2]), parts[::2], strict=True)
    table = ShownTable(dict(enumerate(_column(*column, labels) for column in columns)), index=labels)
    table.columns = heads
    return table


def _labels(file: Decoder, item: Any) -> Any:
    labels = file.value(item)
    require(isinstance(labels, pd.Index), "a table has no labels.")
    return labels


def _column(values: Any, dtype: Any, index: Any) -> Any:
    known = type(dtype) is str and dtype in COLUMN_DTYPES and len(values) == len(index)
    known = known and (dtype == "category") == isinstance(values, pd.Categorical)
    require(known, "a column of a table is too short or too long, or its dtype is not known.")
    if dtype == "category":
        return pd.Series(values, index=index)
    values = _flat(values)
    return pd.Series(values.astype(dtype) if dtype.startswith("date") else values, index=index, dtype=dtype)


def _random_state(file: Decoder, keys: Any, position: Any, has_gauss: Any, gauss: Any) -> Any:
    state = file.array(keys)
    right = state.shape == (624,) and state.dtype == np.uint32 and type(gauss) in (int, float)
    right = right and type(position) is int and 0 <= position <= 624 and has_gauss in (0, 1)
    require(right, "a random generator has a state of another kind.")
    made = np.random.RandomState()
    made.set_state(("MT19937", state, position, int(has_gauss), float(gauss)))
    return made


_TABLES = frozenset(["index", "multiindex", "categorical", "series", "frame"])
_MAKERS: dict[str, Callable[..., Any]] = {
    "object": _object,
    "enum": _member,
    "dict": _mapping,
    "float": _float,
    "array": Decoder.array,
    "scalar": _scalar,
    "type": _type,
    "dtype": _dtype,
    "slice": _slice,
    "objects": _objects,
    "masked": _masked,
    "index": _index,
    "multiindex": _multiindex,
    "categorical": _categorical,
    "series": _series,
    "frame": _frame,
    "random_state": _random_state,
    **{name: partial(_sequence, make) for name, make in SEQUENCES.items()},
    **{kind: partial(_sparse, kind) for kind in ("csr_array", "csr_matrix", "csc_array", "csc_matrix")},
}
