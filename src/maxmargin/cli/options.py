"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class Task(StrEnum):
    """What is predicted."""

    AUTO = "auto"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class Encoding(StrEnum):
    """How categories become numbers."""

    ONEHOT = "onehot"
    WOE = "woe"


class Format(StrEnum):
    """How a file of data is written."""

    AUTO = "auto"
    CSV = "csv"
    TSV = "tsv"
    PARQUET = "parquet"
    LIBSVM = "libsvm"


DATA = "Data"
WORK = "Work"
OUTPUT = "Output"


def optional(*names: str, help: str, panel: str, metavar: str | None = None) -> Any:
    """An option whose default is to be absent."""
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=panel, show_default=False)


def written(*names: str, help: str) -> Any:
    """An option that names a file to write."""
    return optional(*names, metavar="FILE", help=help, panel=OUTPUT)


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="Table: .csv, .tsv, .parquet or .libsvm (also .gz).", show_default=False
    ),
]
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model file written by maxmargin.", show_default=False)
]
Target = Annotated[
    str | None,
    optional("--target", "-t", metavar="COLUMN", help="Column to predict.", panel=DATA),
]
Guess = Annotated[
    bool,
    typer.Option(
        "--guess-target", help="Take the last column as the target, and say so.", rich_help_panel=DATA
    ),
]
Drop = Annotated[
    list[str] | None,
    optional("--drop", metavar="COLUMN", help="Leave this column out (repeat for more).", panel=DATA),
]
Categorical = Annotated[
    list[str] | None,
    optional(
        "--categorical",
        metavar="COLUMN",
        help="Take this column as categories, also if it holds numbers (repeat for more).",
        panel=DATA,
    ),
]
Missing = Annotated[
    list[str] | None,
    optional(
        "--na",
        metavar="TEXT",
        help="Text that means a missing value, such as '?' (repeat for more).",
        panel=DATA,
    ),
]
FileFormat = Annotated[
    Format,
    typer.Option("--format", help="Of the data; auto goes by the name of the file.", rich_help_panel=DATA),
]
TextEncoding = Annotated[
    str,
    typer.Option("--encoding", metavar="NAME", help="Of text files, such as latin-1.", rich_help_panel=DATA),
]
TaskKind = Annotated[
    Task,
    typer.Option(
        "--task",
        help="auto: text and up to 20 different whole numbers are classes, other numbers are a quantity.",
        rich_help_panel=DATA,
    ),
]
Categories = Annotated[
    Encoding,
    typer.Option(
        "--categories", help="How text becomes numbers; woe needs two classes.", rich_help_panel=WORK
    ),
]
Positive = Annotated[
    str | None,
    optional("--positive", metavar="CLASS", help="The class that is looked for.", panel=WORK),
]
Folds = Annotated[
    int,
    typer.Option("--folds", metavar="N", min=2, help="Folds of the cross-validation.", rich_help_panel=WORK),
]
Seed = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, help="Of splits and folds.", rich_help_panel=WORK)
]
TestShare = Annotated[
    float,
    typer.Option(
        "--test-share",
        metavar="SHARE",
        min=0.01,
        max=0.9,
        help="Share of the rows held out.",
        rich_help_panel=WORK,
    ),
]
Grid = Annotated[
    list[str] | None,
    optional(
        "--grid",
        metavar="NAME=VALUES",
        help="Values to try, such as C=0.1,1,10 (repeat for more parameters).",
        panel=WORK,
    ),
]
KernelText = Annotated[
    str | None,
    optional(
        "--kernel",
        metavar="EXPRESSION",
        help='Kernel of the SVM, such as "2*RBF(gamma=0.1)+Linear()".',
        panel=WORK,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", metavar="N", min=1, help="Threads; all by default.", rich_help_panel=WORK),
]
Json = Annotated[bool, typer.Option("--json", help="Only JSON on standard output.", rich_help_panel=OUTPUT)]
Language = Annotated[
    str, typer.Option("--language", metavar="en|es", help="Of the report: en or es.", rich_help_panel=OUTPUT)
]
