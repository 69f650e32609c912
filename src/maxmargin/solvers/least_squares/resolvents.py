"""(A + alpha I)^-1 for one symmetric A and many alphas, from A = Q T Q' with a tridiagonal or diagonal T.

For few quadratic forms no eigenvectors are needed: T + alpha I is solved in 5 m operations, and reducing A to
a tridiagonal T and forming Q costs 8/3 m^3, a third of an eigendecomposition (Golub & Van Loan 2013, section
8.3). For many, the eigendecomposition pays off, because they become one product of matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from scipy import linalg

from maxmargin.base.threads import blas_threads_for, interruptible, run, single_threaded_blas
from maxmargin.base.typing import BoolArray, FloatArray
from maxmargin.compute.lapack.tridiagonal import factors, quadratic_forms, solutions
from maxmargin.compute.lapack.tridiagonal_form import tridiagonal_form

_TINY = 1e-12
_COLUMNS = 128  # columns of the identity rotated at once, so that they stay in the cache
_MANY = 4  # eigenvectors pay off from this number times m^2 quadratic forms (over all alphas) on


class Resolvents(Protocol):
    """(A + alpha I)^-1 = Q (T + alpha I)^-1 Q' for every alpha; `Q` is of shape (m, m)."""

    Q: FloatArray

    @property
    def cut(self) -> BoolArray:
        """True for alphas with a truncated direction, of shape (n_alphas,)."""

    def inner(self, t: FloatArray) -> FloatArray:
        """(T + alpha I)^-1 t for every alpha, of shape (n_alphas, m)."""

    def forms(self, Z: FloatArray) -> FloatArray:
        """z'(T + alpha I)^-1 z for the columns z of Z and every alpha, of shape (n_alphas, n_columns)."""


@dataclass
class _Tridiagonal:
    """The factors of T + alpha I (`compute.lapack.tridiagonal`)."""

    Q: FloatArray
    lower: FloatArray
    weight: FloatArray

    @property
    def cut(self) -> BoolArray:
        return np.zeros(len(self.weight), dtype=bool)

    def inner(self, t: FloatArray) -> FloatArray:
        out = np.empty_like(self.lower)
        solutions(t, self.lower, self.weight, out)
        return out

    def forms(self, Z: FloatArray) -> FloatArray:
        out = np.empty((len(self.lower), Z.shape[1]))
        quadratic_forms(np.ascontiguousarray(Z), self.lower, self.weight, np.empty_like(out), out)
        return out


@dataclass
class _Diagonal:
    """The eigenvectors Q and ``weight``, 1 / (eigenvalue + alpha), of shape (n_alphas, m)."""

    Q: FloatArray
    weight: FloatArray

    @property
    def cut(self) -> BoolArray:
        return np.any(self.weight == 0.0, axis=1)

    def inner(self, t: FloatArray) -> FloatArray:
        return self.weight * t

    def forms(self, Z: FloatArray) -> FloatArray:
        return np.asarray(self.weight @ np.square(Z))


def solutions_and_diagonals(
    inverse: Resolvents, t: FloatArray, n_threads: int = 1
) -> tuple[FloatArray, FloatArray]:
    """(A + alpha I)^-1 t and the diagonal of (A + alpha I)^-1 for every alpha, each of (n_alphas, m)."""
    Q = inverse.Q
    # numpy and scipy each have a BLAS whose threads spin after a call: two of them would compete
    with single_threaded_blas():
        inner = inverse.inner(Q.T @ t)
        solved, diagonal = np.empty_like(inner), np.empty_like(inner)

        def fill(part: slice) -> None:
            Z = np.ascontiguousarray(Q[part].T)
            np.matmul(inner, Z, out=solved[:, part])
            diagonal[:, part] = inverse.forms(Z)

        parts = [slice(start, start + _COLUMNS) for start in range(0, len(t), _COLUMNS)]
        run([partial(fill, part) for part in parts], n_threads)
    return solved, diagonal


def resolvents(A: FloatArray, alphas: FloatArray, n_forms: int) -> Resolvents:
    """The inverses of A + alpha I; A, in C order, is overwritten. ``n_forms`` quadratic forms are expected.

    If A + alpha I is not safely positive definite, negative eigenvalues are set to 0, and a direction in
    which both the eigenvalue and alpha vanish gets 0, as in a pseudo-inverse.
    """
    m = len(A)
    with blas_threads_for(m):
        if n_forms * len(alphas) > _MANY * m * m:
            values, vectors = interruptible(partial(np.linalg.eigh, A), A.size)
            return _Diagonal(vectors, shrinkage(np.maximum(values, 0.0), alphas).T)
        Q, diagonal, off = interruptible(partial(tridiagonal_form, A), A.size)
    lower, weight = np.zeros((len(alphas), m)), np.empty((len(alphas), m))
    floor = max(_TINY * float(np.abs(diagonal).max()), 1e-300)
    if factors(diagonal, off, alphas, floor, lower, weight):
        return _Tridiagonal(Q, lower, weight)
    size = max(float(np.abs(diagonal).max()), 1e-300)  # LAPACK squares the numbers
    values, vectors = linalg.eigh_tridiagonal(diagonal / size, off / size, check_finite=False)
    values *= size
    return _Diagonal(Q @ vectors, shrinkage(np.maximum(values, 0.0), alphas).T)


def shrinkage(values: FloatArray, alphas: FloatArray) -> FloatArray:
    """1 / (value + alpha), of shape (n_values, n_alphas); 0 if both vanish against the largest value."""
    shifted = values[:, None] + alphas
    floor = max(_TINY * float(values.max()), 1e-300)
    return np.where(shifted > floor, 1.0 / np.maximum(shifted, floor), 0.0)
