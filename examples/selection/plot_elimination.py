"""
Which columns does the model need?
==================================

Recursive elimination fits a model, removes the least valuable column, and fits again. With ``cv`` the
whole elimination is repeated in every fold, so the error of a size accounts for the selection.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin.feature_selection import RFE

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
linear = RFE(make_pipeline(StandardScaler(), mm.SVC(kernel="linear")), 5).fit(X, y)
kernel = RFE(make_pipeline(StandardScaler(), mm.SVC()), 5).fit(X, y)
print("linear, by w_j^2:         ", linear.selected_)
print("kernel, by change of W^2: ", kernel.selected_)

# %%
# How many? By cross-validation:
chosen = RFE(make_pipeline(StandardScaler(), mm.SVC()), cv=5, step=2).fit(X, y)
chosen.display()
print(chosen.n_features_, "columns")
