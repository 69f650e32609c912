"""Newton's method for multinomial logistic regression."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from maxmargin.base.typing import BoolArray, FloatArray
from maxmargin.problems.loss_penalty import solved
from maxmargin.problems.multinomial import Multinomial, curvature_product, probabilities
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.primal.newton import conjugate_gradients, solve_symmetric

EXPLICIT_UNKNOWNS = 1500


@dataclass(frozen=True, kw_only=True)
class MultinomialNewton:
    """Newton with line search on K (p + 1) unknowns; with more than 1500 by conjugate gradients.

    The softmax does not change when all classes move together. Without a penalty the first class is the
    base line (all zero); with one only its intercept is fixed, and the intercepts are centred at the end.
    """

    tol: float = 1e-10
    max_iter: int = 100

    def solve(self, problem: Multinomial, *, callback: Any = None) -> Solution:
        began = perf_counter()
        theta, u, status, n_iter = self._newton(problem, _free(problem), callback)
        if problem.l2 > 0:
            theta[:, -1] -= theta[:, -1].mean()
        return Solution(x=theta, multipliers=u, status=status, n_iter=n_iter, seconds=perf_counter() - began)

    def _newton(self, problem: Multinomial, free: BoolArray, callback: Any) -> Any:
        theta = np.zeros(free.shape)
        scores = np.zeros((problem.X.shape[0], problem.n_classes))
        value = problem.value(theta, scores)
        u = problem.slopes(scores)
        for iteration in range(1, self.max_iter + 1):
            u = problem.slopes(scores)
            gradient = problem.adjoint(u)
            gradient[:, :-1] += problem.l2 * theta[:, :-1]
            step = np.zeros_like(theta)
            step[free] = _direction(problem, free, u, gradient)
            along = problem.scores(step)
            slope = float(gradient[free] @ step[free])
            t, found = 1.0, False
            while slope < 0 and t > 1e-9 and not found:
                trial = problem.value(theta + t * step, scores + t * along)
                found = trial <= value + 1e-4 * t * slope + 1e-15 * abs(value)
                t = t if found else 0.5 * t
            if not found:
                return theta, u, Status.STALLED, iteration
            linear = u + curvature_product(problem, u, along) if t == 1.0 else None
            theta, scores, value = theta + t * step, scores + t * along, trial
            if callback is not None:
                callback(iteration, value)
            if linear is None or -slope > self.tol * abs(value):
                continue
            # slopes of an inexact step balance the columns roughly
            if not _by_products(free) or solved(problem.certify(theta, linear), self.tol):
                return theta, linear, Status.CONVERGED, iteration
        return theta, problem.slopes(scores), Status.MAX_ITER, self.max_iter


def _direction(problem: Multinomial, free: BoolArray, u: FloatArray, gradient: FloatArray) -> FloatArray:
    """Newton's step of the free unknowns, from the Hessian or from products with it."""
    if not _by_products(free):
        H = full_hessian(problem, u)[np.ix_(free.ravel(), free.ravel())]
        return solve_symmetric(H, -gradient[free])

    def product(x: FloatArray) -> FloatArray:
        v = np.zeros(free.shape)
        v[free] = x
        image = problem.adjoint(curvature_product(problem, u, problem.scores(v)))
        image[:, :-1] += problem.l2 * v[:, :-1]
        return np.asarray(image[free])

    return conjugate_gradients(product, gradient[free])


def _by_products(free: BoolArray) -> bool:
    return int(np.count_nonzero(free)) > EXPLICIT_UNKNOWNS


def free_unknowns(n_classes: int, n_features: int, l2: float, fit_intercept: bool) -> BoolArray:
    """Which entries of theta are free, of shape (n_classes, n_features + 1)."""
    free = np.ones((n_classes, n_features + 1), dtype=bool)
    free[:, -1] = fit_intercept
    free[0, -1] = False
    if l2 == 0:
        free[0] = False
    return free


def _free(problem: Multinomial) -> BoolArray:
    return free_unknowns(problem.n_classes, problem.X.shape[1], problem.l2, problem.fit_intercept)


def multinomial_hessian(problem: Multinomial, theta: FloatArray) -> tuple[FloatArray, BoolArray]:
    """The Hessian of the free unknowns at theta, and which they are, of shape (n_classes, n_features + 1)."""
    free = _free(problem)
    full = full_hessian(problem, problem.slopes(problem.scores(theta)))
    return full[np.ix_(free.ravel(), free.ravel())], free


def full_hessian(problem: Multinomial, u: FloatArray) -> FloatArray:
    """Blocks [X 1]' diag(c p_k (1[k = l] - p_l)) [X 1] for all classes k, l, plus l2 on the weights."""
    K, p = problem.n_classes, problem.X.shape[1]
    v = probabilities(problem, u)
    H = np.zeros((K, p + 1, K, p + 1))
    for k in range(K):
        for m in range(k + 1):
            d = problem.c * v[:, k] * ((k == m) - v[:, m])
            sign = 1.0 if k == m else -1.0  # off the diagonal all weights are negative
            block = np.empty((p + 1, p + 1))
            block[:p, :p] = sign * problem.X.gram(sign * d)
            block[p, :p] = block[:p, p] = problem.X.adjoint(d)
            block[p, p] = d.sum()
            H[k, :, m, :] = H[m, :, k, :] = block
        H[k, np.arange(p), k, np.arange(p)] += problem.l2
    return H.reshape(K * (p + 1), K * (p + 1))
