"""
When does a column enter?
=========================

The path of a sparse SVM: for large lambda all weights are zero, and columns enter one after another as
lambda falls.
"""

from sklearn.datasets import load_breast_cancer

from maxmargin.feature_selection import SparseSVMSelector

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
selector = SparseSVMSelector("l1", n_lambdas=15).fit(X, y)
selector.display()
kept = selector.support_.sum()
print(f"lambda {selector.lambda_:.3g} by cross-validation keeps {kept} of {X.shape[1]} columns")
print(selector.history_[["lambda", "n_features", "error"]].round(4).to_string(index=False))
