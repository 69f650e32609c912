"""Cholesky factors without the interpreter's lock, for fits in threads."""

from __future__ import annotations

import ctypes

import numpy as np
from scipy.linalg import lapack, solve_triangular

from maxmargin.base.typing import AnyArray
from maxmargin.compute.lapack.fortran import by_address, integer, routine, start


class Cholesky:
    """B = L L' of a symmetric matrix of shape (m, m), float32 or float64, which is overwritten.

    ``definite`` is False where B is not positive definite; there is no factor then. Cost m^3 / 3.
    """

    def __init__(self, B: AnyArray) -> None:
        assert B.flags.c_contiguous
        assert B.shape[0] == B.shape[1]
        self.dtype = B.dtype
        self._L = B  # the upper factor in row-major order is the lower one in column-major order
        self._precision = "s" if B.dtype == np.float32 else "d"
        self.definite = self._factor_by_address() if by_address() else self._factor_plain()

    def _factor_by_address(self) -> bool:
        status, m = ctypes.c_int64(0), integer(len(self._L))
        routine(f"{self._precision}potrf")(b"L", m, start(self._L), m, ctypes.byref(status))
        return status.value == 0

    def _factor_plain(self) -> bool:
        try:
            self._L[:] = np.linalg.cholesky(self._L).T
        except np.linalg.LinAlgError:
            return False
        return True

    def inverse_diagonal(self) -> AnyArray:
        """The diagonal of B^-1, which takes the place of the factor; float64. Cost 2/3 m^3."""
        if by_address():
            m = integer(len(self._L))
            routine("dpotri")(b"L", m, start(self._L), m, integer(0))
        else:
            self._L[:] = lapack.dpotri(self._L.T, lower=1)[0].T
        return np.diag(self._L).copy()

    def solve(self, R: AnyArray) -> AnyArray:
        """B^-1 R for R of shape (m, k), as a new array in Fortran order. Cost 2 m^2 k."""
        X = np.array(R, dtype=self.dtype, order="F", ndmin=2)
        if not by_address():
            halfway = solve_triangular(self._L.T, X, lower=True)
            return np.asfortranarray(solve_triangular(self._L.T, halfway, lower=True, trans="T"))
        one = np.ones(1, self.dtype)
        m, k = integer(len(X)), integer(X.shape[1])
        trsm = routine(f"{self._precision}trsm")
        for transposed in (b"N", b"T"):
            trsm(b"L", b"L", transposed, b"N", m, k, start(one), start(self._L), m, start(X), m)
        return X
