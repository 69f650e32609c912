"""Logistic regression with several classes at once, and its certificate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Protocol

import numpy as np
from scipy.special import log_softmax, xlog1py, xlogy

from maxmargin.base.typing import BoolArray, FloatArray, IntArray
from maxmargin.compute.tables.design import Design
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.loss_penalty import ROUNDING, Slopes, column_squares
from maxmargin.problems.newton_system import EXPLICIT, solve_symmetric

_NEGLIGIBLE = 1e-11  # probabilities below it count as 0


class MultinomialPoint(Protocol):
    """The objective at a point theta: its value, gradient and Hessian, the penalty included.

    ``gradient`` has the shape of theta, ``hessian`` covers its entries in row-major order; ``least`` is the
    smallest lead of a row's own class over the others.
    """

    @property
    def value(self) -> float: ...
    @property
    def gradient(self) -> FloatArray: ...
    @property
    def hessian(self) -> FloatArray: ...
    @property
    def least(self) -> float: ...
    def hessian_of(self, unknowns: BoolArray) -> FloatArray:
        """The Hessian's rows and columns of some entries of theta."""


class MultinomialProblem:
    """min over W, b   sum_i c_i (log sum_k exp(f_ik) - f_i,y_i) + l2/2 ||W||^2,   f_ik = <W_k, x_i> + b_k.

    A solution theta has shape (n_classes, n_features + 1), the intercepts last. The dual variable of row i is
    u_i = c_i (v_i - e_y) with v_i in the simplex; the dual is -sum_i c_i <v_i, log v_i> - ||X'u||^2/(2 l2),
    with sum u = 0 for an intercept and X'u = 0 without a penalty. Rows are in memory or in pieces.
    """

    l2: float

    def shape(self) -> tuple[int, int]:
        """Numbers of classes and columns."""
        raise NotImplementedError  # implemented for rows in memory and in pieces

    def at(self, theta: FloatArray) -> MultinomialPoint:
        """The objective at theta. Cost: n K^2 p^2 with the Hessian."""
        raise NotImplementedError  # implemented for rows in memory and in pieces

    def checks(self, theta: FloatArray, slopes: Slopes | None, least: float = 0.0) -> RowChecks:
        """The sums over rows for the certificate; probabilities v below ``least`` become 0."""
        raise NotImplementedError  # implemented for rows in memory and in pieces

    def free(self) -> BoolArray:
        """Which entries of theta are free, of shape (n_classes, n_features + 1).

        The softmax does not change when all classes move together. Without a penalty the first class is the
        baseline (all zero); with one only its intercept is fixed.
        """
        K, p = self.shape()
        return free_unknowns(K, p, self.l2, self.has_intercept())

    def has_intercept(self) -> bool:
        raise NotImplementedError  # implemented for rows in memory and in pieces

    def certify(self, theta: FloatArray, slopes: Slopes | None = None) -> Certificate:
        """The gap at the slopes (by default those at theta); kkt is the largest gradient entry over sum(c).

        Sums of u that must vanish but do not are reduced to zero by a Newton step in the corresponding
        unknowns; if that leaves the simplex, the dual point is u = 0 and the bound is 0. So ``gap`` always
        bounds the distance to the optimum.
        """
        found = self.checks(theta, slopes)
        needed = self.free()
        if self.l2 > 0:
            needed[:, :-1] = False
        if not found.balanced(self.l2) and int(needed.sum()) <= EXPLICIT:
            at, step = self.at(theta), np.zeros(theta.shape)
            step[needed] = solve_symmetric(at.hessian_of(needed), -at.gradient[needed])
            other = self.checks(theta, Slopes(theta, step))
            found = other if other.balanced(self.l2) else found
        if not found.balanced(self.l2):  # the probabilities of a separated class are rounding errors
            other = self.checks(theta, slopes, _NEGLIGIBLE)
            found = other if other.balanced(self.l2) else found
        return found.certificate(theta, self.l2)


