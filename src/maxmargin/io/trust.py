"""Which classes a model file may name. One fixed rule, the same for saving and loading, and no way around it.

A class may be named if it is defined in scikit-learn or in a room of maxmargin that models are made of, and
is an estimator, a kernel, a splitter of rows, a dataclass or an enumeration. No function is ever trusted.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from enum import Enum
from importlib import import_module
from typing import Any

from maxmargin.io.packing import is_record

_ROOMS = {
    "discretize",
    "feature_selection",
    "kernels",
    "machines",
    "metrics",
    "problems",
    "scorecards",
    "solvers",
    "tuning",
}
_NOT_MODELS = {"tests", "conftest", "externals", "_build_utils", "datasets", "experimental", "__main__"}
# classes of scikit-learn inside fitted estimators that are no estimators themselves
_INSIDE = {
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.compose._column_transformer._RemainderColsList",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.utils._bunch.Bunch",
}


def strangers(names: list[str]) -> list[str]:
    """Those of the full class names that a model file may not name."""
    return [name for name in names if not is_trusted(name)]


def is_trusted(name: str) -> bool:
    """True for the full name of a class that the rule admits."""
    module, _, short = name.rpartition(".")
    parts = module.split(".")
    if parts[0] not in ("maxmargin", "sklearn") or not all(part.isidentifier() for part in parts):
        return False
    if parts[0] == "maxmargin" and module != "maxmargin.io.packing" and not _ROOMS & set(parts[1:2]):
        return False
    if _NOT_MODELS & set(parts):
        return False
    try:
        found = getattr(import_module(module), short, None)
    except ImportError:
        return False
    return isinstance(found, type) and found.__module__ == module and is_model_part(found)


def is_model_part(kind: type) -> bool:
    """True for estimators, kernels, splitters, dataclasses and enumerations of maxmargin and scikit-learn."""
    from sklearn.base import BaseEstimator
    from sklearn.model_selection import BaseCrossValidator, BaseShuffleSplit

    from maxmargin.kernels import Kernel

    parts: tuple[Any, ...] = (BaseEstimator, BaseCrossValidator, BaseShuffleSplit, Kernel)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if kind.__module__.split(".")[0] not in ("maxmargin", "sklearn"):
        return False
    ours = kind.__module__.startswith("maxmargin.") and (is_dataclass(kind) or issubclass(kind, Enum))
    return issubclass(kind, parts) or name in _INSIDE or ours or is_record(kind)
