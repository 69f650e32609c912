"""Kernel ridge regression as a problem that certifies an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.base.typing import FloatArray
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.kernel_products import kernel_times
from maxmargin.problems.certificate import Certificate


@dataclass(frozen=True, kw_only=True)
class KernelRidgeProblem:
    """min over f   sum_i s_i (y_i - f(x_i))^2 + alpha |f|^2,   that is (K + alpha S^-1) a = y.

    The dual value at a is 2 alpha a'y - alpha a'(K + alpha S^-1) a. ``weights`` s are positive.
    """

    kernel: Kernel
    points: Any
    y: FloatArray
    weights: FloatArray
    alpha: float
    n_threads: int = 1

    def times(self, a: FloatArray) -> FloatArray:
        """K a in float64. Cost n^2 p, memory that of a few tiles."""
        return kernel_times(self.kernel, self.points, self.points, a, n_threads=self.n_threads)

    @property
    def ridge(self) -> FloatArray:
        """alpha S^-1, of shape (n,)."""
        return np.asarray(self.alpha / self.weights)

    def certify(self, a: FloatArray) -> Certificate:
        """Primal, dual, gap, and the largest residual of the equations as ``kkt``. Cost n^2 p."""
        f = self.times(a)
        primal = float(self.weights @ (self.y - f) ** 2) + self.alpha * float(a @ f)
        dual = self.alpha * float(2.0 * (a @ self.y) - a @ f - a @ (self.ridge * a))
        residual = self.y - f - self.ridge * a
        kkt = float(np.abs(residual).max(initial=0.0))
        return Certificate.between(primal, dual, kkt=kkt, n_checked=len(a))
