"""Coordinate descent on a quadratic model with an l1 penalty."""

from __future__ import annotations

from maxmargin.base.typing import FloatArray
from maxmargin.compute.jit import jit_sums


@jit_sums
def proximal_descent(
    H: FloatArray, gradient: FloatArray, l1: FloatArray, l2: float, z: FloatArray, tol: float, passes: int
) -> bool:
    """min over z   1/2 (z - w)'H(z - w) + g'z + sum_j l1_j |z_j| + l2 / 2 ||z||^2,   one column at a time.

    H and g are the model of the losses at w; z and ``gradient``, which is g + H(z - w), change in place. The
    result is False where so many passes over the columns do not reach ``tol``.
    """
    p = len(z)
    for _ in range(passes):
        largest = 0.0
        for j in range(p):
            curvature = H[j, j] + l2
            if curvature <= 0.0:
                continue
            target = H[j, j] * z[j] - gradient[j]
            after = max(abs(target) - l1[j], 0.0) / curvature
            after = after if target > 0 else -after
            change = after - z[j]
            if change != 0.0:
                z[j] = after
                for k in range(p):
                    gradient[k] += change * H[j, k]
                largest = max(largest, change * change * curvature)
        if largest <= tol:
            return True
    return False
