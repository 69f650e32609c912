"""
How much should I shrink?
=========================

One factorisation gives a whole path of penalties, with the exact leave-one-out error of each: leaving
row i out divides its residual by 1 - h_ii. The error of the training rows can only grow with the penalty;
that of rows left out falls first (Fuentes, section 4.2).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

import maxmargin as mm

data = load_diabetes()
X, y = StandardScaler().fit_transform(data.data[::8]), data.target[::8]
model = mm.Ridge(alphas=np.logspace(-1, 4, 80)).fit(X, y)
print(f"alpha {model.alpha_:.3g}, root mean squared error {model.path_.loo_mse.min() ** 0.5:.2f} left out")
mm.displays.RidgeDisplay.from_estimator(model, X, y).plot()

# %%
# The coefficients on the way: columns that say the same share their weight, and all end at zero.
figure, ax = plt.subplots(layout="constrained")
ax.semilogx(model.path_.alphas, model.path_.coef, label=data.feature_names)
ax.set(xlabel="alpha", ylabel="coefficient")
ax.legend(fontsize=7, ncols=2)
