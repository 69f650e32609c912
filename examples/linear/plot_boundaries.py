"""
Which line do I get?
====================

Many lines separate two classes. A perceptron stops at the first one it meets, which depends on the order
of the rows. Least squares does not look for one, and here it misclassifies a row. Logistic regression and
the hard margin agree on separable classes (Hastie, Tibshirani & Friedman 2009, figures 4.14 and 4.16;
Valera, figure 2.1).
"""

import warnings

import numpy as np
from sklearn.datasets import make_blobs

import maxmargin as mm

X, label = make_blobs(30, centers=[(-1.6, -1.0), (1.6, 1.0)], cluster_std=0.75, random_state=3)
X = np.vstack([X, [(6.0, 4.0), (7.0, 5.0), (6.5, 3.5)]])  # far rows turn the line of least squares
y = np.append(2 * label - 1, [1, 1, 1])
models = {f"perceptron, seed {seed}": mm.Perceptron(random_state=seed).fit(X, y) for seed in (0, 1)}
models["least squares"] = mm.LeastSquares().fit(X, y)  # targets -1 and +1, boundary f = 0
models["hard margin"] = hard = mm.HardMarginSVC(kernel="linear").fit(X, y)
with warnings.catch_warnings():
    warnings.simplefilter(
        "ignore", mm.SeparationWarning
    )  # separable, so no finite estimate: that is the point
    models["logistic"] = mm.LogisticRegression().fit(X, y)
mm.displays.BoundaryDisplay.from_estimator(models, X, y).plot()

# %%
# The vector w is normal to the boundary, and the distance of a row is that to its projection
# (Fuentes, figures 3.1 to 3.3).
far = abs(hard.decision_function(X)).argsort()[[-1, -6, 12]]
mm.displays.BoundaryDisplay.from_estimator(
    {"hard margin": hard}, X, y, normal="hard margin", project=far
).plot()
