"""Options that commands share, in groups.

A group is a frozen dataclass whose annotated fields become options; functions take the group they need.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

DATA, MODEL, SEARCH, OUTPUT, TERMINAL = PANELS = ("Data", "Model", "Search", "Output", "Terminal")


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
    """Format of a data file."""

    AUTO = "auto"
    CSV = "csv"
    TSV = "tsv"
    PARQUET = "parquet"
    LIBSVM = "libsvm"


class Scoring(StrEnum):
    """What tuning minimises."""

    AUTO = "auto"
    ERROR = "error"
    BALANCED_ERROR = "balanced-error"
    AUC = "auc"
    F1 = "f1"
    LOG_LOSS = "log-loss"
    MSE = "mse"
    MAE = "mae"
    R2 = "r2"


class ClassWeight(StrEnum):
    """Weights of the classes."""

    AUTO = "auto"
    NONE = "none"
    BALANCED = "balanced"


class Language(StrEnum):
    """Language of the terminal and of the report."""

    EN = "en"
    ES = "es"


def option(panel: str, *names: str, help: str, **more: Any) -> Any:
    """An option in a panel of the help page."""
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


def written(*names: str, help: str) -> Any:
    """An option that names a file to write."""
    return option(OUTPUT, *names, metavar="FILE", help=help)


def argument(name: str, help: str) -> Any:
    """A positional argument."""
    return typer.Argument(metavar=name, help=help, show_default=False)


ModelPath = Annotated[Path, argument("MODEL", "Model file written by maxmargin.")]
DataPath = Annotated[Path, argument("DATA", "Table: .csv, .tsv, .parquet or .libsvm (also .gz).")]
Output = Annotated[Path | None, written("--output", "-o", help="Table as CSV.")]
Picture = Annotated[Path | None, written("--picture", help="Picture as .png or .svg.")]
Positive = Annotated[
    str | None, option(MODEL, "--positive", metavar="CLASS", help="The class of interest, such as a default.")
]
TestShare = Annotated[
    float,
    option(SEARCH, "--test-share", metavar="SHARE", min=0.01, max=0.9, help="Share of the rows to hold out."),
]
Seed = Annotated[int, option(SEARCH, "--seed", metavar="N", min=0, help="Seed of the splits and folds.")]
TaskKind = Annotated[
    Task,
    option(
        DATA,
        "--task",
        help="auto: text, and whole numbers with up to 20 values, are classes; other numbers are a quantity.",
    ),
]
Categories = Annotated[
    Encoding,
    option(MODEL, "--categories", help="How categories become numbers; woe needs two classes."),
]


Weights = Annotated[
    ClassWeight,
    option(
        MODEL,
        "--class-weight",
        help="balanced gives every class the same total weight; auto does so if one class is more than five "
        "times as large as another.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How a data file is read."""

    form: Annotated[
        Format, option(DATA, "--format", help="Format of the data; auto goes by the file name.")
    ] = Format.AUTO
    encoding: Annotated[
        str, option(DATA, "--encoding", metavar="NAME", help="Encoding of a text file, such as latin-1.")
    ] = "utf-8"
    missing: Annotated[
        list[str],
        option(
            DATA,
            "--na",
            metavar="TEXT",
            help="Text that means a missing value, such as '?', or COLUMN=TEXT (repeat for more).",
        ),
    ] = field(default_factory=list)
    no_header: Annotated[
        bool,
        option(DATA, "--no-header", help="The first line of the file is data; columns get numbers as names."),
    ] = False


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """A table, its target, and which columns are used."""

    data: DataPath
    target: Annotated[
        str | None, option(DATA, "--target", "-t", metavar="COLUMN", help="Column to predict.")
    ] = None
    guess_target: Annotated[
        bool, option(DATA, "--guess-target", help="Take the last column as the target.")
    ] = False
    drop: Annotated[
        list[str], option(DATA, "--drop", metavar="COLUMN", help="Leave this column out (repeat for more).")
    ] = field(default_factory=list)
    categorical: Annotated[
        list[str],
        option(
            DATA,
            "--categorical",
            metavar="COLUMN",
            help="Treat this column as categories even if it holds numbers (repeat for more).",
        ),
    ] = field(default_factory=list)
    columns: Annotated[
        list[str],
        option(
            DATA,
            "--columns",
            metavar="COLUMN=KIND",
            help="What a column is: number, category, date, date:%d/%m/%Y, text or drop (repeat for more).",
        ),
    ] = field(default_factory=list)
    reading: ReadingOptions = field(default_factory=ReadingOptions)


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Which model."""

    model: Annotated[
        str,
        option(
            MODEL,
            "--model",
            metavar="NAME",
            help="For classes: svm, nu-svm, linear-svm, logistic, fisher, perceptron. For quantities: svm, "
            "nu-svm, kernel-ridge, linear-svm, ridge, least-squares.",
        ),
    ] = "svm"
    kernel: Annotated[
        str | None,
        option(
            MODEL,
            "--kernel",
            metavar="EXPRESSION",
            help='Kernel of the SVM, such as "2*RBF(gamma=0.1)+Linear()".',
        ),
    ] = None
    categories: Categories = Encoding.ONEHOT
    class_weight: Weights = ClassWeight.AUTO
    positive: Positive = None


@dataclass(frozen=True, kw_only=True)
class DecisionOptions:
    """When a row is predicted as the positive class."""

    threshold: Annotated[
        float | None,
        option(
            MODEL,
            "--threshold",
            metavar="SCORE",
            help="Predict the positive class from this probability or decision value on (two classes).",
        ),
    ] = None
    cost: Annotated[
        str | None,
        option(
            MODEL,
            "--cost",
            metavar="fp=A,fn=B",
            help="Choose the threshold by the cost of a false positive and of a false negative.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class FoldOptions:
    """Cross-validation."""

    folds: Annotated[
        int, option(SEARCH, "--folds", metavar="N", min=2, help="Folds of the cross-validation.")
    ] = 10
    scoring: Annotated[
        Scoring,
        option(
            SEARCH,
            "--scoring",
            help="What is minimised: for classes error, balanced-error, auc, f1, log-loss; for quantities "
            "mse, mae, r2. auto: error or mse; balanced-error if classes are very unequal.",
        ),
    ] = Scoring.AUTO
    seed: Seed = 0
    jobs: Annotated[
        int | None, option(SEARCH, "--jobs", metavar="N", min=1, help="Threads; all cores by default.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Values to try, and the folds to try them on."""

    grid: Annotated[
        list[str],
        option(
            SEARCH,
            "--grid",
            metavar="NAME=VALUES",
            help="Values to try, such as C=0.1,1,10 (repeat for more parameters).",
        ),
    ] = field(default_factory=list)
    validation: FoldOptions = field(default_factory=FoldOptions)


@dataclass(frozen=True, kw_only=True)
class ScreenOptions:
    """What is printed, and how."""

    language: Annotated[
        Language, option(TERMINAL, "--language", help="Language of the terminal and the report.")
    ] = Language.EN
    json: Annotated[bool, option(TERMINAL, "--json", help="Print one JSON object and nothing else.")] = False


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """How output files are written."""

    force: Annotated[bool, option(OUTPUT, "--force", help="Overwrite existing output files.")] = False
    raw_csv: Annotated[
        bool,
        option(
            OUTPUT,
            "--raw-csv",
            help="Do not put ' before text in CSV files that a spreadsheet would run as a formula.",
        ),
    ] = False
