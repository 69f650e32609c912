"""Kernel ridge regression as a linear system, and the certificate of its solution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.base.typing import FloatArray
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.kernel_products import kernel_times
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.losses import Squared


@dataclass(frozen=True, kw_only=True)
class KernelRidgeProblem:
    """min over f   sum_i s_i (y_i - f(x_i))^2 + alpha |f|^2,   that is (K + alpha S^-1) a = y.

    Rows of weight 0 have the coefficient 0. ``matrix`` is K if it is stored.
    """

    kernel: Kernel
    points: Any
    y: FloatArray
    weights: FloatArray
    alpha: float
    n_threads: int = 1
    matrix: FloatArray | None = None

    def times(self, a: FloatArray) -> FloatArray:
        """K a in float64, of the shape of a. Without a stored matrix the cost is n^2 p per column."""
        if self.matrix is not None:
            return self.matrix @ a
        return kernel_times(self.kernel, self.points, self.points, a, n_threads=self.n_threads)

    @property
    def ridge(self) -> FloatArray:
        """alpha S^-1, of shape (n,)."""
        return np.asarray(self.alpha / self.weights)

    def certify(self, a: FloatArray, *, tight: bool = False) -> Certificate:
        """The certificate of the coefficients a. Cost of one product with K, or of two with ``tight``."""
        return self.certify_path(np.array([self.alpha]), a[None], tight=tight)[0]

    def certify_path(self, alphas: FloatArray, coef: FloatArray, *, tight: bool = False) -> list[Certificate]:
        """Certificates of coefficients of shape (n_alphas, n) for several alphas.

        With the residual r = y - (K + alpha S^-1) a the gap between the primal value at Ka and the dual value
        2 alpha a'y - alpha a'(K + alpha S^-1) a is A = r'Sr. The best of the dual points a + t Sr / alpha
        has the gap A B / (A + B) with B = r'SKSr / alpha: the gap with ``tight``. It is 0 if r is
        in the null space of K, which does not change the fitted function. ``kkt`` is the largest residual.
        """
        used = self.weights[:, None] > 0
        s = np.where(used, self.weights[:, None], 1.0)
        a, y = coef.T, self.y[:, None]
        with np.errstate(all="ignore"):  # if squares overflow, the certificate is infinite or NaN
            f = self.times(a)
            penalised = alphas / s * a
            r = np.where(used, y - f - penalised, 0.0)
            gap = np.sum(s * r**2, axis=0)
            primal = self.weights @ (y - f) ** 2 + alphas * np.sum(a * f, axis=0)
            convex = self.kernel.psd is not False
            if tight and gap.any():
                v = s * r
                curvature = np.sum(v * self.times(v), axis=0)
                # |v'Kv| <= max K_ii |v|_1^2 if K is positive semidefinite; below -rounding it is not
                rounding = 1e-9 * self._largest * np.abs(v).sum(axis=0) ** 2
                convex = convex and not (curvature < -rounding).any()
                better = gap * (curvature / (alphas * gap + curvature))
                gap = np.where((better >= 0) & (better < gap), better, gap)
            errors = self._backward_errors(a, y - r, r)
            rounding = float(self.weights @ Squared().rounding(self.y))
        figures: dict[str, Any] = {"rounding": rounding, "n_checked": int(used.sum()), "convex": convex}
        found = []
        for k, (kkt, error) in enumerate(zip(np.abs(r).max(axis=0), errors, strict=True)):
            here = {"kkt": float(kkt), "backward_error": float(error), **figures}
            value = float(primal[k])
            found.append(
                Certificate.between(value, value - float(gap[k]), **here) if convex else Certificate(**here)
            )
        return found

    @property
    def _largest(self) -> float:
        """max K_ii, which no kernel value exceeds if K is positive semidefinite."""
        return float(np.max(self.kernel.diagonal(self.points), initial=0.0))

    def _backward_errors(self, a: FloatArray, product: FloatArray, r: FloatArray) -> FloatArray:
        """|r| / (|M| |a| + |y|) for M = K + alpha S^-1, with a lower bound on |M|: max K_ii, |M a| / |a|."""
        norm = np.maximum(self._largest * np.linalg.norm(a, axis=0), np.linalg.norm(product, axis=0))
        return np.linalg.norm(r, axis=0) / np.maximum(norm + np.linalg.norm(self.y), 1e-300)
