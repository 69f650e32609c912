"""
What if the table does not fit in memory?
=========================================

Every online learner has ``partial_fit``: it keeps w and a few numbers, however many chunks there are.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

rng = np.random.default_rng(0)
direction = rng.normal(size=50)


def chunk(n=2000):
    """The next rows of a large file."""
    X = rng.normal(size=(n, 50))
    return X, (X @ direction + rng.normal(size=n) > 0).astype(int)


X_test, y_test = chunk(5000)
learners = {
    "Pegasos": mm.Pegasos(1e-3, random_state=0),
    "averaged perceptron": mm.Perceptron(average=True, random_state=0),
    "passive-aggressive": mm.PassiveAggressive(C=0.01, average=True, random_state=0),
}
curves = {name: [] for name in learners}
for _ in range(30):
    X, y = chunk()
    for name, learner in learners.items():
        learner.partial_fit(X, y, classes=[0, 1])
        curves[name].append(1 - learner.score(X_test, y_test))

figure, ax = plt.subplots(layout="constrained")
for name, errors in curves.items():
    ax.plot(np.arange(1, 31) * 2000, errors, label=name)
ax.set(xlabel="rows seen", ylabel="error on new rows")
ax.legend()
