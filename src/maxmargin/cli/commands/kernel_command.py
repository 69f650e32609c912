"""``maxmargin kernel``: Mercer's condition for a kernel expression on the rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import maxmargin as mm
from maxmargin.cli.command_options import KernelOptions
from maxmargin.cli.outputs import Outputs, check_outputs, check_picture
from maxmargin.cli.screen import ExitCode, Screen
from maxmargin.kernels import Kernel, MercerCheck, mercer_check, parse
from maxmargin.tables.column_kinds import decimal_mark, numbers
from maxmargin.tables.columns import known_column
from maxmargin.tables.kernel_columns import named_columns
from maxmargin.tables.reading import read_table
from maxmargin.tables.refusals import Refusal, listed


def run(options: KernelOptions, screen: Screen) -> ExitCode:
    """Check if the matrix of the kernel on these rows is symmetric without negative eigenvalues."""
    check_outputs(options.picture, force=options.files.force, read=(options.data,))
    check_picture(options.picture)
    kernel = parse(options.expression)
    table = read_table(options.data, options.reading, screen.note)
    points = _points(kernel, table, options, screen)
    if len(points) > options.rows:
        chosen = np.sort(np.random.default_rng(options.seed).choice(len(points), options.rows, replace=False))
        screen.note(f"a sample of {options.rows} of the {len(points)} rows is checked (--rows, --seed).")
        points = points.iloc[chosen]
    with screen.working("computing the spectrum"):
        bound = kernel.bind(points)
        check = mercer_check(bound, points)
    _say(kernel, bound, check, points, screen)
    if options.picture is not None:
        display = mm.displays.KernelDisplay.from_estimator(bound, points).plot()
        Outputs(options.files, screen).picture(display.figure_, options.picture)
    return ExitCode.DONE if check.holds else ExitCode.NO


def _points(kernel: Kernel, table: pd.DataFrame, options: KernelOptions, screen: Screen) -> pd.DataFrame:
    """The columns that the kernel uses: those it names, or all numbers."""
    named = named_columns(kernel)
    for name in (*options.drop, *named):
        known_column(name, table, options.data)
    table = table.drop(columns=list(options.drop))
    used = [name for name in table.columns if table[name].notna().any() and (not named or name in named)]
    values = {name: column for name in used if (column := _numbers(table[name])) is not None}
    texts = [name for name in used if name in named and name not in values]
    if not values and not texts:
        raise Refusal(f"{options.data} has no column of numbers; a string kernel needs features='COLUMN'.")
    left = [str(name) for name in table.columns if name not in values and name not in texts]
    if left and not named:
        screen.note(f"left out {listed(left)}: {screen.say('text')}.")
    found = table[[name for name in table.columns if name in values or name in texts]].copy()
    for name, column in values.items():
        if column.isna().any():
            screen.note(f"missing values of {name!r} are filled with the median: {int(column.isna().sum())}.")
            column = column.fillna(column.median())
        spread = float(column.std(ddof=0))
        found[name] = column if options.raw else (column - column.mean()) / (spread or 1.0)
    for name in texts:
        found[name] = table[name].astype(object).where(table[name].notna(), "").map(str)
    return found


def _numbers(column: pd.Series) -> pd.Series | None:
    if pd.api.types.is_numeric_dtype(column):
        return numbers(column)
    mark = decimal_mark(column, ".")
    return None if mark is None else numbers(column, mark)


def _say(kernel: Kernel, bound: Any, check: MercerCheck, points: pd.DataFrame, screen: Screen) -> None:
    known = {True: "yes, on all data", False: "no, it may fail", None: "unknown"}[kernel.psd]
    spectrum = check.spectrum[::-1]
    positive = np.clip(spectrum, 0, None)
    total = float(positive.sum())
    needed = int(np.searchsorted(np.cumsum(positive), 0.99 * total) + 1) if total > 0 else 0
    screen.line("kernel", repr(bound))
    columns = "1 column" if points.shape[1] == 1 else f"{points.shape[1]} columns"
    screen.line("rows", f"{len(points)} rows, {columns}")
    screen.line("in theory", f"positive semidefinite: {screen.say(known)}")
    screen.line("here", str(check))
    screen.line(
        "spectrum",
        f"largest eigenvalue {float(spectrum[0]):.4g}; {needed} of {len(spectrum)} hold 99 % of the trace",
    )
    screen.tell(
        kernel=repr(bound),
        rows=len(points),
        psd_by_form=kernel.psd,
        holds=check.holds,
        smallest=check.smallest,
        largest=float(spectrum[0]),
        asymmetry=check.asymmetry,
        tolerance=check.tolerance,
        eigenvalues_for_99_percent=needed,
    )
