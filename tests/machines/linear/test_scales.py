"""Linear machines on columns of any scale, with any C: every bound is true, against plain formulas.

The optimum lies below the objective of any point, so the dual value of a certificate must lie below the
objectives of our point and of one that another solver finds on scaled columns (clarabel, BFGS). A fit without
a warning must be as good as that point up to its tolerance. ``sweep`` runs all combinations.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm

clarabel = pytest.importorskip("clarabel")

SHAPES = [(8, 3), (30, 4), (6, 12)]
SCALES = ["1e-8", "1e-4", "1", "1e4", "1e8", "mixed", "offset"]
COSTS = [1e-6, 1e-3, 1.0, 1e3, 1e6]
CLASSIFIERS = [
    (loss, penalty)
    for loss in ("hinge", "squared_hinge", "logistic")
    for penalty in ("l2", "l1", "l1l2", "none")
    if penalty != "none" or loss == "hinge"
]
EPSILON = 0.1


def table(shape: tuple[int, int], scale: str) -> tuple[Any, Any, Any]:
    """Rows, labels that overlap, and the scale of every column."""
    n, p = shape
    rng = np.random.default_rng([n, p])
    X = rng.normal(size=shape)
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    sizes = 10.0 ** np.linspace(-6, 6, p) if scale == "mixed" else np.ones(p)
    if scale == "offset":
        X[:, 0] += 1e4
    elif scale != "mixed":
        sizes *= float(scale)
    return X * sizes, y, sizes


def losses(name: str, f: Any, y: Any) -> Any:
    inside = {
        "epsilon_insensitive": np.abs(f - y) - EPSILON,
        "squared_epsilon_insensitive": np.abs(f - y) - EPSILON,
    }
    margin = 1.0 - y * f
    if name == "logistic":
        return np.logaddexp(0.0, -y * f)
    if name == "squares":
        return (f - y) ** 2
    short = np.maximum(inside.get(name, margin), 0.0)
    return short**2 if name.startswith("squared") else short


def objective(loss: str, penalty: str, C: float, X: Any, y: Any, w: Any, b: float) -> float:
    total = C * float(losses(loss, X @ w + b, y).sum())
    if loss == "squares":  # the penalty has the weight alpha = 1 / C
        return total / C + (float(w @ w) / C if penalty == "l2" else 0.0)
    if "l2" in penalty:
        total += 0.5 * float(w @ w)
    return total + (float(np.abs(w).sum()) if "l1" in penalty else 0.0)


def other_point(loss: str, penalty: str, C: float, X: Any, y: Any, sizes: Any) -> tuple[Any, float]:
    """A good point from another solver, in units in which the columns are alike."""
    Z, middle = X / sizes, (X / sizes).mean(axis=0)
    Z = Z - middle
    p = Z.shape[1]
    if loss == "logistic":
        factor = max(C, 1.0)

        def value(v: Any) -> float:
            return objective(loss, penalty, C, Z * sizes, y, v[:p] / sizes, float(v[p])) / factor

        u = minimize(value, np.zeros(p + 1), method="Powell", options={"maxfev": 4000}).x
    elif loss == "squares":
        ridge = np.diag(np.sqrt(1.0 / C) / sizes) if penalty == "l2" else np.zeros((p, p))
        u = np.linalg.lstsq(np.vstack([Z, ridge]), np.append(y - y.mean(), np.zeros(p)), rcond=None)[0]
        u = np.append(u, y.mean())
    else:
        u = quadratic_program(loss, penalty, C, Z, y, sizes)
    w = u[:p] / sizes
    return w, float(u[p] - middle @ u[:p])


def quadratic_program(loss: str, penalty: str, C: float, Z: Any, y: Any, sizes: Any) -> Any:
    """Variables (u, b, slacks, bounds of |w|)."""
    n, p = Z.shape
    factor = 1.0 / max(C, 1.0)
    square = loss.startswith("squared")
    P = np.zeros(p + 1 + n + p)
    q = np.zeros_like(P)
    P[:p] = factor / sizes**2 if "l2" in penalty else 0.0
    (P if square else q)[p + 1 : p + 1 + n] = factor * C * (2.0 if square else 1.0)
    q[p + 1 + n :] = factor if "l1" in penalty else 0.0
    one, slack, none = np.ones((n, 1)), np.eye(n), np.zeros((n, p))
    f = np.hstack([Z, one])
    if "epsilon" in loss:
        rows = [np.hstack([s * f, -slack, none]) for s in (1.0, -1.0)]
        right = [y + EPSILON, -y + EPSILON]
    else:
        rows, right = [np.hstack([-y[:, None] * f, -slack, none])], [-np.ones(n)]
    rows.append(np.hstack([np.zeros((n, p + 1)), -slack, none]))
    right.append(np.zeros(n))
    for s in (1.0, -1.0):
        rows.append(np.hstack([np.diag(s / sizes), np.zeros((p, 1 + n)), -np.eye(p)]))
        right.append(np.zeros(p))
    A, h = np.vstack(rows), np.concatenate(right)
    options = clarabel.DefaultSettings()
    options.verbose = False
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(np.diag(P)), q, sp.csc_matrix(A), h, [clarabel.NonnegativeConeT(len(h))], options
    )
    return np.asarray(solver.solve().x)[: p + 1]


def faults(model: Any, loss: str, penalty: str, C: float, X: Any, y: Any, sizes: Any) -> str:
    """What is untrue about the certificate of a fit; nothing if all is well."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(X, y)
    warned = any(issubclass(w.category, ConvergenceWarning) for w in seen)
    proof = model.certificate_
    w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    mine = objective(loss, penalty, C, X, y, w, b)
    theirs = objective(loss, penalty, C, X, y, *other_point(loss, penalty, C, X, y, sizes))
    room = 1e-7 * max(abs(mine), abs(proof.primal)) + proof.rounding
    best = min(mine, theirs)
    if not (abs(proof.primal - mine) <= room):
        return f"primal {proof.primal:.9g}, by the formula {mine:.9g}"
    if not proof.gap >= -proof.rounding - 1e-9 * abs(mine):
        return f"gap {proof.gap:.3g}"
    if proof.dual > best + room:
        return f"bound {proof.dual:.9g} above the objective {best:.9g} of a point"
    unseen = 1e-6 * float((y - y.mean()) @ (y - y.mean())) if isinstance(model, mm.Ridge) else 0.0
    close = proof.gap <= max(model.tol * abs(proof.dual), proof.rounding, unseen)
    if close == warned:
        return f"gap {proof.relative_gap:.2g} with {'a' if warned else 'no'} warning"
    if not warned and mine > best + max(model.tol * abs(best), unseen) + room:
        return f"objective {mine:.9g} without a warning, {best:.9g} is possible"
    return ""


