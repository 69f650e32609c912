"""Symmetrical uncertainty of one coded column with many."""

from __future__ import annotations

import numpy as np

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.jit import jit


@jit
def uncertainty_with_all(codes: IntArray, levels: IntArray, column: IntArray, n_levels: int) -> FloatArray:
    """2 IG / (E + E) of ``column`` (codes 0 ... n_levels - 1) with every row of ``codes`` (p, n)."""
    p, n = codes.shape
    uncertainties = np.zeros(p)
    for j in range(p):
        joint = np.zeros((levels[j], n_levels))
        for i in range(n):
            joint[codes[j, i], column[i]] += 1.0
        own = _entropy(joint.sum(axis=1), n)
        other = _entropy(joint.sum(axis=0), n)
        if own + other > 0.0:
            shared = own + other - _entropy(joint.ravel(), n)
            uncertainties[j] = 2.0 * max(shared, 0.0) / (own + other)
    return uncertainties


@jit
def _entropy(counts: FloatArray, n: int) -> float:
    total = 0.0
    for count in counts:
        if count > 0.0:
            total -= count / n * np.log2(count / n)
    return max(total, 0.0)
