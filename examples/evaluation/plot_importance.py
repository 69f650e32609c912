"""
Which columns does the model rely on?
=====================================

Shuffle one column of the held-out rows and see how much the score drops.
"""

from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm

X, y = load_wine(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
model = make_pipeline(StandardScaler(), mm.SVC()).fit(X_train, y_train)
mm.displays.ImportanceDisplay.from_estimator(model, X_test, y_test, n_repeats=20).plot()

# %%
# And the mistakes it makes:
mm.displays.ConfusionDisplay.from_estimator(model, X_test, y_test, names=["first", "second", "third"]).plot()
