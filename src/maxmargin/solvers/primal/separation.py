"""Separation of classes by a hyperplane, for which the likelihood of a logistic model has no maximum.

Along a separating direction the likelihood increases without bound. The models with the penalty ||w||^2/(2C)
tend to the direction of the widest margin as C grows (Rosset, Zhu & Hastie 2004): this is the direction
returned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import linalg, sparse
from scipy.optimize import linprog
from scipy.special import softmax

from maxmargin.base.shown import short_repr
from maxmargin.base.typing import BoolArray, FloatArray, IntArray
from maxmargin.compute.tables.design import Design
from maxmargin.problems.loss_penalty import LossPenalty
from maxmargin.problems.losses import Hinge
from maxmargin.problems.multinomial import Multinomial
from maxmargin.problems.newton_system import EXPLICIT, solve_symmetric
from maxmargin.problems.penalties import Penalty
from maxmargin.solvers.primal.augmented import AugmentedLagrangian
from maxmargin.solvers.primal.newton import Newton, newton_direction

_ULP = 2.2e-16
_STRICT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_LARGEST_TABLE = 50_000_000  # entries of the table of differences between classes

Kind = Literal["complete", "quasi-complete"]


@dataclass(frozen=True)
class Separation:
    """A direction in which the likelihood increases without bound.

    Attributes
    ----------
    kind : "complete" if every row is strictly on its side, "quasi-complete" if some are on the plane.
    direction : (w, b) of shape (n_features + 1,), or (n_classes, n_features + 1) for the multinomial model.
    columns : which columns have a coefficient without a finite estimate, of shape (n_features,).
    is_limit : whether the direction is the limit of the penalised models, the one of the widest margin, with
        y f >= 1 on all rows off the hyperplane.
    """

    kind: Kind
    direction: FloatArray
    columns: BoolArray
    is_limit: bool = False

    __repr__ = short_repr

    def sentence(self, names: list[str]) -> str:
        involved = [name for name, used in zip(names, self.columns, strict=True) if used]
        shown = ", ".join(involved[:8]) + (", ..." if len(involved) > 8 else "")
        where = "the limit of the penalised models" if self.is_limit else "a separating direction"
        return (
            f"{self.kind} separation of the classes along {shown or 'the intercept'}: the likelihood has no "
            f"maximum and these coefficients have no finite estimate; coef_ points along {where}. "
            "Make C finite or drop columns."
        )


def strictly_separated(problem: LossPenalty, f: FloatArray) -> bool:
    """True if every row of positive weight is on its side of f: a proof of complete separation."""
    used = problem.c > 0
    return bool(np.min((problem.y * f)[used]) > 0)


def find_separation(problem: LossPenalty, theta: FloatArray) -> Separation | None:
    """A direction along which the likelihood increases without bound, or None; proved either way.

    Separated (Albert & Anderson 1984) means that y_i <(x_i, 1), v> >= 0 for all rows, and > 0 for some.

    1. A Newton step that gains little proves that there is no such v. The step s minimises
       sum_i d_i (<(x_i, 1), s> - r_i)^2 with y_i r_i = 1 / sigma(m_i) > 1 at the margins m_i, so that
       sum_i d_i (y_i r_i - y_i s_i) y_i v_i = 0 for every v of the column space, s_i = <(x_i, 1), s>. Were
       v separating and all y_i s_i <= 1, every term would be >= 0 and some > 0. Cost: one Newton step.
    2. Otherwise a linear program decides, see `recession`.

    The direction is then replaced by the one of the widest margin, see `widest_margin`.
    """
    used = np.flatnonzero(problem.c > 0)
    f = problem.scores(theta)
    if strictly_separated(problem, f):
        return _binary_limit(problem, used, "complete", theta, np.zeros(len(used), dtype=bool))
    u = problem.c * problem.loss.slope(f, problem.y)
    d = problem.c * problem.loss.curvature(f, problem.y)
    gradient = np.append(problem.X.adjoint(u), u.sum() * problem.fit_intercept)
    step = newton_direction(problem.X, d, 0.0, gradient, problem.fit_intercept)
    gain = (problem.y * (problem.X.scores(step[:-1]) + step[-1]))[used]
    if gain.max() <= 0.5:  # half of what step 1 allows, because of rounding
        return None
    table = _with_ones(problem.X.take(used), problem.fit_intercept)
    found = recession(sparse.diags_array(problem.y[used]) @ table)
    if found is None:
        return None
    direction, off = found
    return _binary_limit(problem, used, "complete" if off.all() else "quasi-complete", direction, ~off)


def _binary_limit(
    problem: LossPenalty, used: IntArray, kind: Kind, direction: FloatArray, on_plane: BoolArray
) -> Separation:
    """The separation with the direction of the widest margin, if found, in place of ``direction``."""
    X, y = problem.X.take(used), problem.y[used]
    found = None
    if min(X.shape) <= EXPLICIT:
        rows, back = _coordinates(X)
        ones = np.full((len(y), 1), float(problem.fit_intercept))
        if isinstance(rows, np.ndarray):
            centre = rows.mean(axis=0) * float(problem.fit_intercept)
            A = y[:, None] * np.hstack([rows - centre, ones])
        else:
            centre = None
            A = sparse.csr_array(sparse.diags_array(y) @ sparse.hstack([rows, ones], format="csr"))
        first = y * (problem.X.take(used).scores(direction[:-1]) + direction[-1])
        found = widest_margin(A, on_plane, np.append(np.ones(A.shape[1] - 1), 0.0), first)
    elif kind == "complete":
        found, back, centre = _by_hinge(problem, used), None, None
    if found is not None:
        bias = found[-1] - (0.0 if centre is None else float(centre @ found[:-1]))
        direction = np.append(found[:-1] if back is None else back @ found[:-1], bias)
    return Separation(kind, direction, _involved(direction[:-1], X), found is not None)


def _coordinates(X: Design) -> tuple[Any, Any]:
    """The rows in coordinates of at most n dimensions with the same lengths, and the way back to weights."""
    n, p = X.shape
    if p <= n:
        return X.dense() if isinstance(X.X, np.ndarray) else X.X, None
    if isinstance(X.X, np.ndarray):
        basis, triangle = linalg.qr(X.dense().T, mode="economic")
        return triangle.T, basis
    rows = X.X.astype(np.float64)  # squares of float32 values may overflow
    values, vectors = linalg.eigh((rows @ rows.T).toarray())
    kept = values > 1e-12 * max(values[-1], 1e-300)
    lengths = np.sqrt(values[kept])
    return vectors[:, kept] * lengths, rows.T @ (vectors[:, kept] / lengths)


def _involved(w: FloatArray, X: Design) -> BoolArray:
    """The columns that move the scores: largest |x_j w_j| above 1e-6 of the largest of all."""
    reach = np.abs(w) * _column_sizes(X.X)
    return np.asarray(reach > 1e-6 * max(reach.max(initial=0.0), 1e-300))


def _column_sizes(A: Any) -> FloatArray:
    largest = np.abs(A).max(axis=0)
    return np.asarray(largest.toarray().ravel() if sparse.issparse(largest) else largest, dtype=np.float64)


def _by_hinge(problem: LossPenalty, used: IntArray) -> FloatArray | None:
    """The widest margin with many columns: the support vector machine with a C that allows no slack."""
    X, y = problem.X.take(used), problem.y[used]
    unit = max(float(X.squared_norms().mean()), 1e-300)
    for C in (1e2, 1e4, 1e6):
        hard = LossPenalty(
            X=X,
            y=y,
            c=np.full(len(y), C / unit),
            loss=Hinge(),
            penalty=Penalty(l2=1.0),
            fit_intercept=problem.fit_intercept,
        )
        theta = AugmentedLagrangian(tol=1e-6).solve(hard).x
        least = float(np.min(y * hard.scores(theta)))
        if least > 0.999:
            return np.asarray(theta / least)
    return None


def widest_margin(A: Any, on_plane: BoolArray, penalised: FloatArray, gains: FloatArray) -> FloatArray | None:
    """min over v   1/2 sum_j penalised_j v_j^2   subject to   A v >= 1,  A v = 0 for the rows ``on_plane``.

    A is an array or CSR, of shape (n_rows, n_unknowns); ``gains`` are those of a first direction. Solved on
    the rows that gain least, to which the violated ones are added until there are none. None if float64
    does not suffice.
    """
    width = A.shape[1]
    plane = linalg.qr(_dense(A[np.flatnonzero(on_plane)]), mode="r")[0][:width]
    off = np.flatnonzero(~on_plane)
    chunk = 2 * width + 200
    rows = off[np.argsort(gains[off], kind="stable")[:chunk]]
    for _ in range(50):
        v = _multipliers_method(np.vstack([plane, _dense(A[rows])]), len(plane), penalised)
        if v is None:
            return None
        gains = A @ v
        lacking = np.setdiff1d(off[gains[off] < 1.0 - 1e-9], rows)
        if not len(lacking):
            return np.asarray(v / float(np.min(gains[off])))
        rows = np.append(rows, lacking[np.argsort(gains[lacking], kind="stable")[:chunk]])
    return None


def _dense(rows: Any) -> FloatArray:
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)


def _multipliers_method(A: FloatArray, n_plane: int, penalised: FloatArray) -> FloatArray | None:
    """As `widest_margin`, the first rows on the plane, by the method of multipliers with Newton steps.

    None if it does not reach a relative duality gap of 1e-8.
    """
    size = np.abs(A).max(axis=0)
    size[size == 0] = 1.0
    A = A / size
    with np.errstate(over="ignore", under="ignore"):
        d = penalised / size**2
        d /= max(float(d.max()), 1e-300)
    if not np.isfinite(d).all():
        return None
    on_plane = np.arange(len(A)) < n_plane
    goal = (~on_plane).astype(np.float64)
    v: FloatArray = np.zeros(A.shape[1])
    mu, sigma, before = np.zeros(A.shape[0]), 1.0, np.inf
    for _ in range(60):
        v = _shortest(A, on_plane, d, goal + mu / sigma, sigma, v)
        short = goal - A @ v
        mu = mu + sigma * short
        mu[~on_plane] = np.maximum(mu[~on_plane], 0.0)
        worst = float(np.max(np.where(on_plane, np.abs(short), short)))
        if worst <= 1e-10:
            balance = (A.T @ mu)[d > 0]
            dual = float(mu @ goal) - 0.5 * float(np.sum(balance**2 / d[d > 0]))
            value = 0.5 * float(d @ v**2)
            if abs(value - dual) <= 1e-8 * value:
                return np.asarray(v / size)
        elif worst > 0.25 * before:
            sigma *= 10.0
        before = worst
    return None


def _shortest(
    A: FloatArray, on_plane: BoolArray, d: FloatArray, goal: FloatArray, sigma: float, v: FloatArray
) -> FloatArray:
    """min over v   1/2 v'diag(d)v + sigma/2 sum_i (goal_i - a_i v)_+^2   (both signs on the plane)."""
    for _ in range(50):
        r = goal - A @ v
        near = on_plane | (r > 0)
        rows = A[near]
        gradient = d * v - sigma * (rows.T @ r[near])
        step = solve_symmetric(sigma * (rows.T @ rows) + np.diag(d), -gradient)
        gain = -float(gradient @ step)
        if not gain > 1e-20 * (float(d @ v**2) + sigma * float(r[near] @ r[near])):
            break
        v = v + _length(r, A @ step, on_plane, float(d @ (v * step)), float(d @ step**2), sigma) * step
    return v


