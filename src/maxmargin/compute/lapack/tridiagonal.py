"""T + alpha I for one symmetric tridiagonal T and many alphas: factors, solutions and quadratic forms.

T + alpha I = L D L' with a unit bidiagonal L. Row k of ``lower`` and of ``weight``, both of shape
(n_alphas, m), holds the numbers under L's diagonal, moved by one place (the first is 0), and 1 / D, for
alphas[k].
"""

from __future__ import annotations

from maxmargin.base.typing import FloatArray
from maxmargin.compute.jit import jit, jit_sums

_TOGETHER = 10  # alphas that share one reading of the rows


@jit
def factors(
    diagonal: FloatArray,
    off: FloatArray,
    alphas: FloatArray,
    floor: float,
    lower: FloatArray,
    weight: FloatArray,
) -> bool:
    """Fill ``lower`` and ``weight``; False when some number of D is not above ``floor``."""
    for k in range(len(alphas)):
        lower[k, 0] = 0.0
        for j in range(len(diagonal)):
            pivot = diagonal[j] + alphas[k]
            if j > 0:
                lower[k, j] = off[j - 1] * weight[k, j - 1]
                pivot -= off[j - 1] * lower[k, j]
            if not pivot > floor:
                return False
            weight[k, j] = 1.0 / pivot
    return True


@jit
def solutions(t: FloatArray, lower: FloatArray, weight: FloatArray, out: FloatArray) -> None:
    """Row k of ``out``: (T + alpha_k I)^-1 t."""
    m = len(t)
    for k in range(len(lower)):
        out[k, 0] = t[0]
        for j in range(1, m):
            out[k, j] = t[j] - lower[k, j] * out[k, j - 1]
        out[k, m - 1] *= weight[k, m - 1]
        for j in range(m - 2, -1, -1):
            out[k, j] = out[k, j] * weight[k, j] - lower[k, j + 1] * out[k, j + 1]


@jit_sums
def quadratic_forms(
    Z: FloatArray, lower: FloatArray, weight: FloatArray, v: FloatArray, out: FloatArray
) -> None:
    """out[k, i] = z_i'(T + alpha_k I)^-1 z_i for the columns z_i of Z, of shape (m, n_columns).

    ``v`` of the same shape as ``out`` is workspace. Cost 3 m n_columns n_alphas. Four steps of the recursion
    are taken at once, because loading and storing takes longer than the steps.
    """
    m, n = Z.shape
    v[:] = 0.0
    out[:] = 0.0
    for first in range(0, len(lower), _TOGETHER):
        last = min(first + _TOGETHER, len(lower))
        for j in range(0, m - m % 4, 4):
            for k in range(first, last):
                a0, a1, a2, a3 = lower[k, j], lower[k, j + 1], lower[k, j + 2], lower[k, j + 3]
                d0, d1, d2, d3 = weight[k, j], weight[k, j + 1], weight[k, j + 2], weight[k, j + 3]
                for i in range(n):
                    v0 = Z[j, i] - a0 * v[k, i]
                    v1 = Z[j + 1, i] - a1 * v0
                    v2 = Z[j + 2, i] - a2 * v1
                    v3 = Z[j + 3, i] - a3 * v2
                    v[k, i] = v3
                    out[k, i] += (d0 * v0 * v0 + d1 * v1 * v1) + (d2 * v2 * v2 + d3 * v3 * v3)
        for j in range(m - m % 4, m):
            for k in range(first, last):
                for i in range(n):
                    v[k, i] = Z[j, i] - lower[k, j] * v[k, i]
                    out[k, i] += weight[k, j] * v[k, i] * v[k, i]
