"""A = Q T Q' of a symmetric A, with an orthogonal Q and a tridiagonal T.

LAPACK reduces A by reflections I - tau v v'. Those of a panel of columns are I - V U V' together, with an
upper triangular U (Schreiber & Van Loan 1989). LAPACK multiplies panels of 32 columns, which are limited by
memory where the matrix is large; ours are wider.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import hessenberg

from maxmargin.base.typing import FloatArray
from maxmargin.compute.lapack.fortran import add_product, by_address, integer, leading, routine, start

_WIDTH = 96  # of a panel
_LARGE = 700  # from here on our panels are faster
_ROOM = 64  # columns of workspace for LAPACK


def tridiagonal_form(A: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Q, in the place of A, and the diagonal and the off-diagonal of T; A is in C order. Cost 8/3 m^3."""
    if not by_address():
        T, Q = hessenberg(A, calc_q=True)
        return Q, np.diag(T).copy(), np.diag(T, -1).copy()
    m = len(A)
    vectors = A.T  # which is in Fortran's order
    diagonal, off, tau = np.empty(m), np.empty(m - 1), np.empty(m - 1)
    room = np.empty((m, _ROOM))
    n, work, size, status = integer(m), start(room), integer(room.size), integer(0)
    matrix = (b"L", n, start(vectors), leading(vectors))
    routine("dsytrd")(*matrix, start(diagonal), start(off), start(tau), work, size, status)
    if m < _LARGE:
        routine("dorgtr")(*matrix, start(tau), work, size, status)
    else:
        _multiply_out(vectors, tau)
    return vectors, diagonal, off


def _multiply_out(vectors: FloatArray, tau: FloatArray) -> None:
    """Q in the place of ``vectors``, what the reduction leaves below the diagonal. Cost 4/3 m^3."""
    Q = vectors
    for first in reversed(range(0, len(tau), _WIDTH)):
        V, U = _panel(vectors, tau[first : first + _WIDTH], first)
        width, after = len(U), first + 1 + len(U)
        left, right = Q[first + 1 :, first + 1 : after], Q[first + 1 :, after:]
        right[:width] = 0.0
        projected = np.empty((right.shape[1], width), order="F")
        add_product(1.0, right.T, V, projected, keep=0.0)
        _subtract(V, U, projected, right)
        left[:] = 0.0
        left[np.diag_indices(width)] = 1.0
        _subtract(V, U, V[:width], left)
    Q[0], Q[:, 0] = 0.0, 0.0
    Q[0, 0] = 1.0


def _panel(vectors: FloatArray, tau: FloatArray, first: int) -> tuple[FloatArray, FloatArray]:
    """V and U of the reflections of the columns from ``first`` on; V begins one row below the diagonal."""
    width = len(tau)
    V = vectors[first + 1 :, first : first + width].copy(order="F")
    V[:width] = np.tril(V[:width], -1)
    V[np.diag_indices(width)] = 1.0
    U = np.zeros((width, width), order="F")
    n, k = integer(len(V)), integer(width)
    routine("dlarft")(b"F", b"C", n, k, start(V), leading(V), start(tau), start(U), leading(U))
    return V, U


def _subtract(V: FloatArray, U: FloatArray, projected: FloatArray, C: FloatArray) -> None:
    """C becomes C - V U V'C; ``projected`` is C'V."""
    scaled = np.empty((C.shape[1], len(U)), order="F")
    add_product(-1.0, projected, U.T, scaled, keep=0.0)
    add_product(1.0, V, scaled.T, C)