def _length(
    r: FloatArray, along: FloatArray, on_plane: BoolArray, linear: float, quadratic: float, sigma: float
) -> float:
    """The step where the derivative of the piecewise quadratic changes its sign, at most 1.

    Newton's method on the derivative, which is piecewise linear: once on the right piece, it is exact.
    """
    low, high, t = 0.0, 1.0, 1.0
    for _ in range(50):
        left = r - t * along
        left[(left < 0) & ~on_plane] = 0.0
        slope = linear + t * quadratic - sigma * float(along @ left)
        if slope == 0 or (t == 1.0 and slope < 0):
            break
        low, high = (t, high) if slope < 0 else (low, t)
        bent = along[on_plane | (left > 0)]
        curvature = quadratic + sigma * float(bent @ bent)
        trial = t - slope / curvature if curvature > 0 else low
        if trial == t or high - low <= 1e-15 * high:
            break
        t = trial if low < trial < high else 0.5 * (low + high)
    return t


def limit_point(problem: LossPenalty, found: Separation, solver: Newton) -> tuple[FloatArray, FloatArray]:
    """(w, b) along the limit, and slopes that bound the likelihood from above.

    The log-likelihood of every separated row is within ``solver.tol`` of 0. The rows on the hyperplane of a
    quasi-complete separation have their own maximum, which is kept: coefficients that do not take part in the
    separation are those of the limit.
    """
    goal = -float(np.log(np.expm1(solver.tol)))
    gains = problem.y * problem.scores(found.direction)
    used = problem.c > 0
    off = used & (gains > 0.5)
    base, slopes = np.zeros_like(found.direction), np.zeros(len(gains))
    rows = np.flatnonzero(used & ~off)
    if len(rows):
        part = replace(problem, X=problem.X.take(rows), y=problem.y[rows], c=problem.c[rows])
        solution = solver.solve(part)
        base, slopes[rows] = solution.x, solution.multipliers
    lacking = (goal - problem.y * problem.scores(base))[off] / gains[off]
    return np.asarray(base + max(float(lacking.max()), 1.0) * found.direction), slopes


