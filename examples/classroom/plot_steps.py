"""
What does one step of SMO do?
=============================

It chooses a pair of rows that violates the conditions and optimises these two multipliers exactly.
``trace=True`` records every step; ``StepDisplay`` draws or animates the trace.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

import maxmargin as mm

X, y = make_blobs(30, centers=[[-1, -1], [1.3, 1]], cluster_std=0.8, random_state=3)
model = mm.SVC(kernel="linear", C=1.0, solver="smo", trace=True).fit(X, y)
print(model.trace_[["step", "rows", "objective", "violation"]].head(6).to_string(index=False))

# %%
# The boundary after the first steps, and at the end:
display = mm.displays.StepDisplay.from_estimator(model, X, y)
last = int(display.steps[-1])
figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for ax, step in zip(axes, (1, max(2, last // 4), last), strict=True):
    display.plot(step, ax)
