"""The notes of Fuentes: algorithms 1 to 7 as printed beside ours, figures, ROC and KS, weight of evidence.

    python examples/reproduce/supervised_learning.py [--html FILE] [--pictures DIR]

José Gustavo Fuentes Cabrera, Aprendizaje supervisado, notes on multivariate analysis. The notes print no
data, so the script draws its own. Every algorithm is written here in plain Python as the notes have it and
run on the same rows in the same order as the class of the library; where the notes have a slip, both forms
are run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_breast_cancer, make_blobs, make_circles, make_moons

import maxmargin as mm
from _common import arguments, draws, finish, heading, save, say, side_by_side, verdict
from maxmargin.discretize import kl_divergence
from maxmargin.kernels import RBF
from maxmargin.scorecards import iv_of_counts, weight_of_evidence

Rows = tuple[np.ndarray, np.ndarray]


# -- the algorithms as printed -----------------------------------------------------------------------------


def perceptron(X: np.ndarray, y: np.ndarray, passes: int, *, bias: bool) -> np.ndarray:
    """Algorithms 1 and 2; theta_0 is the last number."""
    theta = np.zeros(X.shape[1] + 1)
    for _ in range(passes):
        for x, sign in zip(np.column_stack([X, np.full(len(X), float(bias))]), y, strict=True):
            if sign * (theta @ x) <= 0:
                theta += sign * x
    return theta


def averaged_perceptron(X: np.ndarray, y: np.ndarray, passes: int) -> tuple[np.ndarray, np.ndarray]:
    """Algorithm 3: the last iterate, which it prints as its result, and the average that it computes."""
    rows = np.column_stack([X, np.ones(len(X))])
    theta, mean, c = np.zeros(rows.shape[1]), np.zeros(rows.shape[1]), 1.0
    for _ in range(passes):
        for x, sign in zip(rows, y, strict=True):
            if sign * (theta @ x) <= 0:
                theta, mean = theta + sign * x, mean + c * sign * x
            c -= 1 / (len(X) * passes)
    return theta, mean


def passive_aggressive(X: np.ndarray, y: np.ndarray, lam: float, passes: int) -> np.ndarray:
    """Algorithm 4."""
    theta = np.zeros(X.shape[1])
    for _ in range(passes):
        for x, sign in zip(X, y, strict=True):
            eta = min(max(0.0, 1 - sign * (theta @ x)) / (x @ x), 1 / lam)
            theta += eta * sign * x
    return theta


def pegasos(
    X: np.ndarray, y: np.ndarray, lam: float, rows: np.ndarray, rate: Callable[[int], float]
) -> np.ndarray:
    """Algorithm 5 on given draws; the notes print the rate 1/t."""
    theta = np.zeros(X.shape[1])
    for t, i in enumerate(rows, start=1):
        eta = rate(t)
        inside = y[i] * (theta @ X[i]) <= 1
        theta = (1 - eta * lam) * theta + (eta * y[i] * X[i] if inside else 0.0)
    return theta


def descent(
    X: np.ndarray, t: np.ndarray, lam: float, rows: np.ndarray, rate: Callable[[int], float]
) -> np.ndarray:
    """Algorithms 6 (lambda = 0) and 7 on given draws."""
    theta = np.zeros(X.shape[1])
    for k, i in enumerate(rows, start=1):
        theta = (1 - lam * rate(k)) * theta + rate(k) * (t[i] - theta @ X[i]) * X[i]
    return theta


# -- beside ours -------------------------------------------------------------------------------------------


def two_classes() -> Rows:
    X, y = make_blobs(80, centers=[(-2.0, -1.0), (2.0, 1.5)], cluster_std=1.0, random_state=1)
    return X, np.where(y == 1, 1.0, -1.0)


def classifiers(options: argparse.Namespace) -> None:
    heading("Algorithms 1 to 4 on 80 rows, in the order of the rows")
    X, y = two_classes()
    fixed = {"shuffle": False, "max_iter": 20}
    one = mm.Perceptron(fit_intercept=False, **fixed).fit(X, y)
    two = mm.Perceptron(**fixed).fit(X, y)
    three = mm.Perceptron(average=True, **fixed).fit(X, y)
    four = mm.PassiveAggressive(lam=1.0, fit_intercept=False, tol=None, **fixed).fit(X, y)
    last, mean = averaged_perceptron(X, y, 20)
    pairs = {
        "1 perceptron without bias": (perceptron(X, y, 20, bias=False)[:2], one.coef_[0]),
        "2 perceptron": (perceptron(X, y, 20, bias=True), _all(two)),
        "3 averaged, its average": (mean, _all(three)),
        "4 passive-aggressive, lambda 1": (passive_aggressive(X, y, 1.0, 20), four.coef_[0]),
    }
    verdict(
        _compare(pairs),
        "algorithm 3 prints the last iterate as its result; what it computes, and we return, is the average",
    )
    side_by_side(
        {
            "mistakes": {"perceptron": f"{two.n_mistakes_[0]}"},
            "bound (R/gamma)^2, theorem 3.1": {"perceptron": f"{two.bound_[0]:.0f}"},
            "distance of last iterate and average": {"perceptron": f"{np.linalg.norm(last - mean):.4f}"},
        },
        "",
    )
    if draws(options):
        models = {"1 without bias": one, "2 perceptron": two, "3 averaged": three}
        display = mm.displays.BoundaryDisplay.from_estimator(
            models, X, y, normal="2 perceptron", project=[0, 7]
        )
        save(display.plot(), options, "fuentes_figures_3_1_to_3_3")


def _all(model: mm.Perceptron) -> np.ndarray:
    return np.append(model.coef_[0], model.intercept_[0])


def _compare(pairs: dict[str, tuple[np.ndarray, np.ndarray]]) -> bool:
    """Print both, and say whether they agree to eight digits."""
    rows = {}
    for name, (printed, ours) in pairs.items():
        rows[name] = {
            "as printed": np.array2string(printed, precision=5, suppress_small=True),
            "ours": np.array2string(np.asarray(ours), precision=5, suppress_small=True),
            "difference": f"{np.abs(printed - ours).max():.0e}",
        }
    side_by_side(rows, "algorithm")
    return all(np.allclose(printed, ours, rtol=1e-8) for printed, ours in pairs.values())


def stochastic(options: argparse.Namespace) -> None:
    heading("Algorithm 5: Pegasos, lambda = 0.1, distance from the minimum of the SVM objective")
    X, y = two_classes()
    lam, n = 0.1, len(y)
    best = mm.LinearSVC(loss="hinge", C=1 / (lam * n), fit_intercept=False, tol=1e-8).fit(X, y).coef_[0]
    rng = np.random.default_rng(0)

    def objective(w: np.ndarray) -> float:
        return float(np.maximum(0.0, 1 - y * (X @ w)).mean() + lam / 2 * w @ w)

    rows: dict[str, dict[str, object]] = {}
    for T in (100, 1000, 10_000):
        drawn = rng.integers(0, n, T)
        ours = mm.Pegasos(lam, fit_intercept=False, max_iter=max(1, T // n), random_state=0).fit(X, y)
        rows[str(T)] = {
            "1/t, as printed": objective(pegasos(X, y, lam, drawn, lambda t: 1 / t)) - objective(best),
            "1/(lambda t)": objective(pegasos(X, y, lam, drawn, lambda t: 1 / (lam * t))) - objective(best),
            "mm.Pegasos (average)": objective(ours.coef_[0]) - objective(best),
        }
    side_by_side(rows, "steps")
    verdict(False, "the notes print the rate 1/t; Pegasos has 1/(lambda t), for which the theorem holds")

    heading("Algorithms 6 and 7: least squares and ridge regression, one row at a time")
    t = X @ [1.0, -2.0] + 0.3 * rng.normal(size=n)
    exact = {0.0: mm.LeastSquares(fit_intercept=False).fit(X, t).coef_}
    exact[0.1] = mm.Ridge(alpha=0.1 * n, fit_intercept=False).fit(X, t).coef_
    drawn = rng.integers(0, n, 200 * n)
    rows = {}
    for name, lam, model in (
        ("6 least squares", 0.0, mm.LeastSquares(fit_intercept=False, solver="sgd", random_state=0)),
        (
            "7 ridge, lambda 0.1",
            0.1,
            mm.Ridge(alpha=0.1 * n, fit_intercept=False, solver="sgd", random_state=0),
        ),
    ):
        decaying = descent(X, t, lam, drawn, lambda k: 0.1 / (1 + k / n))
        constant = descent(X, t, lam, drawn, lambda k: 0.05)
        rows[name] = {
            "exact": np.array2string(exact[lam], precision=3),
            "decaying rate": f"{np.abs(decaying - exact[lam]).max():.4f}",
            "constant rate": f"{np.abs(constant - exact[lam]).max():.4f}",
            "ours, solver='sgd'": f"{np.abs(model.fit(X, t).coef_ - exact[lam]).max():.4f}",
        }
    side_by_side(rows, "distance from exact")
    verdict(
        all(float(str(row["decaying rate"])) < 0.05 for row in rows.values()),
        "with a rate that decays; with a constant one the iterates do not settle",
    )


def shrinkage(options: argparse.Namespace) -> None:
    heading("Section 4.2: the training error R_n against lambda")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 15))
    t, n = X[:, 0] - X[:, 1] + rng.normal(size=40), 40
    lambdas = np.logspace(-2, 2, 41)
    model = mm.Ridge(alphas=n * lambdas, fit_intercept=False).fit(X, t)
    display = mm.displays.RidgeDisplay.from_estimator(model, X, t)
    rows = {}
    for k in range(0, 41, 10):
        theta = np.linalg.solve(lambdas[k] * np.eye(15) + X.T @ X / n, X.T @ t / n)
        rows[f"{lambdas[k]:g}"] = {
            "R_n by hand": float(((t - X @ theta) ** 2).mean() / 2),
            "R_n, ours": float(display.training[k] ** 2 / 2),
            "rows left out": float(display.left_out[k] ** 2 / 2),
        }
    side_by_side(rows, "lambda")
    verdict(
        False,
        "the notes say that R_n grows in proportion to lambda: it grows, but not in proportion, and ends at"
        f" {(t**2).mean() / 2:.4f}, the error of theta = 0",
    )
    if draws(options):
        save(display.plot(), options, "fuentes_section_4_2")


def kernel_perceptron(options: argparse.Namespace) -> None:
    heading("Section 5.1: kernel perceptron, RBF kernel with gamma = 2, figure 5.1")
    sets = {
        "two moons": make_moons(150, noise=0.1, random_state=0),
        "two circles": make_circles(150, factor=0.5, noise=0.05, random_state=0),
    }
    kernel = RBF(gamma=2.0)
    rows, models = {}, {}
    for name, (X, y) in sets.items():
        sign = np.where(y == 1, 1.0, -1.0)
        alpha = _mistakes(kernel(X, X), sign, passes=100)
        model = models[name] = mm.KernelPerceptron(kernel, shuffle=False, max_iter=100).fit(X, y)
        ours = np.zeros(len(y))
        ours[model.support_] = np.abs(model.dual_coef_[0])
        rows[name] = {
            "mistakes as printed": int(alpha.sum()),
            "ours": int(model.n_mistakes_[0]),
            "same alpha": str(bool(np.array_equal(alpha, ours))),
            "support vectors": len(model.support_),
            "training error": 1 - model.score(X, y),
        }
    side_by_side(rows, "data")
    verdict(all(row["same alpha"] == "True" for row in rows.values()), "mistake by mistake")
    if draws(options):
        for name, (X, y) in sets.items():
            display = mm.displays.MarginDisplay.from_estimator(models[name], X, y).plot()
            save(display, options, f"fuentes_figure_5_1_{name.split()[1]}")


def _mistakes(K: np.ndarray, sign: np.ndarray, passes: int) -> np.ndarray:
    """The algorithm of section 5.1: alpha_t <- alpha_t + 1 at a mistake."""
    alpha = np.zeros(len(sign))
    for _ in range(passes):
        before = alpha.sum()
        for t in range(len(sign)):
            if sign[t] * np.sum(alpha * sign * (K[:, t] + 1)) <= 0:
                alpha[t] += 1
        if alpha.sum() == before:
            break
    return alpha


def machines(options: argparse.Namespace) -> None:
    heading("Section 3.7: lambda small and large, figures 3.4 to 3.6")
    X, y = two_classes()
    n = len(y)
    rows, models = {}, {}
    for lam in (0.001, 0.1, 10.0):
        model = models[lam] = mm.SVC(kernel="linear", C=1 / (lam * n), tol=1e-6).fit(X, y)
        rows[f"{lam:g}"] = {
            "C = 1/(lambda n)": model.C,
            "margin": model.margin_,
            "margin violations": int((model.slack_ > 1e-6).sum()),
            "hinge risk": float(mm.metrics.empirical_risk(y, model.decision_function(X), loss="hinge")),
        }
    side_by_side(rows, "lambda")
    margins = [model.margin_ for model in models.values()]
    verdict(margins == sorted(margins), "a larger lambda widens the margin and lets more rows into it")
    if draws(options):
        for lam, model in models.items():
            save(
                mm.displays.MarginDisplay.from_estimator(model, X, y).plot(),
                options,
                f"fuentes_figure_3_5_{lam:g}",
            )


def discriminant(options: argparse.Namespace) -> None:
    heading("Section 6: Fisher's discriminant by W^-1 F")
    X, y = two_classes()
    means = np.array([X[y == sign].mean(axis=0) for sign in (-1, 1)])
    W = sum((X[y == sign] - m).T @ (X[y == sign] - m) for sign, m in zip((-1, 1), means, strict=True))
    total = (X - X.mean(axis=0)).T @ (X - X.mean(axis=0))
    values, vectors = np.linalg.eig(np.linalg.solve(W, total - W))
    u = np.real(vectors[:, np.argmax(np.real(values))])
    u *= np.sign(u @ (means[1] - means[0]))
    cut = float((means @ u).mean())
    model = mm.FisherDiscriminant().fit(X, y)
    axis = model.axes_[:, 0]
    predicted = np.where(X @ u > cut, 1.0, -1.0)
    side_by_side(
        {
            "cosine of the two axes": {
                "value": float(abs(u @ axis) / np.linalg.norm(u) / np.linalg.norm(axis))
            },
            "rows classified alike": {"value": float((predicted == model.predict(X)).mean())},
        },
        "",
    )
    verdict(bool((predicted == model.predict(X)).all()), "the same axis and the same cut point")
    if draws(options):
        save(mm.displays.DiscriminantDisplay.from_estimator(model, X, y).plot(), options, "fuentes_section_6")


def scores(options: argparse.Namespace) -> None:
    heading("Section 7.1: accuracy, area under the ROC curve, Kolmogorov-Smirnov")
    data = load_breast_cancer(as_frame=True)
    X, y = data.data[["mean texture", "mean smoothness"]], 1 - data.target
    model = mm.LogisticRegression().fit(X, y)
    p = model.predict_proba(X)[:, 1]
    pairs = p[y == 1][:, None] - p[y == 0][None, :]
    grid = np.sort(p)
    ks = max(abs((p[y == 1] <= t).mean() - (p[y == 0] <= t).mean()) for t in grid)
    found = side_by_side(
        {
            "accuracy": {"by hand": ((p > 0.5) == (y == 1)).mean(), "ours": model.score(X, y)},
            "area": {
                "by hand": (pairs > 0).mean() + (pairs == 0).mean() / 2,
                "ours": float(mm.metrics.auc(y, p)),
            },
            "KS": {"by hand": ks, "ours": float(mm.metrics.ks_statistic(y, p))},
        },
        "measure",
    )
    verdict(bool(np.allclose(found["by hand"], found["ours"])))
    heading("Sections 7.3 and 7.4: Newton's method")
    by_hand = _newton(np.column_stack([X, np.ones(len(X))]), y.to_numpy())
    ours = np.append(model.coef_[0], model.intercept_[0])
    verdict(
        _compare({"Newton": (by_hand, ours)}), "the notes print alpha = p/(1 - p); alpha is its logarithm"
    )
    if draws(options):
        one = mm.LogisticRegression().fit(X[["mean texture"]], y)
        save(
            mm.displays.SigmoidDisplay.from_estimator(one, X[["mean texture"]], y).plot(),
            options,
            "fuentes_sigmoid",
        )
        evaluation = mm.evaluate(model, X, y)
        save(mm.displays.RocDisplay.from_result(evaluation).plot(), options, "fuentes_roc")
        save(mm.displays.KsDisplay.from_result(evaluation).plot(), options, "fuentes_ks")


def _newton(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    theta = np.zeros(X.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-X @ theta))
        theta = theta - np.linalg.solve((X * (p * (1 - p))[:, None]).T @ X, X.T @ (p - y))
    return theta


def evidence() -> None:
    heading("Section 7.5: weight of evidence and information value")
    events, rest = np.array([10, 20, 30]), np.array([40, 15, 5])
    by_hand = np.log((rest / rest.sum()) / (events / events.sum()))
    rows: dict[str, dict[str, object]] = {
        f"WoE {k + 1}": {"by hand": a, "ours": b}
        for k, (a, b) in enumerate(zip(by_hand, weight_of_evidence(events, rest), strict=True))
    }
    iv = float(((rest / rest.sum() - events / events.sum()) * by_hand).sum())
    p, q = events, rest
    rows["IV"] = {"by hand": iv, "ours": iv_of_counts(events, rest)}
    rows["KL(p|q) + KL(q|p)"] = {
        "by hand": iv,
        "ours": kl_divergence(p, q, base=np.e) + kl_divergence(q, p, base=np.e),
    }
    found = side_by_side(rows, "measure")
    say(f"KL(p|q) alone is {kl_divergence(p, q, base=np.e):.4f}.")
    verdict(
        bool(np.allclose(found["by hand"], found["ours"])),
        "but IV is the divergence both ways added, not one Kullback-Leibler divergence",
    )


def main() -> None:
    options = arguments(__doc__).parse_args()
    say("The notes print no data; these are drawn with fixed seeds.")
    for part in (classifiers, stochastic, machines, shrinkage, kernel_perceptron, discriminant, scores):
        part(options)
    evidence()
    finish(options, "Fuentes: supervised learning")


if __name__ == "__main__":
    main()