def find_multinomial_separation(problem: Multinomial, theta: FloatArray) -> Separation | None:
    """As `find_separation` for several classes: v separates where <(x_i, 1), v_y - v_k> >= 0 for all i, k.

    Step 1 reads: with the probabilities p_ik, s_i the step's scores of row i and s their mean under p_i,
    sum_i c_i sum_k p_ik (v_iy - v_ik) (1 - (s - s_ik)) = 0 for all v, which no separating v satisfies where
    s - s_ik < 1 for all i and k. Beyond 1500 unknowns only complete separation is looked for. The widest
    margin is found for complete separation only.
    """
    used = np.flatnonzero(problem.c > 0)
    scores, codes = problem.scores(theta)[used], problem.codes[used]
    rivals = scores.copy()
    rivals[np.arange(len(codes)), codes] = -np.inf
    if np.min(scores[np.arange(len(codes)), codes] - rivals.max(axis=1)) > 0:
        return _multinomial_limit(problem, used, theta)
    if theta.size > EXPLICIT:
        return None
    at, free, step = problem.at(theta), problem.free(), np.zeros_like(theta)
    step[free] = solve_symmetric(at.hessian_of(free), -at.gradient[free])
    moved = problem.scores(step)[used]
    mean = np.sum(softmax(scores, axis=1) * moved, axis=1, keepdims=True)
    if np.max(mean - moved) <= 0.5:
        return None
    table = _with_ones(problem.X.take(used), problem.fit_intercept)
    found = recession(_differences(table, codes, range(1, len(theta)), len(theta)))
    if found is None:
        return None
    direction = np.vstack([np.zeros(theta.shape[1]), found[0].reshape(len(theta) - 1, -1)])
    if found[1].all():
        return _multinomial_limit(problem, used, direction)
    return _multinomial("quasi-complete", direction, problem, is_limit=False)


