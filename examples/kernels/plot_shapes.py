"""
Which kernel for which shape?
=============================

The same classifier with four kernels on three shapes. The titles show the 10-fold cross-validated error.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles, make_moons

import maxmargin as mm
from maxmargin.kernels import RBF, Laplacian, Linear, Polynomial

square = np.random.default_rng(0).uniform(-1, 1, size=(150, 2))
shapes = {
    "moons": make_moons(150, noise=0.15, random_state=0),
    "circles": make_circles(150, factor=0.5, noise=0.1, random_state=0),
    "quadrants": (square, (square[:, 0] * square[:, 1] > 0).astype(int)),
}
kernels = {
    "linear": Linear(),
    "polynomial 3": Polynomial(degree=3, coef0=1.0, gamma=1.0),
    "RBF": RBF(gamma=2.0),
    "Laplacian": Laplacian(gamma=1.0),
}
figure, axes = plt.subplots(3, 4, figsize=(12, 9), layout="constrained")
for row, (shape, (X, y)) in zip(axes, shapes.items(), strict=True):
    for ax, (name, kernel) in zip(row, kernels.items(), strict=True):
        found = mm.tune(mm.SVC(), X, y, {"kernel": [kernel], "C": [10.0]}, cv=10, random_state=0)
        display = mm.displays.MarginDisplay.from_estimator(found.best_estimator, X, y, resolution=80)
        display.plot(ax)
        ax.set_title(f"{shape}, {name}: {found.best_error:.3f}", fontsize=9)
        ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
        if ax.get_legend():
            ax.get_legend().remove()
