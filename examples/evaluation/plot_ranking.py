"""
How well does the score rank?
=============================

The area under the ROC curve is the probability that a positive row scores above a negative one. The
Kolmogorov-Smirnov statistic is the largest distance between the two score distributions; the threshold
there maximises TPR - FPR.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import maxmargin as mm

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X[:, 1:3], y, random_state=0, stratify=y)
score = mm.SVC(C=1.0).fit(X_train, y_train).decision_function(X_test)
names = ["malignant", "benign"]
print(mm.metrics.auc(y_test, score, names=names))
print(mm.metrics.ks_statistic(y_test, score, names=names))
print(mm.metrics.gains(y_test, score, names=names).round(3).head(4).to_string())

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
mm.displays.RocDisplay.from_scores(y_test, score, names=names).plot(left)
mm.displays.KsDisplay.from_scores(y_test, score, names=names).plot(right)
