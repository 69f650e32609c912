"""
Which selection method should I trust?
======================================

Run them all on the same table. ``error`` is measured on rows that the selection has seen;
``nested_error`` repeats the selection inside every fold; ``stability`` measures whether the same columns
are selected on other samples.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer

import maxmargin as mm
from maxmargin.feature_selection import compare

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
rows = np.random.default_rng(0).permutation(len(X))[:200]
X, y = X.iloc[rows, :8], y.iloc[rows]
result = compare(X, y, n_features=3, cv=4, n_resamples=5)
print(result.methods.round(3))

# %%
mm.displays.SelectionDisplay.from_result(result).plot()
