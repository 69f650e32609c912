"""From a table to what a model learns from: which columns, of which kind, and the target."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from maxmargin.cli.options import Format, Task
from maxmargin.cli.reading import LABEL, Reading, as_numbers, described, format_of, read_table
from maxmargin.cli.refusal import Code, Refusal
from maxmargin.cli.screen import Screen

_FEW = 20  # whole numbers up to this many different ones are classes
_MANY = 50  # categories from which a column of text is an identifier, if most rows have their own


@dataclass(frozen=True)
class Schema:
    """What a model was told about its columns: kept in the model file, and used on new tables."""

    target: str | None
    task: str
    numbers: list[str]
    categories: list[str]
    missing: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        return [*self.numbers, *self.categories]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, notes: dict[str, Any], path: Path) -> Schema:
        try:
            return cls(**notes["schema"])
        except (KeyError, TypeError):
            raise Refusal(
                f"{path} was not made by this command line and does not say what its columns are: "
                "use it in Python, mm.load(...).predict(table).",
                Code.MODEL,
            ) from None


@dataclass(frozen=True)
class Prepared:
    """Rows, target and what is known about them."""

    X: pd.DataFrame
    y: pd.Series
    schema: Schema
    source: str

    @property
    def classifies(self) -> bool:
        return self.schema.task == Task.CLASSIFICATION

    @property
    def classes(self) -> list[Any]:
        return sorted(self.y.unique().tolist()) if self.classifies else []


@dataclass(frozen=True)
class Wish:
    """What the user said about a table."""

    path: Path
    target: str | None
    guess: bool = False
    task: Task = Task.AUTO
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    reading: Reading = field(default_factory=Reading)


def wished(
    path: Path,
    target: str | None,
    guess: bool,
    task: Task,
    drop: list[str] | None,
    categorical: list[str] | None,
    missing: list[str] | None,
    form: Format,
    encoding: str,
) -> Wish:
    """What the options of a command say about its table."""
    reading = Reading(form, encoding, tuple(missing or ()))
    return Wish(path, target, guess, task, tuple(drop or ()), tuple(categorical or ()), reading)


FILLED = "numbers get the median of the training rows, categories one of their own"


def prepare(wish: Wish, screen: Screen, gaps: str = FILLED) -> Prepared:
    """Read the table and sort out its columns; everything that is left out or filled is said."""
    table = read_table(wish.path, wish.reading, screen.note)
    target = _target_name(wish, table, screen)
    for name in (*wish.drop, *wish.categorical):
        known_column(name, table, wish.path)
    table, y, task = _target(table, target, wish, screen)
    rows = table.drop(columns=[target, *wish.drop], errors="ignore")
    X, numbers, categories = _sorted_out(rows, wish, screen)
    if not X.shape[1]:
        raise Refusal(
            f"{wish.path}: no column is left to learn from; the notes say why. --categorical keeps a "
            "column of text."
        )
    schema = Schema(target, task.value, numbers, categories, list(wish.reading.missing))
    data = Prepared(X, y, schema, str(wish.path))
    _say(data, screen, gaps)
    return data


# -- the target ----------------------------------------------------------------------------------------------


def _target_name(wish: Wish, table: pd.DataFrame, screen: Screen) -> str:
    if wish.target is not None:
        known_column(wish.target, table, wish.path)
        return wish.target
    if format_of(wish.path, wish.reading.form) is Format.LIBSVM:
        return LABEL
    if wish.guess:
        screen.note(f"guessed target: the last column, {table.columns[-1]!r}.")
        return str(table.columns[-1])
    names = ", ".join(map(repr, table.columns[:8])) + (", ..." if len(table.columns) > 8 else "")
    raise Refusal(f"say which column to predict with --target ({names}), or --guess-target.", Code.USAGE)


def known_column(name: str, table: pd.DataFrame, path: Path) -> None:
    """Refuse a name that is no column of the table."""
    if name in table.columns:
        return
    from difflib import get_close_matches

    close = get_close_matches(name, list(table.columns), n=1)
    names = ", ".join(map(repr, table.columns[:8])) + (", ..." if len(table.columns) > 8 else "")
    hint = f"did you mean {close[0]!r}?" if close else f"it has {names}."
    raise Refusal(f"{path} has no column {name!r}: {hint}")


def _target(
    table: pd.DataFrame, name: str, wish: Wish, screen: Screen
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
        wish.task is Task.CLASSIFICATION and not pd.api.types.is_numeric_dtype(column)
    )
    numbers = None if words else as_numbers(column)
    task = wish.task if wish.task is not Task.AUTO else _guessed_task(numbers)
    if task is Task.REGRESSION:
        if numbers is None:
            raise Refusal(f"the target {name!r} holds text, which is no quantity: use --task classification.")
        if numbers.nunique() < 2:
            raise Refusal(f"the target {name!r} is the same in every row: there is nothing to learn.")
        return table, numbers, task
    labels = _labels(column) if numbers is None else _whole_labels(numbers)
    if labels.nunique() < 2:
        raise Refusal(
            f"the target {name!r} has one class only ({described(labels.iloc[0])}): two are needed."
        )
    return table, labels, Task.CLASSIFICATION


def _guessed_task(numbers: pd.Series | None) -> Task:
    if numbers is None:
        return Task.CLASSIFICATION
    whole = bool((numbers == np.rint(numbers)).all())
    few = numbers.nunique() <= min(_FEW, max(2, len(numbers) // 3))
    return Task.CLASSIFICATION if whole and few else Task.REGRESSION


def _labels(column: pd.Series) -> pd.Series:
    return pd.Series(np.array([str(value) for value in column]), name=column.name)


def _whole_labels(numbers: pd.Series) -> pd.Series:
    whole = bool((numbers == np.rint(numbers)).all())
    return numbers.astype(np.int64) if whole else numbers.map(lambda v: f"{v:g}")


# -- the other columns ---------------------------------------------------------------------------------------


def _sorted_out(rows: pd.DataFrame, wish: Wish, screen: Screen) -> tuple[pd.DataFrame, list[str], list[str]]:
    numbers: dict[str, pd.Series] = {}
    categories: dict[str, pd.Series] = {}
    left_out: dict[str, list[str]] = {}
    for name in rows.columns:
        column = rows[name]
        forced = name in wish.categorical
        reason = _useless(column)
        values = None if reason or forced else _numbers_of(column)
        if reason is None and values is None and not forced and _identifies(column):
            reason = "almost every row has a text of its own (--categorical keeps it)"
        if reason is not None:
            left_out.setdefault(reason, []).append(str(name))
        elif values is not None:
            numbers[str(name)] = values
        else:
            categories[str(name)] = as_categories(column)
    for reason, names in left_out.items():
        screen.note(f"left out {listed(names)}: {reason}.")
    parts = {**numbers, **categories}
    return pd.DataFrame(parts, index=rows.index), list(numbers), list(categories)


def _numbers_of(column: pd.Series) -> pd.Series | None:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return None
    return as_numbers(column)


def _useless(column: pd.Series) -> str | None:
    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        return "dates"
    if column.isna().all():
        return "no value in any row"
    if column.nunique(dropna=False) == 1:
        return "the same value in every row"
    return None


def _identifies(column: pd.Series) -> bool:
    distinct = column.nunique()
    return distinct > _MANY and distinct > 0.5 * len(column)


def as_categories(column: pd.Series) -> pd.Series:
    """Text, with NaN for what is missing."""
    texts = [np.nan if pd.isna(value) else _category(value) for value in column.astype(object)]
    return pd.Series(
        np.array([*texts, None], dtype=object)[:-1], index=column.index, name=column.name, dtype=object
    )


def _category(value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)


def _say(data: Prepared, screen: Screen, gaps: str) -> None:
    schema = data.schema
    kinds = f"{_count(len(schema.numbers), 'number')}, {_count(len(schema.categories), 'category')}"
    screen.line("data", f"{data.source}: {len(data.X)} rows, {kinds}")
    if data.classifies:
        counts = data.y.value_counts().sort_index()
        shown = ", ".join(f"{label} {n}" for label, n in counts.head(6).items())
        more = ", ..." if len(counts) > 6 else ""
        screen.line("target", f"{schema.target}: {len(counts)} classes ({shown}{more})")
    else:
        low, high = float(data.y.min()), float(data.y.max())
        screen.line("target", f"{schema.target}: a quantity from {low:.4g} to {high:.4g}")
    missing = data.X.isna().sum()
    missing = missing[missing > 0]
    if len(missing):
        parts = listed([f"{name} ({n})" for name, n in missing.items()])
        screen.note(f"missing values in {parts}: {gaps}.")
    screen.tell(
        data={
            "path": data.source,
            "rows": len(data.X),
            "numbers": schema.numbers,
            "categories": schema.categories,
            "missing": {str(name): int(n) for name, n in missing.items()},
        },
        target=schema.target,
        task=schema.task,
        classes=data.classes or None,
    )


def _count(n: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{n} {noun if n == 1 else plural}"


def listed(names: list[str], most: int = 6) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


# -- new tables ----------------------------------------------------------------------------------------------


def rows_for(
    model_path: Path, schema: Schema, table: pd.DataFrame, data_path: Path, screen: Screen
) -> pd.DataFrame:
    """The columns that a model needs, out of a new table."""
    lacking = [name for name in schema.columns if name not in table.columns]
    if lacking:
        raise Refusal(
            f"{data_path} lacks {listed([repr(n) for n in lacking])}, which {model_path.name} was fitted on."
        )
    unknown = [str(name) for name in table.columns if name not in (*schema.columns, schema.target)]
    if unknown:
        screen.note(f"not used by the model: {listed(unknown)}.")
    columns: dict[str, pd.Series] = {}
    for name in schema.numbers:
        values = as_numbers(table[name]) if table[name].notna().any() else table[name].astype(float)
        if values is None:
            raise Refusal(
                f"column {name!r} holds text ({table[name].dropna().iloc[0]!r}), and the model needs "
                "numbers: correct it, or fit again with --categorical."
            )
        columns[name] = values
    for name in schema.categories:
        columns[name] = as_categories(table[name])
    return pd.DataFrame(columns, index=table.index)


def target_for(schema: Schema, name: str, table: pd.DataFrame, data_path: Path, classes: Any) -> pd.Series:
    """The target of a new table in the form the model knows."""
    known_column(name, table, data_path)
    column = table[name]
    if column.isna().any():
        raise Refusal(
            f"the target {name!r} is missing in {int(column.isna().sum())} rows: leave them out first."
        )
    if schema.task == Task.REGRESSION:
        numbers = as_numbers(column)
        if numbers is None:
            raise Refusal(f"the target {name!r} holds text, and the model predicts a quantity.")
        return numbers
    if np.asarray(classes).dtype.kind in "iuf":
        numbers = as_numbers(column)
        if numbers is not None:
            return _whole_labels(numbers)
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return _whole_labels(column.astype(float)).astype(str)
    return _labels(column)
