"""Rows of Gaussian kernel values in float32: inner products and exponentials while they lie in the cache.

BLAS packs both sides at every call and writes products that have to be read again. Here the columns are
packed once, in panels of WIDTH points side by side, and the exponentials of a tile are taken at once. A value
is one sum in the order of the features, so it does not depend on threads or on its place in a matrix.
"""

from __future__ import annotations

import numpy as np

from maxmargin.base.threads import in_parts
from maxmargin.base.typing import AnyArray, FloatArray
from maxmargin.compute.intrinsics.panel_tile import ROWS, WIDTH, gaussians
from maxmargin.compute.jit import jit, jit_finite
from maxmargin.compute.kernel_values.elementwise import LOG2E_32, flat

_GROUP = 512  # columns that a tile of rows passes before their exponentials are taken, at most
_CACHED = 1 << 17  # numbers of all panels of a group
_NO_WEIGHTS = np.empty(0)


def panels_of(X: FloatArray, norms: FloatArray, n_threads: int = 1) -> FloatArray:
    """The rows of ``X`` as columns, WIDTH of them side by side, and below them their squared norms.

    The last panel is filled up with zeros.
    """
    n, p = X.shape
    full, rest = divmod(n, WIDTH)
    panels = np.empty((full + (rest > 0), p + 1, WIDTH), dtype=X.dtype)

    def pack(part: slice) -> None:
        rows = slice(part.start * WIDTH, part.stop * WIDTH)
        panels[part, :p] = X[rows].reshape(-1, WIDTH, p).transpose(0, 2, 1)
        panels[part, p] = norms[rows].reshape(-1, WIDTH)

    in_parts(pack, full, WIDTH * p, n_threads)
    if rest:
        panels[full, :, rest:] = 0.0
        panels[full, :p, :rest] = X[full * WIDTH :].T
        panels[full, p, :rest] = norms[full * WIDTH :]
    return panels.reshape(-1)


@jit
def _fill(A, panels, start, stop, row_norms, factors, out, step, weights, v):
    """Columns start ... stop of the kernel rows of ``A``, given flat, which has at least ROWS rows.

    Without ``weights`` the rows are kept in ``out``. With them, ``out`` only holds one tile of ROWS x _GROUP
    values, whose weighted sum over the rows is added to ``v``: no kernel value leaves the cache.
    """
    n_rows = len(row_norms)
    p = len(A) // n_rows
    keep = len(weights) == 0
    spare = np.empty(ROWS * WIDTH, np.float32)
    group = _CACHED // p // WIDTH * WIDTH  # their panels stay in the cache
    group = group if group < _GROUP else _GROUP
    group = group if group > WIDTH else WIDTH
    for begin in range(start, stop, group):
        end = begin + group if begin + group < stop else stop
        for i in range(0, n_rows, ROWS):
            first = i if i + ROWS <= n_rows else n_rows - ROWS  # the last tile overlaps the one before
            tile = out[first * step + begin :] if keep else out
            for j in range(begin, end, WIDTH):
                target, at, across = tile, j - begin, step
                if j + WIDTH > end:  # the last panel is not full
                    target, at, across = spare, np.int64(0), np.int64(WIDTH)
                panel = j * (p + 1)
                gaussians(A, first * p, p, panels, panel, row_norms, first, factors, target, at, across)
            for j in range(end - (end - begin) % WIDTH, end):
                for r in range(ROWS):
                    tile[r * step + j - begin] = spare[r * WIDTH + (j - begin) % WIDTH]
            if not keep:
                for r in range(i - first, ROWS):
                    add_row(v[begin:end], tile[r * step :], weights[first + r])


@jit_finite
def add_row(v, row, weight):
    """v += weight row, in the precision of ``v``."""
    for j in range(len(v)):
        v[j] += weight * row[j]


def rbf_rows(
    A: FloatArray, row_norms: FloatArray, panels: FloatArray, *, columns: slice, gamma: float,
    variance: float, out: AnyArray,
) -> None:  # fmt: skip
    """out[:, columns] = variance exp(-gamma ||a - b||^2) for the rows of ``A`` and the points of the panels.

    ``columns`` starts at a multiple of WIDTH.
    """
    n_rows = len(A)
    if n_rows < ROWS:
        whole = np.empty((ROWS, out.shape[1]), dtype=np.float32)
        A, row_norms = _at_least_a_tile(A, row_norms)
        rbf_rows(A, row_norms, panels, columns=columns, gamma=gamma, variance=variance, out=whole)
        out[:, columns] = whole[:n_rows, columns]
        return
    values, step = flat(out)
    _fill(
        np.ascontiguousarray(A).reshape(-1), panels, columns.start, columns.stop, row_norms,
        _factors(gamma, variance), values, step, _NO_WEIGHTS, _NO_WEIGHTS,
    )  # fmt: skip


def add_rbf_rows(
    A: FloatArray, row_norms: FloatArray, panels: FloatArray, *, columns: slice, gamma: float,
    variance: float, weights: FloatArray, v: FloatArray,
) -> None:  # fmt: skip
    """v[columns] += sum_k weights[k] K(a_k, points of the panels), summed in float64; as `rbf_rows` else."""
    if len(A) < ROWS:
        weights = np.pad(weights, (0, ROWS - len(A)))
        A, row_norms = _at_least_a_tile(A, row_norms)
    tile = np.empty(ROWS * _GROUP, dtype=np.float32)
    _fill(
        np.ascontiguousarray(A).reshape(-1), panels, columns.start, columns.stop, row_norms,
        _factors(gamma, variance), tile, _GROUP, weights, v,
    )  # fmt: skip


def _factors(gamma: float, variance: float) -> tuple[np.float32, np.float32]:
    """Of the squared distance, for a power of two, and of the power."""
    return np.float32(-gamma) * LOG2E_32, np.float32(variance)


def _at_least_a_tile(A: FloatArray, row_norms: FloatArray) -> tuple[FloatArray, FloatArray]:
    more = (0, ROWS - len(A))
    return np.pad(A, [more, (0, 0)]), np.pad(row_norms, more)
