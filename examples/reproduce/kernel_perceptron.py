"""The kernel perceptron of Fuentes (section 5.1 and figure 5.1).

    python examples/reproduce/kernel_perceptron.py [--pictures DIR]

alpha_i counts the mistakes on row i; the boundary is sum_i alpha_i y_i (K(x_i, x) + 1) = 0. The
points of figure 5.1 are unknown, so the script draws its own. It also runs the algorithm as printed, in
plain Python, which must make the same mistakes.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_circles, make_moons

import maxmargin as mm
from _common import arguments, heading, save, side_by_side
from maxmargin.kernels import RBF


def as_printed(K: np.ndarray, sign: np.ndarray, passes: int) -> np.ndarray:
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


def draw(ax: object, model: mm.KernelPerceptron, X: np.ndarray, y: np.ndarray, title: str) -> None:
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    xs, ys = np.meshgrid(np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 120))
    values = model.decision_function(np.column_stack([xs.ravel(), ys.ravel()])).reshape(xs.shape)
    ax.contourf(xs, ys, values, levels=[-np.inf, 0, np.inf], colors=["#56B4E9", "#E69F00"], alpha=0.4)
    ax.contour(xs, ys, values, levels=[0], colors="k")
    ax.scatter(*X.T, c=np.where(y == 1, "#E69F00", "#0072B2"), edgecolors="k", s=14)
    kept = model.support_
    ax.scatter(*X[kept].T, facecolors="none", edgecolors="k", s=70, label="rows with mistakes")
    ax.set_title(title)
    ax.legend(loc="lower left")


def main() -> None:
    options = arguments(__doc__).parse_args()
    heading("Kernel perceptron, RBF kernel with gamma = 2")
    print("The points of figure 5.1 are unknown; these are drawn with seed 0.\n")
    sets = {
        "two moons": make_moons(150, noise=0.1, random_state=0),
        "two circles": make_circles(150, factor=0.5, noise=0.05, random_state=0),
    }
    kernel = RBF(gamma=2.0)
    rows, models = {}, {}
    for name, (X, y) in sets.items():
        sign = np.where(y == 1, 1.0, -1.0)
        alpha = as_printed(kernel(X, X), sign, passes=100)
        model = models[name] = mm.KernelPerceptron(kernel, shuffle=False, max_iter=100).fit(X, y)
        ours = np.zeros(len(y))
        ours[model.support_] = np.abs(model.dual_coef_[0])
        rows[name] = {
            "mistakes as printed": int(alpha.sum()),
            "mistakes of mm.KernelPerceptron": int(model.n_mistakes_[0]),
            "same alpha": str(bool(np.array_equal(alpha, ours))),
            "support vectors": len(model.support_),
            "training error": 1 - model.score(X, y),
        }
    side_by_side(rows, "data")
    if options.pictures:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
        for ax, (name, (X, y)) in zip(axes, sets.items(), strict=True):
            draw(ax, models[name], X, y, f"kernel perceptron: {name}")
        save(figure, options.pictures, "kernel_perceptron_figure_5_1")


if __name__ == "__main__":
    main()
