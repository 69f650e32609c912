r"""
How wide is the margin?
=======================

A support vector machine finds the hyperplane with the widest empty band between two classes. The
margin :math:`M = 1/\|w\|` is the distance from the boundary to either edge of the band.
"""

from sklearn.datasets import load_iris

import maxmargin as mm

X, y = load_iris(return_X_y=True, as_frame=True)
two = y < 2
X, y = X.loc[two, ["petal length (cm)", "petal width (cm)"]], y[two]

hard = mm.HardMarginSVC(kernel="linear").fit(X, y)
print(f"margin {hard.margin_:.4f} cm, band {2 * hard.margin_:.4f} cm wide")

# %%
# For the hard margin :math:`\|w\|^2 = \sum_i \alpha_i`, so the multipliers determine the margin.
print(f"from the multipliers: {hard.alpha_.sum() ** -0.5:.4f}")

# %%
# The rows on the edges are the support vectors. Removing any other row would not change the model.
mm.displays.MarginDisplay.from_estimator(hard, X, y, names=["setosa", "versicolor"]).plot()
