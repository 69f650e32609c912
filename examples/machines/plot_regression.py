"""
How wide should the tube be?
============================

Support vector regression ignores errors below epsilon. A wide tube needs few support vectors
and misses detail; a narrow one follows every row.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 6, 80))[:, None]
y = np.sin(x[:, 0]) + 0.15 * rng.normal(size=80)

figure, axes = plt.subplots(1, 3, figsize=(12, 3.5), layout="constrained", sharey=True)
for ax, epsilon in zip(axes, (0.02, 0.2, 0.6), strict=True):
    model = mm.SVR(C=10.0, gamma=1.0, epsilon=epsilon).fit(x, y)
    mm.displays.MarginDisplay.from_estimator(model, x, y).plot(ax)
    ax.set_title(f"epsilon = {epsilon:g}: {len(model.support_)} support vectors")

# %%
# Tune C and epsilon together, on the leave-one-out squared error:
grid = {"C": [0.1, 1.0, 10.0, 100.0], "epsilon": [0.02, 0.05, 0.1, 0.2, 0.4]}
found = mm.tune(mm.SVR(gamma=1.0), x, y, grid, cv="loo")
print(found.best_params, f"mean squared error {found.best_error:.4f}")

# %%
# ``NuSVR`` works the other way: nu bounds the share of rows outside the tube, and the fit finds epsilon.
print(f"nu = 0.3 gives epsilon = {mm.NuSVR(nu=0.3, C=10.0, gamma=1.0).fit(x, y).epsilon_:.3f}")
