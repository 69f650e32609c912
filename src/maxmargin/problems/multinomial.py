"""Logistic regression with several classes at once, and its certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, xlogy

from maxmargin._compute.design import Design
from maxmargin.problems.certificate import Certificate
from maxmargin.typing import FloatArray, IntArray


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
        logs = log_softmax(scores, axis=1)[np.arange(len(self.codes)), self.codes]
        return -float(self.c @ logs) + 0.5 * self.l2 * float(np.sum(theta[:, :-1] ** 2))

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
        scores = self.scores(theta)
        primal = self.value(theta, scores)
        gradient = self.adjoint(self.slopes(scores))
        gradient[:, :-1] += self.l2 * theta[:, :-1]
        u = self.slopes(scores) if slopes is None else slopes
        used = self.c > 0
        v = u[used] / self.c[used, None]
        v[np.arange(len(v)), self.codes[used]] += 1.0
        outside = max(0.0, -float(v.min()))
        v = np.clip(v, 0.0, None)
        v /= v.sum(axis=1, keepdims=True)
        dual = -float(self.c[used] @ xlogy(v, v).sum(axis=1))
        v[np.arange(len(v)), self.codes[used]] -= 1.0
        feasible = np.zeros_like(scores)
        feasible[used] = v * self.c[used, None]
        balance = np.abs(self.adjoint(feasible))
        if self.l2 > 0:
            dual -= float(np.sum(balance[:, :-1] ** 2)) / (2.0 * self.l2)
            balance[:, :-1] = 0.0
        hidden = float(np.sum(balance * np.abs(theta))) / max(abs(dual), 1e-300)
        return Certificate(
            primal=primal,
            dual=dual,
            gap=primal - dual,
            relative_gap=(primal - dual) / max(1e-300, abs(dual)),
            kkt=float(np.max(np.abs(gradient))) / float(self.c.sum()),
            infeasibility=max(hidden, outside),
            n_checked=len(scores),
        )
