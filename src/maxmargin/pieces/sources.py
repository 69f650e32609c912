"""Pieces from this machine: arrays, memory maps, iterators, Parquet and CSV files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from glob import glob
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.base.visible_text import visible
from maxmargin.pieces.collection import Loader, LocalPieces
from maxmargin.pieces.piece import Piece

PIECE_BYTES = 1 << 24  # of X in one piece: little memory, but much more than the overhead of a task
_FEWEST_ROWS = 8192
_ENOUGH_PIECES = 32
_FIRST_ROW = 2  # of a file: its header is row 1


def from_array(
    X: Any, y: Any = None, sample_weight: Any = None, *, rows: int | None = None, n_jobs: int | None = None
) -> LocalPieces:
    """Pieces of an array, memory map, CSR matrix or pandas dataframe: slices of consecutive rows.

    Parameters
    ----------
    X : of shape (n_samples, n_features); a memory map is read as the slices are used.
    y, sample_weight : of shape (n_samples,), memory maps or arrays.
    rows : rows of a piece; by default as many as fill 16 MB, fewer if that makes only a few pieces.
    n_jobs : threads that use pieces at the same time; None for all free cores.

    Examples
    --------
    >>> import numpy as np, maxmargin as mm
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> pieces = mm.pieces.from_array(X, X[:, 0] > 5, rows=4)
    >>> [len(piece.X) for piece in pieces.map(lambda piece: piece)]
    [4, 2]
    >>> mm.LinearSVC().fit(pieces).predict([[0.0, 1.0], [10.0, 11.0]]).tolist()
    [False, True]
    """
    if len(X.shape) != 2:
        raise ValueError(f"X needs two dimensions, got shape {X.shape}.")
    if sparse.issparse(X):
        X = X.tocsr()
    n = X.shape[0]
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        if values is not None and len(values) != n:
            raise ValueError(f"X has {n} rows and {name} has {len(values)}: give the same number of both.")
    # enough pieces for all threads, and for every eighth piece to be an eighth of the rows
    even = max(_FEWEST_ROWS, -(-n // _ENOUGH_PIECES))
    step = min(even, rows_per_piece(_row_bytes(X))) if rows is None else _checked_rows(rows)

    def loaders() -> Iterator[Loader]:
        for start in range(0, n, step):
            yield partial(_slice, X, y, sample_weight, slice(start, min(start + step, n)))

    return LocalPieces(loaders, n_jobs)


def rows_per_piece(row_bytes: float) -> int:
    """Rows that fill a piece."""
    return max(256, int(PIECE_BYTES / max(1.0, row_bytes)))


def _checked_rows(rows: int) -> int:
    if rows < 1:
        raise ValueError(f"rows={rows!r} of a piece must be at least 1.")
    return int(rows)


def _row_bytes(X: Any) -> float:
    if hasattr(X, "memory_usage"):
        return float(X.memory_usage(index=False, deep=False).sum()) / max(1, len(X))
    if sparse.issparse(X):
        return 12.0 * X.nnz / max(1, X.shape[0])
    return float(X.dtype.itemsize * X.shape[1])


def _cut(values: Any, part: slice) -> Any:
    if hasattr(values, "iloc"):
        return values.iloc[part]
    return _read(values, part) if _is_whole_file(values) else values[part]


def _is_whole_file(values: Any) -> bool:
    """True if an array is a read-only memory map itself, not a view with another offset."""
    return (
        isinstance(values, np.memmap)
        and isinstance(values.base, mmap)
        and values.mode == "r"
        and values.flags.c_contiguous
    )


def _read(values: Any, part: slice) -> Any:
    """Rows of a memory map, read from its file, because mapped pages would stay in memory."""
    width = int(np.prod(values.shape[1:], dtype=np.int64))
    start = values.offset + part.start * width * values.itemsize
    count = (part.stop - part.start) * width
    rows = np.fromfile(values.filename, dtype=values.dtype, count=count, offset=start)
    if len(rows) < count:
        last = part.start + len(rows) // max(1, width)
        raise ValueError(f"{values.filename} ends before row {last}: it had {len(values)} rows when opened.")
    return rows.reshape(-1, *values.shape[1:])


def _slice(X: Any, y: Any, weight: Any, part: slice) -> Piece:
    return Piece(
        _cut(X, part),
        None if y is None else _cut(y, part),
        None if weight is None else _cut(weight, part),
        source=str(X.filename) if _is_whole_file(X) else "X",
        start=part.start,
    )


def from_iterable(
    source: Callable[[], Iterable[Any]] | Iterable[Any],
    *,
    target: str | None = None,
    weight: str | None = None,
    n_jobs: int | None = None,
) -> LocalPieces:
    """Pieces from a function that returns an iterator, or from anything that can be iterated repeatedly.

    Parameters
    ----------
    source : each item is (X, y), (X, y, sample_weight), a table X alone, or, with ``target``, a dataframe
        that holds the target. A fit reads its data several times, so an iterator that can be read only
        once is refused: give the function that makes it.
    target, weight : columns of the dataframes that are y and sample_weight.
    n_jobs : threads that use pieces at the same time.

    Examples
    --------
    >>> import numpy as np, maxmargin as mm
    >>> def batches():
    ...     rng = np.random.default_rng(0)
    ...     for _ in range(5):
    ...         X = rng.normal(size=(100, 2))
    ...         yield X, X @ [1.0, 2.0] + 3.0
    >>> model = mm.LeastSquares().fit(mm.pieces.from_iterable(batches))
    >>> model.coef_.round(6).tolist(), round(float(model.intercept_), 6)
    ([1.0, 2.0], 3.0)
    """
    if not callable(source) and iter(source) is source:
        raise TypeError(
            f"a {type(source).__name__} can be read only once, and a fit reads its data several times: "
            "give the function that makes it, for example from_iterable(lambda: read(path))."
        )

    def loaders() -> Iterator[Loader]:
        for item in source() if callable(source) else source:
            yield partial(_as_piece, item, target, weight)

    return LocalPieces(loaders, n_jobs, streaming=True)


def _as_piece(item: Any, target: str | None, weight: str | None) -> Piece:
    if isinstance(item, Piece):
        return item
    if isinstance(item, tuple):
        if target is not None or weight is not None or not 1 <= len(item) <= 3:
            raise ValueError(
                "an item must be (X, y) or (X, y, sample_weight), or a dataframe with target= and weight=; "
                f"got a tuple of {len(item)}, target={target!r} and weight={weight!r}."
            )
        return Piece(*item)
    return split_frame(item, target, weight)


def split_frame(frame: Any, target: str | None, weight: str | None) -> Piece:
    """A dataframe cut into X, y and weights."""
    named = [name for name in (target, weight) if name is not None]
    if not named:
        return Piece(frame)
    if not hasattr(frame, "columns"):
        raise TypeError(f"target={target!r} names a column of a dataframe, got {type(frame).__name__}.")
    missing = [name for name in named if name not in frame.columns]
    if missing:
        raise ValueError(f"no column {missing[0]!r}: the table has {', '.join(map(str, frame.columns))}.")
    y = None if target is None else frame[target]
    return Piece(frame.drop(columns=named), y, None if weight is None else frame[weight])


def from_parquet(
    path: Any,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    weight: str | None = None,
    rows: int | None = None,
    n_jobs: int | None = None,
) -> LocalPieces:
    """Pieces of Parquet files: row groups, cut further if they are large.

    Parameters
    ----------
    path : a file, a folder (its ``*.parquet`` in order of name), a pattern such as "part-*.parquet", or a
        list of files.
    target, weight : columns that hold y and sample_weight.
    columns : columns of X, in this order; all others by default.
    rows : largest number of rows of a piece; by default as many as fill 16 MB.
    n_jobs : threads that read and use pieces at the same time.

    Examples
    --------
    >>> import maxmargin as mm
    >>> pieces = mm.pieces.from_parquet("loans/", target="default")  # doctest: +SKIP
    >>> mm.LogisticRegression().fit(pieces)  # doctest: +SKIP
    """
    parquet: Any = _pyarrow("pyarrow.parquet")
    files, cut = _files(path, ".parquet"), _Cut(target, columns, weight)
    schema = _opened(parquet.ParquetFile, files[0]).schema_arrow
    wanted = cut.wanted(schema.names, files[0])
    # strings have no fixed width: 16 bytes is a guess that only affects the size of the pieces
    widths = [getattr(schema.field(name).type, "bit_width", 128) for name in wanted if _fixed(schema, name)]
    width = sum(widths) / 8 + 16 * (len(wanted) - len(widths))
    step = rows_per_piece(width) if rows is None else _checked_rows(rows)

    def loaders() -> Iterator[Loader]:
        for file in files:
            reader, start = _opened(parquet.ParquetFile, file), _FIRST_ROW
            for group in range(reader.num_row_groups):
                if reader.metadata.row_group(group).num_rows <= step:
                    yield partial(_row_group, file, group, wanted, cut, start)
                    start += reader.metadata.row_group(group).num_rows
                    continue
                for batch in reader.iter_batches(step, row_groups=[group], columns=wanted):
                    yield partial(cut.piece, batch, file, start)
                    start += batch.num_rows

    return LocalPieces(loaders, n_jobs)


def _fixed(schema: Any, name: str) -> bool:
    try:
        return bool(schema.field(name).type.bit_width)
    except ValueError:
        return False


def from_csv(
    path: Any,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    weight: str | None = None,
    dtypes: dict[str, Any] | None = None,
    delimiter: str = ",",
    n_jobs: int | None = None,
) -> LocalPieces:
    """Pieces of CSV files with a header, read in blocks of 16 MB.

    Every pass of a fit parses the text again, which costs far more than the fit itself: convert large
    files to Parquet once (``pyarrow.csv.open_csv`` and ``pyarrow.parquet.ParquetWriter``).

    Parameters
    ----------
    path : a file, a folder (its ``*.csv`` in order of name), a pattern, or a list of files.
    target, weight : columns that hold y and sample_weight.
    columns : columns of X, in this order; all others by default.
    dtypes : Arrow types (or their names, "float64", "string") of columns; the others are guessed from the
        first block of each file, and a later value that does not fit is an error.
    delimiter : the character between cells.
    n_jobs : threads that use pieces at the same time.

    Examples
    --------
    >>> import tempfile, pathlib, maxmargin as mm
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.csv"
    >>> _ = path.write_text("x,y\\n0,1\\n1,3\\n2,5\\n")
    >>> mm.LeastSquares().fit(mm.pieces.from_csv(path, target="y")).intercept_.round(6).item()
    1.0
    """
    csv: Any = _pyarrow("pyarrow.csv")
    files, cut = _files(path, ".csv"), _Cut(target, columns, weight)

    def opened(file: str, invalid: Callable[[Any], str] | None = None) -> Any:
        """A reader; with a function for rows of another length, one without threads, which counts rows."""
        how = csv.ParseOptions(delimiter=delimiter, invalid_row_handler=invalid)
        reading = csv.ReadOptions(block_size=PIECE_BYTES, use_threads=invalid is None)
        wanted = cut.wanted(csv.open_csv(file, reading, how).schema.names, file)
        types = csv.ConvertOptions(include_columns=wanted, column_types=dtypes or {})
        return csv.open_csv(file, reading, how, types)

    def loaders() -> Iterator[Loader]:
        for file in files:
            start = _FIRST_ROW
            for batch in _batches(opened, file):
                yield partial(cut.piece, batch, file, start)
                start += batch.num_rows

    return LocalPieces(loaders, n_jobs, streaming=True)


def _batches(opened: Callable[..., Any], file: str) -> Iterator[Any]:
    """The non-empty batches of a CSV file; errors name the row and column."""
    try:
        yield from (batch for batch in opened(file) if batch.num_rows)
    except ValueError as error:
        raise ValueError(_csv_sentence(opened, file, error)) from error


def _csv_sentence(opened: Callable[..., Any], file: str, error: ValueError) -> str:
    """What is wrong with a CSV file, which is read again."""
    reason, names, wrong = str(error), [], dict[int, Any]()  # row numbers of lines of another length

    def invalid(row: Any) -> str:
        wrong[row.number] = row
        return "skip"

    try:
        reader = opened(file, invalid)
        names = reader.schema.names
        for _ in reader:
            pass
    except ValueError as again:
        reason = str(again)
    if wrong:
        first = sorted(wrong.items())[:3]
        listed = ", ".join(f"row {number} has {row.actual_columns}" for number, row in first)
        return (
            f"{file}: {len(wrong)} rows do not have {first[0][1].expected_columns} cells ({listed}"
            f"{', ...' if len(wrong) > len(first) else ''}): correct them, or put cells that contain the "
            "delimiter in quotes."
        )
    found = re.match(
        r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\S+): (.*)", reason, re.S
    )
    if found is None:
        return f"{file}: {visible(reason)[:300]}"
    column, row, kind, value = found.groups()
    name = visible(names[int(column)]) if int(column) < len(names) else f"number {column}"
    return (
        f"row {row or '?'} of {file}, column {name!r}: {visible(value)[:80]}, and this column is read as "
        f"{kind}, which was guessed from the first block of the file unless dtypes= says it. Correct the "
        f"cell, or name another type, for example dtypes={{{name!r}: 'float64'}}."
    )


def _opened(reader: Callable[[str], Any], file: str) -> Any:
    """A reader of a file; its errors name the file."""
    try:
        return reader(file)
    except ValueError as error:
        raise ValueError(f"{file}: {visible(str(error))[:300]}") from error


def _pyarrow(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError("Parquet and CSV files need pyarrow: pip install 'maxmargin[dask]'.") from error


def _files(path: Any, ending: str) -> list[str]:
    if not isinstance(path, (str, Path)):
        found = [str(one) for one in path]
    elif Path(path).is_dir():
        found = sorted(str(one) for one in Path(path).glob(f"*{ending}"))
    elif Path(path).exists():
        found = [str(path)]
    else:
        found = sorted(glob(str(path)))
    if not found:
        raise FileNotFoundError(f"no {ending} files at {path!r}: give a file, a folder, a pattern or a list.")
    return found


@dataclass(frozen=True)
class _Cut:
    """Which columns of a file are y, weights and X."""

    target: str | None
    columns: Sequence[str] | None
    weight: str | None

    def wanted(self, names: Sequence[str], file: str) -> list[str]:
        """The columns to read, in the order of the file."""
        asked = [name for name in (self.target, self.weight, *(self.columns or ())) if name is not None]
        unknown = [name for name in asked if name not in names]
        if unknown:
            raise ValueError(f"no column {unknown[0]!r}: the file has {', '.join(names)} ({file}).")
        return [name for name in names if self.columns is None or name in asked]

    def piece(self, batch: Any, file: str, start: int) -> Piece:
        """Rows of a file, of which the first one has the number ``start``."""
        piece = split_frame(batch.to_pandas(use_threads=False), self.target, self.weight)
        X = piece.X if self.columns is None else piece.X[list(self.columns)]
        return replace(piece, X=X, source=file, start=start)


def _row_group(file: str, group: int, wanted: list[str], cut: _Cut, start: int) -> Piece:
    parquet: Any = _pyarrow("pyarrow.parquet")
    # one thread: pieces already run side by side
    table = parquet.ParquetFile(file).read_row_group(group, columns=wanted, use_threads=False)
    return cut.piece(table, file, start)
