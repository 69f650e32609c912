"""
Can a hyperplane separate these classes?
========================================

The hard margin only has a solution if one can. Otherwise maxmargin raises an error that carries a
proof: a convex combination of rows of one class that equals a convex combination of the other.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(60, 2))
y = np.where(X[:, 0] * X[:, 1] > 0, "same sign", "other sign")

try:
    mm.HardMarginSVC(kernel="linear").fit(X, y)
except mm.NotSeparableError as error:
    print(error)

# %%
# With the product of the two columns as a third one the classes become separable; the polynomial kernel of
# degree 2 has that column in its feature space.
hard = mm.HardMarginSVC(kernel="poly", degree=2, coef0=1.0, gamma=1.0).fit(X, y)
print(f"margin in feature space: {hard.margin_:.4f}, support vectors: {len(hard.support_)}")
figure, ax = plt.subplots(layout="constrained")
mm.displays.MarginDisplay.from_estimator(hard, X, y).plot(ax)
