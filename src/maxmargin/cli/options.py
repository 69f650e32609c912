"""Options that commands share, in groups.

A group is a frozen dataclass; its fields made with `option` and `argument` become options of a command (see
`cli.app`). Functions take the group they need.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

import typer

from maxmargin.tables.table_settings import (
    ClassWeight,
    ColumnSettings,
    Encoding,
    Format,
    Reading,
    Scoring,
    Task,
)

DATA, MODEL, SEARCH, OUTPUT, TERMINAL = PANELS = ("Data", "Model", "Search", "Output", "Terminal")
Language = StrEnum("Language", ["EN", "ES"])


def option(panel: str, names: str, help: str, default: Any = None, **more: Any) -> Any:
    """A field that is an option in a panel of the help page; ``names`` may end with the name of its value."""
    *words, last = names.split()
    flags, value = ([*words, last], None) if last.startswith("-") else (words, last)
    made = typer.Option(*flags, metavar=value, help=help, rich_help_panel=panel, **more)
    if isinstance(default, list):
        return field(default_factory=partial(list, default), metadata={"typer": made})
    return field(default=default, metadata={"typer": made})


def argument(name: str, help: str, default: Any = MISSING) -> Any:
    """A field that is a positional argument."""
    made = typer.Argument(metavar=name, help=help, show_default=False)
    return field(default=default, metadata={"typer": made})


def written(names: str, help: str) -> Any:
    """A field that is an option with the name of a file to write."""
    return option(OUTPUT, f"{names} FILE", help)


def group(options: type, **defaults: Any) -> Any:
    """A field that is a group of options, with other defaults where they are given."""
    return field(default_factory=partial(options, **defaults))


model_argument = partial(argument, "MODEL", "Model file written by maxmargin.")
data_argument = partial(argument, "DATA", "Table: .csv, .tsv, .parquet or .libsvm (also .gz).")
positive_option = partial(option, MODEL, "--positive CLASS", "The class of interest, such as a default.")
seed_option = partial(option, SEARCH, "--seed N", "Seed of the splits and folds.", 0, min=0)
categories_option = partial(
    option, MODEL, "--categories", "How categories become numbers; woe needs two classes.", Encoding.ONEHOT
)
share_option = partial(
    option, SEARCH, "--test-share SHARE", "Share of the rows to hold out.", 0.25, min=0.01, max=0.9
)
task_option = partial(
    option,
    DATA,
    "--task",
    "auto: text, and whole numbers with up to 20 values, are classes; other numbers are a quantity.",
    Task.AUTO,
)
weight_option = partial(
    option,
    MODEL,
    "--class-weight",
    "balanced gives every class the same total weight; auto does so if one class is more than five times as "
    "large as another.",
    ClassWeight.AUTO,
)

exact_option = partial(
    option,
    SEARCH,
    "--exact",
    "Keep the model and its whole grid, however long it takes; without it a search of more than about a "
    "minute becomes smaller.",
    False,
)


@dataclass(frozen=True, kw_only=True)
class ReadingOptions(Reading):
    """How a data file is read."""

    form: Format = option(DATA, "--format", "Format of the data; auto goes by the file name.", Format.AUTO)
    encoding: str = option(DATA, "--encoding NAME", "Encoding of a text file, such as cp1252.", "utf-8")
    missing: list[str] = option(
        DATA,
        "--na TEXT",
        "Text that means a missing value, such as '?', or COLUMN=TEXT (can be repeated).",
        [],
    )
    no_header: bool = option(DATA, "--no-header", "The first line is data; columns get numbers.", False)


@dataclass(frozen=True, kw_only=True)
class TableOptions(ColumnSettings):
    """A table, its target, and which columns are used."""

    data: Path = data_argument()
    target: str | None = option(DATA, "--target -t COLUMN", "Column to predict.")
    guess_target: bool = option(DATA, "--guess-target", "Take the last column as the target.", False)
    drop: list[str] = option(DATA, "--drop COLUMN", "Leave this column out (can be repeated).", [])
    categorical: list[str] = option(
        DATA, "--categorical COLUMN", "Treat these numbers as categories (can be repeated).", []
    )
    columns: list[str] = option(
        DATA,
        "--columns COLUMN=KIND",
        "What a column is: number, category, date, date:%d/%m/%Y, text, string or drop (can be repeated).",
        [],
    )
    dry_run: bool = option(DATA, "--dry-run", "Print what would be done to every column, and stop.", False)
    reading: ReadingOptions = group(ReadingOptions)


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Which model."""

    model: str = option(
        MODEL,
        "--model NAME",
        "For classes: svm, nu-svm, hard-margin, linear-svm, logistic, fisher, perceptron, "
        "passive-aggressive, pegasos, subgradient, kernel-perceptron, large-svc, cell-svc. For quantities: "
        "svm, nu-svm, kernel-ridge, linear-svm, ridge, least-squares, large-svr, large-kernel-ridge.",
        "svm",
    )
    kernel: str | None = option(
        MODEL, "--kernel EXPRESSION", 'Kernel of the SVM, such as "2*RBF(gamma=0.1)+Linear()".'
    )
    categories: Encoding = categories_option()
    class_weight: ClassWeight = weight_option()
    positive: str | None = positive_option()


@dataclass(frozen=True, kw_only=True)
class DecisionOptions:
    """When a row is predicted as the positive class."""

    threshold: float | None = option(
        MODEL, "--threshold SCORE", "Predict the positive class from this probability or decision value on."
    )
    cost: str | None = option(
        MODEL,
        "--cost fp=A,fn=B",
        "Choose the threshold by the costs of a false positive and a false negative.",
    )


@dataclass(frozen=True, kw_only=True)
class FoldOptions:
    """Cross-validation."""

    folds: int = option(SEARCH, "--folds N", "Folds of the cross-validation.", 10, min=2)
    scoring: Scoring = option(
        SEARCH,
        "--scoring",
        "What is minimised: for classes error, balanced-error, auc, f1, log-loss; for quantities mse, mae, "
        "r2. auto: error or mse; balanced-error if classes are very unequal.",
        Scoring.AUTO,
    )
    seed: int = seed_option()
    jobs: int | None = option(SEARCH, "--jobs N", "Threads; all cores by default.", min=1)


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Values to try, and the folds to try them on."""

    grid: list[str] = option(
        SEARCH, "--grid NAME=VALUES", "Values to try, such as C=0.1,1,10 (can be repeated).", []
    )
    exact: bool = exact_option()
    validation: FoldOptions = group(FoldOptions)


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """How output files are written."""

    force: bool = option(OUTPUT, "--force", "Overwrite existing output files.", False)
    raw_csv: bool = option(
        OUTPUT, "--raw-csv", "Do not put ' before text in CSV files that spreadsheets run as formulas.", False
    )


@dataclass(frozen=True, kw_only=True)
class ScreenOptions:
    """What is printed, and how."""

    language: Language = option(
        TERMINAL, "--language", "Language of the terminal and the report.", Language.EN
    )
    json: bool = option(TERMINAL, "--json", "Print one JSON object and nothing else.", False)