@dataclass(frozen=True, kw_only=True)
class Multinomial(MultinomialProblem):
    """The problem of `MultinomialProblem` with its rows in memory: a design, class codes and weights."""

    X: Design
    codes: IntArray
    c: FloatArray
    n_classes: int
    l2: float
    fit_intercept: bool = True

    def shape(self) -> tuple[int, int]:
        return self.n_classes, self.X.shape[1]

    def has_intercept(self) -> bool:
        return self.fit_intercept

    def scores(self, theta: FloatArray) -> FloatArray:
        columns = [self.X.scores(row[:-1]) + row[-1] for row in theta]
        return np.column_stack(columns)

    def slopes(self, scores: FloatArray) -> FloatArray:
        """c_i (probability - indicator), of shape (n_samples, n_classes)."""
        u: FloatArray = np.exp(log_softmax(scores, axis=1))
        u[np.arange(len(self.codes)), self.codes] -= 1.0
        return u * self.c[:, None]

    def loss(self, scores: FloatArray) -> float:
        own = log_softmax(scores, axis=1)[np.arange(len(self.codes)), self.codes]
        return -float(self.c @ own)

    def adjoint(self, u: FloatArray) -> FloatArray:
        """[X 1]'u transposed, of shape (n_classes, n_features + 1); zero for an absent intercept."""
        rows = [np.append(self.X.adjoint(column), column.sum() * self.fit_intercept) for column in u.T]
        return np.array(rows)

    def probabilities(self, u: FloatArray) -> FloatArray:
        """Probabilities of the classes that belong to slopes u, of shape (n_samples, n_classes)."""
        v = u / np.where(self.c > 0, self.c, 1.0)[:, None]
        v[np.arange(len(v)), self.codes] += 1.0
        return v

    def curvature_product(self, u: FloatArray, along: FloatArray) -> FloatArray:
        """Change of the slopes u, to first order, when the scores change by ``along``."""
        v = self.probabilities(u)
        mean = np.sum(v * along, axis=1, keepdims=True)
        return np.asarray(self.c[:, None] * v * (along - mean))

    def at(self, theta: FloatArray) -> MemoryPoint:
        return MemoryPoint(self, theta)

    def checks(self, theta: FloatArray, slopes: Slopes | None, least: float = 0.0) -> RowChecks:
        scores = self.scores(theta)
        u = plain = self.slopes(scores)
        if slopes is not None:
            u = self.slopes(self.scores(slopes.base))
            u = u + self.curvature_product(u, self.scores(slopes.step))
        v = self.probabilities(u)
        v[v < least] = 0.0
        v /= v.sum(axis=1, keepdims=True)
        own = np.arange(len(v)), self.codes
        v[own] = 0.0
        others = np.minimum(v.sum(axis=1), 1.0)  # 1 - v keeps no digits of a v next to 1
        entropy = -float(self.c @ (xlogy(v, v).sum(axis=1) + xlog1py(1.0 - others, -others)))
        v[own] = -others
        inside = v * self.c[:, None]
        return RowChecks(
            loss=self.loss(scores),
            gradient=self.adjoint(plain),
            entropy=entropy,
            balance=self.adjoint(inside),
            squares=np.einsum("ik,ik->k", inside, inside),
            norms=np.append(column_squares(self.X) if self.l2 == 0 else np.zeros(self.X.shape[1]), len(v)),
            weight=float(self.c.sum()),
            n_rows=len(scores),
        )


