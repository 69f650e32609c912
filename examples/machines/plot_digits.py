"""
What do the support vectors look like?
======================================

Support vectors are training rows, so here they are images: the digits that are hard to tell apart.
"""

from sklearn.datasets import load_digits

import maxmargin as mm

X, y = load_digits(return_X_y=True)
kept = (y == 3) | (y == 8)
X, y = X[kept] / 16.0, y[kept]
model = mm.SVC(C=10.0, gamma=0.05).fit(X, y)
print(f"{len(model.support_)} of {len(X)} rows are support vectors")
mm.displays.DigitsDisplay.from_estimator(model, X, y, most=18).plot()

# %%
# Any rows can be drawn, without a model.
mm.displays.DigitsDisplay.from_rows(X, y, range(12)).plot()
