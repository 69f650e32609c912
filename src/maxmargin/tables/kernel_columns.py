"""Kernels of the command line on the columns of a table: text for string kernels, numbers for the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from maxmargin.kernels import Kernel, Spectrum, Subsequence, parse
from maxmargin.tables.column_kinds import ColumnKind
from maxmargin.tables.columns import Prepared
from maxmargin.tables.refusals import UsageRefusal, listed
from maxmargin.tables.table_settings import ColumnSettings


def named_columns(kernel: Any) -> list[str]:
    """Columns that a kernel names."""
    return list(dict.fromkeys(name for atom in _atoms(kernel).values() for name in _features(atom)))


def with_kernel_columns(settings: ColumnSettings, kernel: str | None) -> ColumnSettings:
    """The settings, and that the columns which string kernels name keep their text."""
    if kernel is None:
        return settings
    names = [name for atom in _strings(parse(kernel)).values() for name in _features(atom)]
    return replace(settings, columns=[*settings.columns, *(f"{name}={ColumnKind.STRING}" for name in names)])


def with_strings(data: Prepared, kernel: str) -> Prepared:
    """The table, with its only column of text kept as it is if a string kernel names no column."""
    free = [atom for atom in _strings(parse(kernel)).values() if not _features(atom)]
    if free and len(data.texts) == 1 and not data.strings:
        return data.texts_as(ColumnKind.STRING)
    return data


def on_columns(text: str, data: Prepared) -> Kernel:
    """The kernel, each part on its columns: string kernels on text, the others on all other columns."""
    kernel = parse(text)
    if not _strings(kernel):
        return kernel
    if data.texts:
        raise UsageRefusal(
            f"words cannot be combined with a string kernel: name {listed(data.texts)} in the kernel, or "
            "leave it out with --drop."
        )
    others = [*data.numbers, *encoded_categories(data)]
    chosen: dict[str, Any] = {}
    for key, atom in _atoms(kernel).items():
        if _features(atom):
            continue
        is_string = isinstance(atom, (Spectrum, Subsequence))
        if is_string and len(data.strings) != 1:
            raise UsageRefusal(
                f"{atom!r} needs the name of its column, such as features='text'; columns of text: "
                f"{listed(data.strings) or 'none (features=COLUMN makes one)'}."
            )
        if not is_string and not others:
            raise UsageRefusal(f"{atom!r} needs a column of numbers, and there is none beside the text.")
        chosen[f"{key}__features" if key else "features"] = data.strings[0] if is_string else others
    return kernel.with_params(**chosen)


def levels(data: Prepared) -> list[list[Any]]:
    """The values of every column of categories, a missing value last."""
    found = []
    for name in data.categories:
        column = data.X[name]
        found.append([*sorted(column.dropna().unique()), *([float("nan")] if column.isna().any() else [])])
    return found


def encoded_categories(data: Prepared) -> list[str]:
    """Names of the columns that one-hot encoding makes."""
    return [
        f"{name}_{level}"
        for name, known in zip(data.categories, levels(data), strict=True)
        for level in known
    ]


def _atoms(kernel: Any) -> dict[str, Kernel]:
    """The kernel's parts that take features, by the path of their parameters."""
    if not isinstance(kernel, Kernel):
        return {}
    parts = {"": kernel, **kernel.get_params(deep=True)}
    return {
        key: part for key, part in parts.items() if isinstance(part, Kernel) and hasattr(part, "features")
    }


def _strings(kernel: Any) -> dict[str, Kernel]:
    return {key: atom for key, atom in _atoms(kernel).items() if isinstance(atom, (Spectrum, Subsequence))}


def _features(atom: Any) -> list[str]:
    given = atom.features
    names = [given] if isinstance(given, str) else [] if given is None else list(given)
    return [name for name in names if isinstance(name, str)]
