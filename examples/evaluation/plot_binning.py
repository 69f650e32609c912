"""
Where should I cut this variable?
=================================

Among *all* partitions of the pre-bins with a monotone event rate, optimal binning finds the one with the
largest information value. It is an exact and fast dynamic program.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import maxmargin as mm

rng = np.random.default_rng(0)
X = pd.DataFrame({"age": rng.integers(18, 80, 3000).astype(float), "noise": rng.normal(size=3000)})
y = (rng.random(3000) < 1 / (1 + np.exp((X["age"] - 30) / 12))).astype(int)

binning = mm.Binning(max_bins=5).fit(X, y)
print(binning.table("age").round(4).to_string())
print(mm.scorecards.information_value(X, y).round(4))

# %%
figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for ax, variable in zip(axes, X.columns, strict=True):
    mm.displays.BinDisplay.from_estimator(binning, variable, line="woe").plot(ax)
    ax.set_title(variable)
