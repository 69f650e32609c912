"""From a table to what a model learns from: its columns and its target."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from maxmargin.tables.column_kinds import (
    ColumnKind,
    TableColumn,
    decimal_mark,
    decimal_of,
    leading_zeros,
    numbers,
    recognised,
)
from maxmargin.tables.refusals import Refusal, UsageRefusal, listed
from maxmargin.tables.table_settings import ColumnSettings, Note, Task

_RARE = 5.0  # times as large as another: such a class makes the plain error misleading
_FEW = 20  # most distinct values of whole numbers that are classes
_FEW_CLASSES = 5  # more whole numbers may as well be a quantity


@dataclass(frozen=True)
class Schema:
    """What a model knows about its table: kept in the model file, and applied to new tables."""

    target: str | None
    task: str
    columns: tuple[TableColumn, ...]
    missing: tuple[str, ...] = ()

    @property
    def used(self) -> list[TableColumn]:
        return [column for column in self.columns if column.kind is not ColumnKind.DROP]

    def made(self, kind: ColumnKind) -> list[str]:
        """Names of the model's columns of one kind."""
        return [name for column in self.columns for name, made in column.made.items() if made is kind]

    @property
    def order(self) -> list[str]:
        """Names of the model's columns in their order: numbers first, then categories, text and strings."""
        return [name for kind in ColumnKind for name in self.made(kind)]

    def as_dict(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "task": self.task,
            "columns": [column.as_dict() for column in self.columns],
            "missing": list(self.missing),
        }

    @classmethod
    def of(cls, given: dict[str, Any]) -> Schema:
        """From what `as_dict` gave; an error if it did not come from there."""
        columns = tuple(TableColumn.of(column) for column in given["columns"])
        target, missing = given["target"], given.get("missing", [])
        if not all(isinstance(text, str) for text in ("" if target is None else target, *missing)):
            raise TypeError("the target or a marker of missing values is not a text.")
        if len({column.name for column in columns}) < len(columns):
            raise ValueError("a column occurs twice.")
        return cls(target, Task(given["task"]), columns, tuple(missing))


@dataclass(frozen=True)
class Prepared:
    """Rows, target and what is known about them."""

    X: pd.DataFrame
    y: pd.Series
    schema: Schema
    source: Path

    @property
    def numbers(self) -> list[str]:
        return self.schema.made(ColumnKind.NUMBER)

    @property
    def categories(self) -> list[str]:
        return self.schema.made(ColumnKind.CATEGORY)

    @property
    def texts(self) -> list[str]:
        return self.schema.made(ColumnKind.TEXT)

    @property
    def strings(self) -> list[str]:
        return self.schema.made(ColumnKind.STRING)

    def texts_as(self, kind: ColumnKind, why: str = "") -> Prepared:
        """The same table with its columns of text as another kind: as they are, or left out for a reason."""
        texts = self.texts
        columns = tuple(
            replace(column, kind=kind, why=why) if column.name in texts else column
            for column in self.schema.columns
        )
        X = self.X.drop(columns=texts) if kind is ColumnKind.DROP else self.X
        _check_left(X, columns, self.source)
        return replace(self, X=X, schema=replace(self.schema, columns=columns))

    @property
    def classifies(self) -> bool:
        return self.schema.task == Task.CLASSIFICATION

    @property
    def classes(self) -> list[Any]:
        return sorted(self.y.unique().tolist()) if self.classifies else []

    @property
    def rare_class(self) -> Any:
        """The smallest class if another is more than five times as large; None otherwise."""
        sizes = self.y.value_counts()
        return sizes.idxmin() if self.classifies and sizes.max() > _RARE * sizes.min() else None


