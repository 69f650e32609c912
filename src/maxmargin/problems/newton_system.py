"""The linear system of a Newton step, for solvers and for certificates that need a feasible point."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from maxmargin.base.typing import FloatArray
from maxmargin.compute.tables.design import Design

EXPLICIT = 1500  # unknowns up to which a Hessian is formed and factored


def hessian(
    X: Design,
    d: FloatArray,
    l2: float,
    fit_intercept: bool,
    border: FloatArray | None = None,
    gram: FloatArray | None = None,
) -> FloatArray:
    """[X 1]' diag(d) [X 1] + diag(l2, ..., l2, 0); without an intercept its row is that of the identity.

    ``border`` is X'd and ``gram`` X' diag(d) X, if they are known. Cost: n p^2.
    """
    p = X.shape[1]
    H = np.zeros((p + 1, p + 1))
    H[:p, :p] = X.gram(d) if gram is None else gram
    H[np.arange(p), np.arange(p)] += l2
    if fit_intercept:
        H[p, :p] = H[:p, p] = X.adjoint(d) if border is None else border
        H[p, p] = d.sum()
    else:
        H[p, p] = 1.0
    return H


def solve_symmetric(H: FloatArray, right: FloatArray) -> FloatArray:
    """H^-1 right for a positive semidefinite H; the minimum-norm solution if H is singular."""
    diagonal = np.diag(H)
    # no step along a column of zeros: 1 / sqrt(tiny) would turn rounding into 1e134
    scale = np.divide(1.0, np.sqrt(diagonal), out=np.zeros(len(H)), where=diagonal > 0)
    scaled = H * scale
    scaled *= scale[:, None]
    # the transpose is in LAPACK's order, so nothing is copied; one triangle stays as it was
    factor, fault = linalg.lapack.dpotrf(scaled.T, lower=1, overwrite_a=1, clean=0)
    if fault == 0 and np.min(np.diag(factor)) > 1e-7:
        step, _ = linalg.lapack.dpotrs(factor, right * scale, lower=1)
        return np.asarray(step * scale)
    scaled = H * scale * scale[:, None]
    values, vectors = linalg.eigh(scaled, check_finite=False)
    kept = values > 1e-12 * max(values[-1], 1e-300)
    inside = vectors[:, kept]
    return np.asarray(inside @ ((inside.T @ (right * scale)) / values[kept]) * scale)
