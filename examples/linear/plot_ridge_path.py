"""
How much should I shrink?
=========================

One factorisation gives a whole path of penalties, with the exact leave-one-out error of each: leaving
row i out divides its residual by 1 - h_ii.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

import maxmargin as mm

X, y = load_diabetes(return_X_y=True, as_frame=True)
names = X.columns
X = StandardScaler().fit_transform(X)
model = mm.Ridge(alphas=np.logspace(-1, 5, 80)).fit(X, y)
path = model.path_
print(f"alpha {model.alpha_:.3g}, leave-one-out root mean squared error {path.loo_mse.min() ** 0.5:.2f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
left.semilogx(path.alphas, path.coef, label=names)
left.axvline(model.alpha_, color="k", linestyle=":")
left.set(xlabel="alpha", ylabel="coefficient")
left.legend(fontsize=7)
right.semilogx(path.alphas, path.loo_mse**0.5)
right.axvline(model.alpha_, color="k", linestyle=":")
right.set(xlabel="alpha", ylabel="leave-one-out error")

# %%
# The error of the training rows can only grow with the penalty; that of rows left out falls first
# (Fuentes, section 4.2).
residuals = (y.to_numpy()[:, None] - X @ path.coef.T - path.intercept) ** 2
figure, ax = plt.subplots(layout="constrained")
ax.semilogx(path.alphas, residuals.mean(axis=0) ** 0.5, label="training rows")
ax.semilogx(path.alphas, path.loo_mse**0.5, label="rows left out")
ax.set(xlabel="alpha", ylabel="root mean squared error")
ax.legend()