class MemoryPoint:
    """`MultinomialPoint` for rows in memory; gradient and Hessian are computed when they are needed."""

    def __init__(self, problem: Multinomial, theta: FloatArray) -> None:
        self.problem, self.theta = problem, theta
        self.scores = problem.scores(theta)
        penalty = 0.5 * problem.l2 * float(np.sum(theta[:, :-1] ** 2))
        self.value = problem.loss(self.scores) + penalty

    @cached_property
    def u(self) -> FloatArray:
        return self.problem.slopes(self.scores)

    @cached_property
    def gradient(self) -> FloatArray:
        gradient = self.problem.adjoint(self.u)
        gradient[:, :-1] += self.problem.l2 * self.theta[:, :-1]
        return gradient

    @cached_property
    def hessian(self) -> FloatArray:
        """Blocks [X 1]' diag(c p_k (1[k = l] - p_l)) [X 1] for all classes k, l, plus l2 on the weights."""
        problem = self.problem
        K, p = problem.shape()
        v = problem.probabilities(self.u)
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

    def hessian_of(self, unknowns: BoolArray) -> FloatArray:
        if not unknowns[:, :-1].any():  # the intercepts alone: n K^2 instead of n K^2 p^2
            v, c = self.problem.probabilities(self.u), self.problem.c
            kept = unknowns[:, -1]
            return np.asarray(np.diag(c @ v) - (v * c[:, None]).T @ v)[np.ix_(kept, kept)]
        return self.hessian[np.ix_(unknowns.ravel(), unknowns.ravel())]

    def product(self, v: FloatArray) -> FloatArray:
        """The Hessian times v, both of the shape of theta. Cost: n K p."""
        problem = self.problem
        image = problem.adjoint(problem.curvature_product(self.u, problem.scores(v)))
        image[:, :-1] += problem.l2 * v[:, :-1]
        return image

    @property
    def least(self) -> float:
        rows = np.arange(len(self.scores))
        rivals = self.scores.copy()
        rivals[rows, self.problem.codes] = -inf
        lead = self.scores[rows, self.problem.codes] - rivals.max(axis=1)
        return float(lead[self.problem.c > 0].min(initial=inf))


@dataclass(frozen=True, kw_only=True)
class RowChecks:
    """Sums over rows for a certificate: the losses, and at a dual point inside the simplex its entropy, its
    sums ``balance`` with the columns, the squared norms of its classes and of the columns."""

    loss: float
    gradient: FloatArray
    entropy: float
    balance: FloatArray
    squares: FloatArray
    norms: FloatArray
    weight: float
    n_rows: int

    def __add__(self, other: RowChecks) -> RowChecks:
        return RowChecks(**{name: getattr(self, name) + getattr(other, name) for name in self.__dict__})

    def _excess(self, l2: float) -> FloatArray:
        """|balance| at the entries that must vanish, relative to the sum of absolute values."""
        size = np.sqrt(np.multiply.outer(self.squares, self.norms))
        excess = np.abs(self.balance) / np.maximum(size, 1e-300)
        if l2 > 0:
            excess[:, :-1] = 0.0
        return np.asarray(excess)

    def balanced(self, l2: float) -> bool:
        """True if the dual point is feasible up to rounding."""
        return bool(np.all(self._excess(l2) <= ROUNDING))

    def certificate(self, theta: FloatArray, l2: float) -> Certificate:
        """The certificate with the penalty l2/2 ||W||^2 added."""
        gradient = self.gradient.copy()
        gradient[:, :-1] += l2 * theta[:, :-1]
        dual, infeasibility = 0.0, 0.0  # of u = 0
        if self.balanced(l2):
            hidden = np.abs(self.balance * theta)
            infeasibility = float(np.max(self._excess(l2)))
            dual = self.entropy
            if l2 > 0:
                dual -= float(np.sum(self.balance[:, :-1] ** 2)) / (2.0 * l2)
                hidden = hidden[:, -1]
            dual -= float(hidden.sum())  # sums that should vanish have rounding errors
        return Certificate.between(
            self.loss + 0.5 * l2 * float(np.sum(theta[:, :-1] ** 2)),
            dual,
            kkt=float(np.max(np.abs(gradient))) / self.weight,
            infeasibility=infeasibility,
            rounding=1e-12 * self.weight,
            n_checked=self.n_rows,
        )


def free_unknowns(n_classes: int, n_features: int, l2: float, fit_intercept: bool) -> BoolArray:
    """As `MultinomialProblem.free`."""
    free = np.ones((n_classes, n_features + 1), dtype=bool)
    free[:, -1] = fit_intercept
    free[0, -1] = False
    if l2 == 0:
        free[0] = False
    return free
