"""From a data file to prepared columns, with what the user should know about them."""

from __future__ import annotations

import shlex
from collections import Counter

import typer

from maxmargin.cli.options import TableOptions
from maxmargin.cli.screen import Screen, shown
from maxmargin.tables.column_kinds import ColumnKind
from maxmargin.tables.columns import Prepared, Schema, prepare
from maxmargin.tables.kernel_columns import with_kernel_columns, with_strings
from maxmargin.tables.reading import read_table
from maxmargin.tables.refusals import listed
from maxmargin.tables.table_settings import Task

_PLURALS = {
    "number": "numbers",
    "category": "categories",
    "date": "dates",
    "text": "texts",
    "string": "strings",
}
_FILLED = "numbers are filled with the median of the training rows, categories get a value of their own"


def prepared(
    options: TableOptions,
    task: Task,
    screen: Screen,
    gaps: str = _FILLED,
    *,
    kernel: str | None = None,
    no_text: str = "",
) -> Prepared:
    """Read the table and decide what each column is; print what is left out, converted or filled.

    Columns that a string kernel in ``kernel`` uses keep their text. ``no_text`` says why text is left out.
    """
    settings = with_kernel_columns(options, kernel)
    with screen.working("reading the table"):
        table = read_table(options.data, options.reading, screen.note)
        data = prepare(table, options.data, settings, task, screen.note, options.reading.missing)
    if kernel is not None:
        data = with_strings(data, kernel)
    if no_text:
        data = data.texts_as(ColumnKind.DROP, no_text)
    _say(data, screen, gaps)
    if options.dry_run:
        say_columns(data, screen)
        screen.close()
        raise typer.Exit
    return data


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
        screen.line("target", f"{schema.target}: a quantity from {shown(low)} to {shown(high)}")
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
            "strings": data.strings,
            "left_out": {column.name: column.why for column in schema.columns if column.why},
            "missing": {str(name): int(n) for name, n in missing.items()},
        },
        target=schema.target,
        task=schema.task,
        classes=data.classes or None,
    )


def _say_conversions(schema: Schema, screen: Screen) -> None:
    """A note for each reason to leave columns out and for each conversion."""
    groups: dict[tuple[str, str, bool], list[str]] = {}
    for column in schema.columns:
        if column.converted:
            groups.setdefault((column.why, column.use, column.is_identifier), []).append(column.name)
    for (why, use, identifier), names in groups.items():
        if identifier:
            kept = shlex.quote(names[0])
            screen.note(f"left out {listed(names)}: {screen.say(why)}; --columns {kept}=KIND keeps it.")
        elif why:
            screen.note(f"left out {listed(names)}: {screen.say(why)}.")
        else:
            screen.note(f"{listed(names)}: {screen.say(use)}.")


def say_columns(data: Prepared, screen: Screen) -> None:
    """What is done to every column, as a table."""
    rows = [[column.name, screen.say(column.use)] for column in data.schema.columns]
    screen.table(["column", "use"], rows, "what is done to each column")
    screen.tell(columns=[{"name": name, "use": use} for name, use in rows])
