"""
How good is my classifier?
==========================

``mm.evaluate`` assesses a classifier on labelled rows: confusion table, all metrics with confidence
intervals, the ranking by score, and a page of plots.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X[:, :4], y, random_state=0, stratify=y)
model = make_pipeline(StandardScaler(), mm.SVC(C=1.0, probability=True)).fit(X_train, y_train)
result = mm.evaluate(model, X_test, y_test, positive=0, names=["malignant", "benign"])
print(result)

# %%
page = result.display()
