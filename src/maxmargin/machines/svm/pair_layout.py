"""Coefficients of one-versus-one machines: one row per pair, or LIBSVM's compact layout."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from maxmargin.base.typing import FloatArray, IntArray


def compact_pairs(betas: FloatArray, codes: IntArray, n_classes: int) -> FloatArray:
    """Coefficients of shape (n_pairs, n_SV) in LIBSVM's layout of shape (n_classes - 1, n_SV).

    Row r of a support vector of class k belongs to the machine of k and the r-th other class.
    """
    compact = np.zeros((n_classes - 1, betas.shape[1]))
    for pair, (i, j) in enumerate(combinations(range(n_classes), 2)):
        compact[j - 1, codes == i] = betas[pair, codes == i]
        compact[i, codes == j] = betas[pair, codes == j]
    return compact


def spread_pairs(compact: FloatArray, codes: IntArray, n_classes: int) -> FloatArray:
    """The reverse of `compact_pairs`: coefficients of shape (n_pairs, n_SV)."""
    pairs = list(combinations(range(n_classes), 2))
    betas = np.zeros((len(pairs), compact.shape[1]))
    for pair, (i, j) in enumerate(pairs):
        betas[pair, codes == i] = compact[j - 1, codes == i]
        betas[pair, codes == j] = compact[i, codes == j]
    return betas