def machines() -> Iterator[tuple[Any, str, str, float, tuple[int, int], str]]:
    """Every combination: the machine, its loss, penalty, C, shape and scale."""
    for shape, scale, C in itertools.product(SHAPES, SCALES, COSTS):
        for loss, penalty in CLASSIFIERS:
            yield mm.LinearSVC(C, loss=loss, penalty=penalty), loss, penalty, C, shape, scale
        for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
            yield mm.LinearSVR(C, loss=loss, epsilon=EPSILON), loss, "l2", C, shape, scale
        yield mm.LogisticRegression(C), "logistic", "l2", C, shape, scale
        yield mm.Ridge(1.0 / C), "squares", "l2", C, shape, scale
        yield mm.LeastSquares(), "squares", "none", C, shape, scale


def sweep(every: int = 1) -> tuple[int, list[str]]:
    """The number of fits, and what was untrue."""
    found, count = [], 0
    for k, (model, loss, penalty, C, shape, scale) in enumerate(machines()):
        if k % every:
            continue
        count += 1
        if wrong := faults(model, loss, penalty, C, *table(shape, scale)):
            found.append(f"{model} on {shape}, {scale}: {wrong}")
    return count, found


def test_every_bound_is_true() -> None:
    count, found = sweep(every=41)
    assert count > 30
    assert not found, "\n".join(found)


def test_ridge_says_that_small_columns_are_lost() -> None:
    """Rounding beside a column of 1e6 hides one of 1e-6: the objective is 2 % above the optimum."""
    X, y, _ = table((8, 3), "mixed")
    with pytest.warns(ConvergenceWarning, match=r"Ridge reached a relative duality gap .* scale the columns"):
        model = mm.Ridge(1.0).fit(X, y)
    assert model.certificate_.relative_gap > 0.01
