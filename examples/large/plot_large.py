"""
What if there are too many rows for an exact fit?
=================================================

The cost of an exact kernel model grows with rows times support vectors. ``mm.LargeSVC`` replaces the kernel
by a feature map with a few hundred columns, solves the linear problem exactly, and reports how much of
the kernel is lost.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

rng = np.random.default_rng(0)
X = rng.normal(size=(6000, 4))
y = np.where((X[:, :2] ** 2).sum(axis=1) + 0.3 * rng.normal(size=6000) < 1.4, "in", "out")
X_test, y_test = X[4000:], y[4000:]
X, y = X[:4000], y[:4000]

exact = mm.SVC(C=1.0, gamma=0.25).fit(X, y)
sizes = [10, 30, 100, 200]
errors, lost = [], []
for size in sizes:
    began = perf_counter()
    model = mm.LargeSVC(C=1.0, gamma=0.25, n_components=size, random_state=0).fit(X, y)
    errors.append(1 - model.score(X_test, y_test))
    lost.append(model.approximation_.map.relative_trace)
    print(f"{size:4} columns: {perf_counter() - began:.2f} s, error {errors[-1]:.4f}, lost {lost[-1]:.1e}")

# %%
figure, ax = plt.subplots(layout="constrained")
ax.semilogx(sizes, errors, "o-", label="LargeSVC")
ax.axhline(1 - exact.score(X_test, y_test), color="k", linestyle=":", label="SVC, exact")
ax.set(xlabel="columns of the map", ylabel="error on new rows")
ax.legend()
