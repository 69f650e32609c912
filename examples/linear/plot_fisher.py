"""
Along which direction do classes differ most?
=============================================

Fisher's discriminant finds the axes that maximise the scatter between the classes relative to the scatter
within them: one axis fewer than there are classes (Fuentes, section 6).
"""

from sklearn.datasets import load_wine

import maxmargin as mm

X, y = load_wine(return_X_y=True, as_frame=True)
y = (y + 1).map("cultivar {}".format)
model = mm.FisherDiscriminant().fit(X, y)
print("shares of the eigenvalues:", model.explained_ratio_.round(3))
print(f"training error {1 - model.score(X, y):.3f}")
mm.displays.DiscriminantDisplay.from_estimator(model, X, y).plot()

# %%
# The columns with the largest weights on the first axis (in units of their standard deviation):
weights = abs(model.axes_[:, 0] * X.std().to_numpy())
print(X.columns[weights.argsort()[::-1][:4]].tolist())

# %%
# Two classes have one axis. The cut point C = (D_I + D_II)/2 lies between their centroids.
two = y != "cultivar 3"
model = mm.FisherDiscriminant().fit(X[two], y[two])
mm.displays.DiscriminantDisplay.from_estimator(model, X[two], y[two]).plot()
