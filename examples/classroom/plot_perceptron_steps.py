"""
How does a perceptron move its line?
====================================

Only when it makes a mistake: it adds the misclassified row to the weights, which turns the line towards it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

import maxmargin as mm

X, y = make_blobs(40, centers=[[-1.5, 0], [1.5, 0.5]], cluster_std=0.7, random_state=1)
model = mm.Perceptron(trace=True, random_state=0).fit(X, y)
print(model.stopped_, f"{model.n_mistakes_[0]} mistakes, bound {model.bound_[0]:.0f}", sep="\n")

display = mm.displays.StepDisplay.from_estimator(model, X, y)
shown = display.steps[[0, len(display.steps) // 2, -1]]
figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for ax, step in zip(axes, shown, strict=True):
    display.plot(int(step), ax)
