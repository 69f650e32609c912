"""Mercer's condition on given points, and distances in feature space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.base.shown import short_repr
from maxmargin.base.threads import interruptible
from maxmargin.base.typing import FloatArray, TableLike
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.parsing import as_kernel


@dataclass(frozen=True)
class MercerCheck:
    """The verdict, the ascending spectrum, the smallest eigenvalue, and a vector w for which w'Kw equals it.

    ``asymmetry`` is the largest |K_ij - K_ji|. Eigenvalues within ``tolerance`` of zero count as zero.

    >>> import maxmargin as mm
    >>> check = mm.kernels.mercer_check(mm.kernels.Linear(), [[1.0, 0.0], [0.0, 1.0]])
    >>> bool(check), float(check.smallest)
    (True, 1.0)
    """

    holds: bool
    spectrum: FloatArray
    smallest: float
    witness: FloatArray
    asymmetry: float
    tolerance: float

    __repr__ = short_repr

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.holds:
            n = len(self.spectrum)
            return f"positive semidefinite on these {n} points (smallest eigenvalue {self.smallest:.3g})"
        if self.asymmetry > self.tolerance:
            return f"not symmetric: |K(x, z) - K(z, x)| reaches {self.asymmetry:.3g}"
        return (
            f"not positive semidefinite: smallest eigenvalue {self.smallest:.3g}, "
            "and the witness w has w'Kw equal to it"
        )


def mercer_check(
    kernel_or_gram: Any, X: TableLike | None = None, *, tolerance: float | None = None
) -> MercerCheck:
    """Is the Gram matrix symmetric with no eigenvalue below -tolerance? Costs O(n^3).

    >>> import numpy as np
    >>> import maxmargin as mm
    >>> bool(mm.kernels.mercer_check(mm.kernels.RBF(gamma=1.0), np.arange(4.0).reshape(-1, 1)))
    True
    >>> bool(mm.kernels.mercer_check(np.array([[0.0, 1.0], [1.0, 0.0]])))
    False
    """
    K = _gram(kernel_or_gram, X)
    asymmetry = float(np.abs(K - K.T).max())
    values, vectors = interruptible(lambda: np.linalg.eigh((K + K.T) / 2), K.size)
    if tolerance is None:
        tolerance = len(K) * np.finfo(np.float64).eps * 8 * max(float(np.abs(values).max()), 1e-300)
    smallest = float(values[0])
    holds = bool(smallest >= -tolerance and asymmetry <= tolerance)
    return MercerCheck(holds, values, smallest, vectors[:, 0], asymmetry, tolerance)


def _gram(kernel_or_gram: Any, X: Any) -> FloatArray:
    if isinstance(kernel_or_gram, Kernel):
        if X is None:
            raise ValueError("mercer_check(kernel, X) needs the points X on which to check the kernel.")
        kernel_or_gram = kernel_or_gram(X)
    K = np.asarray(kernel_or_gram, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not K.size:
        raise ValueError(f"a Gram matrix is square and not empty, got shape {K.shape}.")
    if not np.isfinite(K).all():
        raise ValueError("the Gram matrix contains NaN or infinity.")
    return K


def distance(kernel: Any, X: TableLike, Z: TableLike | None = None) -> FloatArray:
    """||phi(x) - phi(z)|| for all pairs of rows, of shape (n_samples_X, n_samples_Z).

    >>> from maxmargin.kernels import Linear, distance
    >>> distance(Linear(), [[0.0, 0.0]], [[3.0, 4.0]]).tolist()
    [[5.0]]
    """
    bound = as_kernel(kernel).bind(X)
    A = bound.prepare(X)
    B = A if Z is None else bound.prepare(Z, like=A)
    squares = bound.diagonal(A)[:, None] + bound.diagonal(B) - 2 * bound.gram(A, None if Z is None else B)
    return np.sqrt(np.maximum(squares, 0.0))
