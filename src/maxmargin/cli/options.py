"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

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


_DATA = "Data"
_WORK = "Work"
_OUT = "Output"

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
    typer.Option(
        "--target",
        "-t",
        metavar="COLUMN",
        help="Column to predict.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
Guess = Annotated[
    bool,
    typer.Option(
        "--guess-target", help="Take the last column as the target, and say so.", rich_help_panel=_DATA
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        metavar="COLUMN",
        help="Leave this column out (repeat for more).",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical",
        metavar="COLUMN",
        help="Take this column as categories, also if it holds numbers (repeat for more).",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--na",
        metavar="TEXT",
        help="Text that means a missing value, such as '?' (repeat for more).",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
FileFormat = Annotated[
    Format,
    typer.Option("--format", help="Of the data; auto goes by the name of the file.", rich_help_panel=_DATA),
]
TextEncoding = Annotated[
    str,
    typer.Option("--encoding", metavar="NAME", help="Of text files, such as latin-1.", rich_help_panel=_DATA),
]
TaskKind = Annotated[
    Task,
    typer.Option(
        "--task",
        help="auto: text and up to 20 different whole numbers are classes, other numbers are a quantity.",
        rich_help_panel=_DATA,
    ),
]
Categories = Annotated[
    Encoding,
    typer.Option(
        "--categories", help="How text becomes numbers; woe needs two classes.", rich_help_panel=_WORK
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="CLASS",
        help="The class that is looked for.",
        rich_help_panel=_WORK,
        show_default=False,
    ),
]
Folds = Annotated[
    int,
    typer.Option("--folds", metavar="N", min=2, help="Folds of the cross-validation.", rich_help_panel=_WORK),
]
Seed = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, help="Of splits and folds.", rich_help_panel=_WORK)
]
TestShare = Annotated[
    float,
    typer.Option(
        "--test-share",
        metavar="SHARE",
        min=0.01,
        max=0.9,
        help="Share of the rows held out.",
        rich_help_panel=_WORK,
    ),
]
Grid = Annotated[
    list[str] | None,
    typer.Option(
        "--grid",
        metavar="NAME=VALUES",
        help="Values to try, such as C=0.1,1,10 (repeat for more parameters).",
        rich_help_panel=_WORK,
        show_default=False,
    ),
]
KernelText = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        metavar="EXPRESSION",
        help='Kernel of the SVM, such as "2*RBF(gamma=0.1)+Linear()".',
        rich_help_panel=_WORK,
        show_default=False,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", metavar="N", min=1, help="Threads; all by default.", rich_help_panel=_WORK),
]
Json = Annotated[bool, typer.Option("--json", help="Only JSON on standard output.", rich_help_panel=_OUT)]
Language = Annotated[
    str, typer.Option("--language", metavar="en|es", help="Of the report: en or es.", rich_help_panel=_OUT)
]
