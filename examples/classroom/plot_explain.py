"""
Why did the model predict this class?
=====================================

The decision function is a sum over support vectors, so you can read a prediction: which training rows
support it, which oppose it, how far the row is from the boundary, and (for linear kernels) what would
change the prediction.
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
# With a curved boundary there is no weight per column, but the rows still explain the prediction.
print(mm.explain(mm.SVC(gamma=0.5).fit(X, y), row, y=y[27]))
