"""
Which condition holds for which row?
====================================

At the optimum every row satisfies one of three conditions, and alpha determines which. ``mm.kkt_table``
lists them for your own model:
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

import maxmargin as mm

X, y = make_blobs(60, centers=[[-1, 0], [1, 0]], cluster_std=0.9, random_state=0)
model = mm.SVC(kernel="linear", C=1.0).fit(X, y)
table = mm.kkt_table(model)
print(table.sort_values("alpha").groupby("condition").head(3).round(3).to_string(index=False))

# %%
figure, ax = plt.subplots(layout="constrained")
for condition, rows in table.groupby("condition"):
    ax.scatter(rows["y_f"], rows["alpha"], label=condition)
ax.axvline(1, color="k", linewidth=0.5)
ax.set(xlabel="y f(x)", ylabel="alpha")
ax.legend()
print(f"largest violation: {table['violation'].max():.1e} (tol {model.tol:g})")
