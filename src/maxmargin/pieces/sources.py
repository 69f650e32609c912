"""Pieces of what is on this machine: arrays, memory maps, iterators, Parquet and CSV files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from glob import glob
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.pieces.collection import Loader, LocalPieces
from maxmargin.pieces.piece import Piece

PIECE_BYTES = 1 << 24  # of X in one piece: small beside memory, large beside the cost of a task
_FEWEST_ROWS = 8192
_ENOUGH_PIECES = 32


def from_array(
    X: Any, y: Any = None, sample_weight: Any = None, *, rows: int | None = None, n_jobs: int | None = None
) -> LocalPieces:
    """Pieces of an array, memory map, CSR matrix or pandas dataframe: slices of consecutive rows.

    Parameters
    ----------
    X : of shape (n_samples, n_features); a memory map is read as the slices are used.
    y, sample_weight : of shape (n_samples,), memory maps or arrays.
    rows : rows of a piece; by default as many as fill 16 MB, fewer where that would make few pieces.
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
    # enough pieces to go round, and for every eighth of them to be an eighth of the rows
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
    """Whether an array is a read-only memory map itself, not a view of one (whose offset is not its own)."""
    return (
        isinstance(values, np.memmap)
        and isinstance(values.base, mmap)
        and values.mode == "r"
        and values.flags.c_contiguous
    )


def _read(values: Any, part: slice) -> Any:
    """Rows of a memory map, read from its file: pages of a map would stay in the memory of the process."""
    width = int(np.prod(values.shape[1:], dtype=np.int64))
    start = values.offset + part.start * width * values.itemsize
    count = (part.stop - part.start) * width
    rows = np.fromfile(values.filename, dtype=values.dtype, count=count, offset=start)
    return rows.reshape(-1, *values.shape[1:])


def _slice(X: Any, y: Any, weight: Any, part: slice) -> Piece:
    return Piece(
        _cut(X, part),
        None if y is None else _cut(y, part),
        None if weight is None else _cut(weight, part),
    )


def from_iterable(
    source: Callable[[], Iterable[Any]] | Iterable[Any],
    *,
    target: str | None = None,
    weight: str | None = None,
    n_jobs: int | None = None,
) -> LocalPieces:
    """Pieces from a function that makes an iterator, or from anything that can be iterated again and again.

    Parameters
    ----------
    source : each item is (X, y), (X, y, sample_weight), a table X alone, or, with ``target``, a dataframe
        that holds the target. A fit reads its data several times, so an iterator that is used up after one
        pass is refused: give the function that makes it.
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
    >>> model.coef_.round(6).tolist(), round(model.intercept_, 6)
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
    """Pieces of Parquet files: row groups, cut further where they are large.

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
    files = _files(path, ".parquet")
    schema = parquet.ParquetFile(files[0]).schema_arrow
    wanted = _wanted(schema.names, target, columns, weight)
    # strings have no width of their own: 16 bytes each is a guess that only sets the size of the pieces
    widths = [getattr(schema.field(name).type, "bit_width", 128) for name in wanted if _fixed(schema, name)]
    width = sum(widths) / 8 + 16 * (len(wanted) - len(widths))
    step = rows_per_piece(width) if rows is None else _checked_rows(rows)

    def loaders() -> Iterator[Loader]:
        for file in files:
            reader = parquet.ParquetFile(file)
            for group in range(reader.num_row_groups):
                if reader.metadata.row_group(group).num_rows <= step:
                    yield partial(_row_group, file, group, wanted, columns, target, weight)
                    continue
                for batch in reader.iter_batches(step, row_groups=[group], columns=wanted):
                    yield partial(_arrow_piece, batch, columns, target, weight)

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

    The text is parsed again in every pass of a fit, which costs far more than the fit itself: write large
    files as Parquet once (``pyarrow.csv.open_csv`` and ``pyarrow.parquet.ParquetWriter``).

    Parameters
    ----------
    path : a file, a folder (its ``*.csv`` in order of name), a pattern, or a list of files.
    target, weight : columns that hold y and sample_weight.
    columns : columns of X, in this order; all others by default.
    dtypes : Arrow types (or their names, "float64", "string") of columns; the others are guessed from the
        first block of each file, and a later value that does not fit is an error.
    delimiter : between the cells.
    n_jobs : threads that use pieces at the same time.

    Examples
    --------
    >>> import tempfile, pathlib, maxmargin as mm
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.csv"
    >>> _ = path.write_text("x,y\\n0,1\\n1,3\\n2,5\\n")
    >>> round(mm.LeastSquares().fit(mm.pieces.from_csv(path, target="y")).intercept_, 6)
    1.0
    """
    csv: Any = _pyarrow("pyarrow.csv")
    files = _files(path, ".csv")

    def loaders() -> Iterator[Loader]:
        how = csv.ReadOptions(block_size=PIECE_BYTES), csv.ParseOptions(delimiter=delimiter)
        for file in files:
            wanted = _wanted(csv.open_csv(file, *how).schema.names, target, columns, weight)
            types = csv.ConvertOptions(include_columns=wanted, column_types=dtypes or {})
            reader = csv.open_csv(file, *how, types)
            yield from (partial(_arrow_piece, batch, columns, target, weight) for batch in _batches(reader))

    return LocalPieces(loaders, n_jobs, streaming=True)


def _batches(reader: Any) -> Iterator[Any]:
    """The batches of a CSV reader that hold rows; a value that does not fit its type says what to do."""
    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return
        except ValueError as error:
            raise ValueError(
                f"{error}: types were guessed from the first block of the file; "
                "name this one, for example dtypes={'income': 'float64'}."
            ) from error
        if batch.num_rows:
            yield batch


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


def _wanted(
    names: Sequence[str], target: str | None, columns: Sequence[str] | None, weight: str | None
) -> list[str]:
    """The columns to read, in the order of the file."""
    asked = [name for name in (target, weight, *(columns or ())) if name is not None]
    unknown = [name for name in asked if name not in names]
    if unknown:
        raise ValueError(f"no column {unknown[0]!r}: the file has {', '.join(names)}.")
    return [name for name in names if columns is None or name in asked]


def _row_group(
    file: str,
    group: int,
    wanted: list[str],
    columns: Sequence[str] | None,
    target: str | None,
    weight: str | None,
) -> Piece:
    parquet: Any = _pyarrow("pyarrow.parquet")
    # one thread: pieces already run side by side
    table = parquet.ParquetFile(file).read_row_group(group, columns=wanted, use_threads=False)
    return _arrow_piece(table, columns, target, weight)


def _arrow_piece(batch: Any, columns: Sequence[str] | None, target: str | None, weight: str | None) -> Piece:
    piece = split_frame(batch.to_pandas(use_threads=False), target, weight)
    return piece if columns is None else Piece(piece.X[list(columns)], piece.y, piece.weight)
