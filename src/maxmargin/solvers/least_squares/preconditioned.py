"""Conjugate gradients for kernel systems, preconditioned by a low-rank kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from maxmargin.base import work_clock
from maxmargin.base.typing import FloatArray
from maxmargin.compute.tables.design import Design
from maxmargin.problems.kernel_system import KernelRidgeProblem
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.stopping import GapCallback, stop_asked


class LowRankInverse:
    """(phi phi' + diag d)^-1 by Woodbury's identity: n m^2 once, then n m for each product."""

    def __init__(self, features: Design, d: FloatArray) -> None:
        self.features = features
        self.d = d
        H = features.gram(1.0 / d)
        H[np.diag_indices_from(H)] += 1.0
        self._factor = linalg.cho_factor(H, lower=True, check_finite=False)

    def __call__(self, r: FloatArray) -> FloatArray:
        scaled = r / self.d
        inner = linalg.cho_solve(self._factor, self.features.adjoint(scaled), check_finite=False)
        return np.asarray(scaled - self.features.scores(inner) / self.d)


@dataclass(frozen=True, kw_only=True)
class PreconditionedGradients:
    """(K + alpha S^-1) a = y by conjugate gradients, preconditioned by the low-rank kernel phi phi'.

    K - phi phi' is positive semidefinite, so the preconditioned matrix has its eigenvalues between 1 and
    1 + |K - phi phi'| / min(alpha S^-1): the number of products with K (n^2 p each, never stored) decreases
    with the error of the map. Frangella, Tropp & Udell (2023), section 5; Rudi, Carratino & Rosasco (2017).
    """

    tol: float = 1e-4  # of |y - (K + alpha S^-1) a| relative to |y|
    max_iter: int = 200

    def solve(
        self, problem: KernelRidgeProblem, features: Design, *, callback: GapCallback | None = None
    ) -> Solution:
        began = work_clock.now()
        inverse = LowRankInverse(features, problem.ridge)
        a = inverse(problem.y)
        residual = problem.y - self._product(problem, a)
        z = inverse(residual)
        search, size = z, float(residual @ z)
        limit = self.tol * float(np.linalg.norm(problem.y))
        status, iteration = Status.CONVERGED, 0
        while float(np.linalg.norm(residual)) > limit:
            if iteration == self.max_iter:
                status = Status.MAX_ITER
                break
            iteration += 1
            product = self._product(problem, search)
            step = size / float(search @ product)
            a = a + step * search
            residual = residual - step * product
            z = inverse(residual)
            previous, size = size, float(residual @ z)
            search = z + (size / previous) * search
            if stop_asked(callback, iteration, float(np.linalg.norm(residual))):
                status = Status.INTERRUPTED
                break
        return Solution(
            x=a, multipliers=np.empty(0), status=status, n_iter=iteration, seconds=work_clock.now() - began
        )

    @staticmethod
    def _product(problem: KernelRidgeProblem, v: FloatArray) -> FloatArray:
        return np.asarray(problem.times(v) + problem.ridge * v)
