"""Public names of a package that are imported when they are first used."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def homes_of(package: str, modules: Mapping[str, str]) -> dict[str, str]:
    """Public name -> module that defines it; ``modules`` has the names by module, relative to ``package``."""
    return {name: f"{package}.{module}" for module, names in modules.items() for name in names.split()}


def getter_of(package: str, homes: Mapping[str, str], submodules: Sequence[str] = ()) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package (PEP 562)."""

    def get(name: str) -> Any:
        if name in submodules:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return get
