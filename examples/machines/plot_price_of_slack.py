"""
What does C do?
===============

C is the price of slack. A small C buys a wide band and tolerates rows inside it; a large C narrows the
band until few rows are left there.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import make_blobs

import maxmargin as mm

X, y = make_blobs(80, centers=[[-1.5, 0], [1.5, 0]], cluster_std=1.1, random_state=0)
machines = {C: mm.SVC(C=C, kernel="linear").fit(X, y) for C in (0.01, 1.0, 100.0)}

figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained", sharey=True)
for ax, (C, model) in zip(axes, machines.items(), strict=True):
    mm.displays.MarginDisplay.from_estimator(model, X, y).plot(ax)
    ax.set_title(f"C = {C:g}: band {2 * model.margin_:.2f} wide")

# %%
# Every training row is of one kind: outside the band, free (on its edge), inside, or misclassified.
print(pd.DataFrame({C: pd.Series(m.point_kinds_).value_counts() for C, m in machines.items()}).fillna(0))
