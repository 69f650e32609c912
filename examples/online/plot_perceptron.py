r"""
How many mistakes can a perceptron make?
========================================

If a hyperplane separates the data with margin gamma, at most :math:`(R/\gamma)^2`, however many rows
there are (Novikoff 1962). maxmargin reports the mistakes, R, the margin reached and the bound.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

rng = np.random.default_rng(0)
gaps = [0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
mistakes, bounds = [], []
for gap in gaps:
    X = rng.normal(size=(500, 2))
    X = X[np.abs(X[:, 0] - X[:, 1]) > gap]
    y = np.where(X[:, 0] > X[:, 1], 1, 0)
    model = mm.Perceptron(max_iter=1000, random_state=0).fit(X, y)
    mistakes.append(model.n_mistakes_[0])
    best = mm.HardMarginSVC(kernel="linear").fit(X, y)  # the widest margin gives the smallest bound
    bounds.append((np.linalg.norm(X, axis=1).max() ** 2 + 1) / best.margin_**2)
print(model.stopped_)

figure, ax = plt.subplots(layout="constrained")
ax.loglog(gaps, bounds, "k:", label="bound with the widest margin")
ax.loglog(gaps, mistakes, "o-", label="mistakes made")
ax.set(xlabel="gap between the classes")
ax.legend()
