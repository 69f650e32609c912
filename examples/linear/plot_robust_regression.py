"""
What if some targets are plainly wrong?
=======================================

Outliers dominate a squared loss. The eps-insensitive loss grows only linearly and ignores small errors.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 60))[:, None]
y = 1.0 + 0.5 * x[:, 0] + 0.3 * rng.normal(size=60)
y[-6:] -= 8.0  # a broken sensor

figure, ax = plt.subplots(layout="constrained")
ax.plot(x, y, "k.")
models = {"least squares": mm.LeastSquares(), "LinearSVR": mm.LinearSVR(C=10.0, epsilon=0.3)}
for name, model in models.items():
    model.fit(x, y)
    ax.plot(x, model.predict(x), label=f"{name}: slope {np.ravel(model.coef_)[0]:.2f} (true 0.5)")
ax.legend()
