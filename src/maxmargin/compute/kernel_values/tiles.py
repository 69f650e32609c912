"""Cut a large block of kernel values into tiles that stay in the cache, over the thread pool."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from maxmargin.base.threads import check_stop, run, single_threaded_blas
from maxmargin.base.typing import FloatArray, IntArray

_TILE_BYTES = 1 << 20
_TILE_ROWS = 256

_SIDE = 64  # rows and columns of a tile of expensive values: many tasks, each short

FillTile = Callable[[slice, slice, FloatArray], None]
FillChosen = Callable[[IntArray, IntArray], FloatArray]


def fill_by_tiles(fill: FillTile, out: FloatArray, n_threads: int) -> None:
    """Call ``fill(rows, columns, out[rows, columns])`` for tiles that cover ``out``."""
    n_rows, n_columns = out.shape
    if out.nbytes <= _TILE_BYTES // 4:
        fill(slice(0, n_rows), slice(0, n_columns), out)
        return
    height = min(n_rows, _TILE_ROWS)
    even = -(-n_columns // 4)  # four tiles at least, whatever the threads: values must not depend on them
    width = max(64, min(_TILE_BYTES // (out.itemsize * height), even))
    tiles = [
        (slice(i, min(i + height, n_rows)), slice(j, min(j + width, n_columns)))
        for j in range(0, n_columns, width)
        for i in range(0, n_rows, height)
    ]

    def share(start: int) -> None:
        for rows, columns in tiles[start::n_threads]:
            check_stop()
            fill(rows, columns, out[rows, columns])

    with single_threaded_blas():  # tiles are small: BLAS threads of its own would only wait for each other
        run([partial(share, start) for start in range(n_threads)], n_threads)


def fill_expensive(
    compute: FillChosen, out: FloatArray, rows: IntArray, columns: IntArray | None, n_threads: int
) -> None:
    """Fill ``out`` of shape (..., n_rows, n_columns) with ``compute(some rows, some columns)``.

    For values that cost microseconds each: every tile is a task of its own, so that threads share uneven
    work, and no task starts after an interruption. ``rows`` and ``columns`` are the order in which to go
    through them. Without ``columns`` the matrix is symmetric and only one half is computed.
    """
    across = rows if columns is None else columns
    starts = [(i, j) for i in range(0, len(rows), _SIDE) for j in range(0, len(across), _SIDE)]
    stopped = False

    def one(i: int, j: int) -> None:
        if stopped:
            return
        mine, theirs = rows[i : i + _SIDE], across[j : j + _SIDE]
        values = compute(mine, theirs)
        out[..., mine[:, None], theirs] = values
        if columns is None and i == j:
            values = np.triu(values)
            out[..., mine[:, None], theirs] = values + np.swapaxes(np.triu(values, 1), -1, -2)
        elif columns is None:
            out[..., theirs[:, None], mine] = np.swapaxes(values, -1, -2)

    try:
        run([partial(one, i, j) for i, j in starts if columns is not None or i <= j], n_threads)
    finally:
        stopped = True