def _multinomial(kind: Kind, direction: FloatArray, problem: Multinomial, *, is_limit: bool) -> Separation:
    direction = direction - direction[0]  # the first class is the baseline
    columns = _involved(np.abs(direction[:, :-1]).max(axis=0), problem.X)
    return Separation(kind, direction, columns, is_limit)


def _multinomial_limit(problem: Multinomial, used: IntArray, direction: FloatArray) -> Separation:
    """Complete separation, with the direction of the widest margin if the table of differences fits."""
    K, width = direction.shape
    found = None
    if K * width <= EXPLICIT and len(used) * K * K * width <= _LARGEST_TABLE:
        table = _with_ones(problem.X.take(used), problem.fit_intercept)
        A = _differences(table, problem.codes[used], range(K), K)
        weights = np.tile(np.append(np.ones(width - 1), 0.0), K)
        found = widest_margin(A, np.zeros(A.shape[0], dtype=bool), weights, A @ direction.ravel())
    best = direction if found is None else found.reshape(K, width)
    return _multinomial("complete", best, problem, is_limit=found is not None)


def _differences(table: Any, codes: IntArray, unknown: range, n_classes: int) -> Any:
    """Rows <(x_i, 1), v_y - v_k> for all k but y_i, in the unknowns v_m of the classes ``unknown``."""
    blocks = []
    for k in range(n_classes):
        rows = np.flatnonzero(codes != k)
        part, own = table[rows], codes[rows]
        signs = [(own == m).astype(float) - float(m == k) for m in unknown]
        blocks.append(sparse.hstack([sparse.diags_array(sign) @ part for sign in signs], format="csr"))
    return sparse.vstack(blocks, format="csr")


