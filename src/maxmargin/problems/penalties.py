"""Penalties P(w): value, conjugate and proximal map.

One class holds every penalty, because all are sums of the same three parts:

    P(w) = l2 / 2 ||w||^2 + l1 ||w||_1 + l0 sum_j (1 - exp(-alpha |w_j|))

The last part is the concave approximation of the number of non-zero weights (Bradley & Mangasarian 1998);
``alpha = inf`` counts them exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isinf

import numpy as np

from maxmargin.base.typing import FloatArray


def soft(v: FloatArray, threshold: float | FloatArray) -> FloatArray:
    """The proximal map of a weighted absolute value: v moved towards zero by ``threshold``."""
    return np.sign(v) * np.maximum(np.abs(v) - threshold, 0.0)


@dataclass(frozen=True, kw_only=True)
class Penalty:
    """P(w) = l2/2 ||w||^2 + l1 ||w||_1 + l0 sum_j (1 - exp(-alpha |w_j|)) + constant.

    >>> import numpy as np
    >>> Penalty(l1=2.0, l2=1.0).value(np.array([1.0, -3.0]))
    13.0
    >>> Penalty(l1=2.0).prox(np.array([1.0, -3.0]), 1.0).tolist()
    [0.0, -1.0]
    """

    l2: float = 0.0
    l1: float | FloatArray = 0.0  # an array of shape (n_features,) weighs the columns
    l0: float = 0.0
    alpha: float = 5.0
    constant: float = 0.0

    def __post_init__(self) -> None:
        if min(self.l2, float(np.min(self.l1)), self.l0) < 0 or self.alpha <= 0:
            raise ValueError(f"penalty weights must be >= 0 and alpha > 0, got {self}.")

    @property
    def convex(self) -> bool:
        return self.l0 == 0

    @property
    def smooth(self) -> bool:
        return self.l0 == 0 and not np.any(self.l1)

    def value(self, w: FloatArray) -> float:
        size = np.abs(w)
        total = 0.5 * self.l2 * float(w @ w) + float(np.sum(self.l1 * size))
        return total + self.l0 * float(self._counted(size).sum()) + self.constant

    def _counted(self, size: FloatArray) -> FloatArray:
        if isinf(self.alpha):
            return (size > 0).astype(np.float64)
        return -np.expm1(-self.alpha * size)

    def linearised(self, w: FloatArray) -> FloatArray:
        """Weights of the l1 norm that majorises the l1 and l0 parts at w, of shape (n_features,)."""
        return self.l1 + self.l0 * self.alpha * np.exp(-self.alpha * np.abs(w))

    def tangent(self, w: FloatArray) -> Penalty:
        """The convex majorant of this penalty at w: its l0 part becomes a weighted l1."""
        size, weights = np.abs(w), self.linearised(w)
        counted = self.l0 * float(self._counted(size).sum()) - float((weights - self.l1) @ size)
        return Penalty(l2=self.l2, l1=weights, constant=self.constant + counted)

    def conjugate(self, v: FloatArray) -> float:
        """sup over w of <v, w> - P(w); for convex penalties only."""
        if not self.convex:
            raise ValueError("a penalty with an l0 part is not convex: it has no useful conjugate.")
        excess = np.maximum(np.abs(v) - self.l1, 0.0)
        if self.l2 > 0:
            return float(excess @ excess) / (2.0 * self.l2) - self.constant
        inside = float(excess.max(initial=0.0)) <= 1e-12 * max(float(np.max(self.l1)), 1.0)
        return -self.constant if inside else inf

    def stationarity(self, w: FloatArray, adjoint: FloatArray) -> FloatArray:
        """How far each w_j is from solving 0 in adjoint_j + dP(w)_j to first order.

        The length of a soft-thresholding step with the majorising l1 norm at w: exact for convex penalties,
        and the first-order condition for the concave part.
        """
        weights = self.l1 if self.convex else self.linearised(w)
        return np.asarray(w - soft(w - adjoint - self.l2 * w, weights))

    def prox(self, v: FloatArray, t: float) -> FloatArray:
        """The minimiser over w of P(w) + ||w - v||^2 / (2 t)."""
        scale = 1.0 + t * self.l2
        if self.convex:
            return soft(v, t * self.l1) / scale
        if isinf(self.alpha):
            return self._best_of_two(soft(v, t * self.l1) / scale, v, t)
        # majorising l1 steps decrease from |v| to the largest stationary point; the other candidate is 0
        size = np.abs(v)
        for _ in range(200):
            moved = np.maximum(np.abs(v) - t * self.linearised(size), 0.0) / scale
            if np.max(np.abs(moved - size), initial=0.0) <= 1e-15:
                break
            size = moved
        return self._best_of_two(np.sign(v) * size, v, t)

    def _best_of_two(self, w: FloatArray, v: FloatArray, t: float) -> FloatArray:
        size = np.abs(w)
        kept = 0.5 * self.l2 * size**2 + self.l1 * size + self.l0 * self._counted(size)
        kept = kept + (w - v) ** 2 / (2.0 * t)
        return np.where(kept < v**2 / (2.0 * t), w, 0.0)