def prepare(
    table: pd.DataFrame,
    source: Path,
    settings: ColumnSettings,
    task: Task,
    note: Note,
    missing: Sequence[str] = (),
) -> Prepared:
    """Decide what each column of a table is, and split it into the model's columns and the target.

    ``source`` names the table in sentences; ``missing`` is kept for new tables (see `Reading`).
    """
    _check_missing(missing, table)
    decimal = decimal_of(table, table.attrs.get("decimal", "."))
    target = _target_name(settings, table, source, note)
    kinds = _named_kinds(settings, table, source)
    table, y, task = _target(table, target, task, decimal, note)
    columns = tuple(
        recognised(table[name], kinds.get(str(name)), decimal) for name in table.columns if name != target
    )
    for name in (str(name) for name in table.columns if name != target and str(name) not in kinds):
        if leading_zeros(table[name]):
            kept = shlex.quote(name)
            note(f"{name}: codes with leading zeros, read as text; --columns {kept}=number reads numbers.")
    schema = Schema(target, task.value, columns, tuple(missing))
    X = _model_columns(schema, table)
    _check_left(X, columns, source)
    return Prepared(X, y, schema, source)


def _check_missing(missing: Sequence[str], table: pd.DataFrame) -> None:
    """Refuse COLUMN=TEXT with a misspelt column, which would mark nothing as missing."""
    for text in missing:
        name, equals, _ = text.partition("=")
        close = get_close_matches(name, list(table.columns), n=1, cutoff=0.75)
        if equals and close and name not in table.columns:
            raise Refusal(f"--na {text!r}: there is no column {name!r}: did you mean {close[0]!r}?")


def _check_left(X: pd.DataFrame, columns: tuple[TableColumn, ...], source: Path) -> None:
    """Refuse a table without a column to learn from."""
    if X.shape[1]:
        return
    if not columns:
        raise Refusal(f"{source}: there is no column to learn from, only the target.")
    reasons = "; ".join(f"{column.name} ({column.why})" for column in columns[:6])
    raise Refusal(
        f"{source}: no column is left to learn from: {reasons}. --columns or --categorical can keep one."
    )


def _named_kinds(settings: ColumnSettings, table: pd.DataFrame, source: Path) -> dict[str, str]:
    """The kind of every column that the user names."""
    kinds = dict.fromkeys(settings.drop, ColumnKind.DROP.value) | dict.fromkeys(
        settings.categorical, ColumnKind.CATEGORY.value
    )
    for named in settings.columns:
        name, _, kind = named.rpartition("=")
        if not name or kind.partition(":")[0] not in list(ColumnKind):
            raise UsageRefusal(
                f"--columns {named!r}: write COLUMN=KIND, where KIND is {', '.join(ColumnKind)} or "
                "date:FORMAT."
            )
        kinds[name] = kind
    for name in kinds:
        known_column(name, table, source)
    return kinds


def _model_columns(schema: Schema, table: pd.DataFrame) -> pd.DataFrame:
    """The columns that the model gets."""
    made: dict[str, pd.Series] = {}
    for column in schema.used:
        made |= column.values(table[column.name])
    return pd.DataFrame({name: made[name] for name in schema.order}, index=table.index)


# -- the target ----------------------------------------------------------------------------------------------


def _target_name(settings: ColumnSettings, table: pd.DataFrame, source: Path, note: Note) -> str:
    if settings.target is not None:
        known_column(settings.target, table, source)
        return settings.target
    if "target" in table.attrs:
        return str(table.attrs["target"])
    if settings.guess_target:
        note(f"the target is the last column, {table.columns[-1]!r}.")
        return str(table.columns[-1])
    raise UsageRefusal(
        f"say which column to predict with --target ({listed([repr(name) for name in table.columns], 8)}), "
        "or use --guess-target."
    )


def known_column(name: str, table: pd.DataFrame, path: Path) -> None:
    """Refuse a name that is not a column of the table."""
    if name in table.columns:
        return
    close = get_close_matches(name, list(table.columns), n=1)
    if close:
        raise Refusal(f"{path} has no column {name!r}: did you mean {close[0]!r}?")
    names = listed([repr(column) for column in table.columns], 8)
    raise Refusal(f"{path} has no column {name!r}: it has {names}.")