def _with_ones(X: Design, fit_intercept: bool) -> Any:
    """[X 1] as a CSR array; the last column is 0 without an intercept."""
    ones = sparse.csr_array(np.full((X.shape[0], 1), float(fit_intercept)))
    return sparse.hstack([sparse.csr_array(X.X), ones], format="csr")


def recession(A: Any) -> tuple[FloatArray, BoolArray] | None:
    """A direction v with A v >= 0 and A v != 0, or None, by the linear program of Konis (2007):

        max over v, z   sum_i z_i   subject to   z <= A v,  0 <= z <= 1.

    Its value is 0 if there is none. Since directions can be scaled, z_i is 1 for every row that some
    direction moves: the second result marks them. Columns are scaled to the same size first. Cost: that of
    scipy's HiGHS.
    """
    n, p = A.shape
    largest = np.maximum(_column_sizes(A), 1e-300)
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
    if reached.max() < 0.5:
        return None
    return np.asarray(answer.x[:p] / largest), np.asarray(reached > 0.5)


@dataclass(frozen=True)
class MeetingPoint:
    """Where the convex hulls of two classes come closest to each other, column by column.

    ``separates``: a hyperplane was found and checked. ``weights`` of shape (n_rows,): convex combinations of
    both classes that are equal in every column up to rounding. Neither: unknown.
    """

    separates: bool
    weights: FloatArray | None = None


def meeting_point(X: Any, y: FloatArray) -> MeetingPoint:
    """Decide on columns of equal size whether a hyperplane separates the classes, whatever their scales are.

    The linear program max t subject to y_i (<z_i, u> + b) >= t and abs(u_j) <= 1 has the answer t > 0 where
    one does. Otherwise its multipliers are the weights of two convex combinations, which are then compared.
    """
    n, p = X.shape
    centre = np.zeros(p) if sparse.issparse(X) else X.mean(axis=0)
    Z = X if sparse.issparse(X) else X - centre
    size = _column_sizes(Z)
    Z = Z @ sparse.diags_array(1.0 / np.where(size > 0, size, 1.0))
    sides = np.column_stack([-y, np.ones(n)])
    signed = sparse.diags_array(-y) @ Z
    A = sparse.hstack([signed, sides], format="csr") if sparse.issparse(Z) else np.hstack([signed, sides])
    bounds = [*[(-1.0, 1.0)] * p, (None, None), (None, None)]
    goal = np.append(np.zeros(p + 1), -1.0)
    answer = linprog(goal, A_ub=A, b_ub=np.zeros(n), bounds=bounds, method="highs", options=_STRICT)
    if answer.x is None:
        return MeetingPoint(separates=False)
    u, b = answer.x[:p], answer.x[p]
    noise = 2e-16 * (p + 4) * (np.abs(Z) @ np.abs(u) + abs(b))
    if np.min(y * (Z @ u + b) - noise) > 0:
        return MeetingPoint(separates=True)
    weights = np.maximum(-np.asarray(answer.ineqlin.marginals), 0.0)
    used = np.flatnonzero(weights)
    weights[used] = found = _met(_dense(X[used]), y[used], weights[used])
    return MeetingPoint(separates=False, weights=weights if found.any() else None)


def _met(rows: FloatArray, y: FloatArray, w: FloatArray) -> FloatArray:
    """Weights near ``w`` whose two combinations are equal in every column up to rounding, or zeros.

    The linear program only meets its tolerance, within which the hulls may still be apart; Newton steps on
    the weights remove the rest. Columns are relative to a row of the combinations, and rounding to the spread
    of these rows: beside rows that are far longer, short ones would look equal.
    """
    if not (np.any(y > 0) and np.any(y < 0)):
        return np.zeros(len(w))
    rows = rows - rows[w.argmax()]
    ones = np.column_stack([y > 0, y < 0]).astype(np.float64)
    for _ in range(4):
        w = w / (ones @ (w @ ones))
        spread = np.maximum(w @ np.abs(rows - 0.5 * (w @ rows)), 1e-300)
        apart = (y * w) @ rows / spread
        if (np.abs(apart) <= _ULP * (len(w) + 4)).all():
            return w
        equations = np.vstack([(rows / spread).T * (y * w), ones.T * w])
        w = w * np.maximum(1.0 - linalg.lstsq(equations, np.append(apart, [0.0, 0.0]))[0], 0.0)
        if not (ones.T @ w > 0).all():
            break
    return np.zeros(len(w))
