"""Files of data as a table, or one line about what is wrong with them."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from maxmargin.cli.options import Format
from maxmargin.cli.refusal import Code, Refusal

LABEL = "target"  # name of the label of a LIBSVM file
_SUFFIXES = {
    ".csv": Format.CSV,
    ".txt": Format.CSV,
    ".tsv": Format.TSV,
    ".tab": Format.TSV,
    ".parquet": Format.PARQUET,
    ".pq": Format.PARQUET,
    ".libsvm": Format.LIBSVM,
    ".svm": Format.LIBSVM,
    ".svmlight": Format.LIBSVM,
}
_LARGEST_CELLS = 200_000_000
_WHOLE = 2**53  # beyond, a float64 skips whole numbers

Note = Callable[[str], None]


@dataclass(frozen=True)
class Reading:
    """How a file is to be read."""

    form: Format = Format.AUTO
    encoding: str = "utf-8"
    missing: tuple[str, ...] = ()


def read_table(path: Path, reading: Reading, note: Note) -> pd.DataFrame:
    """The table in a file; every column has its own name, and there is at least one row."""
    form = format_of(path, reading.form)
    if not path.exists():
        raise Refusal(f"{path}: there is no such file.")
    if path.is_dir():
        raise Refusal(f"{path} is a folder: give a file.")
    if path.stat().st_size == 0:
        raise Refusal(f"{path} is empty: give a table with a line of names and at least one row.")
    if form is Format.PARQUET:
        table = _read_parquet(path)
    elif form is Format.LIBSVM:
        table = _read_libsvm(path)
    else:
        table = _read_text(path, form, reading, note)
    if not len(table):
        raise Refusal(f"{path} has a header and no rows: give at least one.")
    return table


def format_of(path: Path, form: Format) -> Format:
    """How a file is written: as the user says, or by its name."""
    if form is not Format.AUTO:
        return form
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in (".gz",)]
    known = _SUFFIXES.get(suffixes[-1]) if suffixes else None
    if known is None:
        names = ", ".join(sorted(_SUFFIXES))
        raise Refusal(f"{path}: the name does not say what it is ({names}): give --format.", Code.USAGE)
    return known


# -- text ----------------------------------------------------------------------------------------------------


def _read_text(path: Path, form: Format, reading: Reading, note: Note) -> pd.DataFrame:
    text = _decoded(path, reading.encoding)
    if not text.strip():
        raise Refusal(f"{path} is empty.")
    first = next(line for line in text.splitlines() if line.strip())
    separator = "\t" if form is Format.TSV else _separator(first)
    if separator == ";":
        note(f"{path.name} separates its columns by ';', and decimals by ',' where there are any.")
    names = next(csv.reader([first], delimiter=separator))
    _check_names(path, names)
    try:
        table = pd.read_csv(
            StringIO(text),
            sep=separator,
            decimal="," if separator == ";" else ".",
            na_values=list(reading.missing),
            low_memory=False,
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError, OverflowError) as wrong:
        said = str(wrong).strip().splitlines()[-1].replace("C error: ", "")
        raise Refusal(f"{path} is not a table: {said}") from None
    if len(table.columns) != len(names) or not isinstance(table.index, pd.RangeIndex):
        raise Refusal(
            f"{path}: rows have more entries than the header, which names {len(names)} columns: name all, "
            "and put values that hold the separator in quotes."
        )
    table.columns = pd.Index([str(name).strip() for name in names])
    return _without_row_numbers(table, note)


def _decoded(path: Path, encoding: str) -> str:
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix.lower() == ".gz" else path.read_bytes()
    except (OSError, EOFError) as wrong:
        raise Refusal(f"{path} cannot be read: {wrong}.") from None
    if raw.startswith((b"PAR1", b"PK\x03\x04", b"\x80\x04", b"\x80\x05")):
        raise Refusal(f"{path} is no text file: give --format, or convert it to CSV.")
    try:
        text = raw.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except LookupError:
        raise Refusal(f"the encoding {encoding!r} is unknown: try latin-1 or cp1252.", Code.USAGE) from None
    except UnicodeError as wrong:
        where = raw[: getattr(wrong, "start", 0)].count(b"\n") + 1
        raise Refusal(
            f"{path} is not written in {encoding} (line {where}): give --encoding, such as latin-1."
        ) from None
    if "\x00" in text:
        raise Refusal(f"{path} is no text file: it holds zero bytes. Try --encoding utf-16, or --format.")
    return text


def _separator(header: str) -> str:
    counts = {separator: header.count(separator) for separator in (",", ";", "\t")}
    return max(counts, key=lambda separator: counts[separator]) if any(counts.values()) else ","


def _check_names(path: Path, names: list[str]) -> None:
    clean = [name.strip() for name in names]
    twice = next((name for k, name in enumerate(clean) if name in clean[:k] and name), None)
    if twice is not None:
        raise Refusal(
            f"{path}: the column {twice!r} appears twice in the header: give every column its own name."
        )
    if "" in clean[1:]:
        raise Refusal(f"{path}: column {clean.index('', 1) + 1} has no name in the header: give it one.")
    if len(clean) > 1 and all(_is_number(name) for name in clean if name):
        raise Refusal(
            f"{path}: the first line holds numbers: add a line with the names of the columns above it."
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _without_row_numbers(table: pd.DataFrame, note: Note) -> pd.DataFrame:
    """Without the nameless first column of row numbers that R and pandas write."""
    if table.columns[0] != "":
        return table
    first = table.iloc[:, 0]
    steps = pd.api.types.is_integer_dtype(first) and bool((first.diff().dropna() == 1).all())
    if steps:
        note("the first column has no name and counts the rows: left out.")
        return table.iloc[:, 1:]
    note("the first column has no name: called 'column 1'.")
    return table.rename(columns={"": "column 1"})


# -- other formats -------------------------------------------------------------------------------------------


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        table = pd.read_parquet(path)
    except ImportError:
        raise Refusal("Parquet files need pyarrow: pip install 'maxmargin[cli]'.", Code.FAILED) from None
    except Exception as wrong:  # pyarrow has many errors of its own
        raise Refusal(f"{path} is not a Parquet file: {str(wrong).splitlines()[0]}") from None
    table.columns = pd.Index([str(name) for name in table.columns])
    _check_names(path, list(table.columns))
    return table.reset_index(drop=True)


def _read_libsvm(path: Path) -> pd.DataFrame:
    from sklearn.datasets import load_svmlight_file

    try:
        rows, label = load_svmlight_file(str(path))
    except Exception as wrong:  # any text can be in the file
        raise Refusal(f"{path} is not a LIBSVM file: {str(wrong).splitlines()[0]}") from None
    if rows.shape[0] * rows.shape[1] > _LARGEST_CELLS:
        raise Refusal(
            f"{path} has {rows.shape[0]} rows and {rows.shape[1]} columns, too many to write out: "
            "use Python, where mm.SVC and mm.LinearSVC take sparse matrices."
        )
    names = [f"x{j + 1}" for j in range(rows.shape[1])]
    table = pd.DataFrame(rows.toarray(), columns=names)
    table.insert(0, LABEL, label)
    return table


# -- columns -------------------------------------------------------------------------------------------------


def as_numbers(column: pd.Series) -> pd.Series | None:
    """The column as floats where it holds numbers, None where it holds text; else the reason to refuse it."""
    if pd.api.types.is_bool_dtype(column):
        return column.astype(float)
    if pd.api.types.is_numeric_dtype(column):
        return _finite(column)
    values = column.dropna()
    numbers = pd.to_numeric(values, errors="coerce")
    share = float(numbers.notna().mean()) if len(values) else 0.0
    if share < 0.5:
        return None
    if share < 1.0:
        wrong = values[numbers.isna()]
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        raise Refusal(
            f"column {column.name!r} holds numbers but for {str(wrong.iloc[0])[:30]!r} in row "
            f"{int(wrong.index[0]) + 1}{more}: correct it, or say --na or --categorical {column.name}."
        )
    return _finite(column)


def _finite(column: pd.Series) -> pd.Series:
    values = (
        pd.to_numeric(column, errors="coerce").astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan)
    )
    if np.isinf(values).any():
        raise Refusal(
            f"column {column.name!r} holds infinity in row {int(np.flatnonzero(np.isinf(values))[0]) + 1}: "
            "correct it, or say --na inf."
        )
    whole = pd.api.types.is_integer_dtype(column) or all(isinstance(v, int) for v in column.dropna())
    large = np.abs(values) > _WHOLE
    if whole and large.any():
        row = int(np.flatnonzero(large)[0])
        raise Refusal(
            f"column {column.name!r} holds whole numbers too large to be exact ({column.iloc[row]} in row "
            f"{row + 1}): an identifier? Say --drop {column.name} or --categorical {column.name}."
        )
    return pd.Series(values, index=column.index, name=column.name)


def described(value: Any) -> str:
    """A label in a sentence."""
    return repr(value) if isinstance(value, str) else str(value)
