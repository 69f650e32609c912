"""
How far off is my regression?
=============================

Predicted against true values on held-out rows. Points on the line are exact. A bend or a fan shows
problems that a single number hides.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm

X, y = load_diabetes(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
grid = {"svr__C": [10.0, 100.0, 1000.0], "svr__gamma": [0.001, 0.01, 0.1], "svr__epsilon": [10.0, 30.0]}
result = mm.tune(make_pipeline(StandardScaler(), mm.SVR()), X_train, y_train, grid, cv=5)
print(result.best_params)

# %%
figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
for ax, model in zip(axes, (result.best_estimator, mm.Ridge(alpha=1.0).fit(X_train, y_train)), strict=True):
    mm.displays.PredictionDisplay.from_estimator(model, X_test, y_test, target="progression").plot(ax)
    name = "support vector regression" if model is result.best_estimator else "ridge regression"
    ax.set_title(f"{name}: R² {model.score(X_test, y_test):.2f}")
