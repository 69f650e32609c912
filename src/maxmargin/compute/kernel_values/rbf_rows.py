"""Rows of Gaussian kernel values: the exponentials are taken while the inner products are in the cache.

BLAS packs both sides at every call and writes products that have to be read again. Here the columns are
packed once, in panels of `width_of` points side by side, and the exponentials of a tile follow at once. A
value is one sum in the order of the features, so it does not depend on threads or on its place in a matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from maxmargin.base.threads import in_parts
from maxmargin.base.typing import AnyArray, FloatArray
from maxmargin.compute.intrinsics.panel_tile import HALF_WIDTH, ROWS, WIDTH, gaussians
from maxmargin.compute.jit import jit, jit_finite
from maxmargin.compute.kernel_values.elementwise import LOG2E, flat, gamma_in

_GROUP = 512  # columns that a tile of rows passes before their exponentials are taken, at most
_CACHED = 1 << 17  # numbers of all panels of a group
_NO_WEIGHTS = np.empty(0)


def width_of(dtype: DTypeLike) -> int:
    """Points in a panel."""
    return WIDTH if np.dtype(dtype) == np.float32 else HALF_WIDTH


def panels_of(X: FloatArray, norms: FloatArray, n_threads: int = 1) -> FloatArray:
    """The rows of ``X`` as columns, some of them side by side, and below them their squared norms.

    The last panel is filled up with zeros.
    """
    (n, p), width = X.shape, width_of(X.dtype)
    full, rest = divmod(n, width)
    panels = np.empty((full + (rest > 0), p + 1, width), dtype=X.dtype)

    def pack(part: slice) -> None:
        rows = slice(part.start * width, part.stop * width)
        panels[part, :p] = X[rows].reshape(-1, width, p).transpose(0, 2, 1)
        panels[part, p] = norms[rows].reshape(-1, width)

    in_parts(pack, full, width * p, n_threads)
    if rest:
        panels[full, :, rest:] = 0.0
        panels[full, :p, :rest] = X[full * width :].T
        panels[full, p, :rest] = norms[full * width :]
    return panels.reshape(-1)


@jit
def _fill(A, panels, start, stop, row_norms, factors, out, step, weights, v, spare):
    """Columns start ... stop of the kernel rows of ``A``, given flat, which has at least ROWS rows.

    Without ``weights`` the rows are kept in ``out``. With them, ``out`` only holds one tile of ROWS x _GROUP
    values, whose weighted sum over the rows is added to ``v``: no kernel value leaves the cache. ``spare``
    has room for one panel of values.
    """
    n_rows, width = len(row_norms), len(spare) // ROWS
    p = len(A) // n_rows
    keep = len(weights) == 0
    group = _CACHED // p // width * width  # their panels stay in the cache
    group = group if group < _GROUP else _GROUP
    group = group if group > width else width
    for begin in range(start, stop, group):
        end = begin + group if begin + group < stop else stop
        for i in range(0, n_rows, ROWS):
            first = i if i + ROWS <= n_rows else n_rows - ROWS  # the last tile overlaps the one before
            tile = out[first * step + begin :] if keep else out
            for j in range(begin, end, width):
                target, at, across = tile, j - begin, step
                if j + width > end:  # the last panel is not full
                    target, at, across = spare, np.int64(0), np.int64(width)
                panel = j * (p + 1)
                gaussians(A, first * p, p, panels, panel, row_norms, first, factors, target, at, across)
            for j in range(end - (end - begin) % width, end):
                for r in range(ROWS):
                    tile[r * step + j - begin] = spare[r * width + (j - begin) % width]
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

    ``columns`` starts at a multiple of the width of a panel.
    """
    n_rows = len(A)
    if n_rows < ROWS:
        whole = np.empty((ROWS, out.shape[1]), dtype=A.dtype)
        A, row_norms = _at_least_a_tile(A, row_norms)
        rbf_rows(A, row_norms, panels, columns=columns, gamma=gamma, variance=variance, out=whole)
        out[:, columns] = whole[:n_rows, columns]
        return
    values, step = flat(out)
    _fill(
        np.ascontiguousarray(A).reshape(-1), panels, columns.start, columns.stop, row_norms,
        _factors(gamma, variance, A.dtype), values, step, _NO_WEIGHTS, _NO_WEIGHTS, _spare(A.dtype),
    )  # fmt: skip


def add_rbf_rows(
    A: FloatArray, row_norms: FloatArray, panels: FloatArray, *, columns: slice, gamma: float,
    variance: float, weights: FloatArray, v: FloatArray,
) -> None:  # fmt: skip
    """v[columns] += sum_k weights[k] K(a_k, points of the panels), summed in float64; as `rbf_rows` else."""
    if len(A) < ROWS:
        weights = np.pad(weights, (0, ROWS - len(A)))
        A, row_norms = _at_least_a_tile(A, row_norms)
    tile = np.empty(ROWS * _GROUP, dtype=A.dtype)
    _fill(
        np.ascontiguousarray(A).reshape(-1), panels, columns.start, columns.stop, row_norms,
        _factors(gamma, variance, A.dtype), tile, _GROUP, weights, v, _spare(A.dtype),
    )  # fmt: skip


def _factors(gamma: float, variance: float, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Of the squared distance, for a power of two, and of the power."""
    return -gamma_in(dtype, gamma) * dtype.type(LOG2E), dtype.type(variance)


def _spare(dtype: np.dtype[Any]) -> FloatArray:
    return np.empty(ROWS * width_of(dtype), dtype=dtype)


def _at_least_a_tile(A: FloatArray, row_norms: FloatArray) -> tuple[FloatArray, FloatArray]:
    more = (0, ROWS - len(A))
    return np.pad(A, [more, (0, 0)]), np.pad(row_norms, more)
