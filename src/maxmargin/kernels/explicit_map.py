"""Explicit feature maps."""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import factorial
from typing import Any

import numpy as np

from maxmargin.base.parameters import check_count, check_not_negative, check_positive
from maxmargin.base.tables import checked_table
from maxmargin.base.typing import FloatArray

_TOO_MANY = 50_000_000


def polynomial_map(X: Any, *, degree: int = 2, gamma: float = 1.0, coef0: float = 1.0) -> FloatArray:
    """phi(X) with <phi(x), phi(z)> = (coef0 + gamma <x, z>)^degree, of shape (n_samples, n_monomials).

    For two columns, degree 2 and gamma = coef0 = 1 the columns are 1, sqrt(2) x1, sqrt(2) x2, x1^2,
    sqrt(2) x1 x2, x2^2: by degree, then in the order of itertools.combinations_with_replacement.

    >>> import maxmargin as mm
    >>> mm.kernels.polynomial_map([[1.0, 2.0]]).round(3).tolist()
    [[1.0, 1.414, 2.828, 1.0, 2.828, 4.0]]
    """
    check_count("degree", degree)
    check_positive("gamma", gamma)
    check_not_negative("coef0", coef0)
    X = checked_table(X, dtype=[np.float64, np.float32])
    lowest = degree if coef0 == 0 else 0
    columns = []
    for total in range(lowest, degree + 1):
        outer = factorial(degree) // (factorial(total) * factorial(degree - total))
        for chosen in combinations_with_replacement(range(X.shape[1]), total):
            inner = factorial(total)
            for k in set(chosen):
                inner //= factorial(chosen.count(k))
            weight = np.sqrt(outer * inner * coef0 ** (degree - total) * gamma**total)
            columns.append(weight * X[:, list(chosen)].prod(axis=1))
            if len(columns) * len(X) > _TOO_MANY:
                raise ValueError(
                    f"the map of degree {degree} on {X.shape[1]} columns does not fit: use the kernel."
                )
    return np.column_stack(columns)
