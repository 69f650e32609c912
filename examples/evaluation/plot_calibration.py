"""
Can I trust these probabilities?
================================

A predicted probability of 0.3 is right if three in ten of these rows are events. The plot compares
predicted with observed shares, group by group; the Brier score summarises the difference.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

import maxmargin as mm

X, y = make_classification(3000, 12, n_informative=4, n_redundant=6, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
models = {
    "logistic regression": mm.LogisticRegression(C=1.0),
    "support vector machine, calibrated": mm.SVC(probability=True),
    "naive Bayes": GaussianNB(),
}

# %%
# Naive Bayes counts redundant columns several times, so it is overconfident.
figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    said = model.fit(X_train, y_train).predict_proba(X_test)[:, 1]
    mm.displays.CalibrationDisplay.from_scores(y_test, said).plot(ax)
    ax.set_title(f"{name}\nBrier score {brier_score_loss(y_test, said):.3f}")
