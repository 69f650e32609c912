"""
Why was this row decided so?
============================

A kernel machine decides by a sum over support vectors, so a decision can be read: which training rows
spoke for it, which against, how far it is from the boundary, and (linear kernels) what would have to change.
"""

from sklearn.datasets import load_iris

import maxmargin as mm

data = load_iris(as_frame=True)
two = data.target > 0
X, y = data.data[two], data.target_names[data.target[two]]

model = mm.SVC(kernel="linear").fit(X, y)
row = X.iloc[27]
print(mm.explain(model, row, y=y[27]))

# %%
# The same with a curved boundary: no column can be blamed, but rows can.
print(mm.explain(mm.SVC(gamma=0.5).fit(X, y), row, y=y[27]))
