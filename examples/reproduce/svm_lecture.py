"""The lecture Support Vector Machines (SVM): perceptron, margins, kernels, regression, SMO.

    python examples/reproduce/svm_lecture.py [--html FILE] [--pictures DIR]

Slides without author or date. Their figures 4.14, 4.16 and 12.1 are those of Hastie, Tibshirani & Friedman
2009, whose points are not printed, so the script draws its own.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.datasets import make_blobs, make_moons

import maxmargin as mm
from _common import arguments, draws, finish, heading, save, say, side_by_side, verdict
from maxmargin.kernels import Polynomial, polynomial_map


def separable() -> tuple[np.ndarray, np.ndarray]:
    """Two groups, and three far rows on the right side, which turn the line of least squares."""
    X, y = make_blobs(30, centers=[(-1.6, -1.0), (1.6, 1.0)], cluster_std=0.75, random_state=3)
    return np.vstack([X, [(6.0, 4.0), (7.0, 5.0), (6.5, 3.5)]]), np.append(2 * y - 1, [1, 1, 1])


def lines(options: argparse.Namespace) -> None:
    heading("Figures 4.14 and 4.16: perceptron, least squares, hard margin, logistic regression")
    X, y = separable()
    models = {f"perceptron, start {k}": mm.Perceptron(random_state=k).fit(X, y) for k in (0, 1)}
    models["least squares"] = mm.LeastSquares().fit(X, y)
    models["hard margin"] = hard = mm.HardMarginSVC(kernel="linear").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.SeparationWarning)
        models["logistic"] = mm.LogisticRegression().fit(X, y)
    rows = {}
    for name, model in models.items():
        w = np.ravel(model.coef_)
        b = float(np.ravel(model.intercept_)[0])
        rows[name] = {
            "angle to hard margin, degrees": _angle(w, hard.coef_[0]),
            "margin": float((y * (X @ w + b)).min() / np.linalg.norm(w)),
            "errors": int(np.sum(np.sign(X @ w + b) != y)),
        }
    side_by_side(rows, "model", digits=3)
    widest = max(row["margin"] for row in rows.values())
    verdict(
        bool(
            rows["hard margin"]["margin"] >= widest - 1e-6
            and rows["logistic"]["angle to hard margin, degrees"] < 1
            and rows["least squares"]["errors"] == 1
        ),
        "the perceptron depends on its start, least squares misclassifies one row, hard margin and logistic"
        " regression agree",
    )
    if draws(options):
        save(
            mm.displays.BoundaryDisplay.from_estimator(models, X, y).plot(),
            options,
            "lecture_figures_4_14_4_16",
        )


def _angle(u: np.ndarray, v: np.ndarray) -> float:
    cosine = u @ v / np.linalg.norm(u) / np.linalg.norm(v)
    return float(np.degrees(np.arccos(np.clip(cosine, -1, 1))))


def duality() -> None:
    heading("Strong duality, w and b from the multipliers")
    X, y = separable()
    hard = mm.HardMarginSVC(kernel="linear").fit(X, y)
    alpha, proof = hard.alpha_, mm.certify(hard, X, y)
    w = (alpha * y) @ X
    support = alpha > 1e-9
    b = float(np.mean(y[support] - X[support] @ w))
    side_by_side(
        {
            "w1": {"slides": w[0], "ours": hard.coef_[0, 0]},
            "w2": {"slides": w[1], "ours": hard.coef_[0, 1]},
            "b, mean over support vectors": {"slides": b, "ours": hard.intercept_[0]},
            "optimal value: primal, dual": {"slides": w @ w / 2, "ours": proof.dual},
        },
        "",
        digits=6,
    )
    verdict(bool(abs(b - hard.intercept_[0]) < 1e-4 and proof.gap < 1e-6))


def soft(options: argparse.Namespace) -> None:
    heading("Figure 12.1 and the effect of C")
    X, y = make_blobs(80, centers=[(-1, 0), (1, 0)], cluster_std=1.0, random_state=0)
    rows, models = {}, {}
    for C in (0.01, 1.0, 100.0):
        model = models[C] = mm.SVC(kernel="linear", C=C, tol=1e-6).fit(X, y)
        kinds = model.point_kinds_
        rows[f"{C:g}"] = {
            "margin": model.margin_,
            "sum of slacks": float(model.slack_.sum()),
            "inside": int((kinds == "inside").sum()),
            "misclassified": int((kinds == "misclassified").sum()),
            "on the margin": int((kinds == "free").sum()),
        }
    side_by_side(rows, "C")
    budget = float(models[1.0].slack_.sum())
    same = mm.slack_budget(mm.SVC(kernel="linear"), X, y, budget)
    verdict(
        bool(abs(np.log(same.C)) < 0.05),
        f"a budget of {budget:.2f} for the slacks leads back to C = {same.C:.3f}",
    )
    if draws(options):
        save(
            mm.displays.MarginDisplay.from_estimator(models[1.0], X, y).plot(), options, "lecture_figure_12_1"
        )


def kernels(options: argparse.Namespace) -> None:
    heading("The polynomial kernel with d = 2 and p = 2")
    x, z = np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])
    phi = lambda u: np.array([1, 2**0.5 * u[0], 2**0.5 * u[1], u[0] ** 2, u[1] ** 2, 2**0.5 * u[0] * u[1]])  # noqa: E731
    found = side_by_side(
        {
            "<phi(x), phi(z)> of the slides": {"value": phi(x[0]) @ phi(z[0])},
            "Polynomial": {"value": Polynomial(degree=2, gamma=1.0, coef0=1.0)(x, z)[0, 0]},
            "polynomial_map": {"value": (polynomial_map(x, degree=2) @ polynomial_map(z, degree=2).T)[0, 0]},
        },
        "x = (1, 2), z = (3, 4)",
    )
    verdict(bool(np.allclose(found["value"], 144)))
    if draws(options):
        X, y = make_moons(120, noise=0.2, random_state=0)
        model = mm.SVC(gamma=1.0, C=5.0).fit(X, y)
        save(mm.displays.MarginDisplay.from_estimator(model, X, y).plot(), options, "lecture_rbf")
        save(mm.displays.LossDisplay.from_names().plot(), options, "lecture_losses")


def regression(options: argparse.Namespace) -> None:
    heading("Regression as a problem of 2n variables")
    rng = np.random.default_rng(0)
    x = np.linspace(0, 6, 40)[:, None]
    y = np.sin(x[:, 0]) + 0.15 * rng.normal(size=40)
    eps, C = 0.1, 2.0
    model = mm.SVR(kernel="linear", C=C, epsilon=eps, tol=1e-8).fit(x, y)
    beta = model.alpha_
    up, down = np.maximum(beta, 0), np.maximum(-beta, 0)
    K = x @ x.T
    quadratic = beta @ K @ beta / 2 + eps * (up + down).sum()
    side_by_side(
        {
            "with - sum y (alpha - alpha')": {"dual value": -(quadratic - y @ beta)},
            "with + sum, as printed": {"dual value": -(quadratic + y @ beta)},
            "certificate": {"dual value": mm.certify(model, x, y).dual},
            "primal value": {"dual value": mm.certify(model, x, y).primal},
        },
        "sign",
        digits=6,
    )
    verdict(False, "the slide prints + sum y (alpha - alpha'); with - the dual value meets the primal one")
    if draws(options):
        curve = mm.SVR(C=10.0, gamma=1.0, epsilon=0.2).fit(x, y)
        save(mm.displays.MarginDisplay.from_estimator(curve, x, y).plot(), options, "lecture_tube")


def several_and_smo(options: argparse.Namespace) -> None:
    heading("One-vs-all, one-vs-one, SMO")
    X, y = make_blobs(120, centers=4, random_state=0)
    rows: dict[str, dict[str, object]] = {}
    for way, slides in (("ovr", "K = 4"), ("ovo", "K(K - 1)/2 = 6")):
        model = mm.SVC(multiclass=way).fit(X, y)
        error = 1 - model.score(X, y)
        rows[way] = {"slides": slides, "binary problems": len(model.machines_), "training error": error}
    side_by_side(rows, "four classes")
    verdict([row["binary problems"] for row in rows.values()] == [4, 6])
    Z, label = separable()
    smo = mm.SVC(kernel="linear", C=1.0, solver="smo", trace=True, tol=1e-6).fit(Z, label)
    engine = mm.SVC(kernel="linear", C=1.0, tol=1e-6).fit(Z, label)
    changed = smo.trace_["variables"].map(len)[1:]  # line 0 is the start
    values = smo.certificate_.dual, engine.certificate_.dual
    side_by_side(
        {
            "steps": {"SMO": str(len(changed)), "engine": str(engine.n_iter_[0])},
            "multipliers in a step": {"SMO": f"{changed.min()} to {changed.max()}", "engine": ""},
            "dual value": {"SMO": f"{values[0]:.6f}", "engine": f"{values[1]:.6f}"},
        },
        "",
    )
    verdict(bool((changed == 2).all() and abs(values[0] - values[1]) < 1e-6), "two multipliers in each step")
    if draws(options):
        save(mm.displays.MarginDisplay.from_estimator(smo, Z, label).plot(), options, "lecture_smo")


def main() -> None:
    options = arguments(__doc__).parse_args()
    say("The points of the slides' figures are not printed; these are drawn with fixed seeds.")
    lines(options)
    duality()
    for part in (soft, kernels, regression, several_and_smo):
        part(options)
    finish(options, "The lecture Support Vector Machines (SVM)")


if __name__ == "__main__":
    main()
