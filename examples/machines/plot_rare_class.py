"""
What if one class is rare?
==========================

If one row in twenty is positive, the cheapest model predicts "no" for nearly everything.
``class_weight="balanced"`` raises the cost of errors on the rare class.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

rng = np.random.default_rng(1)
X = np.vstack([rng.normal(0, 1, size=(190, 2)), rng.normal([1.6, 1.6], 0.6, size=(10, 2))])
y = np.repeat(["common", "rare"], [190, 10])

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for ax, weight in zip(axes, (None, "balanced"), strict=True):
    model = mm.SVC(C=1.0, gamma=0.3, class_weight=weight).fit(X, y)
    table = mm.metrics.confusion_table(y, model.predict(X), positive="rare")
    mm.displays.MarginDisplay.from_estimator(model, X, y).plot(ax)
    ax.set_title(f"{weight}: sensitivity {table.sensitivity:.2f}, specificity {table.specificity:.2f}")

# %%
# Tune with a metric that accounts for the rare class, such as balanced accuracy, not with the error rate.
grid = {"C": [0.1, 1.0, 10.0], "class_weight": [None, "balanced"]}
found = mm.tune(mm.SVC(gamma=0.3), X, y, grid, cv=5, scoring="balanced_accuracy")
print(found.best_params)
