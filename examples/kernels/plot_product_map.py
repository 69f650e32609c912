"""
Why lift points into space?
===========================

No line separates points whose class is the sign of x1 x2. With the product as a third coordinate the
plane z = 0 does (Tobar 2023, first slides), and a polynomial or RBF kernel finds such a boundary without
being told the map.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

X = np.random.default_rng(0).uniform(-1, 1, size=(160, 2))
X = X[np.abs(X.prod(axis=1)) > 0.03]
y = np.where(X.prod(axis=1) > 0, "same sign", "other sign")
try:
    mm.HardMarginSVC(kernel="linear").fit(X, y)
except mm.NotSeparableError as error:
    print(str(error).split(":")[0])
mm.displays.FeatureMapDisplay.from_map("product", X, y).plot()

# %%
# A polynomial kernel of degree 3 (left) and an RBF kernel (right) in the plane.
figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
for ax, model in zip(
    axes, (mm.SVC(kernel="poly", coef0=1.0, C=10.0), mm.SVC(gamma=1.0, C=10.0)), strict=True
):
    mm.displays.MarginDisplay.from_estimator(model.fit(X, y), X, y).plot(ax)
