"""From a table to what a model learns from: its columns and its target."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import typer

from maxmargin.cli.column_kinds import ColumnKind, TableColumn, decimal_mark, numbers, recognised
from maxmargin.cli.options import Format, TableOptions, Task
from maxmargin.cli.reading import LABEL, format_of, read_table
from maxmargin.cli.screen import ExitCode, Refusal, Screen, UsageRefusal, listed

_PLURALS = {"number": "numbers", "category": "categories", "date": "dates", "text": "texts"}
_FEW = 20  # whole numbers with at most so many distinct values are classes


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

    def as_dict(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "task": self.task,
            "columns": [column.as_dict() for column in self.columns],
            "missing": list(self.missing),
        }

    @classmethod
    def of(cls, notes: dict[str, Any], path: Path) -> Schema:
        """From the notes of a model file."""
        try:
            given = dict(notes["schema"])
            columns = tuple(TableColumn.of(column) for column in given.pop("columns"))
            return cls(columns=columns, missing=tuple(given.pop("missing", ())), **given)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise Refusal(
                f"{path} was not written by this version of the command line and does not describe its "
                "columns: use it in Python, mm.load(...).predict(table).",
                ExitCode.MODEL,
            ) from None


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
    def classifies(self) -> bool:
        return self.schema.task == Task.CLASSIFICATION

    @property
    def classes(self) -> list[Any]:
        return sorted(self.y.unique().tolist()) if self.classifies else []


FILLED = "numbers are filled with the median of the training rows, categories get a value of their own"


def prepare(options: TableOptions, task: Task, screen: Screen, gaps: str = FILLED) -> Prepared:
    """Read the table and decide what each column is; print what is left out, converted or filled."""
    table = read_table(options.data, options.reading, screen)
    decimal = table.attrs.get("decimal", ".")
    target = _target_name(options, table, screen)
    wishes = _wishes(options, table)
    table, y, task = _target(table, target, task, screen)
    columns = tuple(
        recognised(table[name], wishes.get(str(name)), decimal) for name in table.columns if name != target
    )
    schema = Schema(target, task.value, columns, tuple(options.reading.missing))
    X = _model_columns(schema, table)
    if not X.shape[1]:
        raise Refusal(
            f"{options.data}: no column is left to learn from: "
            f"{_reasons(columns) or 'there is only the target'}. --columns or --categorical can keep one."
        )
    data = Prepared(X, y, schema, options.data)
    _say(data, screen, gaps)
    if options.dry_run:
        say_columns(data, screen)
        screen.close()
        raise typer.Exit
    return data


def _wishes(options: TableOptions, table: pd.DataFrame) -> dict[str, str]:
    """What the user says about columns, by name."""
    wishes = dict.fromkeys(options.drop, ColumnKind.DROP.value) | dict.fromkeys(
        options.categorical, ColumnKind.CATEGORY.value
    )
    for wish in options.columns:
        name, _, kind = wish.rpartition("=")
        if not name or kind.partition(":")[0] not in list(ColumnKind):
            raise UsageRefusal(
                f"--columns {wish!r}: write COLUMN=KIND, where KIND is {', '.join(ColumnKind)} or "
                "date:FORMAT."
            )
        wishes[name] = kind
    for name in wishes:
        known_column(name, table, options.data)
    return wishes


def _model_columns(schema: Schema, table: pd.DataFrame) -> pd.DataFrame:
    """The columns that the model gets: numbers first, then categories, then text."""
    made: dict[str, pd.Series] = {}
    for column in schema.used:
        made |= column.values(table[column.name])
    order = [
        name
        for kind in (ColumnKind.NUMBER, ColumnKind.CATEGORY, ColumnKind.TEXT)
        for name in schema.made(kind)
    ]
    return pd.DataFrame({name: made[name] for name in order}, index=table.index)


def _reasons(columns: tuple[TableColumn, ...]) -> str:
    return "; ".join(f"{column.name} ({column.why})" for column in columns[:6])


# -- the target ----------------------------------------------------------------------------------------------


def _target_name(options: TableOptions, table: pd.DataFrame, screen: Screen) -> str:
    if options.target is not None:
        known_column(options.target, table, options.data)
        return options.target
    if format_of(options.data, options.reading.form) is Format.LIBSVM:
        return LABEL
    if options.guess_target:
        screen.note(f"the target is the last column, {table.columns[-1]!r}.")
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
    table: pd.DataFrame, name: str, task: Task, screen: Screen
) -> tuple[pd.DataFrame, pd.Series, Task]:
    """The table without rows of unknown target, the target, and the task."""
    known = table[name].notna()
    if not known.any():
        raise Refusal(f"the target {name!r} is missing in every row: choose another with --target.")
    if not known.all():
        screen.note(f"{int((~known).sum())} rows without a target are left out.")
        table = table[known].reset_index(drop=True)
    column = table[name]
    words = pd.api.types.is_bool_dtype(column) or (
        task is Task.CLASSIFICATION and not pd.api.types.is_numeric_dtype(column)
    )
    values = None if words else target_numbers(column)
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
    if labels.nunique() < 2:
        raise Refusal(f"the target {name!r} has only one class ({labels.iloc[0]!r}): two are needed.")
    return table, labels, task


def target_numbers(column: pd.Series) -> pd.Series | None:
    """The target as numbers, also written as money; None where it is text."""
    if pd.api.types.is_numeric_dtype(column):
        return numbers(column)
    mark = decimal_mark(column, ".")
    return None if mark is None else numbers(column, mark)


def _guessed_task(values: pd.Series | None) -> Task:
    if values is None:
        return Task.CLASSIFICATION
    whole = bool((values == np.rint(values)).all())
    few = values.nunique() <= min(_FEW, max(2, len(values) // 3))
    return Task.CLASSIFICATION if whole and few else Task.REGRESSION


def _labels(column: pd.Series) -> pd.Series:
    return pd.Series(np.array([str(value) for value in column]), name=column.name)


def _whole_labels(values: pd.Series) -> pd.Series:
    whole = bool((values == np.rint(values)).all())
    return values.astype(np.int64) if whole else values.map(lambda v: f"{v:g}")


# -- what is printed -----------------------------------------------------------------------------------------


def _say(data: Prepared, screen: Screen, gaps: str) -> None:
    schema = data.schema
    kinds = Counter(column.kind for column in schema.used)
    counts = ", ".join(f"{n} {screen.say(kind if n == 1 else _PLURALS[kind])}" for kind, n in kinds.items())
    screen.line("data", f"{data.source}: {len(data.X)} rows; {counts}")
    if data.classifies:
        sizes = data.y.value_counts().sort_index()
        classes = listed([f"{label} {n}" for label, n in sizes.items()])
        screen.line("target", f"{schema.target}: {len(sizes)} classes ({classes})")
    else:
        low, high = float(data.y.min()), float(data.y.max())
        screen.line("target", f"{schema.target}: a quantity from {low:.4g} to {high:.4g}")
    _say_conversions(schema, screen)
    missing = data.X.isna().sum()
    missing = missing[missing > 0]
    if len(missing):
        parts = listed([f"{name} ({n})" for name, n in missing.items()])
        screen.note(f"missing values in {parts}: {screen.say(gaps)}.")
    screen.tell(
        data={
            "path": data.source,
            "rows": len(data.X),
            "numbers": data.numbers,
            "categories": data.categories,
            "texts": data.texts,
            "left_out": {column.name: column.why for column in schema.columns if column.why},
            "missing": {str(name): int(n) for name, n in missing.items()},
        },
        target=schema.target,
        task=schema.task,
        classes=data.classes or None,
    )


def _say_conversions(schema: Schema, screen: Screen) -> None:
    """A note for each reason to leave columns out and for each conversion."""
    groups: dict[tuple[str, str], list[str]] = {}
    for column in schema.columns:
        if column.converted:
            groups.setdefault((column.why, column.use), []).append(column.name)
    for (why, use), names in groups.items():
        if why:
            screen.note(f"left out {listed(names)}: {screen.say(why)}.")
        else:
            screen.note(f"{listed(names)}: {screen.say(use)}.")


def say_columns(data: Prepared, screen: Screen) -> None:
    """What is done to every column, as a table."""
    rows = [[column.name, screen.say(column.use)] for column in data.schema.columns]
    screen.table(["column", "use"], rows, "what is done to each column")
    screen.tell(columns=[{"name": name, "use": use} for name, use in rows])


# -- new tables ----------------------------------------------------------------------------------------------


def rows_for(
    model_path: Path, schema: Schema, table: pd.DataFrame, data: Path, screen: Screen
) -> pd.DataFrame:
    """The model's columns, from a new table."""
    lacking = [repr(column.name) for column in schema.used if column.name not in table.columns]
    if lacking:
        raise Refusal(f"{data} has no {listed(lacking)}, which {model_path.name} was fitted on.")
    known = {column.name for column in schema.used} | {schema.target}
    unknown = [str(name) for name in table.columns if name not in known]
    if unknown:
        screen.note(f"not used by the model: {listed(unknown)}.")
    return _model_columns(schema, table)


def target_for(schema: Schema, name: str, table: pd.DataFrame, data: Path, classes: Any) -> pd.Series:
    """The target of a new table in the form that the model knows."""
    known_column(name, table, data)
    column = table[name]
    if column.isna().any():
        raise Refusal(
            f"the target {name!r} is missing in {int(column.isna().sum())} rows: leave them out first."
        )
    if schema.task == Task.REGRESSION:
        values = target_numbers(column)
        if values is None:
            raise Refusal(f"the target {name!r} holds text, and the model predicts a quantity.")
        return values
    if np.asarray(classes).dtype.kind in "iuf":
        values = target_numbers(column)
        if values is not None:
            return _whole_labels(values)
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return _whole_labels(column.astype(float)).astype(str)
    return _labels(column)
