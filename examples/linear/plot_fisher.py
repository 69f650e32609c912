"""
Along which direction do classes differ most?
=============================================

Fisher's discriminant finds the axes that maximise the scatter between the classes relative to the scatter
within them.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

import maxmargin as mm

X, y = load_wine(return_X_y=True, as_frame=True)
model = mm.FisherDiscriminant().fit(X, y)
scores = model.transform(X)
print("shares of the eigenvalues:", model.explained_ratio_.round(3))
print(f"training error {1 - model.score(X, y):.3f}")

figure, ax = plt.subplots(layout="constrained")
for label, colour in zip(range(3), ("#0072B2", "#E69F00", "#009E73"), strict=True):
    ax.scatter(*scores[y == label].T, color=colour, s=14, label=f"cultivar {label + 1}")
ax.scatter(*model.centroids_.T, marker="x", color="k", s=80, label="centroids")
ax.set(xlabel="first axis", ylabel="second axis")
ax.legend()

# %%
# The columns with the largest weights on the first axis (in units of their standard deviation):
weights = abs(model.axes_[:, 0] * X.std().to_numpy())
print(X.columns[weights.argsort()[::-1][:4]].tolist())
