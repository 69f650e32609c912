r"""
How close does a stochastic method come?
========================================

Pegasos uses one row at a time. In theory the objective of its average iterate is at most
:math:`\rho^2 (1 + \log T) / (2 \lambda T)` above the optimum. An exact solver shows how close it really is.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 10))
y = np.where(X @ rng.normal(size=10) + 0.5 * rng.normal(size=1000) > 0, 1, 0)
lam = 1e-2
ones = np.column_stack([X, np.ones(len(X))])  # the theorem's intercept is a column of ones
exact = mm.LinearSVC(C=1 / (lam * len(X)), loss="hinge", fit_intercept=False, tol=1e-8).fit(ones, y)
optimum = exact.certificate_.primal * lam

passes = [1, 2, 5, 10, 20, 50, 100]
models = [mm.Pegasos(lam, max_iter=k, random_state=0).fit(X, y) for k in passes]
figure, ax = plt.subplots(layout="constrained")
ax.loglog(passes, [float(m.bound_) for m in models], "k:", label="theoretical bound")
ax.loglog(passes, [m.objective_[0] - optimum for m in models], "o-", label="distance from the optimum")
ax.set(xlabel="passes over the rows", ylabel="objective")
ax.legend()
