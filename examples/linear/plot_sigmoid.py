"""
How does the probability rise?
==============================

Logistic regression on one variable is a sigmoid: the log of the odds is a straight line. One unit more
multiplies the odds by exp(beta), and p = 1/2 where the line crosses zero (Fuentes, section 7).
"""

import numpy as np
from sklearn.datasets import load_breast_cancer

import maxmargin as mm

data = load_breast_cancer(as_frame=True)
x, y = data.data[["mean radius"]], np.where(data.target == 0, "malignant", "benign")
model = mm.LogisticRegression().fit(x, y)
print(
    f"p = 1/2 at {-model.intercept_[0] / model.coef_[0, 0]:.2f}; odds ratio {np.exp(model.coef_[0, 0]):.2f}"
)
mm.displays.SigmoidDisplay.from_estimator(model, x, y).plot()
