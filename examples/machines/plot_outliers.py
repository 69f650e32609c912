"""
Which rows are outliers?
========================

Two detectors that need no labels: ``OneClassSVM`` separates the rows from the origin in feature space,
``SVDD`` encloses them in the smallest ball. nu bounds the share of rows outside.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

rng = np.random.default_rng(0)
ordinary = np.vstack([rng.normal([-2, 0], 0.4, size=(60, 2)), rng.normal([2, 0], 0.6, size=(60, 2))])
X = np.vstack([ordinary, rng.uniform(-4, 4, size=(6, 2))])

detectors = {
    "OneClassSVM(nu=0.08)": mm.OneClassSVM(nu=0.08, gamma=0.5),
    "SVDD(C=0.1)": mm.SVDD(C=0.1, gamma=0.5),
}
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, detectors.items(), strict=True):
    model.fit(X)
    mm.displays.MarginDisplay.from_estimator(model, X).plot(ax)
    ax.set_title(f"{name}: {np.sum(model.predict(X) == -1)} of {len(X)} outside")
