"""Data files as tables, or one line about what is wrong with them."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Sequence
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pandas as pd

from maxmargin.tables.column_kinds import decimal_of, leading_zeros
from maxmargin.tables.refusals import Refusal, UsageRefusal
from maxmargin.tables.table_settings import Format, Note, Reading

_LABEL = "target"  # name of the label of a LIBSVM file
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
_LOOKED_AT = 1_000_000  # characters of a file that are searched for numbers with leading zeros
_BLANKS = [" " * k for k in range(1, 21)]  # cells that look empty are
_LARGEST_CELLS = 200_000_000
_WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".ods")
_BINARY = (b"PAR1", b"PK\x03\x04", b"\x80\x04", b"\x80\x05")


def read_table(
    path: Path, reading: Reading, note: Note, *, as_text: Sequence[str] = (), content: bytes | None = None
) -> pd.DataFrame:
    """The table in a file, with at least one row and with distinct column names.

    Parameters
    ----------
    path : name of the file, which also tells its format.
    reading : format, encoding and missing values.
    note : called with every sentence that the user should read.
    as_text : columns of a text file that are not turned into numbers.
    content : what the file holds, if it is in memory already; then ``path`` is only a name.

    Returns
    -------
    table : its ``attrs`` hold the decimal mark of a text file, and the target of a LIBSVM file.
    """
    form = _format(path, reading.form)
    raw = _content(path) if content is None else content
    if not raw:
        raise Refusal(f"{path} is empty: give a table with a header line and at least one row.")
    if path.suffix.lower() == ".gz":
        raw = _unpacked(path, raw)
    if form is Format.PARQUET:
        table = _read_parquet(path, raw)
    elif form is Format.LIBSVM:
        table = _read_libsvm(path, raw)
    else:
        table = _read_text(path, _decoded(path, raw, reading.encoding), form, reading, note, as_text)
    if not len(table):
        raise Refusal(f"{path} has a header and no rows: give at least one row.")
    return _with_gaps(table, reading.missing)


def _format(path: Path, form: Format) -> Format:
    """The format of a file: what the user says, or by its name."""
    if form is not Format.AUTO:
        return form
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    known = _SUFFIXES.get(suffixes[-1]) if suffixes else None
    if suffixes and suffixes[-1] in _WORKBOOKS:
        raise UsageRefusal(f"{path} is a workbook: save its sheet as CSV (UTF-8) and give that file.")
    if known is None:
        raise UsageRefusal(
            f"{path}: the file name does not say its format ({', '.join(sorted(_SUFFIXES))}): give --format."
        )
    return known


def _content(path: Path) -> bytes:
    if not path.exists():
        raise Refusal(f"{path}: there is no such file.")
    if path.is_dir():
        raise Refusal(f"{path} is a folder: give a file.")
    try:
        return path.read_bytes()
    except OSError as wrong:
        raise Refusal(f"{path} cannot be read: {wrong}.") from None


def _unpacked(path: Path, raw: bytes) -> bytes:
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as wrong:
        raise Refusal(f"{path} cannot be read: {wrong}.") from None


def _with_gaps(table: pd.DataFrame, missing: Sequence[str]) -> pd.DataFrame:
    """The table with missing values where ``--na COLUMN=TEXT`` says so."""
    for given in missing:
        name, equals, text = given.partition("=")
        if equals and name in table.columns:
            table[name] = table[name].mask(table[name].map(lambda value, text=text: _same(value, text)))
    return table


def _same(value: Any, text: str) -> bool:
    try:
        return float(value) == float(text)
    except (TypeError, ValueError):
        return str(value).strip() == text


# -- text ----------------------------------------------------------------------------------------------------


def _read_text(
    path: Path, text: str, form: Format, reading: Reading, note: Note, as_text: Sequence[str]
) -> pd.DataFrame:
    if not text.strip():
        raise Refusal(f"{path} is empty.")
    if text[:4].lower() == "sep=":  # spreadsheets write the separator above the header
        text = text.partition("\n")[2]
    first = next((line for line in text.splitlines() if line.strip()), "")
    separator = "\t" if form is Format.TSV else _separator(first)
    names = next(csv.reader([first], delimiter=separator))
    if reading.no_header:
        names = [f"column {k + 1}" for k in range(len(names))]
    _check_names(path, names)
    options: dict[str, Any] = {
        "sep": separator,
        "header": None if reading.no_header else 0,
        "decimal": "," if separator == ";" else ".",
        "na_values": [*reading.missing, *_BLANKS],
        "dtype": {k: str for k, name in enumerate(names) if name.strip() in as_text},
        "low_memory": False,
    }
    table = _parsed(path, text, options)
    if separator == "\t" and len(table) < _whole_lines(text, len(names)) - (not reading.no_header):
        table = _parsed(path, text, {**options, "quoting": csv.QUOTE_NONE})  # quotes are part of the text
    if len(table.columns) != len(names) or not isinstance(table.index, pd.RangeIndex):
        raise _longer_rows(path, text, options) or Refusal(f"{path} is not a table: rows differ in length.")
    codes = _code_columns(text, table, separator)
    if codes:  # numbers would lose the zeros before them
        texts = _parsed(path, text, {**options, "usecols": codes, "dtype": str})
        for k, name in zip(codes, texts.columns, strict=True):
            if leading_zeros(texts[name]):
                table[table.columns[k]] = texts[name]
    table.columns = pd.Index([str(name).strip() for name in names])
    if not reading.no_header:
        _say_data_in_header(path, table, note)
    table.attrs |= {"decimal": options["decimal"], "separator": separator}
    if separator == ";":
        mark = decimal_of(table, options["decimal"])
        note(f"{path.name}: columns are separated by ';', decimals are written with {mark!r}.")
    return _without_row_numbers(table, note)


def _say_data_in_header(path: Path, table: pd.DataFrame, note: Note) -> None:
    """A note if a name in the header is also a frequent value of its column, as in a file without header."""
    for name in table.columns:
        if name and float((table[name].iloc[:1000] == name).mean()) > 0.05:
            note(
                f"{path.name}: {name!r} in the first line is also a value of its column: give --no-header "
                "if that line is data."
            )
            return


def _parsed(path: Path, text: str, options: dict[str, Any]) -> pd.DataFrame:
    try:
        return pd.read_csv(StringIO(text), **options)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError, OverflowError) as wrong:
        if longer := _longer_rows(path, text, options):
            raise longer from None
        said = str(wrong).strip().splitlines()[-1].replace("C error: ", "")
        raise Refusal(f"{path} is not a table: {said}") from None


def _longer_rows(path: Path, text: str, options: dict[str, Any]) -> Refusal | None:
    """The refusal of a table with rows that have more entries than the header."""
    lines = csv.reader(StringIO(text), delimiter=options["sep"], quoting=options.get("quoting", 0))
    try:
        width = len(next(row for row in lines if row))
        longer = [(lines.line_num, len(row)) for row in lines if len(row) > width]
    except csv.Error:  # a quote that does not end
        return None
    if not longer:
        return None
    where = ", ".join(f"{line}: {length}" for line, length in longer[:3]) + ", ..." * (len(longer) > 3)
    return Refusal(
        f"{path}: rows with more entries than the header, which names {width} columns: {len(longer)} (line "
        f"{where}). Name all columns, and put values that contain the separator in quotes."
    )


def _code_columns(text: str, table: pd.DataFrame, separator: str) -> list[int]:
    """Places of the columns of whole numbers, if some number in the file begins with a zero, as in 01234."""
    around = rf"[{re.escape(separator)}\n\r\"]"
    if not re.search(rf"{around}0\d+{around}", text[:_LOOKED_AT]):
        return []
    numeric = [k for k, dtype in enumerate(table.dtypes) if dtype.kind in "iuf"]
    return [k for k in numeric if bool((table.iloc[:, k].dropna() % 1 == 0).all())]


def _whole_lines(text: str, n_columns: int) -> int:
    """The number of lines, if every line holds one row; else 0."""
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines) if all(line.count("\t") == n_columns - 1 for line in lines) else 0


def _decoded(path: Path, raw: bytes, encoding: str) -> str:
    if raw.startswith(_BINARY):
        raise Refusal(f"{path} is not a text file: give --format, or convert it to CSV.")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):  # as Excel writes "Unicode text"
        encoding = "utf-16"
    try:
        text = raw.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except LookupError:
        raise UsageRefusal(f"the encoding {encoding!r} is unknown: try cp1252 or latin-1.") from None
    except UnicodeError as wrong:
        line = raw[: getattr(wrong, "start", 0)].count(b"\n") + 1
        raise Refusal(
            f"{path} is not written in {encoding} (line {line}): give --encoding, such as cp1252 (Excel)."
        ) from None
    if "\x00" in text:
        raise Refusal(
            f"{path} is not a text file: it contains zero bytes. Try --encoding utf-16, or --format."
        )
    return text


def _separator(header: str) -> str:
    counts = {separator: header.count(separator) for separator in (",", ";", "\t", "|")}
    return max(counts, key=lambda separator: counts[separator]) if any(counts.values()) else ","


def _check_names(path: Path, names: list[str]) -> None:
    clean = [name.strip() for name in names]
    twice = next((name for k, name in enumerate(clean) if name in clean[:k] and name), None)
    if twice is not None:
        raise Refusal(
            f"{path}: the column {twice!r} appears twice in the header: give every column its own name."
        )
    if "" in clean[1:]:
        place = clean.index("", 1) + 1
        raise Refusal(
            f"{path}: column {place} has no name in the header: give it one, or remove the lines above "
            "the header."
        )
    if len(clean) > 1 and all(_is_number(name) for name in clean if name):
        raise Refusal(
            f"{path}: the first line holds numbers: add a line with the column names above it, or give "
            "--no-header."
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
    if pd.api.types.is_integer_dtype(first) and bool((first.diff().dropna() == 1).all()):
        note("the first column has no name and counts the rows: left out.")
        return table.iloc[:, 1:]
    note("the first column has no name: it is called 'column 1'.")
    return table.rename(columns={"": "column 1"})


# -- other formats -------------------------------------------------------------------------------------------


def _read_parquet(path: Path, raw: bytes) -> pd.DataFrame:
    try:
        table = pd.read_parquet(BytesIO(raw))
    except ImportError:
        raise ImportError("Parquet files need pyarrow: pip install 'maxmargin[cli]'.") from None
    except Exception as wrong:  # pyarrow raises many errors that are not Python's
        said = str(wrong).splitlines()[0]
        raise Refusal(f"{path} is not a Parquet file: {said}") from None
    table.columns = pd.Index([str(name) for name in table.columns])
    _check_names(path, list(table.columns))
    return table.reset_index(drop=True)


def _read_libsvm(path: Path, raw: bytes) -> pd.DataFrame:
    from sklearn.datasets import load_svmlight_file

    try:
        rows, label = load_svmlight_file(BytesIO(raw))
    except Exception as wrong:  # any text can be in the file
        said = str(wrong).splitlines()[0]
        raise Refusal(f"{path} is not a LIBSVM file: {said}") from None
    if rows.shape[0] * rows.shape[1] > _LARGEST_CELLS:
        raise Refusal(
            f"{path} has {rows.shape[0]} rows and {rows.shape[1]} columns, too many to hold as a dense "
            "table: use Python, where mm.SVC and mm.LinearSVC take sparse matrices."
        )
    table = pd.DataFrame(rows.toarray(), columns=[f"x{j + 1}" for j in range(rows.shape[1])])
    table.insert(0, _LABEL, label)
    table.attrs["target"] = _LABEL
    return table
