"""The kernels of Tobar 2023 on data that no line separates.

    python examples/reproduce/kernels.py [--pictures DIR]

The lecture shows points whose class is the sign of x1 x2, which the map (x1, x2, x1 x2) makes
separable; a polynomial kernel of degree 3 next to an RBF kernel; and kernel ridge regression. Its points
are unknown, so the script draws its own.
"""

from __future__ import annotations

import numpy as np

import maxmargin as mm
from _common import arguments, heading, save, side_by_side
from maxmargin.kernels import RBF, Linear, Periodic, Polynomial, mercer_check, polynomial_map


def quadrants(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).uniform(-1, 1, size=(n, 2))
    X = X[np.abs(X[:, 0] * X[:, 1]) > 0.02]
    return X, np.where(X[:, 0] * X[:, 1] > 0, "same sign", "other sign")


def motivation(X: np.ndarray, y: np.ndarray) -> None:
    heading("The map (x1, x2) -> (x1, x2, x1 x2)")
    try:
        mm.HardMarginSVC(kernel="linear").fit(X, y)
    except mm.NotSeparableError as error:
        print(f"in the plane: {error}")
    lifted = np.column_stack([X, X[:, 0] * X[:, 1]])
    hard = mm.HardMarginSVC(kernel="linear").fit(lifted, y)
    w = hard.coef_[0] / np.linalg.norm(hard.coef_[0])
    print(
        f"lifted: separated with margin {hard.margin_:.4f}, normal {np.round(w, 3)}"
        " (the lecture: the plane z = 0)"
    )


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
    return fitted


def polynomial_features() -> None:
    heading("The feature map of (c + <x, z>)^2")
    x, z = np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])
    kernel = Polynomial(degree=2, gamma=1.0, coef0=1.0)
    print(f"K((1,2),(3,4)) = {kernel(x, z)[0, 0]:g}")
    product = polynomial_map(x, degree=2) @ polynomial_map(z, degree=2).T
    print(f"<phi(x), phi(z)> = {float(product[0, 0]):g}")
    print("The lecture prints sqrt(2) c x_i in the map; it should be sqrt(2 c) x_i (equal only for c = 1).")


def ridge() -> None:
    heading("Kernel ridge regression: (K + rho I)^-1 Y")
    x = np.linspace(0, 2 * np.pi, 60)[:, None]
    y = np.sin(2 * x[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=60)
    kernel = RBF(length_scale=0.5)
    rho = 0.1
    by_hand = np.linalg.solve(kernel(x, x) + rho * np.eye(60), y)
    model = mm.KernelRidge(alpha=rho, kernel=kernel).fit(x, y)
    print(f"largest difference of the coefficients: {np.abs(model.dual_coef_.ravel() - by_hand).max():.1e}")
    print("The lecture's rho is n lambda in Fuentes' notes and alpha in KernelRidge.")


def draw(fitted: dict[str, mm.SVC], X: np.ndarray, y: np.ndarray, folder: object) -> None:
    import matplotlib.pyplot as plt

    grid = np.stack(np.meshgrid(np.linspace(-1, 1, 80), np.linspace(-1, 1, 80)), axis=-1).reshape(-1, 2)
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for ax, name in zip(axes, ("polynomial, degree 3", "RBF, length scale 0.7"), strict=True):
        values = fitted[name].decision_function(grid).reshape(80, 80)
        ax.contourf(grid[:80, 0], grid[::80, 1], values, levels=[-99, 0, 99], colors=["#56B4E9", "#E69F00"])
        ax.scatter(*X.T, c=np.where(y == y[0], "#000000", "#ffffff"), edgecolors="k", s=12)
        ax.set_title(name)
    save(figure, folder, "kernels_lecture")


def main() -> None:
    options = arguments(__doc__).parse_args()
    X, y = quadrants()
    print("The lecture's points are unknown; these are drawn with seed 0.")
    motivation(X, y)
    fitted = compare_kernels(X, y)
    polynomial_features()
    ridge()
    if options.pictures:
        draw(fitted, X, y, options.pictures)


if __name__ == "__main__":
    main()
