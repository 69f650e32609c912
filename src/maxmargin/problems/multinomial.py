"""Logistic regression with several classes at once, and its certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, xlogy

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.tables.design import Design
from maxmargin.problems.certificate import Certificate


@dataclass(frozen=True, kw_only=True)
class Multinomial:
    """min over W, b   sum_i c_i (log sum_k exp(f_ik) - f_i,y_i) + l2/2 ||W||^2,   f_ik = <W_k, x_i> + b_k.

    An answer theta has shape (n_classes, n_features + 1), the intercepts last. The dual variable of row i is
    u_i = c_i (v_i - e_y) with v_i in the simplex; the dual is -sum_i c_i <v_i, log v_i> - ||X'u||^2/(2 l2).
    """

    X: Design
    codes: IntArray
    c: FloatArray
    n_classes: int
    l2: float
    fit_intercept: bool = True

    def scores(self, theta: FloatArray) -> FloatArray:
        columns = [self.X.scores(row[:-1]) + row[-1] for row in theta]
        return np.column_stack(columns)

    def value(self, theta: FloatArray, scores: FloatArray) -> float:
        return -float(self.c @ self._own_logs(scores)) + 0.5 * self.l2 * float(np.sum(theta[:, :-1] ** 2))

    def _own_logs(self, scores: FloatArray) -> FloatArray:
        """Log-probabilities of the rows' own classes."""
        logs: FloatArray = log_softmax(scores, axis=1)[np.arange(len(self.codes)), self.codes]
        return logs

    def slopes(self, scores: FloatArray) -> FloatArray:
        """c_i (probability - indicator), of shape (n_samples, n_classes)."""
        u: FloatArray = np.exp(log_softmax(scores, axis=1))
        u[np.arange(len(self.codes)), self.codes] -= 1.0
        return u * self.c[:, None]

    def adjoint(self, u: FloatArray) -> FloatArray:
        """[X 1]'u transposed, of shape (n_classes, n_features + 1); zero for an absent intercept."""
        rows = [np.append(self.X.adjoint(column), column.sum() * self.fit_intercept) for column in u.T]
        return np.array(rows)

    def certify(self, theta: FloatArray, slopes: FloatArray | None = None) -> Certificate:
        """Gap at the slopes (by default those at theta); kkt is the largest gradient entry over sum(c)."""
        return self.checks(theta, slopes).certificate(theta, self.l2)

    def checks(self, theta: FloatArray, slopes: FloatArray | None = None) -> RowChecks:
        """The sums over rows that the certificate is made of."""
        scores = self.scores(theta)
        own = self.slopes(scores)
        u = own if slopes is None else slopes
        used = self.c > 0
        v = u[used] / self.c[used, None]
        v[np.arange(len(v)), self.codes[used]] += 1.0
        outside = max(0.0, -float(v.min(initial=0.0)))
        v = np.clip(v, 0.0, None)
        v /= v.sum(axis=1, keepdims=True)
        entropy = -float(self.c[used] @ xlogy(v, v).sum(axis=1))
        v[np.arange(len(v)), self.codes[used]] -= 1.0
        feasible = np.zeros_like(scores)
        feasible[used] = v * self.c[used, None]
        return RowChecks(
            loss=-float(self.c @ self._own_logs(scores)),
            gradient=self.adjoint(own),
            entropy=entropy,
            balance=self.adjoint(feasible),
            outside=outside,
            weight=float(self.c.sum()),
            n_rows=len(scores),
        )


@dataclass(frozen=True, kw_only=True)
class RowChecks:
    """What the rows say about an answer: sums, and the largest step outside the simplex."""

    loss: float
    gradient: FloatArray
    entropy: float
    balance: FloatArray
    outside: float
    weight: float
    n_rows: int

    def __add__(self, other: RowChecks) -> RowChecks:
        sums = {name: getattr(self, name) + getattr(other, name) for name in self.__dict__}
        return RowChecks(**{**sums, "outside": max(self.outside, other.outside)})

    def certificate(self, theta: FloatArray, l2: float) -> Certificate:
        """The certificate with the penalty l2/2 ||W||^2 added."""
        primal = self.loss + 0.5 * l2 * float(np.sum(theta[:, :-1] ** 2))
        gradient = self.gradient.copy()
        gradient[:, :-1] += l2 * theta[:, :-1]
        dual, balance = self.entropy, np.abs(self.balance)
        if l2 > 0:
            dual -= float(np.sum(balance[:, :-1] ** 2)) / (2.0 * l2)
            balance[:, :-1] = 0.0
        hidden = float(np.sum(balance * np.abs(theta))) / max(abs(dual), 1e-300)
        return Certificate.between(
            primal,
            dual,
            kkt=float(np.max(np.abs(gradient))) / self.weight,
            infeasibility=max(hidden, self.outside),
            n_checked=self.n_rows,
        )


def curvature_product(problem: Multinomial, u: FloatArray, along: FloatArray) -> FloatArray:
    """Change of the slopes u, to first order, when the scores change by ``along``."""
    v = probabilities(problem, u)
    mean = np.sum(v * along, axis=1, keepdims=True)
    return np.asarray(problem.c[:, None] * v * (along - mean))


def probabilities(problem: Multinomial, u: FloatArray) -> FloatArray:
    """Probabilities of the classes behind slopes u, of shape (n_samples, n_classes)."""
    c = np.where(problem.c > 0, problem.c, 1.0)
    v = u / c[:, None]
    v[np.arange(len(v)), problem.codes] += 1.0
    return v
