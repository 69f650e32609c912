"""Rows of Gaussian kernel values in float32: inner products and exponentials while they lie in the cache.

BLAS packs both sides at every call and writes products that have to be read again. Here the columns are
packed once, in panels of WIDTH points side by side, and the exponentials of a tile are taken at once. A value
is one sum in the order of the features, so it does not depend on threads or on its place in a matrix.
"""

from __future__ import annotations

import numpy as np

from maxmargin.base.typing import AnyArray, FloatArray
from maxmargin.compute.intrinsics.panel_tile import ROWS, WIDTH, products
from maxmargin.compute.jit import jit
from maxmargin.compute.kernel_values.elementwise import flat, rbf_values_32

_GROUP = 512  # columns that a tile of rows passes before their exponentials are taken


def panels_of(X: FloatArray) -> FloatArray:
    """The rows of ``X`` as columns, WIDTH of them side by side; the last panel is filled up with zeros."""
    n, p = X.shape
    n_panels = -(-n // WIDTH)
    padded = X if n == n_panels * WIDTH else np.pad(X, ((0, n_panels * WIDTH - n), (0, 0)))
    return padded.reshape(n_panels, WIDTH, p).transpose(0, 2, 1).reshape(-1)


@jit
def _fill(A, n_rows, p, panels, start, stop, row_norms, column_norms, gamma, variance, out, step):
    """Columns start ... stop of the kernel rows of ``A``, which has at least ROWS rows."""
    spare = np.empty(ROWS * WIDTH, np.float32)
    for begin in range(start, stop, _GROUP):
        end = min(begin + _GROUP, stop)
        for i in range(0, n_rows, ROWS):
            first = min(i, n_rows - ROWS)  # the last tile overlaps the one before
            for j in range(begin, end, WIDTH):
                if j + WIDTH <= end:
                    products(A, first * p, p, 1, p, panels, j * p, WIDTH, out, first * step + j, step)
                    continue
                products(A, first * p, p, 1, p, panels, j * p, WIDTH, spare, 0, WIDTH)
                for r in range(ROWS):
                    for c in range(end - j):
                        out[(first + r) * step + j + c] = spare[r * WIDTH + c]
            rbf_values_32(
                out[first * step + begin :], step, row_norms[first : first + ROWS],
                column_norms[begin:end], gamma, variance,
            )  # fmt: skip


def rbf_rows(
    A: FloatArray, row_norms: FloatArray, panels: FloatArray, column_norms: FloatArray, *, columns: slice,
    gamma: float, variance: float, out: AnyArray,
) -> None:  # fmt: skip
    """out[:, columns] = variance exp(-gamma ||a - b||^2) for the rows of ``A`` and the points of the panels.

    ``columns`` starts at a multiple of WIDTH.
    """
    n_rows, p = A.shape
    if n_rows < ROWS:
        more = [(0, ROWS - n_rows)]
        whole = np.empty((ROWS, out.shape[1]), dtype=np.float32)
        A, row_norms = np.pad(A, [*more, (0, 0)]), np.pad(row_norms, more)
        rbf_rows(
            A, row_norms, panels, column_norms, columns=columns, gamma=gamma, variance=variance, out=whole
        )
        out[:, columns] = whole[:n_rows, columns]
        return
    values, step = flat(out)
    _fill(
        np.ascontiguousarray(A).reshape(-1), n_rows, p, panels, columns.start, columns.stop, row_norms,
        column_norms, np.float32(gamma), np.float32(variance), values, step,
    )  # fmt: skip
