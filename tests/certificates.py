"""The proof of a fit, written a second time in plain NumPy, and by another solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sp

import maxmargin as mm
from maxmargin.base.typing import FloatArray
from maxmargin.problems import Certificate
from maxmargin.problems.box_qp import BoxQP

ROUNDING = 1e-9


@dataclass(frozen=True)
class DenseDual:
    """min 1/2 a'Qa + p'a  subject to  A a = delta, 0 <= a <= C, with every matrix written out."""

    Q: FloatArray
    p: FloatArray
    A: FloatArray
    delta: FloatArray
    C: FloatArray

    @classmethod
    def of(cls, problem: BoxQP) -> DenseDual:
        K = problem.Q.kernel.gram(problem.Q.points.astype(np.float64))
        row, sign = problem.Q.row, problem.Q.sign
        Q = np.outer(sign, sign) * K[np.ix_(row, row)] + np.diag(problem.d)
        A = np.zeros((len(problem.delta), len(problem)))
        A[problem.group, np.arange(len(problem))] = problem.s
        return cls(Q, problem.p, A, problem.delta, problem.C)

    def objective(self, a: FloatArray) -> float:
        return float(0.5 * a @ self.Q @ a + self.p @ a)

    def violation(self, a: FloatArray) -> float:
        """The largest m(a) - M(a) over the groups: how far two variables are from wanting to stay."""
        largest = 0.0
        gradient = self.Q @ a + self.p
        for s in self.A:
            mine = s != 0
            g, x, c, sign = gradient[mine] * s[mine], a[mine], self.C[mine], s[mine]
            up = np.where(sign > 0, x < c, x > 0)
            down = np.where(sign > 0, x > 0, x < c)
            if up.any() and down.any():
                largest = max(largest, float(g[down].max() - g[up].min()))
        return largest

    def solve_with_clarabel(self) -> FloatArray:
        m = len(self.p)
        finite = np.flatnonzero(np.isfinite(self.C))
        upper = sp.csc_matrix((np.ones(len(finite)), (np.arange(len(finite)), finite)), (len(finite), m))
        A = sp.vstack([sp.csc_matrix(self.A), -sp.eye(m), upper]).tocsc()
        b = np.concatenate([self.delta, np.zeros(m), self.C[finite]])
        cones = [clarabel.ZeroConeT(len(self.delta)), clarabel.NonnegativeConeT(m + len(finite))]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
        P = sp.triu(sp.csc_matrix(self.Q)).tocsc()
        answer = clarabel.DefaultSolver(P, self.p, A, b, cones, settings).solve()
        assert str(answer.status) in ("Solved", "AlmostSolved"), answer.status
        return np.clip(np.asarray(answer.x), 0.0, self.C)


def rebuilt(model: Any, X: Any, y: Any, weight: Any = None) -> BoxQP:
    """The dual problem of a fitted binary classifier (y = -1, +1), regressor or detector."""
    n = len(model.machines_[0].rows)
    target = np.zeros(n) if y is None else np.asarray(y, dtype=np.float64)
    weight = np.ones(n) if weight is None else weight
    return model.formulation().build(model.kernel_, model.kernel_.prepare(X), target, weight)


def gap_bound(problem: BoxQP, a: FloatArray, kkt: float) -> float:
    """What a KKT violation of ``kkt`` can add up to in the duality gap.

    With r the violation of a variable, its part of the gap is at most kkt max(C - a, a) for a linear loss and
    kkt a + kkt^2 / (2 d) for a squared one.
    """
    squared = problem.d > 0
    linear = float(np.maximum(problem.C - a, a)[~squared].sum()) if not squared.all() else 0.0
    quadratic = float((a[squared] + kkt / (2 * problem.d[squared])).sum())
    return kkt * (linear + quadratic)


def assert_certified(model: Any, X: Any, y: Any, tol: float, sample_weight: Any = None) -> Certificate:
    """The full certificate holds to ``tol``, and a second computation of it agrees."""
    certificate = mm.certify(model, X, y, sample_weight=sample_weight)
    assert certificate.complete
    assert certificate.n_checked == len(model.machines_[0].rows)
    assert certificate.kkt <= tol
    problem = rebuilt(model, X, y, sample_weight)
    a = model.solution_.x
    assert certificate.infeasibility <= ROUNDING * max(1.0, float(a.max(initial=0.0)) * len(a))
    assert (a >= 0).all()
    assert (a <= problem.C).all()
    dense = DenseDual.of(problem)
    size = float(np.abs(dense.Q).max()) * float(a.sum()) + float(np.abs(dense.p).max()) + 1e-300
    assert abs(dense.violation(a) - certificate.kkt) <= 1e-12 * size
    rounding = 1e-12 * (float(a @ np.abs(dense.Q) @ a) + float(np.abs(dense.p) @ a) + 1e-300)
    assert abs(certificate.dual + dense.objective(a)) <= rounding
    if np.isfinite(problem.C).all() or (problem.d > 0).all():
        assert certificate.gap >= -rounding
        assert certificate.gap <= 1.001 * gap_bound(problem, a, certificate.kkt) + rounding
    return certificate
