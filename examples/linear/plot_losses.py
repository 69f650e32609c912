"""
Which loss?
===========

All linear classifiers minimise a loss of y f(x) plus a penalty on w. The losses differ in how they
treat rows far on the right side and rows far on the wrong side.
"""

import numpy as np

import maxmargin as mm

mm.displays.LossDisplay.from_names(chosen="hinge").plot()

# %%
# A few rows far on the wrong side pull a squared loss more than the hinge.
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 2))
y = np.where(X[:, 0] > 0, 1, -1)
X[:5] = [[-8.0, 0.0]] * 5
y[:5] = 1
for loss in ("hinge", "squared_hinge", "logistic"):
    model = mm.LinearSVC(C=1.0, loss=loss).fit(X, y)
    print(
        f"{loss:14} w = {model.coef_[0].round(3)}, accuracy on the clean rows {model.score(X[5:], y[5:]):.3f}"
    )
