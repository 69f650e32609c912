"""
How many columns are enough?
============================

Sequential selection keeps its whole path: the error after each column added or removed.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin.feature_selection import SBS, SFS

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :10]
machine = make_pipeline(StandardScaler(), mm.SVC())
figure, axes = plt.subplots(1, 2, figsize=(12, 4), layout="constrained", sharey=True)
for ax, selector in zip(axes, (SFS(machine, cv=5), SBS(machine, cv=5)), strict=True):
    selector.fit(X, y)
    mm.displays.SelectionDisplay.from_estimator(selector).plot(ax)
    ax.set_title(f"{type(selector).__name__}: {len(selector.selected_)} columns, error {selector.score_:.3f}")
