"""Cholesky factors in threads: SciPy's own wrappers of LAPACK hold the interpreter's lock, these do not."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cython_blas, cython_lapack

from maxmargin.typing import AnyArray


@cache
def _routine(name: str, precision: str, n_arguments: int) -> Any:
    """A Fortran routine out of SciPy's table of pointers, as a function of pointers; calls free the lock."""
    module = cython_lapack if name == "potrf" else cython_blas
    capsule = module.__pyx_capi__[precision + name]
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer_of(capsule, name_of(capsule))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(address)


def _integer(value: int) -> Any:
    return ctypes.byref(ctypes.c_int(value))


class Cholesky:
    """B = L L' of a symmetric matrix of shape (m, m), float32 or float64, which is overwritten.

    ``definite`` is False where B is not positive definite; there is no factor then. Cost m^3 / 3.
    """

    def __init__(self, B: AnyArray) -> None:
        assert B.flags.c_contiguous
        assert B.shape[0] == B.shape[1]
        self.dtype = B.dtype
        self._L = B  # row after row it is the upper factor, column after column the lower one
        self._precision = "s" if B.dtype == np.float32 else "d"
        info = ctypes.c_int(0)
        m = _integer(len(B))
        _routine("potrf", self._precision, 5)(b"L", m, B.ctypes.data, m, ctypes.byref(info))
        self.definite = info.value == 0

    def solve(self, R: AnyArray) -> AnyArray:
        """B^-1 R for R of shape (m, k), as a new array in Fortran order. Cost 2 m^2 k."""
        X = np.array(R, dtype=self.dtype, order="F", ndmin=2)
        one = np.ones(1, self.dtype)
        m, k = _integer(len(X)), _integer(X.shape[1])
        trsm = _routine("trsm", self._precision, 11)
        for transposed in (b"N", b"T"):
            trsm(
                b"L", b"L", transposed, b"N", m, k, one.ctypes.data, self._L.ctypes.data, m, X.ctypes.data, m
            )
        return X
