"""
Which columns are informative on their own?
===========================================

Filters score every column without a model: Fisher's score from means and variances, ReliefF from nearest
neighbours, symmetrical uncertainty from entropies.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

import maxmargin as mm
from maxmargin.feature_selection import FisherScore, ReliefF, SymmetricalUncertainty

X, y = load_wine(return_X_y=True, as_frame=True)
rankers = [FisherScore(n_features=5), ReliefF(n_features=5), SymmetricalUncertainty(n_features=5)]
figure, axes = plt.subplots(1, 3, figsize=(15, 4), layout="constrained")
for ax, ranker in zip(axes, rankers, strict=True):
    ranker.fit(X, y)
    mm.displays.SelectionDisplay.from_estimator(ranker).plot(ax)
    print(f"{type(ranker).__name__:24} {ranker.selected_}")
