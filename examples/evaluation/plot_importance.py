"""
Which columns does the model lean on?
=====================================

Shuffle one column of rows that the model has not seen, and look at how much worse it gets.
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
