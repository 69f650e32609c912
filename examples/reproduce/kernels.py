"""The kernels of Tobar 2023 on data that no line separates.

    python examples/reproduce/kernels.py [--html FILE] [--pictures DIR]

Felipe Tobar, Clase 14: Support vector machines (parte 2), MDS7104, Universidad de Chile, 2023.
The lecture shows points whose class is the sign of x1 x2, which the map (x1, x2, x1 x2) makes
separable; a polynomial kernel of degree 3 next to an RBF kernel; and kernel ridge regression. Its points
are not printed, so the script draws its own.
"""

from __future__ import annotations

import argparse

import numpy as np

import maxmargin as mm
from _common import arguments, draws, finish, heading, save, say, side_by_side, verdict
from maxmargin.kernels import RBF, Linear, Periodic, Polynomial, mercer_check, polynomial_map


def quadrants(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).uniform(-1, 1, size=(n, 2))
    X = X[np.abs(X[:, 0] * X[:, 1]) > 0.02]
    return X, np.where(X[:, 0] * X[:, 1] > 0, "same sign", "other sign")


def motivation(X: np.ndarray, y: np.ndarray, options: argparse.Namespace) -> None:
    heading("The map (x1, x2) -> (x1, x2, x1 x2)")
    try:
        mm.HardMarginSVC(kernel="linear").fit(X, y)
    except mm.NotSeparableError as error:
        say(f"In the plane: {str(error).split(':')[0]}.")
    lifted = np.column_stack([X, X[:, 0] * X[:, 1]])
    hard = mm.HardMarginSVC(kernel="linear").fit(lifted, y)
    w = hard.coef_[0] / np.linalg.norm(hard.coef_[0])
    side_by_side(
        {
            "lecture": {"x1": 0.0, "x2": 0.0, "x1 x2": 1.0, "b": 0.0},
            "ours": {
                **dict(zip(("x1", "x2", "x1 x2"), np.abs(w), strict=True)),
                "b": abs(hard.intercept_[0]),
            },
        },
        "plane",
        digits=3,
    )
    verdict(bool(abs(w[2]) > 0.99), "the plane z = 0, up to what these points leave open")
    if draws(options):
        display = mm.displays.FeatureMapDisplay.from_map("product", X, y).plot()
        save(display, options, "kernels_motivation")


def compare_kernels(X: np.ndarray, y: np.ndarray) -> dict[str, mm.SVC]:
    heading("Support vector machines (C = 10)")
    kernels = {
        "linear": Linear(),
        "polynomial, degree 2": Polynomial(degree=2, gamma=1.0, coef0=1.0),
        "polynomial, degree 3": Polynomial(degree=3, gamma=1.0, coef0=1.0),
        "RBF, length scale 0.7": RBF(length_scale=0.7),
        "periodic, period 2": Periodic(period=2.0, length_scale=1.0),
    }
    fitted, rows = {}, {}
    for name, kernel in kernels.items():
        model = fitted[name] = mm.SVC(C=10.0, kernel=kernel).fit(X, y)
        rows[name] = {
            "Mercer": str(bool(mercer_check(kernel, X))),
            "support vectors": len(model.support_),
            "training error": 1 - model.score(X, y),
            "10-fold error": mm.tune(
                model, X, y, {"C": [10.0]}, cv=10, random_state=0, refit=False
            ).best_error,
        }
    side_by_side(rows, "kernel")
    separated = all(rows[name]["training error"] == 0 for name in rows if name.startswith(("poly", "RBF")))
    verdict(separated, "in kind: the lecture prints pictures and no figures")
    return fitted


def polynomial_features() -> None:
    heading("The feature map of (c + <x, z>)^2")
    x, z, c = np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]), 3.0
    kernel = Polynomial(degree=2, gamma=1.0, coef0=c)

    def printed(x: np.ndarray, linear: float) -> np.ndarray:
        (a, b) = x[0]
        return np.array([a * a, b * b, np.sqrt(2) * a * b, linear * a, linear * b, c])

    root, wrong = np.sqrt(2 * c), np.sqrt(2) * c
    product = polynomial_map(x, degree=2, coef0=c) @ polynomial_map(z, degree=2, coef0=c).T
    side_by_side(
        {
            "K(x, z)": {"value": kernel(x, z)[0, 0]},
            "polynomial_map": {"value": product[0, 0]},
            "with sqrt(2 c) x_i": {"value": printed(x, root) @ printed(z, root)},
            "with sqrt(2) c x_i, as printed": {"value": printed(x, wrong) @ printed(z, wrong)},
        },
        "c = 3",
    )
    verdict(False, "the lecture prints sqrt(2) c x_i; it is sqrt(2 c) x_i (the same for c = 1 only)")


def ridge(options: argparse.Namespace) -> None:
    heading("Kernel ridge regression: Woodbury, and (K + rho I)^-1 Y")
    x = np.linspace(0, 2 * np.pi, 60)[:, None]
    y = np.sin(2 * x[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=60)
    kernel, rho = RBF(length_scale=0.5), 0.1
    X = np.column_stack([x, x**2, np.ones(60)])
    primal = np.linalg.solve(X.T @ X + rho * np.eye(3), X.T @ y)
    woodbury = X.T @ np.linalg.solve(X @ X.T + rho * np.eye(60), y)
    linear = mm.Ridge(alpha=rho, fit_intercept=False).fit(X, y).coef_
    by_hand = np.linalg.solve(kernel(x, x) + rho * np.eye(60), y)
    model = mm.KernelRidge(alpha=rho, kernel=kernel).fit(x, y)
    at = np.linspace(0, 6, 7)[:, None]
    apart = {
        "theta, two forms of the lecture": np.abs(primal - woodbury).max(),
        "theta, mm.Ridge": np.abs(primal - linear).max(),
        "coefficients, mm.KernelRidge": np.abs(model.dual_coef_.ravel() - by_hand).max(),
        "predictions, last slide": np.abs(model.predict(at) - by_hand @ kernel(x, at)).max(),
    }
    side_by_side({name: {"largest difference": f"{value:.0e}"} for name, value in apart.items()}, "")
    verdict(max(apart.values()) < 1e-8, "the lecture's rho is n lambda in Fuentes' notes and alpha here")
    if draws(options):
        save(mm.displays.MarginDisplay.from_estimator(model, x, y).plot(), options, "kernels_ridge")


def pictures(fitted: dict[str, mm.SVC], X: np.ndarray, y: np.ndarray, options: argparse.Namespace) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
    for ax, name in zip(axes, ("polynomial, degree 3", "RBF, length scale 0.7"), strict=True):
        mm.displays.MarginDisplay.from_estimator(fitted[name], X, y).plot(ax)
        ax.set_title(name)
    save(figure, options, "kernels_lecture")


def main() -> None:
    options = arguments(__doc__).parse_args()
    X, y = quadrants()
    say("The lecture's points are not printed; these are drawn with seed 0.")
    motivation(X, y, options)
    fitted = compare_kernels(X, y)
    if draws(options):
        pictures(fitted, X, y, options)
    polynomial_features()
    ridge(options)
    finish(options, "Tobar 2023: support vector machines, part 2")


if __name__ == "__main__":
    main()
