r"""
Can a perceptron learn a curved boundary?
=========================================

The kernel perceptron counts its mistakes on each row and predicts the sign of
:math:`\sum_i \alpha_i y_i (K(x_i, x) + 1)`.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

import maxmargin as mm

X, y = make_moons(200, noise=0.08, random_state=0)
models = {
    "plain": mm.KernelPerceptron(gamma=2.0, random_state=0),
    "averaged": mm.KernelPerceptron(gamma=2.0, average=True, random_state=0),
    "budget of 15": mm.KernelPerceptron(gamma=2.0, budget=15, max_iter=5, random_state=0),
}
figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(X, y)
    mm.displays.MarginDisplay.from_estimator(model, X, y).plot(ax)
    ax.set_title(f"{name}: {len(model.support_)} support vectors, {model.n_mistakes_[0]} mistakes")
