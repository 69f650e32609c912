"""SciPy's BLAS and LAPACK by address: on parts of arrays in their place, and without the interpreter's lock.

SciPy's wrappers in Python copy arrays that are not contiguous, and hold the lock.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from scipy.linalg import cython_blas, cython_lapack

from maxmargin.base.typing import AnyArray, FloatArray


@cache
def routine(name: str, n_arguments: int) -> Any:
    """A Fortran routine out of SciPy's tables, as a function of pointers."""
    table = cython_blas.__pyx_capi__ | cython_lapack.__pyx_capi__
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer_of(table[name], name_of(table[name]))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(address)


def integer(value: int) -> Any:
    """A pointer to an integer."""
    return ctypes.byref(ctypes.c_int(value))


def start(A: AnyArray) -> int:
    """The address of the first number."""
    address: int = A.ctypes.data
    return address


def leading(A: AnyArray) -> Any:
    """A pointer to the distance between columns, for an array whose columns are contiguous."""
    assert A.strides[0] == A.itemsize or len(A) == 1
    return integer(max(A.strides[1] // A.itemsize, len(A)))  # of a single column the stride says nothing


def add_product(factor: float, A: FloatArray, B: FloatArray, C: FloatArray, *, keep: float = 1.0) -> None:
    """C becomes keep C + factor A B; float64, with contiguous columns (A and B: or contiguous rows)."""
    if C.size == 0:
        return
    rows, columns = C.shape
    (order_a, A), (order_b, B) = _by_columns(A), _by_columns(B)
    routine("dgemm", 13)(
        order_a,
        order_b,
        integer(rows),
        integer(columns),
        integer(A.shape[1] if order_a == b"N" else len(A)),
        ctypes.byref(ctypes.c_double(factor)),
        start(A),
        leading(A),
        start(B),
        leading(B),
        ctypes.byref(ctypes.c_double(keep)),
        start(C),
        leading(C),
    )


def _by_columns(A: FloatArray) -> tuple[bytes, FloatArray]:
    """A or its transpose, whichever has contiguous columns, and the letter that says so."""
    return (b"N", A) if A.strides[0] == A.itemsize else (b"T", A.T)
