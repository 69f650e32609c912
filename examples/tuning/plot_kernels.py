"""
Which kernel, and with which parameters?
========================================

A list of grids compares kernels on the same folds, each with its own parameters.
"""

from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm

X, y = load_wine(return_X_y=True)
model = make_pipeline(StandardScaler(), mm.SVC())
costs = [0.1, 1.0, 10.0]
grids = [
    {"svc__kernel": ["linear"], "svc__C": costs},
    {"svc__kernel": ["rbf"], "svc__C": costs, "svc__gamma": [0.01, 0.1, 1.0]},
    {
        "svc__kernel": ["poly"],
        "svc__C": costs,
        "svc__degree": [2, 3],
        "svc__gamma": [0.1],
        "svc__coef0": [1.0],
    },
]
result = mm.tune(model, X, y, grids, cv=10, random_state=0)
best = result.table.loc[result.table.groupby("svc__kernel")["error"].idxmin()]
print(best.drop(columns="seconds").to_string(index=False))

# %%
# ``mm.GridSearch`` wraps the same engine as a scikit-learn meta-estimator, for ``cross_val_score``.
search = mm.GridSearch(model, grids, cv=5).fit(X, y)
print(search.best_params_, f"{search.best_score_:.4f}")