def _target(
    table: pd.DataFrame, name: str, task: Task, decimal: str, note: Note
) -> tuple[pd.DataFrame, pd.Series, Task]:
    """The table without rows of unknown target, the target, and the task."""
    known = table[name].notna()
    if not known.any():
        raise Refusal(f"the target {name!r} is missing in every row: choose another with --target.")
    if not known.all():
        note(f"rows without a target are left out: {int((~known).sum())} of {len(known)}.")
        table = table[known].reset_index(drop=True)
    column = table[name]
    words = pd.api.types.is_bool_dtype(column) or (
        task is Task.CLASSIFICATION and not pd.api.types.is_numeric_dtype(column)
    )
    values = None if words else target_numbers(column, decimal)
    asked = task
    if task is Task.AUTO:
        task = _guessed_task(values)
    if task is Task.REGRESSION:
        if values is None:
            raise Refusal(
                f"the target {name!r} holds text, which is not a quantity: use --task classification."
            )
        if values.nunique() < 2:
            raise Refusal(f"the target {name!r} is the same in every row: there is nothing to learn.")
        return table, values, task
    labels = _labels(column) if values is None else _whole_labels(values)
    _say_alike(labels, note)
    if asked is Task.AUTO and values is not None and labels.nunique() > _FEW_CLASSES:
        note(
            f"the target {name!r} holds {labels.nunique()} different whole numbers, which are taken as "
            "classes; --task regression takes them as a quantity."
        )
    if labels.nunique() < 2:
        raise Refusal(f"the target {name!r} has only one class ({labels.tolist()[0]!r}): two are needed.")
    return table, labels, task


def target_numbers(column: pd.Series, decimal: str) -> pd.Series | None:
    """The target as numbers, also written as money; None where it is text."""
    if pd.api.types.is_numeric_dtype(column):
        return numbers(column)
    mark = decimal_mark(column, decimal)
    return None if mark is None else numbers(column, mark)


def _guessed_task(values: pd.Series | None) -> Task:
    if values is None:
        return Task.CLASSIFICATION
    whole = bool((values == np.rint(values)).all())
    few = values.nunique() <= min(_FEW, max(2, len(values) // 3))
    return Task.CLASSIFICATION if whole and few else Task.REGRESSION


def _labels(column: pd.Series) -> pd.Series:
    codes, values = pd.factorize(column)
    return pd.Series(np.array([str(value).strip() for value in values])[codes], name=column.name)


def _say_alike(labels: pd.Series, note: Note) -> None:
    """A note about classes that differ in capital letters only, as "Yes" and "yes" do."""
    alike: dict[str, list[str]] = {}
    for label in map(str, labels.unique()):
        alike.setdefault(label.casefold(), []).append(repr(label))
    for *some, last in alike.values():
        if some:
            note(
                f"classes {', '.join(some)} and {last} differ in capital letters only: correct them if they "
                "are one."
            )


def _whole_labels(values: pd.Series) -> pd.Series:
    whole = bool((values == np.rint(values)).all())
    return values.astype(np.int64) if whole else values.map(lambda v: f"{v:g}")


# -- new tables ----------------------------------------------------------------------------------------------


def rows_for(model: str, schema: Schema, table: pd.DataFrame, source: Path, note: Note) -> pd.DataFrame:
    """The model's columns, from a new table."""
    lacking = [repr(column.name) for column in schema.used if column.name not in table.columns]
    if lacking:
        raise Refusal(f"{source} has no {listed(lacking)}, which {model} was fitted on.")
    known = {column.name for column in schema.columns} | {schema.target}
    unknown = [str(name) for name in table.columns if name not in known]
    if unknown:
        note(f"not used by the model: {listed(unknown)}.")
    return _model_columns(schema, table)


def target_for(schema: Schema, name: str, table: pd.DataFrame, source: Path, classes: Any) -> pd.Series:
    """The target of a new table in the form that the model knows."""
    known_column(name, table, source)
    column, decimal = table[name], decimal_of(table, table.attrs.get("decimal", "."))
    if column.isna().any():
        raise Refusal(
            f"the target {name!r} is missing in {int(column.isna().sum())} of {len(column)} rows: leave them "
            "out first."
        )
    if schema.task == Task.REGRESSION:
        values = target_numbers(column, decimal)
        if values is None:
            raise Refusal(f"the target {name!r} holds text, and the model predicts a quantity.")
        return values
    if np.asarray(classes).dtype.kind in "iuf":
        values = target_numbers(column, decimal)
        if values is not None:
            return _whole_labels(values)
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return _whole_labels(column.astype(float)).astype(str)
    return _labels(column)
