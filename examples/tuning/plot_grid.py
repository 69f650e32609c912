"""
Which C and gamma?
==================

``mm.tune`` computes the exact cross-validated error of every cell of a grid from shared Gram matrices.
Scalers in a pipeline are fitted inside each fold.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm

X, y = load_breast_cancer(return_X_y=True)
model = make_pipeline(StandardScaler(), mm.SVC())
grid = {"svc__C": [10.0**k for k in range(-2, 5)], "svc__gamma": [10.0**k for k in range(-6, 0)]}
result = mm.tune(model, X, y, grid, cv=10, random_state=0)
print(f"{len(result.table)} cells x 10 folds in {result.seconds:.2f} s ({result.path})")
print(result.best_params, f"error {result.best_error:.4f}")

# %%
# The square is the best cell; the other mark is the simplest cell within one standard error of it.
result.display()

# %%
# The simplest cell within one standard error, and the best cells:
print(result.params[result.one_standard_error_index])
print(result.table.sort_values("error").head())
