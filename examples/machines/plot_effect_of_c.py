"""
What does C do?
===============

C is the cost of slack. A small C gives a wide band and tolerates rows inside it; a large C narrows the
band until few rows are left inside.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import make_blobs

import maxmargin as mm

X, y = make_blobs(80, centers=[[-1.5, 0], [1.5, 0]], cluster_std=1.1, random_state=0)
models = {C: mm.SVC(C=C, kernel="linear").fit(X, y) for C in (0.01, 1.0, 100.0)}

figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained", sharey=True)
for ax, (C, model) in zip(axes, models.items(), strict=True):
    mm.displays.MarginDisplay.from_estimator(model, X, y).plot(ax)
    ax.set_title(f"C = {C:g}: band {2 * model.margin_:.2f} wide")

# %%
# Every training row is outside the band, free (on its edge), inside the band, or misclassified.
print(pd.DataFrame({C: pd.Series(m.point_kinds_).value_counts() for C, m in models.items()}).fillna(0))
