"""SciPy's BLAS and LAPACK by address: on parts of arrays in their place, and without the interpreter's lock.

SciPy's wrappers in Python copy arrays that are not contiguous, and hold the lock. If SciPy does not offer
the expected addresses, NumPy is used instead (`by_address`).
"""

from __future__ import annotations

import ctypes
import logging
import re
import sys
from functools import cache
from typing import Any

from scipy.linalg import cython_blas, cython_lapack

from maxmargin.base.typing import AnyArray, FloatArray
from maxmargin.compute.jit import PLAIN

_N_ARGUMENTS = {
    "dgemm": 13,
    "dsytrd": 10,
    "dorgtr": 8,
    "dlarft": 9,
    "strsm": 11,
    "dtrsm": 11,
    "spotrf": 5,
    "dpotrf": 5,
    "dpotri": 5,
}
# A pointer to 64 bits serves routines with 32-bit and with 64-bit integers where the low bytes come first.
_INTEGERS = r"int|int64_t|npy_int64|\w*blas_int"
_ARGUMENT = re.compile(rf"(char|{_INTEGERS}|float|double|\w+_[sd]) \*")


@cache
def by_address() -> bool:
    """Whether the routines have the expected arguments; otherwise NumPy is used."""
    if PLAIN:
        return False
    try:
        for name, n_arguments in _N_ARGUMENTS.items():
            check_signature(name, _signature(_capsule(name)), n_arguments)
        if sys.byteorder != "little":
            raise TypeError("the low bytes of integers come last on this processor")
    except (AttributeError, KeyError, TypeError) as refused:
        logging.getLogger("maxmargin").warning(
            "LAPACK is not called by address (%s), so slower NumPy functions serve instead.", refused
        )
        return False
    return True


def check_signature(name: str, signature: str, n_arguments: int) -> None:
    """Refuse a routine whose C signature is not that of ``n_arguments`` pointers to types that we know."""
    arguments = signature.partition("(")[2].rstrip(")").split(", ")
    unknown = [argument for argument in arguments if not _ARGUMENT.fullmatch(argument)]
    if not signature.startswith("void (") or len(arguments) != n_arguments or unknown:
        raise TypeError(f"SciPy's {name} has the signature {signature}")


def _capsule(name: str) -> Any:
    table = cython_lapack if name in cython_lapack.__pyx_capi__ else cython_blas
    return table.__pyx_capi__[name]


def _signature(capsule: Any) -> str:
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return bytes(name_of(capsule)).decode()


@cache
def routine(name: str) -> Any:
    """A Fortran routine out of SciPy's tables, as a function of pointers."""
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer_of(_capsule(name), _signature(_capsule(name)).encode())
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * _N_ARGUMENTS[name])(address)


def integer(value: int) -> Any:
    """A pointer to an integer."""
    return ctypes.byref(ctypes.c_int64(value))


def start(A: AnyArray) -> int:
    """The address of the first number."""
    return A.ctypes.data


def leading(A: AnyArray) -> Any:
    """A pointer to the distance between columns, for an array whose columns are contiguous."""
    assert A.strides[0] == A.itemsize or len(A) == 1
    return integer(max(A.strides[1] // A.itemsize, len(A)))  # of a single column the stride says nothing


def add_product(factor: float, A: FloatArray, B: FloatArray, C: FloatArray, *, keep: float = 1.0) -> None:
    """C becomes keep C + factor A B; float64, with contiguous columns (A and B: or contiguous rows)."""
    if C.size == 0:
        return
    if not by_address():
        C[:] = factor * (A @ B) + (keep * C if keep != 0.0 else 0.0)
        return
    rows, columns = C.shape
    (order_a, A), (order_b, B) = _by_columns(A), _by_columns(B)
    routine("dgemm")(
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
