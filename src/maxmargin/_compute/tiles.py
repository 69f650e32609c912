"""Cut a large block of kernel values into tiles that stay in the cache, over the thread pool."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from maxmargin._compute.threads import run, single_threaded_blas
from maxmargin.typing import FloatArray

_TILE_BYTES = 1 << 20
_TILE_ROWS = 256

FillTile = Callable[[slice, slice, FloatArray], None]


def fill_by_tiles(fill: FillTile, out: FloatArray, n_threads: int) -> None:
    """Call ``fill(rows, columns, out[rows, columns])`` for tiles that cover ``out``."""
    n_rows, n_columns = out.shape
    if out.nbytes <= _TILE_BYTES // 4:
        fill(slice(0, n_rows), slice(0, n_columns), out)
        return
    height = min(n_rows, _TILE_ROWS)
    width = max(64, _TILE_BYTES // (out.itemsize * height))
    tiles = [
        (slice(i, min(i + height, n_rows)), slice(j, min(j + width, n_columns)))
        for j in range(0, n_columns, width)
        for i in range(0, n_rows, height)
    ]

    def share(start: int) -> None:
        for rows, columns in tiles[start::n_threads]:
            fill(rows, columns, out[rows, columns])

    with single_threaded_blas():  # tiles are small: BLAS threads of its own would only wait for each other
        run([partial(share, start) for start in range(n_threads)], n_threads)
