"""The classes that a model file may name, their fields, and the values that these may hold.

The table is `fields.FIELDS`. It is the same for saving and loading, and users cannot extend it: no other
class is imported or made for a file.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from maxmargin.io.container import NotStorableError, require
from maxmargin.io.fields import FIELDS

_KIND = re.compile(r"(=?)([\w/.]+)(~?)(?:\[([\w,]*)\])?(?:<(\w+))?(\*?)")
_ARRAYS = {"real": "f", "int": "iu", "bool": "b", "number": "biuf"}


# -- kinds of values -----------------------------------------------------------------------------------------


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_number(value: Any, loose: bool = False) -> bool:
    real = _is_whole(value) or isinstance(value, (float, np.floating))
    return real and (loose or bool(np.isfinite(value)))


def _are_labels(value: Any) -> bool:
    """Distinct labels of classes."""
    if type(value) is not np.ndarray or value.ndim != 1 or value.dtype.kind not in "biufUO":
        return False
    labels = value.tolist()
    return all(isinstance(label, (str, bool)) or _is_number(label) for label in labels) and _distinct(labels)


def _distinct(values: list[Any]) -> bool:
    return len(set(values)) == len(values)


def _is_finite(value: Any) -> bool:
    return value.dtype.kind in "biuf" and bool(np.isfinite(value.data if sp.issparse(value) else value).all())


_SIMPLE: dict[str, Callable[[Any], bool]] = {
    "value": lambda value: True,
    "function": lambda value: False,  # a file never holds one
    "none": lambda value: value is None,
    "flag": lambda value: isinstance(value, (bool, np.bool_)),
    "whole": _is_whole,
    "float": _is_number,
    "text": lambda value: isinstance(value, str),
    "dict": lambda value: isinstance(value, dict),
    "dtype": lambda value: isinstance(value, (type, np.dtype)),
    "random": lambda value: isinstance(value, np.random.RandomState),
    "table": lambda value: isinstance(value, pd.DataFrame),
    "label": _are_labels,
    "name": lambda value: _are_labels(value) and all(isinstance(name, str) for name in value),
    "dense": lambda value: type(value) is np.ndarray and value.ndim == 2 and _is_finite(value),
    "sparse": lambda value: sp.issparse(value) and _is_finite(value),
    "texts": lambda value: type(value) is list and all(isinstance(text, str) for text in value),
    "cells": lambda value: type(value) is np.ndarray and value.dtype.kind in "UO",
}


@dataclass(frozen=True)
class Kind:
    """One kind of value, as in ``real[n,p]``, ``int[n]<k``, ``=p`` or ``Certificate*``; see `fields`."""

    text: str

    @cached_property
    def _parts(self) -> tuple[str, ...]:
        found = _KIND.fullmatch(self.text)
        if found is None:
            raise ValueError(f"{self.text!r} is not a kind of value.")
        return found.groups()

    def fits(self, value: Any, known: dict[str, int]) -> bool:
        """Whether ``value`` is of this kind; sides that are met for the first time become known."""
        binds, name, *_, many = self._parts
        if many:
            return type(value) in (list, tuple) and all(self._fits_one(item, known) for item in value)
        if binds:
            return _is_whole(value) and value >= 0 and known.setdefault(name, int(value)) == value
        return self._fits_one(value, known)

    def _fits_one(self, value: Any, known: dict[str, int]) -> bool:
        _, name, loose, shape, bound, _ = self._parts
        if name == "float":
            return _is_number(value, bool(loose))
        if name in _SIMPLE:
            return _SIMPLE[name](value) and self._has_sides(value, known)
        if name not in _ARRAYS:
            return (entry_name(type(value)) or "") in UNIONS.get(name, (name,))
        if type(value) is not np.ndarray or value.dtype.kind not in _ARRAYS[name]:
            return False
        if value.ndim != len(shape.split(",")) or not (loose or np.isfinite(value).all()):
            return False
        inside = not bound or (value.min(initial=0) >= 0 and value.max(initial=-1) < known.get(bound, np.inf))
        return bool(inside) and self._has_sides(value, known)

    def _has_sides(self, value: Any, known: dict[str, int]) -> bool:
        shape = self._parts[3]
        if shape is None:
            return True
        sides = value.shape if hasattr(value, "shape") else (len(value),)
        return all(
            side == (int(name) if name.isdigit() else known.setdefault(name, side))
            for name, side in zip(shape.split(","), sides, strict=False)
        )


# -- classes and their fields --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Field:
    """A field of a class, and the kinds of value that it may hold."""

    optional: bool
    kinds: tuple[Kind, ...]

    def fits(self, value: Any, known: dict[str, int]) -> bool:
        for kind in self.kinds:
            trial = dict(known)
            if kind.fits(value, trial):
                known.update(trial)
                return True
        return False


_CONFIGURATION = {".sklearn_output_config": Field(True, (Kind("dict"),))}


@dataclass(frozen=True)
class Entry:
    """A class that a file may name."""

    name: str
    module: str
    fields: dict[str, Field]

    @cached_property
    def cls(self) -> Any:
        return getattr(import_module(self.module), hidden(self.name.rpartition("/")[2]))

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The arguments of the constructor."""
        plain = self.cls.__init__ is object.__init__
        return frozenset(() if plain else inspect.signature(self.cls).parameters)

    @cached_property
    def attributes(self) -> dict[str, Field]:
        """The fields that a fit, or a first use, adds to the arguments of the constructor."""
        found = {name: field for name, field in self.fields.items() if name not in self.parameters}
        return {**found, **_CONFIGURATION} if issubclass(self.cls, BaseEstimator) else found

    def is_fitted(self, made: Any) -> bool:
        """True if an object has any of the fields that a fit sets, or if a fit sets none."""
        marks = [hidden(name) for name, field in self.attributes.items() if not field.optional]
        return not marks or any(mark in vars(made) for mark in marks)

    def state(self, value: Any) -> dict[str, Any]:
        """The fields of an object."""
        found = {}
        getattr(value, "factors", None)  # those of strings from a file may not be computed yet
        for attribute, item in {**vars(value), **getattr(value, "cvargs", {})}.items():
            name = f".{attribute[1:]}" if attribute.startswith("_") else attribute
            kept = isinstance(getattr(self.cls, attribute, None), cached_property)
            if name in self.parameters or name in self.attributes:
                found[name] = item
            elif (
                not kept and self.module != "sklearn.model_selection"
            ):  # splitters follow from their arguments
                raise NotStorableError(
                    f"{self.name}.{attribute} is not an attribute that model files know: delete it."
                )
        return found

    def make(self, given: dict[str, Any]) -> Any:
        """The object with these fields, after each was found to be of its kind."""
        for name in given:
            known = name in self.parameters or name in self.attributes
            require(
                known, f"this version of maxmargin knows no field {name!r} of {self.name}: use a newer one."
            )
        inner = given.get("estimator")
        right = inner is None or isinstance(inner, BaseEstimator) or "estimator" not in self.parameters
        require(right, f"{self.name}.estimator is not an estimator.")
        fitted = any(name in self.attributes and name not in _CONFIGURATION for name in given)
        sides: dict[str, int] = {}
        for name, field in {**self.fields, **_CONFIGURATION}.items():
            if name in given:
                kinds = " or ".join(kind.text for kind in field.kinds)
                require(field.fits(given[name], sides), f"{self.name}.{name} is not {kinds}.")
            elif not field.optional and (fitted or name in self.parameters):
                raise ValueError(f"the field {name!r} of {self.name} is missing.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some kernels warn when they are made, and did so before
            made = self.cls(**{name: item for name, item in given.items() if name in self.parameters})
        vars(made).update({hidden(name): item for name, item in given.items() if name not in self.parameters})
        return made


def hidden(name: str) -> str:
    """The attribute or class behind a name of the table, which writes a dot for a leading underscore."""
    return f"_{name[1:]}" if name.startswith(".") else name


def _parse_table(text: str) -> tuple[dict[str, Entry], dict[str, tuple[str, ...]]]:
    """The classes of the table, and its names for any of several classes."""
    entries: dict[str, Entry] = {}
    unions: dict[str, tuple[str, ...]] = {}
    groups: dict[str, dict[str, Field]] = {}
    module = ""
    for line in filter(None, re.sub(r"\n +", " ", text).splitlines()):
        if line.startswith("["):
            module = line.strip("[]")
        elif " = " in line:
            name, _, members = line.partition(" = ")
            unions[name] = tuple(members.split())
        else:
            names, _, body = line.partition(":")
            fields = _parse_fields(body, groups)
            for name in names.split():
                groups[name] = fields
                entries[name] = Entry(name, module, fields)
    return {name: entry for name, entry in entries.items() if not name.startswith("+")}, unions


def _parse_fields(body: str, groups: dict[str, dict[str, Field]]) -> dict[str, Field]:
    fields: dict[str, Field] = {}
    for words in map(str.split, body.split(";")):
        if len(words) == 1:
            fields.update(groups[words[0]])
        elif words:
            kinds = tuple(Kind(text) for text in words[1].split("|"))
            fields[words[0].rstrip("?")] = Field(words[0].endswith("?"), kinds)
    return fields


ENTRIES, UNIONS = _parse_table(FIELDS)
_NAMES: dict[type, str | None] = {}


def entry_of(name: Any) -> Entry:
    """The entry of a name; an error for any other."""
    known = type(name) is str and name in ENTRIES
    require(known, f"it names {str(name)[:80]!r}, which is not a class that models of maxmargin are made of.")
    return ENTRIES[name]


def entry_name(kind: type) -> str | None:
    """The name of a class in model files; None for a class that they do not know."""
    if kind not in _NAMES:
        alike = [name for name in ENTRIES if hidden(name.rpartition("/")[2]) == kind.__name__]
        _NAMES[kind] = next((name for name in alike if ENTRIES[name].cls is kind), None)
    return _NAMES[kind]
