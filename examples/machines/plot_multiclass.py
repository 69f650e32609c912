"""
One against one, or one against the rest?
=========================================

K classes need K(K-1)/2 classifiers on pairs of classes, or K classifiers against the rest. Pairs are
smaller problems, and their classifiers vote; one-versus-rest gives one decision value per class.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

import maxmargin as mm

X, y = load_iris(return_X_y=True, as_frame=True)
X = X[["sepal length (cm)", "sepal width (cm)"]]
names = ["setosa", "versicolor", "virginica"]

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for ax, strategy in zip(axes, ("ovo", "ovr"), strict=True):
    model = mm.SVC(C=10.0, gamma=1.0, multiclass=strategy).fit(X, y)
    mm.displays.MarginDisplay.from_estimator(model, X, y, names=names).plot(ax)
    ax.set_title(f"{strategy}: {len(model.machines_)} models, training error {1 - model.score(X, y):.3f}")

# %%
# The cross-validated errors of both, on the same folds:
found = mm.tune(mm.SVC(C=10.0, gamma=1.0), X, y, {"multiclass": ["ovo", "ovr"]}, cv=10)
print(found.table[["multiclass", "error", "dispersion"]])
