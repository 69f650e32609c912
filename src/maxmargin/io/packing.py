"""Models as what a file can hold: plain containers, arrays, and objects of known classes.

`pack` walks through a fitted model and copies it with every table, sparse matrix, enumeration and mapping of
odd keys replaced by a record below; `unpack` is the reverse. On the way it finds what no file can hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from enum import Enum
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

_PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic)
_OURS = ("maxmargin", "sklearn")


class NotStorableError(TypeError):
    """A model holds something that a model file cannot hold."""


@dataclass(frozen=True)
class Table:
    """A DataFrame or Series: one array and one dtype name for each column, and the index."""

    kind: str
    names: Any
    columns: list[Any]
    dtypes: list[str]
    index: Any


@dataclass(frozen=True)
class Categories:
    """A categorical column by its codes."""

    codes: Any
    categories: Any
    ordered: bool


@dataclass(frozen=True)
class Labels:
    """An Index, or the tuples of a MultiIndex."""

    values: Any
    names: list[Any]
    multiple: bool


@dataclass(frozen=True)
class Sparse:
    """A sparse matrix or array by its parts in CSR or CSC form, under the name of its class."""

    kind: str
    data: Any
    indices: Any
    indptr: Any
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Pairs:
    """A mapping whose keys are not all text, or a frozen set (its members as keys)."""

    keys: list[Any]
    values: list[Any] | None


@dataclass(frozen=True)
class Member:
    """A member of an enumeration, by the name of its class and its own."""

    module: str
    enumeration: str
    name: str


@dataclass(frozen=True)
class Objects:
    """An array of Python objects."""

    shape: tuple[int, ...]
    items: list[Any]
    mask: Any = None


@dataclass(frozen=True)
class Kind:
    """A dtype of numbers, text or objects."""

    name: str


RECORDS = (Table, Categories, Labels, Sparse, Pairs, Member, Objects, Kind)


# -- into a file ---------------------------------------------------------------------------------------------


def pack(model: Any) -> Any:
    """A copy of ``model`` for a file; raises NotStorableError with the place of what cannot be stored."""
    return _Packer().pack(model, type(model).__name__)


class _Packer:
    """Remembers what was packed, so that two names for one object stay two names for one object."""

    def __init__(self) -> None:
        self._done: dict[int, Any] = {}
        self._alive: list[Any] = []  # an id is only unique while its object lives

    def pack(self, value: Any, place: str) -> Any:
        if isinstance(value, np.ufunc) or (isinstance(value, _PLAIN) and not isinstance(value, Enum)):
            return value
        if id(value) in self._done:
            return self._done[id(value)]
        packed = self._pack(value, place)
        self._done[id(value)] = packed
        self._alive.append(value)
        return packed

    def _pack(self, value: Any, place: str) -> Any:
        if _is_function(value):
            raise NotStorableError(
                f"{place} is a Python function ({_name_of(value)}), and a model file never holds code: use a "
                "named kernel, scorer or transformer in its place, or keep the program that makes the model."
            )
        if isinstance(value, Enum):
            return Member(type(value).__module__, type(value).__qualname__, value.name)
        if isinstance(value, np.dtype):
            return Kind(value.str)
        if isinstance(value, np.ndarray):
            return self._array(value, place)
        if sp.issparse(value):
            return _sparse(value)
        if isinstance(value, (pd.DataFrame, pd.Series)):
            return self._table(value, place)
        if isinstance(value, pd.Index):
            return self._labels(value, place)
        if type(value).__module__.split(".")[0] == "polars":
            return self._pack(pd.DataFrame({name: value[name].to_list() for name in value.columns}), place)
        if isinstance(value, Mapping):
            return self._mapping(value, place)
        if isinstance(value, (list, tuple, set, frozenset)):
            return self._sequence(value, place)
        return self._object(value, place)

    def _array(self, array: Any, place: str) -> Any:
        if array.dtype != object:
            return array
        values = np.ma.getdata(array)
        items = [self.pack(item, f"{place}[{k}]") for k, item in enumerate(values.ravel().tolist())]
        mask = np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
        return Objects(array.shape, items, mask)

    def _table(self, table: Any, place: str) -> Table:
        series = isinstance(table, pd.Series)
        columns = [table] if series else [table.iloc[:, j] for j in range(table.shape[1])]
        return Table(
            "Series" if series else "DataFrame",
            self.pack(table.name if series else table.columns, f"{place}.columns"),
            [self._column(column, f"{place}[{column.name!r}]") for column in columns],
            [str(column.dtype) for column in columns],
            self.pack(table.index, f"{place}.index"),
        )

    def _column(self, column: Any, place: str) -> Any:
        if isinstance(column.dtype, pd.CategoricalDtype):
            codes, categories = column.cat.codes.to_numpy(), self.pack(column.cat.categories, place)
            return Categories(codes, categories, bool(column.cat.ordered))
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiub":
            return column.to_numpy()
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "mM":
            return column.to_numpy().astype(np.int64)
        items = [None if pd.api.types.is_scalar(v) and pd.isna(v) else v for v in column.tolist()]
        return self.pack(np.array([*items, None], dtype=object)[:-1], place)

    def _labels(self, index: Any, place: str) -> Labels:
        values = index.to_numpy()
        return Labels(self.pack(values, place), list(index.names), isinstance(index, pd.MultiIndex))

    def _mapping(self, mapping: Any, place: str) -> Any:
        values = [self.pack(value, f"{place}[{key!r}]") for key, value in mapping.items()]
        if all(type(key) is str for key in mapping):
            return dict(zip(mapping, values, strict=True))
        return Pairs([self.pack(key, f"a key of {place}") for key in mapping], values)

    def _sequence(self, sequence: Any, place: str) -> Any:
        items = [self.pack(item, f"{place}[{k}]") for k, item in enumerate(sequence)]
        if isinstance(sequence, frozenset):
            return Pairs(items, None)
        if isinstance(sequence, tuple) and hasattr(sequence, "_fields"):
            return type(sequence)(*items)
        return type(sequence)(items)

    def _object(self, value: Any, place: str) -> Any:
        ours = type(value).__module__.split(".")[0] in _OURS
        if not ours or isinstance(value, type) or not hasattr(value, "__dict__"):
            return value  # what skops knows it stores; what it does not know is refused by name later
        try:
            twin = object.__new__(type(value))
        except TypeError:  # a compiled class, which skops handles
            return value
        self._done[id(value)] = twin
        self._alive.append(value)
        twin.__dict__.update({k: self.pack(v, f"{place}.{k}") for k, v in vars(value).items()})
        return twin


def _sparse(matrix: Any) -> Sparse:
    kind = type(matrix).__name__
    if matrix.format not in ("csr", "csc"):
        matrix, kind = matrix.tocsr(), kind.replace(matrix.format, "csr")
    return Sparse(kind, matrix.data, matrix.indices, matrix.indptr, tuple(int(n) for n in matrix.shape))


def _is_function(value: Any) -> bool:
    """Anything that can be called, but classes and the callable objects of the two libraries."""
    return (
        callable(value) and not isinstance(value, type) and type(value).__module__.split(".")[0] not in _OURS
    )


def _name_of(function: Any) -> str:
    function = getattr(function, "func", function)
    return str(getattr(function, "__qualname__", repr(function)))


# -- out of a file -------------------------------------------------------------------------------------------


def unpack(value: Any, is_ours: Callable[[type], bool]) -> Any:
    """The model again, in place; ``is_ours`` says of which classes an enumeration may be."""
    return _Unpacker(is_ours).unpack(value)


class _Unpacker:
    def __init__(self, is_ours: Callable[[type], bool]) -> None:
        self._is_ours = is_ours
        self._done: dict[int, Any] = {}
        self._alive: list[Any] = []

    def unpack(self, value: Any) -> Any:
        if isinstance(value, (*_PLAIN, np.ufunc)):
            return value
        if id(value) in self._done:
            return self._done[id(value)]
        self._alive.append(value)
        if isinstance(value, RECORDS):
            self._done[id(value)] = result = self._record(value)
            return result
        self._done[id(value)] = value
        if isinstance(value, dict):
            for key in value:
                value[key] = self.unpack(value[key])
        elif isinstance(value, list):
            value[:] = [self.unpack(item) for item in value]
        elif isinstance(value, (tuple, set)):
            self._done[id(value)] = value = self._rebuilt(value)
        elif type(value).__module__.split(".")[0] in _OURS and hasattr(value, "__dict__"):
            vars(value).update({k: self.unpack(v) for k, v in vars(value).items()})
        return value

    def _rebuilt(self, value: Any) -> Any:
        items = [self.unpack(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)

    def _record(self, record: Any) -> Any:
        match record:
            case Table():
                return self._table(record)
            case Labels():
                return self._labels(record)
            case Categories():
                categories = self.unpack(record.categories)
                return pd.Categorical.from_codes(record.codes, categories, ordered=record.ordered)
            case Sparse():
                return _matrix(record)
            case Pairs():
                keys = [self.unpack(key) for key in record.keys]
                if record.values is None:
                    return frozenset(keys)
                return dict(zip(keys, [self.unpack(v) for v in record.values], strict=True))
            case Objects():
                return self._objects(record)
            case Kind():
                return np.dtype(str(record.name))
            case Member():
                return self._member(record)
        raise TypeError(f"no such record: {record!r}")

    def _member(self, record: Member) -> Any:
        enumeration = getattr(import_module(record.module), record.enumeration) if _is_known(record) else None
        if not (
            isinstance(enumeration, type) and issubclass(enumeration, Enum) and self._is_ours(enumeration)
        ):
            raise TypeError(f"{record.module}.{record.enumeration} is no enumeration of maxmargin.")
        return enumeration[record.name]

    def _objects(self, record: Objects) -> Any:
        array = np.empty(len(record.items), dtype=object)
        for k, item in enumerate(record.items):
            array[k] = self.unpack(item)
        array = array.reshape(record.shape)
        return array if record.mask is None else np.ma.MaskedArray(array, mask=record.mask)

    def _labels(self, record: Labels) -> Any:
        values = self.unpack(record.values)
        if record.multiple:
            return pd.MultiIndex.from_tuples(list(values), names=record.names)
        return pd.Index(values, name=record.names[0])

    def _table(self, record: Table) -> Any:
        index = self.unpack(record.index)
        columns = [
            _typed(self.unpack(column), dtype, index)
            for column, dtype in zip(record.columns, record.dtypes, strict=True)
        ]
        names = self.unpack(record.names)
        if record.kind == "Series":
            return columns[0].rename(names)
        table = pd.DataFrame(dict(enumerate(columns)), index=index)
        table.columns = names
        return table


def _is_known(record: Member) -> bool:
    return record.module.split(".")[0] == "maxmargin"


def _typed(column: Any, dtype: str, index: Any) -> Any:
    if isinstance(column, pd.Categorical):
        return pd.Series(column, index=index)
    return pd.Series(column, index=index, dtype=None if dtype == "category" else dtype)


def _matrix(record: Sparse) -> Any:
    if record.kind not in ("csr_array", "csr_matrix", "csc_array", "csc_matrix"):
        raise TypeError(f"{record.kind} is no sparse matrix that a model file holds.")
    make = getattr(sp, record.kind)
    matrix = make((record.data, record.indices, record.indptr), shape=record.shape)
    matrix.check_format(full_check=True)  # indices out of range would be read by compiled code
    return matrix


def is_record(kind: type) -> bool:
    """True for the records of this module."""
    return kind in RECORDS and is_dataclass(kind)
