"""
Is one model really better than another?
========================================

Two areas under the ROC curve on the same rows are correlated. DeLong's test takes that into account.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
two = make_pipeline(StandardScaler(), mm.SVC()).fit(X_train[:, :2], y_train).decision_function(X_test[:, :2])
four = make_pipeline(StandardScaler(), mm.SVC()).fit(X_train[:, :4], y_train).decision_function(X_test[:, :4])
everything = make_pipeline(StandardScaler(), mm.SVC()).fit(X_train, y_train).decision_function(X_test)

print("four columns against two:", mm.metrics.compare_auc(y_test, four, two), sep="\n")
print("all thirty against two:", mm.metrics.compare_auc(y_test, everything, two), sep="\n")
