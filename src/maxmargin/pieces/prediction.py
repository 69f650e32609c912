"""Predictions piece by piece: constant memory for every estimator; Dask in, Dask out."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from maxmargin.base.typing import AnyArray, TableLike
from maxmargin.base.whole_files import whole_file
from maxmargin.pieces.cluster import is_dask
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.piece import Piece
from maxmargin.pieces.sources import from_array


def predict(
    model: BaseEstimator, X: TableLike, *, method: str = "predict", out: Any = None, n_jobs: int | None = None
) -> Any:
    """The predictions of any fitted estimator, piece by piece.

    Parameters
    ----------
    model : a fitted estimator, of this library or another.
    X : `Pieces`; a Dask array or dataframe; or an array, memory map or dataframe, which is cut into pieces.
    method : "predict", "predict_proba", "decision_function", "transform", ...
    out : None; a path that ends in ".npy" or ".parquet"; or an array (such as a memory map) to fill.
    n_jobs : threads, if X is cut into pieces here.

    Returns
    -------
    For Dask a lazy Dask array, or for a Dask dataframe a lazy series or dataframe with its index. Otherwise,
    with ``out=None``, an iterator over the predictions of the pieces, in order; with a path to ".npy" the
    memory map that was written; with a path to ".parquet" the path; with an array that array.

    Examples
    --------
    >>> import numpy as np, maxmargin as mm
    >>> X = np.linspace(-1.0, 1.0, 10)[:, None]
    >>> model = mm.SVC().fit(X, X[:, 0] > 0)
    >>> pieces = mm.pieces.from_array(X, rows=4)
    >>> [len(part) for part in mm.pieces.predict(model, pieces)]
    [4, 4, 2]
    >>> scores = mm.pieces.predict(model, X, method="decision_function", out=np.empty(10))
    >>> bool(np.all(scores == model.decision_function(X)))
    True
    """
    if not callable(getattr(model, method, None)):
        raise AttributeError(f"{type(model).__name__} has no method {method!r}.")
    if is_dask(X):
        if out is not None:
            raise ValueError("out= is for pieces on this machine: write a Dask result with its own methods.")
        return _predict_frame(model, X, method) if hasattr(X, "columns") else _predict_array(model, X, method)
    pieces = X if isinstance(X, Pieces) else from_array(np.asanyarray(X) if _plain(X) else X, n_jobs=n_jobs)
    pieces.start_over()
    parts = pieces.map(_call, model, method)
    if out is None:
        return parts
    if not isinstance(out, (str, Path)):
        return _fill(out, parts)
    if str(out).endswith(".npy"):
        return _write_map(str(out), pieces.map_reduce(len), parts)
    if str(out).endswith(".parquet"):
        return _write_parquet(str(out), parts, model, method)
    raise ValueError(f"out={str(out)!r} must end in '.npy' or '.parquet', or be an array.")


def _plain(X: Any) -> bool:
    return not hasattr(X, "iloc") and not sparse.issparse(X)


def _call(piece: Piece, model: Any, method: str) -> Any:
    return getattr(model, method)(piece.X)


def _fill(out: Any, parts: Iterator[Any]) -> Any:
    start = 0
    for part in parts:
        stop = start + part.shape[0]
        if stop > len(out):
            raise ValueError(f"out has {len(out)} rows, and there are more predictions than that.")
        out[start:stop] = part.toarray() if sparse.issparse(part) else part
        start = stop
    if start < len(out):
        raise ValueError(f"out has {len(out)} rows and there are {start} predictions.")
    return out


def _write_map(path: str, n_rows: int, parts: Iterator[Any]) -> AnyArray:
    """Write the file instead of mapping it: with a mapped file a full disk would kill the process."""
    with whole_file(path, "wb") as file:
        dtype: Any = None
        for part in parts:
            values = part.toarray() if sparse.issparse(part) else np.asarray(part)
            if values.dtype == object:
                raise TypeError("a '.npy' file holds numbers; these predictions are objects: use '.parquet'.")
            if dtype is None:
                dtype, shape = values.dtype, (n_rows, *values.shape[1:])
                header = {
                    "descr": np.lib.format.dtype_to_descr(dtype),
                    "fortran_order": False,
                    "shape": shape,
                }
                np.lib.format.write_array_header_2_0(file, header)
            file.write(np.ascontiguousarray(values, dtype=dtype).tobytes())
    return np.load(path, mmap_mode="r")


def _write_parquet(path: str, parts: Iterator[Any], model: Any, method: str) -> str:
    arrow: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    with whole_file(path, "wb") as file:
        writer: Any = None
        try:
            for part in parts:
                table = arrow.Table.from_pandas(_named(part, model, method, None), preserve_index=False)
                writer = parquet.ParquetWriter(file, table.schema) if writer is None else writer
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()
    return path


def _named(result: Any, model: Any, method: str, index: Any) -> Any:
    """A dataframe of predictions; a single column has the name of the method."""
    pandas: Any = import_module("pandas")
    if hasattr(result, "iloc"):
        return result if hasattr(result, "columns") else result.to_frame(method)
    values = result.toarray() if sparse.issparse(result) else np.asarray(result)
    columns = values[:, None] if values.ndim == 1 else values
    names = [method] if values.ndim == 1 else _column_names(model, method, values.shape[1])
    return pandas.DataFrame({name: columns[:, k] for k, name in enumerate(names)}, index=index)


def _column_names(model: Any, method: str, n: int) -> list[str]:
    """The transformer's own names; else the method with the class, or with a number."""
    if method == "transform" and hasattr(model, "get_feature_names_out"):
        return [str(name) for name in model.get_feature_names_out()]
    classes = getattr(model, "classes_", ())
    return [f"{method}_{label}" for label in (classes if len(classes) == n else range(n))]


def _predict_array(model: Any, X: Any, method: str) -> Any:
    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    example = _block(np.zeros((1, X.shape[1]), dtype=X.dtype), model, method)
    empty = example[:0]
    like = {"dtype": example.dtype, "meta": empty, "empty": empty}
    if example.ndim == 1:
        return X.map_blocks(_block, model, method, drop_axis=1, **like)
    return X.map_blocks(_block, model, method, chunks=(X.chunks[0], (example.shape[1],)), **like)


def _block(X: Any, model: Any, method: str, empty: Any = None) -> AnyArray:
    """Predictions of one block; ``empty`` for a block without rows, which estimators refuse."""
    if empty is not None and X.shape[0] == 0:
        return np.asarray(empty)
    result = getattr(model, method)(X)
    return result.toarray() if sparse.issparse(result) else np.asarray(result)


def _predict_frame(model: Any, X: Any, method: str) -> Any:
    # a real row, because an encoder may refuse invented values
    example = _partition(X.head(1, npartitions=-1), model, method)
    empty = example.iloc[:0]
    return X.map_partitions(_partition, model, method, empty, meta=empty)


def _partition(frame: Any, model: Any, method: str, empty: Any = None) -> Any:
    if empty is not None and len(frame) == 0:
        return empty
    table = _named(getattr(model, method)(frame), model, method, frame.index)
    return table[method] if list(table.columns) == [method] else table
