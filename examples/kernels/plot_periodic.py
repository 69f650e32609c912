"""
How do I extrapolate a periodic signal?
=======================================

A kernel defines similarity. To the periodic kernel, points a whole period apart are similar, so it can
extrapolate where the RBF kernel falls back to zero.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm
from maxmargin.kernels import RBF, Linear, Periodic

rng = np.random.default_rng(0)
x = np.linspace(0, 10, 120)[:, None]
y = np.sin(2 * np.pi * x[:, 0] / 2.5) + 0.2 * x[:, 0] + 0.2 * rng.normal(size=120)
future = np.linspace(0, 16, 400)[:, None]

kernels = {
    "RBF": RBF(length_scale=0.7),
    "periodic + linear": Periodic(period=2.5, length_scale=1.0) + 0.1 * Linear(),
}
figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
ax.plot(x, y, "k.", label="rows")
for name, kernel in kernels.items():
    model = mm.KernelRidge(kernel=kernel, alphas=np.logspace(-4, 1, 30)).fit(x, y)
    ax.plot(future, model.predict(future), label=f"{name}, alpha {model.alpha_:.2g} by leave-one-out")
ax.axvline(10, color="k", linewidth=0.5)
ax.legend()
