"""Does a hyperplane separate the classes? Then the likelihood of a logistic model has no maximum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from scipy.special import softmax

from maxmargin.base.typing import BoolArray, FloatArray, IntArray
from maxmargin.compute.tables.design import Design
from maxmargin.problems.loss_penalty import LossPenalty
from maxmargin.problems.multinomial import Multinomial
from maxmargin.solvers.primal.multinomial_newton import multinomial_hessian
from maxmargin.solvers.primal.newton import newton_direction, solve_symmetric

_EXPLICIT_UNKNOWNS = 1500


@dataclass(frozen=True)
class Separation:
    """A direction in which the likelihood grows without end.

    ``kind`` is "complete" when every row is strictly on its side, "quasi-complete" when some lie on the
    hyperplane; ``direction`` of shape (n_features + 1,) is (w, b); ``columns`` marks the columns of w that
    are not zero: their coefficients have no finite estimate.
    """

    kind: str
    direction: FloatArray

    @property
    def columns(self) -> BoolArray:
        w = np.abs(self.direction[:-1])
        return np.asarray(w > 1e-6 * max(w.max(initial=0.0), 1e-300))

    def sentence(self, names: list[str]) -> str:
        involved = [name for name, used in zip(names, self.columns, strict=True) if used]
        shown = ", ".join(involved[:8]) + (", ..." if len(involved) > 8 else "")
        return (
            f"{self.kind} separation of the classes along {shown or 'the intercept'}: the likelihood has no "
            "maximum, the coefficients are only those of the last iteration. Make C finite or drop columns."
        )


def strictly_separated(problem: LossPenalty, f: FloatArray) -> bool:
    """True when every row that counts is on its side of f: a proof of complete separation."""
    used = problem.c > 0
    return bool(np.min((problem.y * f)[used]) > 0)


def find_separation(problem: LossPenalty, theta: FloatArray) -> Separation | None:
    """A direction along which the likelihood grows without end, or None; proved either way.

    Separated (Albert & Anderson 1984) means that y_i <(x_i, 1), v> >= 0 for all rows, and > 0 for some.

    1. A Newton step that gains little proves that there is no such v. The step s minimises
       sum_i d_i (<(x_i, 1), s> - r_i)^2 with y_i r_i = 1 / sigma(m_i) > 1 at the margins m_i, so that
       sum_i d_i (y_i r_i - y_i s_i) y_i v_i = 0 for every v of the column space, s_i = <(x_i, 1), s>. Were
       v separating and all y_i s_i <= 1, every term would be >= 0 and some > 0. Cost: one Newton step.
    2. Otherwise a linear program decides, see `recession`.
    """
    f = problem.scores(theta)
    if strictly_separated(problem, f):
        return Separation("complete", theta)
    u = problem.c * problem.loss.slope(f, problem.y)
    d = problem.c * problem.loss.curvature(f, problem.y)
    gradient = np.append(problem.X.adjoint(u), u.sum() * problem.fit_intercept)
    step = newton_direction(problem.X, d, 0.0, gradient, problem.fit_intercept)
    used = np.flatnonzero(problem.c > 0)
    gain = (problem.y * (problem.X.scores(step[:-1]) + step[-1]))[used]
    if gain.max() <= 0.5:  # half of what step 1 allows: room for rounding
        return None
    table = _with_ones(problem.X.take(used), problem.fit_intercept)
    return recession(sparse.diags_array(problem.y[used]) @ table)


def find_multinomial_separation(problem: Multinomial, theta: FloatArray) -> Separation | None:
    """As `find_separation` for several classes: v separates where <(x_i, 1), v_y - v_k> >= 0 for all i, k.

    Step 1 reads: with the probabilities p_ik, s_i the step's scores of row i and s their mean under p_i,
    sum_i c_i sum_k p_ik (v_iy - v_ik) (1 - (s - s_ik)) = 0 for all v, which no separating v satisfies where
    s - s_ik < 1 for all i and k. Beyond 1500 unknowns only complete separation is looked for.
    """
    used = np.flatnonzero(problem.c > 0)
    scores, codes = problem.scores(theta)[used], problem.codes[used]
    rivals = scores.copy()
    rivals[np.arange(len(codes)), codes] = -np.inf
    if np.min(scores[np.arange(len(codes)), codes] - rivals.max(axis=1)) > 0:
        return Separation("complete", np.abs(theta).max(axis=0))
    if theta.size > _EXPLICIT_UNKNOWNS:
        return None
    H, free = multinomial_hessian(problem, theta)
    step = np.zeros_like(theta)
    step[free] = solve_symmetric(H, -problem.adjoint(problem.slopes(problem.scores(theta)))[free])
    moved = problem.scores(step)[used]
    mean = np.sum(softmax(scores, axis=1) * moved, axis=1, keepdims=True)
    if np.max(mean - moved) <= 0.5:
        return None
    found = recession(_differences(_with_ones(problem.X.take(used), problem.fit_intercept), codes, theta))
    if found is None:
        return None
    direction = np.vstack([np.zeros(theta.shape[1]), found.direction.reshape(len(theta) - 1, -1)])
    return Separation(found.kind, np.abs(direction).max(axis=0))


def _differences(table: Any, codes: IntArray, theta: FloatArray) -> Any:
    """Rows <(x_i, 1), v_y - v_k> for all k but y_i, in the unknowns v_1, v_2, ...; v_0 is the base line."""
    blocks = []
    for k in range(len(theta)):
        rows = np.flatnonzero(codes != k)
        part, own = table[rows], codes[rows]
        signs = [(own == m).astype(float) - float(m == k) for m in range(1, len(theta))]
        blocks.append(sparse.hstack([sparse.diags_array(sign) @ part for sign in signs], format="csr"))
    return sparse.vstack(blocks, format="csr")


def _with_ones(X: Design, fit_intercept: bool) -> Any:
    """[X 1] as a CSR array, the last column 0 where there is no intercept."""
    ones = sparse.csr_array(np.full((X.shape[0], 1), float(fit_intercept)))
    return sparse.hstack([sparse.csr_array(X.X), ones], format="csr")


def recession(A: Any) -> Separation | None:
    """A direction v with A v >= 0 and A v != 0, or None, by the linear program of Konis (2007):

        max over v, z   sum_i z_i   subject to   z <= A v,  0 <= z <= 1.

    Its value is 0 where there is none; where all z_i reach 1 the separation is complete. Columns are scaled
    to the same size first. Cost: that of scipy's HiGHS.
    """
    n, p = A.shape
    largest = np.maximum(np.abs(A).max(axis=0).toarray().ravel(), 1e-300)
    scaled = A @ sparse.diags_array(1.0 / largest)
    answer = linprog(
        np.concatenate([np.zeros(p), -np.ones(n)]),
        A_ub=sparse.hstack([-scaled, sparse.eye_array(n)], format="csr"),
        b_ub=np.zeros(n),
        bounds=[*[(None, None)] * p, *[(0.0, 1.0)] * n],
        method="highs",
    )
    if answer.x is None:
        raise RuntimeError(f"the linear program that looks for separation failed: {answer.message}")
    reached = answer.x[p:]
    if reached.max() < 0.5:  # a direction can be lengthened: some z is 1 or all are 0
        return None
    kind = "complete" if reached.min() > 0.5 else "quasi-complete"
    return Separation(kind, answer.x[:p] / largest)
