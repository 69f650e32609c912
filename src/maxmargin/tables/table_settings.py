"""The user's settings for a table and its model. Importing this module loads no other library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

Note = Callable[[str], None]  # receives a sentence that the user should read

Task = StrEnum("Task", ["AUTO", "CLASSIFICATION", "REGRESSION"])
Encoding = StrEnum("Encoding", ["ONEHOT", "WOE"])
Format = StrEnum("Format", ["AUTO", "CSV", "TSV", "PARQUET", "LIBSVM"])
ClassWeight = StrEnum("ClassWeight", ["AUTO", "NONE", "BALANCED"])


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


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a data file is read.

    Attributes
    ----------
    form : format of the file; by its name with AUTO.
    encoding : of a text file.
    missing : texts that mean a missing value, such as "?", or "COLUMN=TEXT".
    no_header : the first line is data.
    """

    form: Format = Format.AUTO
    encoding: str = "utf-8"
    missing: Sequence[str] = ()
    no_header: bool = False


@dataclass(frozen=True, kw_only=True)
class ColumnSettings:
    """The target, and what the columns are.

    Attributes
    ----------
    target : name of the column to predict.
    guess_target : take the last column if no target is named.
    drop, categorical : names of columns to leave out, and of numbers that are categories.
    columns : "COLUMN=KIND", where KIND is number, category, date, date:FORMAT, text, string (text for
        a string kernel) or drop.
    """

    target: str | None = None
    guess_target: bool = False
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    columns: Sequence[str] = ()
